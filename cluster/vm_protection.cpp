// SPDX-License-Identifier: Apache-2.0
#include "cluster/vm_protection.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "cluster/evacuation_facts.h"
#include "cluster/launcher_grace.h"
#include "cluster/migration_numbers.h"
#include "cluster/move_policy.h"
#include "cluster/node_state.h"
#include "cluster/protection_advice.h"
#include "cluster/vm_placement.h"
#include "kube/objects/new_pod.h"

namespace scout::cluster {
namespace {

using migration::ProtectionVerdict;
using std::chrono::seconds;

constexpr const char* gate_advice =
    "add Plugins to spec.configuration.developerConfiguration.featureGates of the KubeVirt object "
    "(KubeVirt 1.9 or newer)";
constexpr const char* mode_advice =
    R"(kubectl patch scoutconfig default --type merge -p '{"spec":{"evacuation":{"mode":"act"}}}')";
constexpr const char* install_advice =
    "if virt-scout is installed, kubectl create -f daemonset/scoutconfig.yaml and then: ";
constexpr const char* plugin_advice =
    "the condition Protecting of the ScoutConfig, if there is one, and the leader's log say what "
    "keeps it from being there";
constexpr const char* agent_advice = "see to virt-scout's agent on its node";

migration::StopTimes times_of(const kube::Vmi& vmi, const kube::LauncherPod* launcher) {
    migration::StopTimes times{.vmi_grace = grace_of(vmi)};
    if (launcher != nullptr) {
        times.launcher_grace = launcher->launcher_grace;
        times.pod_grace = launcher->grace;
    }
    return times;
}

/// As its launcher would tell: to a device or a mount of its host.
bool is_tied(const kube::Vmi& vmi) {
    const auto& demands = vmi.other_demands;
    return vmi.holds_devices || vmi.shares_files ||
           std::find(demands.begin(), demands.end(), "launchSecurity") != demands.end();
}

/// "DisksNotLiveMigratable (disk x is …)"
std::string said_by(const kube::Condition& condition) {
    const auto& reason = condition.reason;
    const auto& message = condition.message;
    return reason.empty() || message.empty() ? reason.str() + message.str()
                                             : reason.str() + " (" + message.str() + ")";
}

/// What becomes of it already; empty: nothing. No nodes, whose names not all may see who are told.
std::string under_way_text(const kube::Vmi& vmi) {
    if (vmi.migration && vmi.migration->is_under_way()) {
        return "; it is being moved now";
    }
    return vmi.evacuation_node.empty() ? std::string{}
                                       : "; a mark for its evacuation waits: see scoutctl stuck";
}

/// Of each node, which of its protected VMs are begun in time if all stop at once.
void look_at_others(std::vector<VmProtection>& all, unsigned at_once) {
    struct Queue {
        std::vector<VmProtection*> vms;
        std::vector<migration::MoveCandidate> candidates;
    };
    std::unordered_map<std::string_view, Queue> by_node;
    for (auto& each : all) {
        if (each.answer.verdict == ProtectionVerdict::guarded && each.answer.forecast) {
            auto& [vms, candidates] = by_node[each.node];
            vms.push_back(&each);
            candidates.push_back({.duration = each.answer.duration(), .left = each.answer.left()});
        }
    }
    for (auto& [node, queue] : by_node) {
        const auto in_time = migration::queued_in_time(queue.candidates, at_once);
        for (std::size_t i = 0; i < queue.vms.size(); ++i) {
            queue.vms[i]->with_others = in_time[i];
        }
    }
}

const kube::Plugin* our_plugin(const Objects& objects) {
    const auto found =
        std::find_if(objects.plugins.begin(), objects.plugins.end(),
                     [](const auto& plugin) { return plugin.meta.name == hook_plugin_name; });
    return found == objects.plugins.end() ? nullptr : &*found;
}

}  // namespace

bool is_running(const kube::Vmi& vmi) {
    return vmi.phase == "Running" && !vmi.node.empty() && !vmi.deletion;
}

ProtectionRules::ProtectionRules(const kube::KubeVirt* kubevirt, const kube::ScoutConfig* config,
                                 const kube::Plugin* plugin,
                                 std::vector<migration::MigrationPolicy> policies,
                                 bool plugins_known)
    : kubevirt_(kubevirt),
      policies_(std::move(policies)),
      by_namespaces_(migration::go_by_namespaces(policies_)) {
    std::vector<std::string> faults;
    rules_ = evacuation_rules(config, kubevirt, faults);
    everywhere_ = look_for_hook(config != nullptr, plugin, plugins_known);
    left_out_ = left_out_by(plugin);
}

/// The leader puts the Plugin in place in mode act alone, so it tells the mode where the
/// ScoutConfig is not among the objects.
ProtectionRules::Obstacle ProtectionRules::look_for_hook(bool has_config,
                                                         const kube::Plugin* plugin,
                                                         bool plugins_known) const {
    const bool there = own_hook(plugin) != nullptr;
    if (kubevirt_ != nullptr && !rules_.hooks) {
        return {"KubeVirt lists no feature gate " + std::string{hooks_gate} +
                    ", so it asks nobody before it stops a guest",
                gate_advice};
    }
    if (rules_.mode != EvacuationMode::act && has_config) {
        return {"evacuation.mode is " + std::string{to_string(rules_.mode)} +
                    ": no stop is held, and nothing is moved",
                mode_advice};
    }
    if (!there && !plugins_known) {
        return {.why =
                    "no Plugin object was read, so it is not known whether KubeVirt asks an agent "
                    "before it stops a guest",
                .advice = {},
                .known = false};
    }
    if (rules_.mode != EvacuationMode::act && !there) {
        return {"no ScoutConfig and no Plugin " + std::string{hook_plugin_name} +
                    " is known, so nothing says that virt-scout holds a stop",
                std::string{install_advice} + mode_advice};
    }
    if (!there) {
        return {"there is no Plugin object " + std::string{hook_plugin_name} +
                    ", by which KubeVirt asks agents",
                plugin_advice};
    }
    return {};
}

/// Where kinds that decide were not read.
std::string ProtectionRules::what_to_read(const VmSurroundings& around) const {
    std::string kinds{kubevirt_ == nullptr ? "kubevirts" : ""};
    if (!everywhere_.known) {
        kinds +=
            (kinds.empty() ? "" : ",") +
            std::string{"scoutconfigs,plugins.plugin.kubevirt.io,namespaces,migrationpolicies"};
    } else if (around.space == nullptr && by_namespaces_) {
        kinds += (kinds.empty() ? "" : ",") + std::string{"namespaces"};
    }
    return kinds.empty() ? kinds : "read these kinds too: kubectl get " + kinds + " -A -o yaml";
}

ProtectionRules::Obstacle ProtectionRules::hook_on(const kube::Vmi& vmi,
                                                   const VmSurroundings& around) const {
    if (!everywhere_.why.empty()) {
        return everywhere_;
    }
    if (around.node_gone) {
        return {"there is no Node object of its node any more: KubeVirt moves nothing from there",
                {}};
    }
    if (left_out_.contains(vmi.node.view())) {
        return {"no agent that is alive answers for its node", agent_advice};
    }
    return {};
}

migration::MoveSubject ProtectionRules::subject_of(const kube::Vmi& vmi,
                                                   const VmSurroundings& around) const {
    const auto numbers = migration_numbers(
        vmi, around.space == nullptr ? kube::Labels{} : *around.space, policies_, kubevirt_);
    const auto memory = memory_of(vmi);
    // How much of it is in use only its agent could tell, once it is told to stop.
    migration::MoveSubject subject{.times = times_of(vmi, around.launcher),
                                   .memory = memory,
                                   .resident = memory,
                                   .dirty_rate = std::nullopt,
                                   .settings = numbers.settings,
                                   .downtime = std::nullopt,
                                   .running = std::nullopt,
                                   .remaining = std::nullopt};
    subject.disks = numbers.disks;
    subject.escalation = rules_.escalation;
    subject.handed_off = vmi.migration && vmi.migration->is_under_way();
    subject.tied = is_tied(vmi);
    if (numbers.downtime_obeyed) {
        subject.downtime = numbers.settings.max_downtime;
    }
    return subject;
}

migration::ProtectionFacts ProtectionRules::facts_of(const kube::Vmi& vmi,
                                                     const VmSurroundings& around) const {
    migration::ProtectionFacts facts;
    const auto of_cluster =
        kubevirt_ == nullptr ? std::string_view{} : kubevirt_->eviction_strategy.view();
    const auto own = vmi.eviction_strategy.view();
    facts.strategy = migration::effective_strategy(own, of_cluster);
    facts.strategy_said = own.empty() ? of_cluster : own;
    if (const auto* said = kube::find_condition(vmi.conditions, "LiveMigratable")) {
        const bool can = said->status == "True";
        facts.not_migratable = can ? lost_at_stop(vmi) : said_by(*said);
        facts.migratable = can && facts.not_migratable.empty();
    }
    facts.strategy_known = kubevirt_ != nullptr || !own.empty();
    auto obstacle = hook_on(vmi, around);
    (obstacle.known ? facts.no_hook : facts.missing) = std::move(obstacle.why);
    if (kubevirt_ == nullptr) {
        facts.missing =
            "the KubeVirt object, which says whether anybody is asked before its guest "
            "is stopped, is not known";
    }
    if (around.space == nullptr && facts.missing.empty() && by_namespaces_) {
        facts.missing =
            "its namespace, by whose labels a policy may choose it, is not known: nor are the "
            "numbers by which it would be moved";
    }
    facts.subject = subject_of(vmi, around);
    facts.copied = copied_disks_text(vmi);
    facts.next_grace = wanted_grace(
        vmi.wanted_grace.view(),
        around.space == nullptr ? std::string_view{}
                                : around.space->find(kube::grace_key).value_or(std::string_view{}));
    if (around.kubelet != nullptr) {
        facts.kubelet = *around.kubelet;
    }
    facts.reserve = rules_.reserve;
    return facts;
}

/// Whether the leader could set the policy that its move would need.
void ProtectionRules::look_at_policies(const kube::Vmi& vmi, const VmSurroundings& around,
                                       migration::ProtectionFacts& facts) const {
    if (around.space == nullptr) {
        facts.missing =
            "its move would have to be escalated, and its namespace, by whose labels "
            "a policy would be its own, is not known";
        return;
    }
    migration::ChosenVmi chosen{
        .labels = plain_labels(vmi.labels), .space = plain_labels(*around.space), .others = {}};
    if (around.on_node != nullptr) {
        for (const auto* const other : *around.on_node) {
            if (may_share_policy(vmi, *other)) {
                chosen.others.push_back(plain_labels(other->labels));
            }
        }
    }
    if (auto policy = migration::policy_of_one(policies_, chosen, rules_.escalation); !policy) {
        facts.escalation_refused = std::move(policy.error().message);
    }
}

VmProtection ProtectionRules::judge(const kube::Vmi& vmi, const VmSurroundings& around) const {
    auto facts = facts_of(vmi, around);
    auto answer = migration::judge_protection(facts, {});
    if (answer.verdict == ProtectionVerdict::guarded && answer.escalated) {
        look_at_policies(vmi, around, facts);
        answer = migration::judge_protection(facts, {});
    }
    VmProtection out{.vmi = full_name(vmi.meta),
                     .node = vmi.node.str(),
                     .strategy = facts.strategy,
                     .strategy_of_cluster = vmi.eviction_strategy.empty(),
                     .memory = facts.subject.memory,
                     .answer = std::move(answer),
                     .advice = {},
                     .with_others = std::nullopt};
    out.answer.why += under_way_text(vmi);
    switch (out.answer.verdict) {
        case ProtectionVerdict::no_hook:
            out.advice = hook_on(vmi, around).advice;
            break;
        case ProtectionVerdict::unknown:
            out.advice = what_to_read(around);
            break;
        case ProtectionVerdict::guarded:
        case ProtectionVerdict::too_big:
        case ProtectionVerdict::not_migratable:
        case ProtectionVerdict::strategy:
            out.advice = protection_advice(facts, out.answer, !out.strategy_of_cluster);
    }
    return out;
}

void VmNeighbours::add(const kube::Vmi& vmi) {
    vmis_[vmi.node.view()].push_back(&vmi);
}

void VmNeighbours::add(const kube::LauncherPod& pod) {
    if (!pod.is_final() && !pod.node.empty()) {
        launchers_.emplace(pod.vmi_uid, &pod);
    }
}

void VmNeighbours::add(const kube::LabelledObject& space) {
    spaces_.emplace(space.meta.name, &space.labels);
}

void VmNeighbours::add(const kube::Node& node) {
    nodes_.insert(node.meta.name);
}

const kube::LauncherPod* VmNeighbours::launcher_of(const kube::Vmi& vmi) const {
    const auto [begin, end] = launchers_.equal_range(vmi.meta.uid);
    const auto found = std::find_if(
        begin, end, [&vmi](const auto& entry) { return entry.second->node == vmi.node; });
    return found == end ? nullptr : found->second;
}

VmSurroundings VmNeighbours::of(const kube::Vmi& vmi) const {
    VmSurroundings around;
    around.launcher = launcher_of(vmi);
    around.node_gone = !nodes_.empty() && !nodes_.contains(vmi.node.view());
    if (const auto space = spaces_.find(vmi.meta.space.view()); space != spaces_.end()) {
        around.space = space->second;
    }
    if (const auto vmis = vmis_.find(vmi.node.view()); vmis != vmis_.end()) {
        around.on_node = &vmis->second;
    }
    if (kubelets_ != nullptr) {
        const auto kubelet = kubelets_->find(vmi.node.view());
        around.kubelet = kubelet == kubelets_->end() ? nullptr : &kubelet->second;
    }
    return around;
}

std::vector<VmProtection> vm_protections(const Objects& objects, const KubeletWords& kubelets,
                                         bool plugins_known) {
    const auto* const kubevirt = kubevirt_in_force(objects.kubevirts);
    const ProtectionRules rules(kubevirt, config_in_force(objects.configs), our_plugin(objects),
                                lasting_policies(objects.policies), plugins_known);
    VmNeighbours neighbours(&kubelets);
    const auto add_all = [&neighbours](const auto& all) {
        for (const auto& each : all) {
            neighbours.add(each);
        }
    };
    add_all(objects.vmis);
    add_all(objects.launchers);
    add_all(objects.namespaces);
    add_all(objects.nodes);
    std::vector<VmProtection> out;
    for (const auto& vmi : objects.vmis) {
        if (is_running(vmi)) {
            out.push_back(rules.judge(vmi, neighbours.of(vmi)));
        }
    }
    look_at_others(out, slots(kubevirt, 0));
    return out;
}

}  // namespace scout::cluster
