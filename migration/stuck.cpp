// SPDX-License-Identifier: Apache-2.0
#include "migration/stuck.h"

#include <chrono>
#include <utility>

#include "base/duration.h"

namespace scout::migration {
namespace {

using namespace std::chrono_literals;

std::optional<WallTime> known(WallTime time) {
    return time == WallTime{} ? std::nullopt : std::optional{time};
}

bool is_waiting(const StuckMoveFacts& move) {
    return move.phase.empty() || move.phase == "Pending";
}

bool is_synchronizing(const StuckMoveFacts& move) {
    return move.phase == "Synchronizing" || move.phase == "WaitingForSync";
}

/// The youngest VMIM that has not ended; admission lets there be one.
const StuckMoveFacts* unfinished(const std::vector<StuckMoveFacts>& moves) {
    const StuckMoveFacts* found = nullptr;
    for (const auto& move : moves) {
        if (!move.is_final() && (found == nullptr || found->created <= move.created)) {
            found = &move;
        }
    }
    return found;
}

/// One VM, and the answer as it grows.
class Judge {
public:
    Judge(const StuckVmFacts& vm, const StuckSurroundings& around, const StuckPatience& patience)
        : vm_(vm), around_(around), patience_(patience), move_(unfinished(vm.moves)) {
        answer_.vmi = vm.vmi;
        answer_.node = vm.node;
        answer_.mark = vm.mark;
        answer_.cancel = cancel();
        if (move_ != nullptr) {
            answer_.move = move_->name;
            answer_.phase = move_->phase;
        }
    }

    [[nodiscard]] std::optional<StuckAnswer> judge();

private:
    [[nodiscard]] CancelOutlook cancel() const;
    [[nodiscard]] bool judge_deletion();
    [[nodiscard]] bool judge_synchronizing();
    [[nodiscard]] bool judge_waiting();
    [[nodiscard]] bool judge_target();
    [[nodiscard]] bool judge_queue();
    [[nodiscard]] bool judge_waiting_here();
    [[nodiscard]] bool judge_pod();
    void judge_mark();
    void judge_moveless_mark();
    void judge_stale_mark();
    [[nodiscard]] bool lasts(WallTime since, std::chrono::seconds limit) const {
        return since == WallTime{} || around_.now >= since + limit;
    }
    [[nodiscard]] WallTime waits_since() const {
        return move_->since == WallTime{} ? move_->created : move_->since;
    }
    bool set(StuckState state, std::string waiting_for, std::string advice) {
        answer_.state = state;
        answer_.waiting_for = std::move(waiting_for);
        answer_.advice = std::move(advice);
        return true;
    }
    [[nodiscard]] std::string advice_for_moved() const {
        return answer_.cancel.possible
                   ? "cancel the mark: back on " + vm_.mark + " it would be moved away again"
                   : "while it is elsewhere KubeVirt answers every eviction of it as if it were "
                     "moved, "
                     "and moves nothing: migrate it by hand where it has to go";
    }
    [[nodiscard]] std::string advice_to_cancel(const std::string& otherwise) const {
        return answer_.cancel.possible ? "if it shall stay: cancel the mark" : otherwise;
    }
    [[nodiscard]] std::string advice_for_tries() const {
        return "see why they fail: scoutctl where " + vm_.vmi + ", scoutctl why " + vm_.vmi +
               (answer_.cancel.possible ? "; " + advice_to_cancel({}) : std::string{});
    }
    [[nodiscard]] std::string advice_for_left() const {
        return "delete the launcher pod that is left of an earlier migration; never the one on "
               "node " +
               vm_.node +
               ", nor one whose label kubevirt.io/migrationJobUID is the uid of a VMIM that has "
               "not ended";
    }

