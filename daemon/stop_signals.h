// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/task.h"

namespace scout::daemon {

/// SIGTERM, SIGINT and SIGHUP as one awaitable event; SIGPIPE is ignored. A SIGHUP that is ignored
/// already stays so: that is what nohup asks for.
///
/// The handlers are raw ones, not asio's: the second signal and the deadline after the first must
/// end the process even when the loop hangs. One object at a time; the old handlers come back with
/// its end.
class StopSignals {
public:
    /// `limit`: from the first signal to the end of the process by force (exit code 1).
    StopSignals(const asio::any_io_executor& loop, std::chrono::seconds limit);
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    StopSignals(StopSignals&&) = delete;
    StopSignals& operator=(StopSignals&&) = delete;

    /// Answers the signal's number, also if it came before the call; 0 if cancelled.
    [[nodiscard]] Task<int> wait();

private:
    asio::posix::stream_descriptor wake_;
};

}  // namespace scout::daemon
