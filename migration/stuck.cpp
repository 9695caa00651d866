// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <utility>

#include "migration/stuck_judge.h"

namespace scout::migration {
namespace {

using namespace std::chrono_literals;

bool is_synchronizing(const StuckMoveFacts& move) {
    return move.phase == "Synchronizing" || move.phase == "WaitingForSync";
}

/// The virt-handlers have it: its deletion is not delivered before it starts (dossier §16).
bool is_handed_off(const StuckMoveFacts& move) {
    return move.phase == "PreparingTarget" || move.phase == "TargetReady";
}

}  // namespace

bool is_waiting(const StuckMoveFacts& move) {
    return move.phase.empty() || move.phase == "Pending";
}

const StuckMoveFacts* unfinished(const std::vector<StuckMoveFacts>& moves) {
    const StuckMoveFacts* found = nullptr;
    for (const auto& move : moves) {
        if (!move.is_final() && (found == nullptr || found->created <= move.created)) {
            found = &move;
        }
    }
    return found;
}

bool StuckJudge::judge_deletion() {
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
    const bool handed_off = is_handed_off(*move_);
    return set(StuckState::deleting,
               "the deletion of VMIM " + move_->name + " (" + move_->phase + ")" +
                   (handed_off ? ", which is not delivered before the migration starts" : ""),
               handed_off ? "delete the target pod, unless status.migrationState of the VMI has a "
                            "startTimestamp: that ends it"
                          : "see virt-handler's log on node " + vm_.node);
}

bool StuckJudge::judge_synchronizing() {
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

bool StuckJudge::judge_waiting() {
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
bool StuckJudge::judge_target() {
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

bool StuckJudge::judge_queue() {
    const bool in_cluster = around_.in_cluster >= around_.cluster_limit;
    if (!in_cluster && around_.outbound < around_.outbound_limit) {
        return false;
    }
    const auto count = [](unsigned running, unsigned limit) {
        return "its turn: " + std::to_string(running) + " of " + std::to_string(limit);
    };
    auto waits = in_cluster ? count(around_.in_cluster, around_.cluster_limit) +
                                  " migrations of the cluster run"
                            : count(around_.outbound, around_.outbound_limit) +
                                  " migrations leave node " + vm_.node;
    const std::string raise =
        std::string{"wait, or raise "} +
        (in_cluster ? "parallelMigrationsPerCluster" : "parallelOutboundMigrationsPerNode");
    if (around_.standing == 0) {
        return set(StuckState::queued, std::move(waits), raise);
    }
    return set(
        StuckState::queued,
        waits + "; of those of the cluster " + std::to_string(around_.standing) + " stand still",
        "end those that are handed-off first, which take up places; else " + raise);
}

bool StuckJudge::judge_waiting_here() {
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

bool StuckJudge::judge_pod() {
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

bool StuckJudge::judge_handed_off() {
    if (move_ == nullptr || !stands_still(*move_, around_.now, patience_)) {
        return false;
    }
    answer_.since = known(move_->since);
    const bool preparing = move_->phase == "PreparingTarget";
    const auto whose = handler_waited_for(preparing);
    const bool sends = move_->crosses && !move_->receives;
    auto advice = "see the log of " + whose +
                  "; KubeVirt sets no end to it. What ends it is the deletion of its target pod" +
                  (move_->target_pod.empty() ? "" : " " + move_->target_pod) +
                  (sends ? ", which is in the other cluster" : "");
    if (move_->crosses) {
        advice += "; see there what the VMIM of its other side waits for, too";
    }
    return set(StuckState::handed_off,
               whose + (preparing ? " to make the target of VMIM " : " to start VMIM ") +
                   move_->name + (preparing ? " ready" : ""),
               std::move(advice));
}

/// Of a move between clusters the VMI knows the nodes of both, and has its own only once it runs.
std::string StuckJudge::handler_waited_for(bool preparing) const {
    const bool far = move_->crosses && preparing != move_->receives;
    const auto node = preparing ? vm_.moving_to : far ? std::string{} : vm_.node;
    const std::string unknown = preparing ? "the target node" : "the source node";
    return "virt-handler of " + (node.empty() ? unknown : "node " + node) +
           (far ? " in the other cluster" : "");
}

std::optional<StuckAnswer> StuckJudge::judge() {
    if (vm_.deleting || vm_.phase == "Succeeded" || vm_.phase == "Failed") {
        return std::nullopt;
    }
    tries_ = back_off(vm_.moves);
    answer_.failed = tries_.failed;
    answer_.failure = tries_.failure;
    answer_.next_try = tries_.next_try;
    const bool found = judge_deletion() || judge_synchronizing() || judge_waiting() ||
                       judge_pod() || judge_handed_off();
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

bool stands_still(const StuckMoveFacts& move, WallTime now, const StuckPatience& patience) {
    return is_handed_off(move) && move.since != WallTime{} &&
           now >= move.since + patience.handed_off;
}

std::optional<StuckAnswer> find_stuck(const StuckVmFacts& vm, const StuckSurroundings& around,
                                      const StuckPatience& patience) {
    return StuckJudge(vm, around, patience).judge();
}

}  // namespace scout::migration
