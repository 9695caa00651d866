// SPDX-License-Identifier: Apache-2.0
#include "base/byte_text.h"

#include <array>
#include <cstddef>
#include <cstdio>

namespace scout {

std::string byte_text(std::uint64_t bytes) {
    constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    constexpr double step = 1024;
    auto number = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (number >= step && unit + 1 < units.size()) {
        number /= step;
        ++unit;
    }
    std::array<char, 32> text{};
    const int length = std::snprintf(text.data(), text.size(), "%.*f %s", unit == 0 ? 0 : 1, number,
                                     units.at(unit));
    return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace scout
