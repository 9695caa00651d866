// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"

namespace scout::kube {

/// The spec of a coordination.k8s.io/v1 Lease. Times are the holder's wall clock: for people, never
/// compared.
struct LeaseRecord {
    std::string holder;  ///< empty: free
    std::chrono::seconds duration{15};
    std::optional<WallTime> acquired;
    std::optional<WallTime> renewed;
    std::int64_t transitions = 0;

    bool operator==(const LeaseRecord&) const = default;
};

struct StoredLease {
    LeaseRecord record;
    std::string version;  ///< resourceVersion
};

struct LeaseSettings {
    std::string identity;  ///< one for each process start, not for each pod
    std::chrono::milliseconds duration = std::chrono::seconds{15};
    /// Twice what a call may take for a server that needs 5 s for each, with 3 s until others act.
    std::chrono::milliseconds renew_deadline = std::chrono::seconds{12};
    std::chrono::milliseconds retry = std::chrono::seconds{2};
};

/// Nothing, or what is wrong: the durations must be retry < renew_deadline < duration.
[[nodiscard]] std::string check(const LeaseSettings& settings);

/// Who leads, as client-go's leader election decides it. Pure: times come in, requests go out.
///
/// A lease is held as long as it changes (its version: a renewal may carry a wall clock that stands
/// still), so whoever touches it by hand prolongs it. It is free once this process has seen it
/// unchanged for its duration *on this process's steady clock*; clocks of other machines are never
/// compared. A leader may write until its renew deadline has passed since it *sent* its last
/// successful renewal; others wait for the whole duration from when they *saw* it, which is later.
/// A lease that was deleted, emptied by hand or set back to a backup does not end the time of who
/// held it: only a release does, empty and a second long. Who has never seen a holder takes it at
/// once.
///
/// So there is no moment with two that may write, whatever the clocks show, and a process that was
/// stopped for a while finds its time over before it can write. (A steady clock that stands still,
/// as in a suspended machine, is beyond this: the lease's own writes are safe by their version,
/// other writes must bear a late one.)
///
/// Use: attempt() → what to send; then the answer to read_answer() or written(); until it says
/// nothing more is to be sent.
class LeaseElection {
public:
    enum class Verb : std::uint8_t { read, create, update };
    struct Request {
        Verb verb = Verb::read;
        LeaseRecord record;
        std::string version;  ///< for update: the one that must still hold
    };

    explicit LeaseElection(LeaseSettings settings);

    /// A turn begins: renewal if leading, else a look.
    [[nodiscard]] Request attempt(SteadyTime now, WallTime wall);
    /// The lease as read, nothing if there is none. Answers what to write, if anything.
    [[nodiscard]] std::optional<Request> read_answer(SteadyTime now, WallTime wall,
                                                     std::optional<StoredLease> lease);
    /// A create or update went well. `sent` is when the request began.
    void written(SteadyTime now, SteadyTime sent, StoredLease lease);
    /// Somebody else wrote or deleted it in between: there is no right to write any more, the turn
    /// ends, and the next one looks first.
    void conflicted() noexcept;
    /// Another failure of a write: it may have happened, so the next turn looks first. Without that
    /// a renewal whose answer was lost would conflict with the next one.
    void unanswered() noexcept { look_first_ = true; }
    /// Gives up leadership at once; answers what to write so that others need not wait.
    [[nodiscard]] std::optional<Request> release(WallTime wall);

    /// Leads and may write. False for ever after a deadline, until a new success.
    [[nodiscard]] bool may_write(SteadyTime now) const noexcept { return now < may_write_until_; }
    [[nodiscard]] SteadyTime may_write_until() const noexcept { return may_write_until_; }
    /// When a lease that is held by somebody else, as last seen, would be free.
    [[nodiscard]] SteadyTime free_at() const noexcept {
        return observed_at_ + observed_.record.duration;
    }
    /// Whoever was last seen to hold the lease; empty if nobody or never seen.
    [[nodiscard]] const std::string& holder() const noexcept { return observed_.record.holder; }

private:
    [[nodiscard]] LeaseRecord mine(WallTime wall) const;
    void observe(SteadyTime now, StoredLease lease);
    /// The lease, as found now, no longer names its last holder, whose time is not over.
    [[nodiscard]] bool vanished_under_holder(SteadyTime now,
                                             const std::optional<StoredLease>& lease) const;

    LeaseSettings settings_;
    StoredLease observed_;
    bool look_first_ = true;
    SteadyTime observed_at_{};
    SteadyTime may_write_until_ = SteadyTime::min();
};

}  // namespace scout::kube
