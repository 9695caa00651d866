// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/messages.h"
#include "base/clock.h"
#include "launcher/domain_json.h"
#include "launcher/launcher_table.h"
#include "migration/copy_speed.h"
#include "migration/evacuation.h"
#include "migration/evacuation_outlook.h"

namespace scout::agent {

/// What a launcher says to its evacuation.
[[nodiscard]] migration::LauncherFacts launcher_facts(const launcher::Domain& domain) noexcept;

/// A guest lives in it, and its launcher was told to stop. Not so of the target of a migration that
/// has not arrived: what becomes of that is the source's affair. Nor of a guest that was asked to
/// shut down already: so on KubeVirt without node hooks, and after it was let go.
[[nodiscard]] bool is_told_to_stop(const launcher::Domain& domain) noexcept;

/// One launcher that was told to stop: its evacuation, and what else is known of it. Loop thread;
/// time is passed in.
class FollowedLauncher {
public:
    struct Made {
        migration::EvacuationSettings settings;  ///< all but the VMI's UID
        migration::MoveAssumptions assumed;
        SteadyTime leader_heard;
        bool leader_lost = false;  ///< nothing reaches it now
        SteadyTime marked_at;      ///< at the latest
        bool observed = false;     ///< nothing is held or asked for; what would be is told
        migration::Escalation escalation = migration::Escalation::none;
        std::optional<SteadyTime> node_ends = {};  ///< as node_ends()
        bool handler_stops = false;                ///< likewise
        bool asked_before = false;  ///< of it, perhaps, when this agent was not there yet
    };

    /// `domain` is told to stop.
    FollowedLauncher(std::string pod_uid, const launcher::Domain& domain, const Made& made,
                     SteadyTime now);

    /// What its launcher says now; null: it is gone, or has no domain any more.
    void saw(const launcher::Domain* domain, SteadyTime now);
    /// A dirty rate stays until another one is measured.
    void measured(const launcher::DomainStats& stats, SteadyTime now);
    /// After measured(), and alone: the rest may be told anew meanwhile.
    void measured_dirty_rate(std::uint64_t mib_s, SteadyTime now);
    /// It is worth a measurement: not while a migration runs, of which libvirt tells itself.
    [[nodiscard]] bool wants_dirty_rate(SteadyTime now) const;
    /// What virt-handler or the leader's watches know, which may lag.
    void saw_vmi(migration::VmiFacts facts, SteadyTime now);
    void take(const EvacuationFacts& facts, const Clock& clock);
    void answered(const migration::EvacuationOrder& order, EvacuationResult result, SteadyTime now);
    /// Thinks anew of its budget and how long a move takes.
    void look_ahead(SteadyTime now);
    /// Whatever stops it, the node's pods are killed then; none: they are not. Counts from the next
    /// look_ahead() on.
    void node_ends(std::optional<SteadyTime> at, bool handler_stops) {
        node_ends_ = at;
        handler_stops_ = handler_stops;
    }
    /// What the kubelet gives who is told to stop now; none: not known to be less than others. It
    /// and this agent do not look in the same moment, so the least of the first seconds counts.
    void kubelet_gives(std::optional<std::chrono::seconds> grace, SteadyTime now);
    /// As KubeVirt makes its pod.
    [[nodiscard]] std::chrono::seconds pod_grace() const noexcept;
    /// The slowest abort that was seen on this node, from the next look_ahead() on.
    void set_slowest_abort(std::chrono::milliseconds slowest) noexcept { slowest_abort_ = slowest; }
    /// How long aborting its migration took; once, after it ended.
    [[nodiscard]] std::optional<std::chrono::milliseconds> take_abort();
    void set_queued(bool in_time, SteadyTime now);
    [[nodiscard]] migration::MoveCandidate candidate(SteadyTime now) const;
    void use(const Made& made, SteadyTime now);

