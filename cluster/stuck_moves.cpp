// SPDX-License-Identifier: Apache-2.0
#include "cluster/stuck_moves.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "cluster/migration_numbers.h"
#include "cluster/objects.h"
#include "cluster/vm_placement.h"

namespace scout::cluster {
namespace {

using migration::StuckMoveFacts;
using migration::StuckSurroundings;
using migration::StuckVmFacts;

constexpr std::string_view default_drain_taint = "kubevirt.io/drain";

bool is_true(const kube::Condition* condition) {
    return condition != nullptr && condition->status == "True";
}

/// "type: message" of the first condition by which a VMIM says what it waits for. That of a quota
/// stays for a while after the quota has let the target pod in.
std::string blocked_by(const std::vector<kube::Condition>& conditions, bool has_target) {
    constexpr std::string_view of_quota = "migrationRejectedByResourceQuota";
    constexpr std::array<std::string_view, 4> types{of_quota, "migrationBlockedByUtilityVolumes",
                                                    "migrationBlockedByBackup",
                                                    "decentralizedMigrationBlocked"};
    for (const auto type : types) {
        if (has_target && type == of_quota) {
            continue;
        }
        if (const auto* condition = kube::find_condition(conditions, type); is_true(condition)) {
            const auto& said = condition->message.empty() ? condition->reason : condition->message;
            return std::string{type} + (said.empty() ? std::string{} : ": " + said.str());
        }
    }
    return {};
}

/// As KubeVirt counts them against its limits: the target pod is made.
bool is_running(const kube::MoveRecord& move) {
    constexpr std::array<std::string_view, 6> waiting{
        "", "Pending", "WaitingForSync", "Synchronizing", "Succeeded", "Failed"};
    return std::find(waiting.begin(), waiting.end(), move.phase.view()) == waiting.end() &&
           !(move.send_to && move.phase == "Scheduling");
}

std::string name_in(const kube::MoveRecord& move) {
    return move.meta.space.str() + "/" + move.vmi_name.str();
}

/// "v1.6.3" and older.
bool is_before_1_7(std::string_view version) {
    if (!version.starts_with("v1.")) {
        return version.starts_with("v0.");
    }
    version.remove_prefix(3);
    unsigned minor = 0;
    const auto [end, error] =
        std::from_chars(version.data(), version.data() + version.size(), minor);
    return error == std::errc{} && minor < 7;
}

/// The first field of the migrationState that a move between clusters needs and neither VMIM nor
/// VMI has.
std::string missing_field(const kube::MoveRecord& move, const kube::VmiRecord* vmi) {
    const kube::MoveState none;
    const auto& own = move.state ? *move.state : none;
    const bool of_this =
        vmi != nullptr && vmi->move && (vmi->move->uid.empty() || vmi->move->uid == move.meta.uid);
    const auto& of_vmi = of_this ? *vmi->move : none;
    const auto lacks = [&own, &of_vmi](kube::SharedText kube::MoveState::* field) {
        return (own.*field).empty() && (of_vmi.*field).empty();
    };
    if (own.source_node.empty() && of_vmi.source_node.empty()) {
        return "sourceNode";
    }
    if (lacks(&kube::MoveState::source_sync)) {
        return "sourceState.syncAddress";
    }
    return lacks(&kube::MoveState::target_sync) ? "targetState.syncAddress" : "";
}

/// By the VMIM, or by the VMI, which tells of its last one alone.
std::string failure_of(const kube::MoveRecord& move, const kube::VmiRecord* vmi) {
    if (move.state && !move.state->failure.empty()) {
        return move.state->failure.str();
    }
    const bool of_this = vmi != nullptr && vmi->move && vmi->move->uid == move.meta.uid;
    return of_this ? vmi->move->failure.str() : std::string{};
}

/// Its phase, and since when.
StuckMoveFacts times_of(const kube::MoveRecord& move) {
    StuckMoveFacts facts;
    facts.phase = move.phase.str();
    facts.created = move.creation.value_or(WallTime{});
    for (const auto& phase : move.phases) {
        if (phase.phase == move.phase) {
            facts.since = phase.at;
        }
        if (phase.phase == "Failed") {
            facts.failed_at = phase.at;
        }
    }
    return facts;
}

void add_target(const kube::PodRecord& pod, StuckMoveFacts& facts) {
    facts.target_pod = pod.is_final() ? std::string{} : pod.meta.name;
    const auto* scheduled = kube::find_condition(pod.conditions, "PodScheduled");
    facts.pod_unschedulable = pod.phase == "Pending" && scheduled != nullptr &&
                              scheduled->status == "False" && scheduled->reason == "Unschedulable";
    facts.scheduler = facts.pod_unschedulable ? scheduled->message.str() : std::string{};
}

/// The objects by what they are asked for.
class Index {
public:
    Index(const Records& records, WallTime now, bool moves_known);

