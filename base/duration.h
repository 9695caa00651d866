// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace scout {

/// "500ms", "10s", "5m", "2h", "1d", at most ten years; a bare number is refused, for its unit is a
/// guess.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);

/// "10m", "1500ms": the largest unit that divides it.
[[nodiscard]] std::string format_duration(std::chrono::milliseconds time);

/// "3 s", "5 min", "2 h", "4 d": for sentences and tables about ages.
[[nodiscard]] std::string age_text(std::chrono::milliseconds age);

}  // namespace scout
