// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/task.h"

/// The service manager's side of the conversation (sd_notify(3)); silent when not started by one.
namespace scout::daemon {

void notify_ready(std::string_view status);
void notify_stopping(std::string_view status);

/// How often the manager's watchdog is to be petted: a quarter of WATCHDOG_USEC, so that three
/// late turns of the loop are survived. Nothing if no watchdog is set for this process.
[[nodiscard]] std::optional<std::chrono::microseconds> watchdog_interval();

/// Pets the watchdog from the loop until cancelled: a loop that no longer turns is restarted by the
/// manager. Returns at once without a watchdog.
[[nodiscard]] Task<> pet_watchdog();

}  // namespace scout::daemon
