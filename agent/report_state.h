// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "agent/messages.h"
#include "base/clock.h"
#include "base/heartbeat.h"

namespace scout::agent {

struct ReportPolicy {
    std::chrono::milliseconds heartbeat = heartbeat_interval;
    double jitter = heartbeat_jitter;
    /// Guests in one message; what is left follows as deltas, so that no message grows with the
    /// number of guests. All but the last say that more follow.
    std::size_t guests_per_message = 256;
};

/// Decides the next message to the aggregator from what is known now and what was sent. Pure: time
/// is passed in. Holds numbers, never copies of reports, so that its size depends on the number of
/// guests alone, however long the aggregator is away.
///
/// On each stream: hello, one full report, then deltas of what changed, and a heartbeat when
/// nothing was said for a while. The body of a profile goes out only when asked for.
class ReportState {
public:
    ReportState(HelloMessage hello, ReportPolicy policy, std::uint64_t seed);

    /// A new stream: the other side knows nothing of this one.
    void connected();
    void wants_full() noexcept { full_due_ = true; }
    /// A digest that is not the current one is forgotten: the current one is or will be reported.
    void wants_profile(std::string digest) { wanted_profile_ = std::move(digest); }

    /// What to send now; nothing: wait for a change, a request or heartbeat_due(). What is answered
    /// counts as sent; if it cannot be sent the stream is over and connected() starts anew.
    [[nodiscard]] std::optional<Message> next(const Snapshot& now, SteadyTime time);

    /// The hello went out on this stream.
    [[nodiscard]] bool is_greeted() const noexcept { return !hello_due_; }
    [[nodiscard]] SteadyTime heartbeat_due() const noexcept { return heartbeat_due_; }
    /// Guests that the other side knows: the size of what is remembered. For tests of its bound.
    [[nodiscard]] std::size_t remembered() const noexcept { return sent_guests_.size(); }

private:
    [[nodiscard]] std::optional<Message> decide(const Snapshot& now, SteadyTime time);
    [[nodiscard]] FullMessage full(const Snapshot& now);
    [[nodiscard]] std::optional<Message> profile(const Snapshot& now);
    [[nodiscard]] std::optional<Message> delta(const Snapshot& now);

    HelloMessage hello_;
    ReportPolicy policy_;
    std::mt19937_64 random_;
    bool hello_due_ = true;
    bool full_due_ = true;
    std::string wanted_profile_;
    std::uint64_t sequence_ = 0;
    std::uint64_t sent_host_ = 0;  ///< revision
    std::map<std::string, std::uint64_t, std::less<>> sent_guests_;
    bool more_owed_ = false;  ///< the last message said that more follow
    SteadyTime heartbeat_due_{};
};

}  // namespace scout::agent
