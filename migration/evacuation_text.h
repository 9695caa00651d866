// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"

// Shared by the evacuation's sources.

namespace scout::migration {

/// "12.3 s"; of less than nothing "0.0 s".
[[nodiscard]] std::string in_seconds(std::chrono::milliseconds time);

[[nodiscard]] std::chrono::milliseconds left_until(SteadyTime end, SteadyTime now);

}  // namespace scout::migration
