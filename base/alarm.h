// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/task.h"

namespace scout {

/// The wait of a coroutine that others may end early. Loop thread; one waiter at a time.
class Alarm {
public:
    explicit Alarm(const asio::any_io_executor& loop) : timer_(loop) {}

    /// Ends the wait, or the next one if nobody waits.
    void ring();
    /// False if the coroutine was cancelled.
    [[nodiscard]] Task<bool> wait(std::chrono::milliseconds longest);

private:
    asio::steady_timer timer_;
    bool rung_ = false;
};

}  // namespace scout
