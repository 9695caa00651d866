// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/task.h"

namespace prometheus {
class Gauge;
}

namespace scout::daemon {

/// Once a second, tells the gauge by how many seconds the loop woke up late. Until cancelled; the
/// gauge outlives it.
[[nodiscard]] Task<> watch_loop_lag(prometheus::Gauge* lag);

}  // namespace scout::daemon
