// SPDX-License-Identifier: Apache-2.0
#include "base/places.h"

#include <algorithm>
#include <string>

namespace scout {

/// A waiter's entry; gives the place on if its owner goes away after it was admitted.
class Places::Waiting {
public:
    Waiting(Places& places, std::chrono::milliseconds limit) : places_(places) {
        places_.waiters_.push_back({.timer = asio::steady_timer(places_.loop_, limit)});
        waiter_ = std::prev(places_.waiters_.end());
    }
    ~Waiting() {
        const bool unused = waiter_->admitted;
        places_.waiters_.erase(waiter_);
        if (unused) {
            places_.leave();
        }
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    Waiting(Waiting&&) = delete;
    Waiting& operator=(Waiting&&) = delete;

    [[nodiscard]] asio::steady_timer& timer() { return waiter_->timer; }
    /// True once: the place is the caller's now.
    [[nodiscard]] bool accept() { return std::exchange(waiter_->admitted, false); }

private:
    Places& places_;
    std::list<Waiter>::iterator waiter_;
};

Task<Result<Places::Place>> Places::enter(std::chrono::milliseconds limit) {
    if (taken_ < count_) {
        ++taken_;
        co_return Place(shared_from_this());
    }
    Waiting waiting(*this, limit);
    const auto [error] = co_await waiting.timer().async_wait(as_result);
    if (waiting.accept()) {
        co_return Place(shared_from_this());
    }
    if (error) {
        co_return fail(Errc::cancelled, "gave up waiting for a place");
    }
    co_return fail(Errc::timed_out, "all " + std::to_string(count_) + " places were taken for " +
                                        std::to_string(limit.count()) + " ms");
}

/// Those that were admitted are at the front of the list, so few are looked at.
void Places::leave() {
    const auto next = std::find_if(waiters_.begin(), waiters_.end(),
                                   [](const auto& waiter) { return !waiter.admitted; });
    if (next == waiters_.end()) {
        --taken_;
        return;
    }
    next->admitted = true;
    next->timer.cancel();
}

}  // namespace scout
