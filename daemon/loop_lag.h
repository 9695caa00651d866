// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "base/task.h"

namespace prometheus {
class Gauge;
}

namespace scout::daemon {

/// Once a second, tells the gauge by how many seconds the loop woke up late. Until cancelled; clock
/// and gauge outlive it.
[[nodiscard]] Task<> watch_loop_lag(const Clock* clock, prometheus::Gauge* lag);

}  // namespace scout::daemon
