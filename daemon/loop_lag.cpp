// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop_lag.h"

#include <chrono>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <prometheus/gauge.h>

namespace scout::daemon {

Task<> watch_loop_lag(const Clock* clock, prometheus::Gauge* lag) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (;;) {
        timer.expires_after(std::chrono::seconds{1});
        const auto [error] = co_await timer.async_wait(as_result);
        if (error) {
            co_return;
        }
        const auto late = clock->steady() - timer.expiry();
        lag->Set(std::chrono::duration<double>(late).count());
    }
}

}  // namespace scout::daemon
