// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "migration/escalation.h"
#include "migration/eviction.h"

/// Moving a VM whose launcher was told to stop (design §6; the proposal on node-pressure eviction).
/// Pure: time and facts are passed in, what is to be done comes out. Any thread, one at a time;
/// nothing here fails.
namespace scout::migration {

enum class EvacuationState : std::uint8_t {
    idle,       ///< its launcher is not marked
    suspected,  ///< marked; why is not known yet, the VMI is being read
    held,       ///< it shall be moved, and is not on its way yet
    moving,     ///< a migration of it is under way, whoever wanted it
    moved,      ///< it runs on another node. The end
    given_up,   ///< it cannot be moved in time: what was begun is taken back, its guest may stop
    released,   ///< nothing is held or to be taken back. The end
};
[[nodiscard]] std::string_view to_string(EvacuationState state) noexcept;  // "given-up", …

/// Why it is in its state, for who counts.
enum class EvacuationWhy : std::uint8_t {
    going_on,
    moved,
    deleted,   ///< the VMI is deleted or gone
    stopped,   ///< its guest stops, or does not run any more
    unwanted,  ///< by its eviction strategy, for what it is, or by the mode
    too_late,  ///< there is no time to move it
    too_many,  ///< others are moved first
    leaderless,
    failed,      ///< refused, failed, or ended by others
    slow_abort,  ///< too late, and aborting its migration took of its guest's own time
};
[[nodiscard]] std::string_view to_string(EvacuationWhy why) noexcept;  // "too-late", …

/// What the launcher says of its domain (dossier §1.6).
struct LauncherFacts {
    bool alive = false;
    bool marked = false;
    bool post_copy = false;  ///< its migration is in that mode: the guest runs on the target
    bool post_copy_failed = false;
    bool moved_away = false;     ///< its guest has left it for another node
    bool shutting_down = false;  ///< its guest was asked to shut down already (ACPI)
    /// Out of it, and not ended: until then virt-handler asks nobody and stops nothing (§3.3).
    bool migrating = false;
};

/// What a VMI says of itself.
struct VmiFacts {
    std::string uid;
    bool deleting = false;
    std::string phase;
    std::string node;
    std::string marked_node;  ///< status.evacuationNodeName
    EvictionStrategy strategy = EvictionStrategy::none;
    bool migratable = false;
    std::string not_migratable;  ///< why; empty: it is, or no reason is given
    /// `node` has no Node object: KubeVirt begins and cancels nothing there (dossier §16).
    bool node_gone = false;
    /// A migration of it is with the virt-handlers, and has not ended: what it may use is settled.
    bool handed_off = false;

    /// KubeVirt itself would migrate it, and so may we.
    [[nodiscard]] bool is_to_be_moved() const {
        return wanted_move(strategy, migratable) == WantedMove::move;
    }
};

/// Of a VirtualMachineInstanceMigration; in their order.
enum class MovePhase : std::uint8_t {
    pending,
    scheduling,  ///< its target pod is not ready, or not handed off yet
    prepared,    ///< handed off, and not started: PreparingTarget, TargetReady
    running,
    succeeded,
    failed,
};

struct MoveFacts {
    std::string name;
    MovePhase phase = MovePhase::pending;
    std::string target_pod;  ///< empty: not known
    bool deleting = false;   ///< somebody deleted it, and it is not gone yet
    bool backs_off = false;  ///< an evacuation: begins no earlier than Outlook::next_evacuation

