// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/guest_watch.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "libvirt_glue/event_thread.h"
#include "libvirt_glue/guest_reader.h"
#include "libvirt_glue/live_connection.h"

namespace scout::libvirt_glue {
namespace {

using hypervisor::Connection;
using hypervisor::GuestEvent;
using hypervisor::GuestState;
using hypervisor::IncomingEvent;
using hypervisor::Reach;

constexpr std::size_t portion = 32;  ///< guests read again in one call
/// A clean stop has 5 s in all.
constexpr std::chrono::milliseconds disconnect_limit{2000};

/// One guest that was read again; not_found is an answer too.
struct ReadAgain {
    std::string uuid;
    Result<GuestState> guest;
};

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};

/// Of the coroutine that awaits it. Asked anew each time: a copy of the state dangles after a
/// reset.
Task<bool> is_cancelled() {
    const auto state = co_await asio::this_coro::cancellation_state;
    co_return state.cancelled() != asio::cancellation_type::none;
}

Backoff make_back_off(const LibvirtConfig& config) {
    return Backoff(config.seed != 0 ? config.seed : std::random_device{}(),
                   {.least = config.first_back_off, .most = config.last_back_off});
}

}  // namespace

/// Somebody who waits for a full list that is read after he asked.
struct GuestWatch::Waiter {
    explicit Waiter(const asio::any_io_executor& loop) : done(loop) {}
    asio::steady_timer done;
    std::optional<Status> outcome;

    void answer(Status status) {
        outcome = std::move(status);
        done.cancel();
    }
};

GuestWatch::GuestWatch(const LibvirtConfig& config, asio::any_io_executor loop, BlockingPool& pool,
                       const Clock& clock)
    : config_(config),
      loop_(std::move(loop)),
      pool_(pool),
      clock_(clock),
      thread_(EventThread::share()),
      mailbox_(std::make_shared<Mailbox>(loop_,
                                         [this](Arrival arrival) { arrived(std::move(arrival)); })),
      lane_(pool, config.call_limit),
      wake_(loop_),
      back_off_(make_back_off(config)) {
    state_.since = clock_.wall();
}

GuestWatch::~GuestWatch() {
    mailbox_->close();
}

Result<std::vector<GuestState>> GuestWatch::guests() const {
    if (state_.reach == Reach::connecting) {
        return fail(Errc::unavailable,
                    "guests behind " + config_.uri + " are not known: no contact since " +
                        rfc3339(state_.since) +
                        (state_.reason.empty() ? "" : " (" + state_.reason + ")"));
    }
    return inventory_.guests();
}

hypervisor::Counters GuestWatch::counters() const noexcept {
    auto counters = counters_;
    counters.stuck_calls = lane_.stuck_calls();
    return counters;
}

Task<Status> GuestWatch::resync() {
    if (state_.reach != Reach::connected) {
        co_return fail(Errc::unavailable, config_.uri + " can't be reached since " +
                                              rfc3339(state_.since) + ": " + state_.reason);
    }
    auto waiter = std::make_shared<Waiter>(loop_);
    // One call may be on its way already.
    waiter->done.expires_after(2 * config_.call_limit);
    waiters_.push_back(waiter);
    want_full_ = true;
    wake();
    const auto [error] = co_await waiter->done.async_wait(as_result);
    if (auto& outcome = waiter->outcome; outcome.has_value()) {
        co_return std::move(outcome.value());
    }
    waiters_.erase(std::remove(waiters_.begin(), waiters_.end(), waiter), waiters_.end());
    if (error) {
        co_return fail(Errc::cancelled, "gave up waiting for the list of guests");
    }
    co_return fail(Errc::timed_out, "the list of guests did not come in time");
}

Task<> GuestWatch::run() {
    co_await asio::this_coro::throw_if_cancelled(false);
    auto cancelled = co_await is_cancelled();
    while (!cancelled) {
        const auto opened = co_await open();
        if (opened) {
            co_await follow();
        } else if (opened.error().code != Errc::cancelled) {
            failed(opened.error());
        }
        cancelled = co_await is_cancelled();
        if (cancelled) {
            // So that letting go can be waited for.
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        }
        co_await drop();
        if (!cancelled) {
            co_await pause(back_off_.next());
            cancelled = co_await is_cancelled();
        }
    }
}

Task<Status> GuestWatch::open() {
    ++number_;
    closed_ = false;
    LiveQuestion question;
    question.uri = config_.uri;
    question.number = number_;
    question.keepalive_seconds = static_cast<int>(config_.keepalive_interval.count());
    question.keepalive_count = config_.keepalive_count;
    auto work = [question, mailbox = mailbox_] { return LiveConnection::open(question, mailbox); };
    auto opened = co_await lane_.call("connect", std::move(work));
    if (!opened) {
        co_return fail(std::move(opened.error()));
    }
    live_ = std::move(*opened);
    co_return Status{};
}

/// Until the connection closes or run() is cancelled.
Task<> GuestWatch::follow() {
    auto retry = make_back_off(config_);
    want_full_ = true;
    for (auto cancelled = co_await is_cancelled(); !closed_ && !cancelled;
         cancelled = co_await is_cancelled()) {
        if (!want_full_ && !inventory_.has_stale()) {
            wake_.expires_at(asio::steady_timer::time_point::max());
            co_await wake_.async_wait(as_result);
            continue;
        }
        auto read = Status{};
        if (want_full_) {
            read = co_await read_all();
        } else {
            read = co_await read_stale();
        }
        if (read || closed_) {
            retry.reset();
            continue;
        }
        want_full_ = true;
        if (read.error().code == Errc::cancelled) {
            continue;
        }
        failed(read.error());
        co_await check_alive();
        if (!closed_) {
            co_await pause(retry.next());
        }
    }
}

