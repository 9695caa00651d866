// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace scout {

struct LogConfig {
    std::string level = "info";     ///< trace, debug, info, warn, error
    std::string format = "logfmt";  ///< logfmt or json
};

/// Sets the process-wide logger on stdout (stderr for programs whose stdout is their answer).
/// Levels by consequence: error = an operator must act; warn = degraded, carrying on, a counter
/// moves; info = state transitions; debug = detail of single VMs. Call once, from main.
[[nodiscard]] Status set_up_logging(const LogConfig& config, bool to_stderr = false);

/// A value made safe for one logfmt field or a terminal: control characters and what is not UTF-8
/// escaped, quoted where it has spaces, cut at 512 bytes.
[[nodiscard]] std::string log_value(std::string_view text);

}  // namespace scout
