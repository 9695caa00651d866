// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "kube/events.h"

namespace scout::kube {

/// Where events are written. Errors: not_found (of an update: the event has expired), unavailable
/// and timed_out (worth another try), all others are final. Loop thread.
class EventPort {
public:
    EventPort() = default;
    virtual ~EventPort() = default;
    EventPort(const EventPort&) = delete;
    EventPort& operator=(const EventPort&) = delete;
    EventPort(EventPort&&) = delete;
    EventPort& operator=(EventPort&&) = delete;

    /// Done as well if it is there already.
    [[nodiscard]] virtual Task<Status> create(EventRecord record) = 0;
    /// Writes the series alone.
    [[nodiscard]] virtual Task<Status> update(EventRecord record) = 0;
};

struct EventRecorderCounters {
    std::uint64_t written = 0;
    std::uint64_t failed = 0;   ///< given up: refused, or not taken again and again
    std::uint64_t dropped = 0;  ///< not even tried: too many at once, or too many about one object
};

/// Tells people about objects. Telling never waits and never fails: events are written one by one
/// in the background, and what is too much is dropped and counted. Loop thread; port and clock must
/// outlive it.
class EventRecorder {
public:
    EventRecorder(const asio::any_io_executor& loop, EventPort& port, const Clock& clock,
                  std::uint64_t seed, EventLimits limits = {}, BackoffRange backoff = {});

    void record(EventNote note);

    /// Writes what is recorded until it is cancelled; what is unwritten then is lost.
    [[nodiscard]] Task<> run();

    [[nodiscard]] EventRecorderCounters counters() const noexcept;
    [[nodiscard]] std::size_t waiting() const noexcept { return queue_.size(); }

private:
    [[nodiscard]] Task<Status> write(EventWrite write);
    [[nodiscard]] Task<bool> write_queue();
    void push(EventWrite write);

    EventPort& port_;
    const Clock& clock_;
    EventSeries series_;
    Backoff backoff_;
    asio::steady_timer wake_;
    std::deque<EventWrite> queue_;
    EventRecorderCounters counters_;
};

}  // namespace scout::kube
