// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"

namespace boost::asio {
class io_context;
}

namespace scout {
class BlockingPool;
}

namespace scout::daemon {

/// What a daemon does between its start and its stop. Both run on the loop thread.
class Service {
public:
    Service() = default;
    virtual ~Service() = default;
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;
    Service(Service&&) = delete;
    Service& operator=(Service&&) = delete;

    /// Returns once the daemon serves (READY=1 follows). An error ends the program with code 1 and
    /// its sentence; stop() is called then too, and must cope with a half start.
    [[nodiscard]] virtual Task<Status> start() = 0;

    /// Ends everything that start() began, well within RunOptions::stop_limit. Order: not ready,
    /// servers, scopes, subscriptions.
    [[nodiscard]] virtual Task<> stop() = 0;
};

struct RunOptions {
    std::string name;  ///< for log lines
    /// From the first signal to the end of the process, whatever hangs: then it is ended by force,
    /// with exit code 1.
    std::chrono::seconds stop_limit{5};
};

/// Runs the service on the loop until SIGTERM, SIGINT or SIGHUP: signals, start, READY, watchdog,
/// stop, the pools' stop, all in order. A call that is stuck in a pool may still use what its
/// caller is about to destroy: the process is left at once then, with the exit code that it has. A
/// second signal ends the process at once (exit code 1), even if the loop hangs. Call once, from
/// main: SIGPIPE is ignored from here on. `on_ready` is for what wants to be told once (tests,
/// start scripts); may be empty.
[[nodiscard]] int run_service(asio::io_context& loop, const std::vector<BlockingPool*>& pools,
                              Service& service, const RunOptions& options,
                              const std::function<void()>& on_ready = {});

}  // namespace scout::daemon
