// SPDX-License-Identifier: Apache-2.0
#include "kube/event_recorder.h"

#include <utility>

#include <boost/asio/this_coro.hpp>
#include <spdlog/spdlog.h>

#include "base/logging.h"

namespace scout::kube {
namespace {

constexpr std::size_t longest_queue = 1000;
constexpr std::chrono::seconds look_interval{60};
// Some may never be taken, as where a webhook fails for one namespace: the others wait behind it.
constexpr unsigned most_tries = 8;

bool may_pass(Errc code) {
    return code == Errc::unavailable || code == Errc::timed_out;
}

}  // namespace

EventRecorder::EventRecorder(const asio::any_io_executor& loop, EventPort& port, const Clock& clock,
                             std::uint64_t seed, EventLimits limits, BackoffRange backoff)
    : port_(port), clock_(clock), series_(limits), backoff_(seed, backoff), wake_(loop) {}

void EventRecorder::record(EventNote note) {
    if (auto write = series_.take(std::move(note), clock_.steady(), clock_.wall())) {
        push(std::move(*write));
        wake_.cancel();
    }
}

void EventRecorder::push(EventWrite write) {
    if (queue_.size() >= longest_queue) {
        ++counters_.dropped;
        return;
    }
    queue_.push_back(std::move(write));
}

Task<> EventRecorder::run() {
    for (;;) {
        for (auto& write : series_.due(clock_.steady())) {
            push(std::move(write));
        }
        const bool written = co_await write_queue();
        if (!written) {
            co_return;
        }
        wake_.expires_after(look_interval);
        co_await wake_.async_wait(as_result);
        // A new event ends the wait in the same way as a cancellation does.
        const auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) {
            co_return;
        }
    }
}

/// False once it is cancelled.
Task<bool> EventRecorder::write_queue() {
    unsigned tries = 0;  // of the first one
    while (!queue_.empty()) {
        auto next = queue_.front();
        const auto done = co_await write(std::move(next));
        if (!done && done.error().code == Errc::cancelled) {
            co_return false;
        }
        if (!done && may_pass(done.error().code) && ++tries < most_tries) {
            asio::steady_timer timer(co_await asio::this_coro::executor, backoff_.next());
            const auto [error] = co_await timer.async_wait(as_result);
            if (error) {
                co_return false;
            }
            continue;
        }
        if (done) {
            ++counters_.written;
            backoff_.reset();
        } else if (++counters_.failed == 1) {
            spdlog::warn("events cannot be written, the rest goes on error={}",
                         log_value(done.error().message));
        }
        queue_.pop_front();
        tries = 0;
    }
    co_return true;
}

Task<Status> EventRecorder::write(EventWrite write) {
    auto record = write.record;
    if (write.verb == EventWrite::Verb::update) {
        auto updated = co_await port_.update(std::move(record));
        if (updated || updated.error().code != Errc::not_found) {
            co_return updated;
        }
        record = std::move(write.record);
    }
    auto created = co_await port_.create(std::move(record));
    co_return created;
}

EventRecorderCounters EventRecorder::counters() const noexcept {
    auto counters = counters_;
    counters.dropped += series_.dropped();
    return counters;
}

}  // namespace scout::kube