    const StuckVmFacts& vm_;
    const StuckSurroundings& around_;
    const StuckPatience& patience_;
    const StuckMoveFacts* move_;
    BackOff tries_;
    StuckAnswer answer_;
};

CancelOutlook Judge::cancel() const {
    if (vm_.mark.empty()) {
        return {.possible = false, .reason = "there is no mark: nothing to cancel"};
    }
    if (!around_.cancel_served) {
        return {.possible = false, .reason = "KubeVirt serves evacuate/cancel since 1.7 only"};
    }
    if (!around_.nodes_known) {
        return {.possible = true,
                .reason = "not known whether node " + vm_.mark +
                          " is there and without KubeVirt's drain taint: no Node objects"};
    }
    if (!around_.mark_node_there) {
        return {.possible = false,
                .reason = "the Node object " + vm_.mark + " is gone: KubeVirt answers 500"};
    }
    if (!around_.drain_taint.empty()) {
        return {.possible = false,
                .reason = "node " + vm_.mark + " has the taint " + around_.drain_taint +
                          ": KubeVirt answers 400; take the taint off first"};
    }
    return {.possible = true, .reason = {}};
}

bool Judge::judge_deletion() {
    if (move_ == nullptr || !move_->deleting || !lasts(move_->deleting_since, patience_.deleting)) {
        return false;
    }
    answer_.since = known(move_->deleting_since);
    if (move_->crosses) {
        return set(StuckState::deleting,
                   "the deletion of VMIM " + move_->name + " (" + move_->phase +
                       "), which has to reach the other cluster",
                   "look at the VMIM of the other cluster; if that is gone, take the finalizer "
                   "kubevirt.io/migrationJobFinalize off this one");
    }
    const bool handed_off = move_->phase == "PreparingTarget" || move_->phase == "TargetReady";
    return set(StuckState::deleting,
               "the deletion of VMIM " + move_->name + " (" + move_->phase + ")" +
                   (handed_off ? ", which is not delivered before the migration starts" : ""),
               handed_off ? "delete the target pod, unless status.migrationState of the VMI has a "
                            "startTimestamp: that ends it"
                          : "see virt-handler's log on node " + vm_.node);
}

bool Judge::judge_synchronizing() {
    if (move_ == nullptr || !move_->crosses) {
        return false;
    }
    answer_.since = known(move_->since);
    if (move_->phase == "Scheduling" && !move_->receives &&
        lasts(move_->since, patience_.far_pod)) {
        return set(StuckState::synchronizing,
                   "the target pod in the other cluster, of whose failure this side never hears",
                   "look at the VMIM over there; if it has failed, delete this one, and take its "
                   "finalizer off if it does not go");
    }
    if (!is_synchronizing(*move_) || !lasts(move_->since, patience_.synchronizing)) {
        return false;
    }
    auto waits = move_->missing.empty() ? std::string{"the other cluster"}
                                        : "migrationState." + move_->missing + ", which is empty";
    if (!move_->blocked.empty()) {
        waits += "; " + move_->blocked;
    }
    if (!around_.handler_trouble.empty() && !move_->receives) {
        return set(StuckState::synchronizing, waits + "; " + around_.handler_trouble,
                   "mend virt-handler on node " + vm_.node + ": it tells the source's side");
    }
    return set(StuckState::synchronizing, std::move(waits),
               move_->blocked.empty()
                   ? "no side says why: suspect the path from the target to the address of the "
                     "source's own synchronization controller (status.synchronizationAddresses), "
                     "which the target has to dial"
                   : "see what both VMIMs say; KubeVirt has no time-out here");
}

bool Judge::judge_waiting() {
    if (move_ == nullptr || !is_waiting(*move_)) {
        return false;
    }
    answer_.since = known(waits_since());
    if (!move_->target_pod.empty()) {
        return judge_target();
    }
    if (!around_.node_there && around_.nodes_known && !vm_.node.empty()) {
        return set(StuckState::node_gone,
                   "nothing: the Node object " + vm_.node + " is gone, so VMIM " + move_->name +
                       " stays Pending for ever",
                   "delete the VMIM; nobody can evacuate or cancel before the Node is there again");
    }
    if (move_->backs_off && answer_.next_try && around_.now < *answer_.next_try) {
        return set(vm_.mark.empty() ? StuckState::backing_off : StuckState::stale_mark,
                   "KubeVirt's back-off of VMIM " + move_->name + " after " + tries_text(tries_),
                   advice_for_tries());
    }
    return judge_waiting_here();
}

/// A VMIM stays Pending for a moment after its target pod is made, and with hotplugged volumes
/// until the pod that attaches them is ready. Nothing that keeps a target from being made holds
/// then.
bool Judge::judge_target() {
    if (judge_pod()) {
        return true;
    }
    if (!move_->blocked.empty()) {
        return set(StuckState::blocked, move_->blocked, "see what the condition names");
    }
    if (!lasts(waits_since(), patience_.pending)) {
        return false;
    }
    return set(StuckState::pending,
               "its target pod " + move_->target_pod +
                   " to be ready, and the pod that attaches hotplugged volumes beside it",
               "see the events of both: KubeVirt gives up a target pod that is not ready after "
               "900 s, and waits for the other one without end");
}

bool Judge::judge_queue() {
    if (around_.in_cluster >= around_.cluster_limit) {
        return set(StuckState::queued,
                   "its turn: " + std::to_string(around_.in_cluster) + " of " +
                       std::to_string(around_.cluster_limit) + " migrations of the cluster run",
                   "wait, or raise parallelMigrationsPerCluster");
    }
    if (around_.outbound >= around_.outbound_limit) {
        return set(StuckState::queued,
                   "its turn: " + std::to_string(around_.outbound) + " of " +
                       std::to_string(around_.outbound_limit) + " migrations leave node " +
                       vm_.node,
                   "wait, or raise parallelOutboundMigrationsPerNode");
    }
    return false;
}

bool Judge::judge_waiting_here() {
    if (!move_->blocked.empty()) {
        return set(StuckState::blocked, move_->blocked, "see what the condition names");
    }
    if (vm_.active_pods.size() > 1 && !vm_.moving_to.empty()) {
        return set(StuckState::two_active_pods,
                   "the migration to " + vm_.moving_to + ", which runs, to end", "wait");
    }
    if (vm_.active_pods.size() > 1) {
        return set(
            StuckState::two_active_pods,
            "one of " + std::to_string(vm_.active_pods.size()) + " launchers of the VM to end",
            advice_for_left());
    }
    if (judge_queue()) {
        return true;
    }
    if (!vm_.selinux_context) {
        return set(StuckState::no_selinux,
                   "status.selinuxContext of the VMI, which virt-handler has not set",
                   "see virt-handler's log on node " + vm_.node);
    }
    if (!vm_.mark.empty() && answer_.failed > 0) {
        judge_stale_mark();
        return true;
    }
    if (!lasts(waits_since(), patience_.pending)) {
        return false;
    }
    return set(StuckState::pending, "virt-controller, for no reason that the objects tell",
               "see virt-controller's log and the events of VMIM " + move_->name);
}

bool Judge::judge_pod() {
    if (move_ == nullptr || !move_->pod_unschedulable) {
        return false;
    }
    answer_.since = known(move_->since);
    return set(StuckState::unschedulable,
               "a node for its target pod" +
                   (move_->scheduler.empty() ? std::string{} : ": " + move_->scheduler),
               "KubeVirt gives the pod up after 300 s (or as the VMIM's annotation says); see "
               "'scoutctl where " +
                   vm_.vmi + "'");
}

/// A mark with nothing said yet of a migration that hangs.
void Judge::judge_mark() {
    answer_.since = known(vm_.mark_since);
    if (vm_.mark != vm_.node) {
        static_cast<void>(set(StuckState::already_moved,
                              "nothing: it is on node " + vm_.node + ", the mark names " + vm_.mark,
                              advice_for_moved()));
    } else if (move_ != nullptr && !is_waiting(*move_)) {
        static_cast<void>(set(StuckState::being_moved,
                              "VMIM " + move_->name + ", which is " + move_->phase, "wait"));
    } else if (move_ != nullptr) {
        static_cast<void>(set(StuckState::being_moved,
                              "VMIM " + move_->name + ", which has just been made", "wait"));
    } else {
        judge_moveless_mark();
    }
}

void Judge::judge_moveless_mark() {
    if (!vm_.moving_to.empty()) {
        static_cast<void>(
            set(StuckState::being_moved,
                "its migration to " + vm_.moving_to + ", whose VMIM is not among what was read",
                "wait, and see the VMIMs too"));
    } else if (around_.nodes_known && !around_.node_there) {
        static_cast<void>(
            set(StuckState::node_gone, "nothing: the Node object " + vm_.node + " is gone",
                "nobody can evacuate or cancel; when the Node is there again both go on"));
    } else if (vm_.strategy == EvictionStrategy::external) {
        static_cast<void>(set(StuckState::external,
                              "whoever moves VMs of strategy External: KubeVirt moves nothing",
                              advice_to_cancel("let that controller act, or migrate it")));
    } else if (vm_.strategy == EvictionStrategy::none) {
        static_cast<void>(set(StuckState::unwanted,
                              "nothing: its eviction strategy is None, KubeVirt moves nothing",
                              advice_to_cancel("migrate it by hand")));
    } else if (!vm_.migratable) {
        static_cast<void>(
            set(StuckState::not_migratable,
                "nothing: it cannot be migrated" +
                    (vm_.not_migratable.empty() ? std::string{} : ": " + vm_.not_migratable),
                advice_to_cancel("remove what keeps it, or stop the VM")));
    } else if (vm_.active_pods.size() > 1) {
        static_cast<void>(set(StuckState::two_active_pods,
                              "one of " + std::to_string(vm_.active_pods.size()) +
                                  " launchers of the VM to end: KubeVirt makes no VMIM before",
                              advice_for_left()));
    } else {
        judge_stale_mark();
    }
}

void Judge::judge_stale_mark() {
    if (tries_.failed == 0) {
        static_cast<void>(around_.moves_known
                              ? set(StuckState::stale_mark, "KubeVirt's first VMIM: there is none",
                                    advice_to_cancel("see virt-controller's log"))
                              : set(StuckState::stale_mark, "not known: no migrations were read",
                                    "read the VMIMs too (kubectl get vmims -A); " +
                                        advice_to_cancel("a migration may be under way")));
        return;
    }
    const bool overdue = tries_.next_try && *tries_.next_try <= around_.now;
    static_cast<void>(set(
        StuckState::stale_mark,
        (overdue ? "KubeVirt's next try, which is overdue, after " : "KubeVirt's next try after ") +
            tries_text(tries_),
        advice_for_tries()));
}

std::optional<StuckAnswer> Judge::judge() {
    if (vm_.deleting || vm_.phase == "Succeeded" || vm_.phase == "Failed") {
        return std::nullopt;
    }
    tries_ = back_off(vm_.moves);
    answer_.failed = tries_.failed;
    answer_.failure = tries_.failure;
    answer_.next_try = tries_.next_try;
    const bool found = judge_deletion() || judge_synchronizing() || judge_waiting() || judge_pod();
    if (!found && !vm_.mark.empty()) {
        judge_mark();
    } else if (!found) {
        return std::nullopt;
    }
    const bool tries_again =
        answer_.state == StuckState::stale_mark || answer_.state == StuckState::backing_off;
    if (!tries_again) {
        answer_.next_try = std::nullopt;
    }
    if (!vm_.mark.empty() && vm_.mark_since != WallTime{}) {
        answer_.since = vm_.mark_since;
    }
    return std::move(answer_);
}

}  // namespace

std::optional<StuckAnswer> find_stuck(const StuckVmFacts& vm, const StuckSurroundings& around,
                                      const StuckPatience& patience) {
    return Judge(vm, around, patience).judge();
}

}  // namespace scout::migration
