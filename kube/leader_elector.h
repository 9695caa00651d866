// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "kube/lease.h"

namespace scout::kube {

/// What the election needs of an API server: one Lease. Loop thread.
class LeasePort {
public:
    LeasePort() = default;
    virtual ~LeasePort() = default;
    LeasePort(const LeasePort&) = delete;
    LeasePort& operator=(const LeasePort&) = delete;
    LeasePort(LeasePort&&) = delete;
    LeasePort& operator=(LeasePort&&) = delete;

    /// Nothing if there is none.
    [[nodiscard]] virtual Task<Result<std::optional<StoredLease>>> read(
        std::chrono::milliseconds limit) = 0;
    /// The lease as stored; nothing if somebody else wrote or deleted it in between. Sent once,
    /// never repeated.
    [[nodiscard]] virtual Task<Result<std::optional<StoredLease>>> create(
        LeaseRecord record, std::chrono::milliseconds limit) = 0;
    [[nodiscard]] virtual Task<Result<std::optional<StoredLease>>> update(
        StoredLease lease, std::chrono::milliseconds limit) = 0;
};

/// Stands for leadership until it is stopped. Loop thread; port and clock must outlive it.
///
/// Whoever writes as the leader asks leads() right before each write, and gives no write more time
/// than until may_write_until(). A leader that lost goes on standing.
class LeaderElector {
public:
    LeaderElector(LeasePort& port, const Clock& clock, LeaseSettings settings, std::uint64_t seed);

    /// Called with true when it begins to lead and with false when it has lost that. Before run().
    void on_change(std::function<void(bool leads)> handler) {
        handlers_.push_back(std::move(handler));
    }

    /// Goes on until it is cancelled. Leadership ends by itself then, sooner with release().
    [[nodiscard]] Task<> run();

    /// After run() has ended: lets another process lead at once. The server gets that much time.
    [[nodiscard]] Task<> release(std::chrono::milliseconds limit = std::chrono::seconds{5});

    [[nodiscard]] bool leads() const { return election_.may_write(clock_.steady()); }
    [[nodiscard]] SteadyTime may_write_until() const noexcept {
        return election_.may_write_until();
    }
    /// How long a write that begins now may take; not above 0: it does not lead.
    [[nodiscard]] std::chrono::milliseconds may_write_for() const;
    [[nodiscard]] const std::string& holder() const noexcept { return election_.holder(); }
    /// Why the lease could not be read or written; empty: it could.
    [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

private:
    using Stored = Result<std::optional<StoredLease>>;

    [[nodiscard]] Task<> turn();
    [[nodiscard]] Task<Stored> write(LeaseElection::Request request,
                                     std::chrono::milliseconds limit);
    [[nodiscard]] Task<Status> give_back(LeaseElection::Request request, SteadyTime until);
    /// For one call, and never more than is left: half of the renew deadline, so that after a
    /// renewal on a connection that is dead there is time for another, and so that a server which
    /// needs that long for each call has a leader.
    [[nodiscard]] std::chrono::milliseconds limit() const;
    /// Until the next turn, of one that began then.
    [[nodiscard]] std::chrono::milliseconds pause_after(SteadyTime begun);
    /// Of leading; at least what a timer can wait for.
    [[nodiscard]] std::chrono::milliseconds time_left() const;
    void tell();
    void say_failure(const Error& error);

    LeasePort& port_;
    const Clock& clock_;
    LeaseSettings settings_;
    LeaseElection election_;
    std::mt19937_64 random_;
    std::vector<std::function<void(bool)>> handlers_;
    bool told_ = false;
    bool conflicted_ = false;  ///< the last turn ended so, and leadership with it
    std::string trouble_;
};

}  // namespace scout::kube
