// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace scout {

/// A whole non-negative decimal number; nothing for anything else, an empty text included.
[[nodiscard]] inline std::optional<std::uint64_t> whole_number(std::string_view text) noexcept {
    std::uint64_t value = 0;
    const auto* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc{} || end != last) {
        return std::nullopt;
    }
    return value;
}

}  // namespace scout