    [[nodiscard]] std::optional<migration::EvacuationOrder> next(SteadyTime now);
    [[nodiscard]] migration::HookAnswer answer(SteadyTime now);
    /// True once after each change of state or reason.
    [[nodiscard]] bool take_change();
    [[nodiscard]] EvacuationLine line(const Clock& clock) const;

    [[nodiscard]] const std::string& vmi_uid() const noexcept { return vmi_uid_; }
    [[nodiscard]] migration::Evacuation& machine() noexcept { return machine_; }
    [[nodiscard]] const migration::Evacuation& machine() const noexcept { return machine_; }
    [[nodiscard]] bool is_observed() const noexcept { return observed_; }
    [[nodiscard]] bool is_gone() const noexcept { return gone_; }
    /// Nothing will change any more, whatever is seen.
    [[nodiscard]] bool is_over() const noexcept { return machine_.is_over() || !verdict_.empty(); }
    [[nodiscard]] migration::EvacuationState state() const noexcept;
    [[nodiscard]] std::string reason() const;
    [[nodiscard]] migration::EvacuationWhy why() const noexcept {
        return observed_ ? migration::EvacuationWhy::unwanted : machine_.why();
    }
    /// The same, at the last take_change().
    [[nodiscard]] bool was_over() const noexcept { return seen_over_; }
    /// The VMI was told by the leader, so what virt-handler says of it is older.
    [[nodiscard]] bool is_told() const noexcept { return vmi_told_; }

    SteadyTime measure_at{};  ///< its launcher is asked for numbers then

private:
    [[nodiscard]] migration::MoveSubject subject(SteadyTime now) const;
    [[nodiscard]] migration::StopTimes times() const;
    [[nodiscard]] migration::CopiedDisks disks() const;
    void take_moves(std::vector<migration::MoveFacts> moves, bool live, SteadyTime now);
    void keep(const launcher::Domain& domain);
    void settle();

    std::string pod_uid_;
    std::string space_;
    std::string vmi_;
    std::string vmi_uid_;
    SteadyTime marked_at_;
    SteadyTime followed_since_;
    bool observed_ = false;
    std::string verdict_;  ///< what would have been done; while observed, once it is known
    migration::MoveAssumptions assumed_;
    migration::Escalation escalation_;
    migration::Evacuation machine_;

    std::uint64_t memory_kib_ = 0;
    bool huge_pages_ = false;
    bool emulated_ = false;
    bool tied_ = true;
    bool escalated_ = false;
    std::chrono::milliseconds slowest_abort_{0};
    bool abort_taken_ = false;
    std::optional<std::chrono::seconds> domain_grace_;
    std::optional<std::chrono::seconds> kubelet_grace_;
    std::optional<SteadyTime> node_ends_;
    bool handler_stops_ = false;
    bool gone_ = false;
    std::optional<launcher::DomainStats> stats_;
    migration::CopySpeed copy_speed_;
    migration::WriteRate write_rate_;
    std::optional<SteadyTime> rate_at_;
    std::optional<std::chrono::seconds> vmi_grace_;
    bool vmi_told_ = false;
    bool liveness_kill_ = false;  ///< its leader read so
    std::optional<ToldPod> pod_;
    bool deleted_first_ = false;  ///< its pod by the API, before or as it was told to stop
    migration::MigrationSettings numbers_;
    std::optional<std::chrono::milliseconds> downtime_;
    migration::CopiedDisks disks_;  ///< as its leader tells
    std::optional<SteadyTime> running_since_;
    std::optional<SteadyTime> next_evacuation_;  ///< KubeVirt begins none before
    migration::Outlook outlook_;

    bool listing_ = false;             ///< list_moves is under way
    std::vector<std::string> listed_;  ///< migrations of the last live list that were under way
    SteadyTime listed_at_{};

    migration::EvacuationState seen_state_{};
    std::string seen_reason_;
    bool seen_over_ = false;
};

}  // namespace scout::agent
