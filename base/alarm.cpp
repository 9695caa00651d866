// SPDX-License-Identifier: Apache-2.0
#include "base/alarm.h"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

namespace scout {

void Alarm::ring() {
    rung_ = true;
    timer_.cancel();
}

Task<bool> Alarm::wait(std::chrono::milliseconds longest) {
    if (!rung_) {
        timer_.expires_after(longest);
        co_await timer_.async_wait(as_result);
    }
    rung_ = false;
    // ring() ends the wait as a cancellation does: what tells is the state of this coroutine.
    const auto state = co_await asio::this_coro::cancellation_state;
    co_return state.cancelled() == asio::cancellation_type::none;
}

}  // namespace scout