    [[nodiscard]] bool is_final() const noexcept { return phase >= MovePhase::succeeded; }
};

/// What is thought of moving it now. Changes as it goes.
struct Outlook {
    StopBudget budget;  ///< from the mark on
    /// How long the move takes, or the rest of one that runs, by judged_course(). None: by that it
    /// does not end.
    std::optional<std::chrono::milliseconds> duration{std::chrono::milliseconds{0}};
    /// Where that is too long: how it would end in time with more than its policy allows. None: it
    /// would not, or nobody wants that.
    std::optional<EscalatedMove> escalated;
    /// That a running migration needs to be aborted, from the order on (abort_time()).
    std::chrono::milliseconds abort_time{3'000};
    bool queued_in_time = true;  ///< KubeVirt begins it soon enough (moves_that_fit())
    /// Evacuations of it failed: before then KubeVirt begins no further one (dossier §6.5). A
    /// migration that is ours begins at once. None: it does not wait.
    std::optional<SteadyTime> next_evacuation;
    /// Its launcher has not said yet how much there is to copy: a move is not asked for before, so
    /// that none is begun only to be cancelled. None: it has, or is not waited for.
    std::optional<SteadyTime> numbers_due;
    /// The guest itself is ill: its liveness probe had its launcher killed, as the leader saw by
    /// Events when it read the VMI. False also where that cannot be known in time: it is moved then
    /// as from any other end.
    bool liveness_kill = false;
    /// Its node shuts down, and virt-handler with it: what has not begun does not begin any more,
    /// and who is refused now is not asked again.
    bool handler_stops = false;
    bool pod_failed = false;  ///< evicting a pod of phase Failed really deletes it

    [[nodiscard]] bool awaits_numbers(SteadyTime now) const noexcept {
        return numbers_due && now < *numbers_due;
    }
};

struct EvacuationSettings {
    std::string node;  ///< on which the launcher is
    std::string vmi_uid;
    bool act = true;     ///< else nothing is held (mode observe)
    bool stamp = false;  ///< status.evacuationNodeName may stay when it is patched
    std::chrono::milliseconds reserve{10'000};   ///< for the guest's own shutdown
    std::chrono::milliseconds patience{60'000};  ///< with a leader that is not heard
};

/// What is to be done next.
enum class EvacuationStep : std::uint8_t {
    read_vmi,       ///< a live GET; until it has decided with a second's limit
    list_moves,     ///< the VMIMs of this VMI
    stamp,          ///< patch status.evacuationNodeName and read it back
    dry_run,        ///< of an eviction of its pod
    evict,          ///< only after a dry run that said it would be marked
    create_move,    ///< a VMIM of ours
    cancel_mark,    ///< evacuate/cancel
    delete_move,    ///< the VMIM of that name
    delete_target,  ///< the target pod of that name: a migration between hand-off and start
                    ///< hears of nothing else
    touch,          ///< an annotation of the VMI, once: virt-handler tries again at once
    escalate,       ///< a MigrationPolicy for this move alone, before it is handed off
};
[[nodiscard]] std::string_view to_string(EvacuationStep step) noexcept;  // "dry-run", …

struct EvacuationOrder {
    EvacuationStep step{};
    /// Of delete_move and delete_target a name; of escalate EscalatedMove::completion_per_gib.
    std::string object;

    friend bool operator==(const EvacuationOrder&, const EvacuationOrder&) = default;
};

/// How a step ended.
enum class StepOutcome : std::uint8_t {
    done,         ///< also: it was there or gone already
    undone,       ///< stamp: was undone silently
    would_evict,  ///< dry_run: the pod would really be deleted
    refused,      ///< and will be again
    unavailable,  ///< nobody answered, or with a fault of his own: may be tried again
};

struct HookAnswer {
    bool allow = true;
    std::string why;  ///< for whom the veto's text is shown
};

/// One launcher, from the mark to the end.
///
/// Tell it what is seen, then ask next() until it gives nothing; each order is answered before the
/// next comes. answer() may be asked at any time and costs nothing.
///
/// Container disks make no difference. Where they have containers of their own these end at SIGTERM
/// (KubeVirt's cmd/container-disk-v2alpha/main.c), but the guest's disk is a bind mount that
/// virt-handler keeps until the VM is over (pkg/virt-handler/container-disk/mount.go), and the
/// target's pod has containers of its own: docs/evacuation.md.
class Evacuation {
public:
    Evacuation(EvacuationSettings settings, SteadyTime leader_heard);

    /// `marked_ago`: how long it is marked at least, where that is known from elsewhere.
    void saw_launcher(const LauncherFacts& facts, SteadyTime now,
                      std::chrono::milliseconds marked_ago = std::chrono::milliseconds{0});
    /// From a watch or from the payload of a hook call: may lag.
    void saw_vmi(VmiFacts facts, SteadyTime now);
    /// The agent before may have refused virt-handler, so that a release has to be told to it.
    void was_asked_before() noexcept { vetoed_ = true; }
    /// The answer to read_vmi; none: there is no such VMI.
    void read_vmi(std::optional<VmiFacts> facts, SteadyTime now);
    /// All VMIMs of this VMI that there are, from a watch, which may lag, or as the answer to
    /// list_moves.
    void saw_moves(std::vector<MoveFacts> moves, SteadyTime now);
    void saw_outlook(const Outlook& outlook, SteadyTime now);
    /// By whom steps are done; its age counts.
    void heard_leader(SteadyTime now);
    /// Nothing reaches it until it is heard again.
    void lost_leader() noexcept { leader_lost_ = true; }
    /// How an order ended. Of read_vmi and list_moves only that it failed.
    void answered(const EvacuationOrder& order, StepOutcome outcome, SteadyTime now);

    [[nodiscard]] std::optional<EvacuationOrder> next(SteadyTime now);
    /// When next() is to be asked again though nothing was seen; none: never.
    [[nodiscard]] std::optional<SteadyTime> wake(SteadyTime now) const;
    /// To PreVMStop.
    [[nodiscard]] HookAnswer answer(SteadyTime now);

    /// The cluster's rules changed; node and VMI stay.
    void use(EvacuationSettings settings, SteadyTime now);

    [[nodiscard]] EvacuationState state() const noexcept { return state_; }
    [[nodiscard]] bool is_over() const noexcept {
        return state_ == EvacuationState::moved || state_ == EvacuationState::released;
    }
    /// Why it is in this state, for people.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
    [[nodiscard]] EvacuationWhy why() const noexcept { return why_; }
    /// Until when its guest must have begun to stop, if it is not moved.
    [[nodiscard]] SteadyTime stop_by() const noexcept;
    /// Until when a move of it must have ended: later there is no time left to abort it.
    [[nodiscard]] SteadyTime cancel_at() const noexcept;
    /// As it was seen last; none: not yet.
    [[nodiscard]] const std::optional<VmiFacts>& vmi() const noexcept { return vmi_; }
    /// A move was asked for, or is under way: what it needs of KubeVirt is taken.
    [[nodiscard]] bool is_begun() const noexcept;
    /// The guest's memory is being copied.
    [[nodiscard]] bool is_running() const noexcept;
    /// How long its migration ran on after it was cancelled, until the launcher said that none
    /// runs; none: it was not, or has not ended.
    [[nodiscard]] std::optional<std::chrono::milliseconds> abort_took() const noexcept {
        return abort_took_;
    }

private:
    void judge(SteadyTime now);
    void decide(SteadyTime now);
    void follow(SteadyTime now);
    void follow_move(SteadyTime now);
    void follow_abort(SteadyTime now);
    void note_abort(bool was_migrating, SteadyTime now);
    [[nodiscard]] bool is_of_here(const VmiFacts& facts) const noexcept;
    [[nodiscard]] bool is_over(SteadyTime now);
    [[nodiscard]] bool runs_into_the_reserve(SteadyTime now) const noexcept;
    [[nodiscard]] bool is_leaderless(SteadyTime now) const noexcept;
    [[nodiscard]] bool is_last_question(SteadyTime now) const noexcept;
    [[nodiscard]] bool is_unheard(SteadyTime now) const;
    [[nodiscard]] bool mark_stays() const noexcept;
    [[nodiscard]] bool is_known(const std::string& move) const;
    [[nodiscard]] bool was_deleted(const std::string& move) const;
    void note_deleted(const std::string& move);
    void note_late_mark(bool seen) noexcept;
    [[nodiscard]] bool is_left_alone(const MoveFacts& move) const noexcept;
    [[nodiscard]] const MoveFacts* in_the_way() const;
    [[nodiscard]] std::optional<EvacuationOrder> removal() const;
    [[nodiscard]] bool is_taken_back() const;
    [[nodiscard]] bool is_requesting() const noexcept;
    [[nodiscard]] bool may_be_requested() const noexcept;
    /// A reason; empty: there is none.
    struct Reason {
        EvacuationWhy why = EvacuationWhy::going_on;
        std::string text;
    };
    [[nodiscard]] Reason why_no_move() const;
    [[nodiscard]] Reason why_in_vain() const;
    [[nodiscard]] Reason why_too_late(SteadyTime now) const;
    [[nodiscard]] Reason closing(SteadyTime now) const;
    [[nodiscard]] std::optional<std::chrono::milliseconds> planned(SteadyTime now) const;
    [[nodiscard]] bool fits(SteadyTime now) const noexcept;
    [[nodiscard]] bool may_escalate() const;
    [[nodiscard]] bool begins_too_late(SteadyTime now) const;
    [[nodiscard]] bool waits_too_long(SteadyTime now) const;
    [[nodiscard]] bool may_replace(SteadyTime now) const;
    void replace(SteadyTime now);
    void end_replacing();
    [[nodiscard]] std::optional<EvacuationOrder> replacement(SteadyTime now) const;
    [[nodiscard]] bool is_replacing() const noexcept { return replaced_by_.has_value(); }
    [[nodiscard]] const MoveFacts* to_follow() const;
    void plan_escalation(SteadyTime now);
    [[nodiscard]] std::optional<EvacuationOrder> escalation() const;
    void enter(EvacuationState state, Reason reason);
    void give_up(Reason reason);
    void take_failure(SteadyTime now);
    void take_unreadable(EvacuationStep step);
    void take_move(bool made);
    void take_removal(const EvacuationOrder& order);
    void take_outcome(const EvacuationOrder& order, StepOutcome outcome);
    void try_later(SteadyTime now);
    [[nodiscard]] bool may_be_read_later(const EvacuationOrder& order, SteadyTime now);

    [[nodiscard]] std::optional<EvacuationOrder> due(SteadyTime now) const;
    [[nodiscard]] std::optional<EvacuationOrder> request(SteadyTime now) const;
    [[nodiscard]] std::optional<EvacuationOrder> taking_back() const;
    [[nodiscard]] std::optional<EvacuationOrder> left_behind() const;
    [[nodiscard]] SteadyTime ends_at() const noexcept;
    [[nodiscard]] bool is_marked_by_kubevirt() const noexcept;
    [[nodiscard]] const MoveFacts* unfinished() const noexcept;

    EvacuationSettings settings_;
    EvacuationState state_ = EvacuationState::idle;
    std::string reason_;
    EvacuationWhy why_ = EvacuationWhy::going_on;

    LauncherFacts launcher_;
    SteadyTime marked_at_{};
    std::optional<VmiFacts> vmi_;
    bool vmi_gone_ = false;
    bool read_live_ = false;    ///< since the mark
    bool read_failed_ = false;  ///< the last read was not answered
    std::vector<MoveFacts> moves_;
    bool moves_known_ = false;
    Outlook outlook_;
    SteadyTime leader_heard_;
    bool leader_lost_ = false;

    bool stamp_useless_ = false;
    bool would_be_marked_ = false;  ///< a dry run said so just now
    bool eviction_useless_ = false;
    bool requested_ = false;                   ///< a move, and it was accepted
    bool ours_ = false;                        ///< by a VMIM of ours
    bool perhaps_requested_ = false;           ///< one, and its answer was lost
    unsigned marks_unanswered_ = 0;            ///< that may be set yet
    unsigned refusals_ = 0;                    ///< of one
    std::optional<SteadyTime> refused_since_;  ///< to be read
    std::string followed_;                     ///< name of the migration under way
    unsigned failures_ = 0;

    bool replaced_ = false;  ///< a migration that would wait too long, by one of ours
    std::optional<SteadyTime> replaced_by_;  ///< that must be there then; none: nothing is replaced

    bool escalation_due_ = false;
    bool escalated_ = false;           ///< its policy is there
    bool escalation_useless_ = false;  ///< refused, or failed with it

    bool mark_cancelled_ = false;
    bool cancel_refused_ = false;               ///< so the mark is still set
    std::vector<std::string> taken_back_;       ///< names of migrations
    std::vector<std::string> targets_removed_;  ///< names of pods
    bool listed_again_ = false;                 ///< nothing new was found then
    bool cut_short_ = false;                    ///< time was over before all was taken back
    bool vetoed_ = false;
    bool touched_ = false;

    SteadyTime ordered_at_{};                 ///< the order in flight, or the last one
    std::optional<SteadyTime> cancelled_at_;  ///< the order that ended its migration
    bool cancelled_running_ = false;          ///< which was copying then
    std::optional<std::chrono::milliseconds> abort_took_;

    std::optional<EvacuationOrder> in_flight_;
    SteadyTime not_before_{};
    std::chrono::milliseconds pause_{0};
};

}  // namespace scout::migration
