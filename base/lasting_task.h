// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/task.h"

namespace scout {

/// Runs the body of a task that must not end by a fault: one that ends with an exception is logged
/// with its name and begun anew after some seconds. Ends when the body returns, or when it is
/// cancelled.
[[nodiscard]] Task<> keep_running(std::string name, std::function<Task<>()> body);

}  // namespace scout
