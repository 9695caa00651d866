// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace scout::kube {

/// metav1.MicroTime: "2026-11-27T23:06:39.123000Z". Leases and events refuse other precisions.
[[nodiscard]] std::string micro_time(WallTime time);

/// RFC 3339 with any number of digits behind the second, cut to milliseconds, "Z" or an offset.
/// Nothing for other texts and for years outside 1970..9999.
[[nodiscard]] std::optional<WallTime> parse_time(std::string_view text) noexcept;

}  // namespace scout::kube