    [[nodiscard]] std::vector<migration::StuckAnswer> answers() const;

private:
    using Moves = std::vector<const kube::MoveRecord*>;

    [[nodiscard]] StuckVmFacts facts_of(const std::string& name, const kube::VmiRecord* vmi) const;
    [[nodiscard]] StuckMoveFacts facts_of(const kube::MoveRecord& move,
                                          const kube::VmiRecord* vmi) const;
    [[nodiscard]] StuckSurroundings around(const kube::VmiRecord* vmi) const;
    [[nodiscard]] std::string handler_trouble(std::string_view node) const;
    [[nodiscard]] std::string drain_taint_of(const kube::NodeRecord& node) const;

    const Records& records_;
    WallTime now_;
    bool moves_known_;
    const kube::KubeVirt* kubevirt_;
    std::map<std::string, const kube::VmiRecord*> vmis_;  ///< by NAMESPACE/NAME
    std::map<std::string, Moves> moves_;                  ///< by that of their VMIs
    std::unordered_map<std::string_view, const kube::NodeRecord*> nodes_;
    std::unordered_map<std::string_view, const kube::PodRecord*> pods_;     ///< by uid
    std::unordered_map<std::string_view, const kube::PodRecord*> targets_;  ///< by VMIM's uid
    std::unordered_set<std::string_view> unfinished_;          ///< uids of VMIMs that go on
    std::unordered_map<std::string_view, unsigned> outbound_;  ///< by node
    unsigned running_ = 0;
    unsigned standing_ = 0;  ///< of those
};

Index::Index(const Records& records, WallTime now, bool moves_known)
    : records_(records),
      now_(now),
      moves_known_(moves_known),
      kubevirt_(kubevirt_in_force(records.kubevirts)) {
    for (const auto& vmi : records.vmis) {
        vmis_.emplace(full_name(vmi.meta), &vmi);
    }
    for (const auto& node : records.nodes) {
        nodes_.emplace(node.meta.name, &node);
    }
    for (const auto& pod : records.launchers) {
        pods_.emplace(pod.meta.uid, &pod);
        if (!pod.migration_uid.empty()) {
            targets_.emplace(pod.migration_uid, &pod);
        }
    }
    for (const auto& move : records.moves) {
        const auto name = name_in(move);
        moves_[name].push_back(&move);
        if (!move.is_final()) {
            unfinished_.insert(move.meta.uid);
        }
        if (is_running(move)) {
            ++running_;
            standing_ += migration::stands_still(times_of(move), now) ? 1 : 0;
            const auto vmi = vmis_.find(name);
            outbound_[vmi == vmis_.end() ? std::string_view{} : vmi->second->node.view()] += 1;
        }
    }
}

StuckMoveFacts Index::facts_of(const kube::MoveRecord& move, const kube::VmiRecord* vmi) const {
    auto facts = times_of(move);
    facts.name = move.meta.name;
    facts.failure = failure_of(move, vmi);
    facts.deleting = move.deletion.has_value();
    facts.deleting_since = move.deletion.value_or(WallTime{});
    facts.backs_off = move.evacuation || move.workload_update;
    facts.crosses = move.send_to || move.receives;
    facts.receives = move.receives;
    if (facts.crosses) {
        facts.missing = missing_field(move, vmi);
    }
    if (const auto target = targets_.find(move.meta.uid); target != targets_.end()) {
        add_target(*target->second, facts);
    }
    facts.blocked = blocked_by(move.conditions, !facts.target_pod.empty());
    return facts;
}

StuckVmFacts Index::facts_of(const std::string& name, const kube::VmiRecord* vmi) const {
    StuckVmFacts facts;
    facts.vmi = name;
    if (const auto found = moves_.find(name); found != moves_.end()) {
        for (const auto* move : found->second) {
            facts.moves.push_back(facts_of(*move, vmi));
        }
    }
    if (vmi == nullptr) {
        return facts;
    }
    facts.phase = vmi->phase.str();
    facts.node = vmi->node.str();
    facts.mark = vmi->evacuation_node.str();
    facts.deleting = vmi->deletion.has_value();
    facts.strategy = migration::effective_strategy(
        vmi->eviction_strategy.view(),
        kubevirt_ == nullptr ? std::string_view{} : kubevirt_->eviction_strategy.view());
    const auto* migratable = kube::find_condition(vmi->conditions, "LiveMigratable");
    facts.migratable = is_true(migratable);
    if (migratable != nullptr && !facts.migratable) {
        facts.not_migratable =
            migratable->reason.str() +
            (migratable->message.empty() ? std::string{} : " (" + migratable->message.str() + ")");
    }
    const auto* marked = kube::find_condition(vmi->conditions, "EvictionRequested");
    facts.mark_since = is_true(marked) ? marked->since : WallTime{};
    facts.selinux_context = !vmi->selinux_context.empty();
    if (vmi->move && !vmi->move->completed) {
        facts.moving_to = vmi->move->target_node.str();
    }
    for (const auto& active : vmi->active_pods) {
        const auto pod = pods_.find(active.uid);
        if (pod != pods_.end() && !pod->second->is_final() &&
            !unfinished_.contains(pod->second->migration_uid)) {
            facts.active_pods.push_back(pod->second->meta.name);
        }
    }
    return facts;
}

std::string Index::drain_taint_of(const kube::NodeRecord& node) const {
    const auto key = kubevirt_ == nullptr || kubevirt_->migrations.node_drain_taint.empty()
                         ? default_drain_taint
                         : kubevirt_->migrations.node_drain_taint.view();
    const bool there =
        std::any_of(node.taints.begin(), node.taints.end(), [key](const kube::Taint& taint) {
            return taint.key == key && taint.effect == "NoSchedule";
        });
    return there ? std::string{key} + ":NoSchedule" : std::string{};
}

/// Where no virt-handler at all is among the objects nothing can be said.
std::string Index::handler_trouble(std::string_view node) const {
    const auto& handlers = records_.handlers;
    if (handlers.empty() || node.empty()) {
        return {};
    }
    const auto found = std::find_if(handlers.begin(), handlers.end(),
                                    [node](const auto& pod) { return pod.node == node; });
    if (found == handlers.end()) {
        return "there is no virt-handler pod on node " + std::string{node};
    }
    if (is_true(kube::find_condition(found->conditions, "Ready"))) {
        return {};
    }
    return "virt-handler on node " + std::string{node} + " is not ready (pod " +
           full_name(found->meta) + ")";
}

StuckSurroundings Index::around(const kube::VmiRecord* vmi) const {
    StuckSurroundings around;
    around.now = now_;
    around.nodes_known = !nodes_.empty();
    around.moves_known = moves_known_;
    around.in_cluster = running_;
    around.standing = standing_;
    const auto limits = move_limits(kubevirt_);
    around.outbound_limit = limits.outbound;
    around.cluster_limit = limits.in_cluster;
    if (kubevirt_ != nullptr) {
        around.cancel_served = !is_before_1_7(kubevirt_->observed_version.view());
    }
    if (vmi == nullptr) {
        return around;
    }
    around.node_there = nodes_.contains(vmi->node.view());
    const auto mark_node = nodes_.find(vmi->evacuation_node.view());
    around.mark_node_there = mark_node != nodes_.end();
    if (around.mark_node_there) {
        around.drain_taint = drain_taint_of(*mark_node->second);
    }
    const auto leaving = outbound_.find(vmi->node.view());
    around.outbound = leaving == outbound_.end() ? 0 : leaving->second;
    around.handler_trouble = handler_trouble(vmi->node.view());
    return around;
}

std::vector<migration::StuckAnswer> Index::answers() const {
    std::vector<std::string> names;
    names.reserve(vmis_.size());
    for (const auto& [name, vmi] : vmis_) {
        names.push_back(name);
    }
    for (const auto& [name, moves] : moves_) {
        if (!vmis_.contains(name)) {
            names.push_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    std::vector<migration::StuckAnswer> answers;
    for (const auto& name : names) {
        const auto found = vmis_.find(name);
        const auto* vmi = found == vmis_.end() ? nullptr : found->second;
        if (auto answer = migration::find_stuck(facts_of(name, vmi), around(vmi))) {
            answers.push_back(std::move(*answer));
        }
    }
    return answers;
}

}  // namespace

std::vector<migration::StuckAnswer> stuck_moves(const Records& records, WallTime now,
                                                bool moves_known) {
    return Index(records, now, moves_known).answers();
}

}  // namespace scout::cluster