Task<Status> GuestWatch::read_all() {
    auto waiting = std::exchange(waiters_, {});
    want_full_ = false;
    inventory_.begin_reading();
    auto work = [live = live_] { return read_guests(live->get()); };
    auto listed = co_await lane_.call("read guests", std::move(work));
    Status outcome;
    if (closed_) {
        outcome = fail(Errc::unavailable, state_.reason);
    } else if (!listed) {
        outcome = fail(listed.error());
    } else {
        ++counters_.resyncs;
        const auto events = inventory_.resynced(std::move(*listed), clock_.wall());
        connected();
        tell(events);
    }
    for (const auto& waiter : waiting) {
        waiter->answer(outcome);
    }
    co_return outcome;
}

Task<Status> GuestWatch::read_stale() {
    auto uuids = inventory_.take_stale(portion);
    inventory_.begin_reading();
    auto work = [live = live_, asked = std::move(uuids)]() -> Result<std::vector<ReadAgain>> {
        std::vector<ReadAgain> answers;
        for (const auto& uuid : asked) {
            ReadAgain answer;
            answer.uuid = uuid;
            answer.guest = read_guest(live->get(), uuid);
            answers.push_back(std::move(answer));
        }
        return answers;
    };
    auto answers = co_await lane_.call("read guests again", std::move(work));
    if (closed_ || !answers) {
        co_return closed_ ? Status{} : fail(std::move(answers.error()));
    }
    Status outcome;
    for (auto& answer : *answers) {
        if (answer.guest) {
            tell(inventory_.read_again(std::move(*answer.guest), clock_.wall()));
        } else if (answer.guest.error().code == Errc::not_found) {
            tell(inventory_.not_found(answer.uuid, clock_.wall()));
        } else {
            outcome = fail(std::move(answer.guest.error()));
        }
    }
    co_return outcome;
}

/// After a failed read: a driver without close callbacks tells only when asked.
Task<> GuestWatch::check_alive() {
    auto work = [live = live_]() -> Result<bool> {
        return libvirt().virConnectIsAlive(live->get()) == 1;
    };
    const auto alive = co_await lane_.call("check the connection", std::move(work));
    if (alive && !*alive && !closed_) {
        closed("the connection to libvirt is dead");
    }
}

/// Lets go of the connection where it may block. Behind a stuck call nobody waits: that call holds
/// the connection too, and ends it when it comes back.
Task<> GuestWatch::drop() {
    if (!live_) {
        co_return;
    }
    const bool stuck = lane_.busy();
    auto work = [live = std::move(live_)]() mutable {
        live.reset();
        return Status{};
    };
    live_.reset();
    if (stuck) {
        static_cast<void>(
            pool_.post([work = std::move(work)]() mutable { static_cast<void>(work()); }));
        co_return;
    }
    const auto limit = std::min(disconnect_limit, config_.call_limit);
    static_cast<void>(co_await lane_.call_within(limit, "disconnect", std::move(work)));
}

Task<> GuestWatch::pause(std::chrono::milliseconds span) {
    asio::steady_timer timer(loop_, span);
    co_await timer.async_wait(as_result);
}

void GuestWatch::arrived(Arrival arrival) {
    if (arrival.connection != number_ || closed_) {
        return;
    }
    const auto now = clock_.wall();
    std::visit(
        Overloaded{
            [this, now](const IncomingEvent& event) { tell(inventory_.apply(event, now)); },
            [this, now](GuestEvent& event) { tell(inventory_.complete(std::move(event), now)); },
            [this](Closed& end) { closed(std::move(end.reason)); }},
        arrival.what);
    if (const auto dropped = mailbox_->take_dropped(); dropped != 0) {
        counters_.lost_events += dropped;
        want_full_ = true;
    }
    wake();
}

void GuestWatch::closed(std::string reason) {
    closed_ = true;
    ++state_.attempts;
    state_.reason = std::move(reason);
    const bool was_connected = state_.reach == Reach::connected;
    if (was_connected) {
        state_.reach = Reach::unreachable;
        state_.since = clock_.wall();
    }
    watchers_.tell(Connection(state_));
    if (was_connected) {
        tell(inventory_.lost(state_.since));
    }
    for (const auto& waiter : std::exchange(waiters_, {})) {
        waiter->answer(fail(Errc::unavailable, state_.reason));
    }
    wake();
}

void GuestWatch::connected() {
    back_off_.reset();
    const auto before = state_;
    state_.attempts = 0;
    state_.reason.clear();
    if (state_.reach != Reach::connected) {
        counters_.reconnects += state_.reach == Reach::unreachable ? 1 : 0;
        state_.reach = Reach::connected;
        state_.since = clock_.wall();
    }
    if (state_ != before) {
        watchers_.tell(Connection(state_));
    }
}

void GuestWatch::failed(const Error& error) {
    ++state_.attempts;
    state_.reason = error.message;
    watchers_.tell(Connection(state_));
}

void GuestWatch::tell(const Events& events) {
    for (const auto& event : events) {
        events_.tell(event);
    }
}

void GuestWatch::wake() {
    wake_.cancel();
}

}  // namespace scout::libvirt_glue
