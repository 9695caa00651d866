// SPDX-License-Identifier: Apache-2.0
#include "agent/pacer.h"

namespace scout::agent {

LoopPacer::LoopPacer(const asio::any_io_executor& loop, const Clock& clock)
    : clock_(clock), timer_(loop) {}

Task<> LoopPacer::wait_until(SteadyTime time) {
    if (!woken_) {
        timer_.expires_at(time);
        co_await timer_.async_wait(as_result);
    }
    woken_ = false;
}

void LoopPacer::wake() {
    woken_ = true;
    timer_.cancel();
}

}  // namespace scout::agent
