// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string_view>

#include "base/result.h"

namespace scout {

/// A duration as Go writes it and Kubernetes' configuration has it: "1m30s", "1.5h", "0". Parts of
/// a millisecond are left out. Errors: invalid; also for negative ones and for over ten years.
[[nodiscard]] Result<std::chrono::milliseconds> parse_go_duration(std::string_view text);

}  // namespace scout
