// SPDX-License-Identifier: Apache-2.0
// Marks to be evacuated: what becomes of them, and whether they can be taken back.
#include <string>
#include <utility>

#include "migration/stuck_judge.h"

namespace scout::migration {

CancelOutlook StuckJudge::cancel() const {
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

/// A mark with nothing said yet of a migration that hangs.
void StuckJudge::judge_mark() {
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

void StuckJudge::judge_moveless_mark() {
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

void StuckJudge::judge_stale_mark() {
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

}  // namespace scout::migration
