// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>

namespace scout {

SteadyTime SystemClock::steady() const {
    return std::chrono::steady_clock::now();
}

WallTime SystemClock::wall() const {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

std::string rfc3339(WallTime time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", std::chrono::floor<std::chrono::seconds>(time));
}

}  // namespace scout
