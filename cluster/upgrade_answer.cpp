// SPDX-License-Identifier: Apache-2.0
#include "cluster/upgrade_answer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cluster/name_list.h"
#include "cluster/node_profile.h"
#include "cluster/node_state.h"
#include "cluster/vm_placement.h"
#include "migration/comparison.h"
#include "migration/label_profile.h"
#include "migration/labels.h"
#include "migration/target_pod.h"

namespace scout::cluster {
namespace {

using migration::Verdict;

constexpr std::size_t most_vmis = 20;
constexpr std::size_t most_nodes = 10;
constexpr std::size_t most_features = 20;

/// A node before and after its profile changed. Refers to the objects.
struct Upgrade {
    const Objects& objects;
    const kube::Node& node;
    const migration::StockNode stock;  ///< by its labels of now
    const CpuProfile& before;
    const CpuProfile& after;
    const LevelOptions& options;
};

bool is_running(const kube::Vmi& vmi) {
    return vmi.phase == "Running" && !vmi.deletion;
}

/// The node's labels of now with what the labeller made of the profile before in the place of what
/// it makes of a CPU. What no profile tells stays.
migration::Labels labels_before(const Upgrade& upgrade) {
    namespace label = migration::label;
    constexpr std::array<std::string_view, 7> families{
        label::cpu_feature,      label::cpu_model, label::known_model, label::host_model,
        label::required_feature, label::vendor,    label::machine_type};
    auto labels = plain_labels(upgrade.node.labels);
    const auto made = migration::labeller_labels(upgrade.before.profile, {}, upgrade.options.map);
    for (const auto family : families) {
        const auto first = made.lower_bound(family);
        if (first != made.end() && first->first.starts_with(family)) {
            std::erase_if(labels, [family](const auto& each) {
                return std::string_view{each.first}.starts_with(family);
            });
        }
    }
    labels.insert(made.begin(), made.end());
    return labels;
}

/// The node with one of its profiles. Whether it takes VMs at the moment is not the question.
struct NodeThen {
    migration::Labels labels;
    migration::HostFacts facts{};
    migration::PreparedNode target;

    NodeThen(migration::Labels given, const CpuProfile& profile, const migration::CpuMap* map)
        : labels(taking_vms(std::move(given))),
          target(migration::prepare({.profile = profile.profile,
                                     .facts = facts,
                                     .labels = labels,
                                     .labels_derived = false},
                                    map)) {}
    ~NodeThen() = default;
    NodeThen(const NodeThen&) = delete;
    NodeThen& operator=(const NodeThen&) = delete;
    NodeThen(NodeThen&&) = delete;
    NodeThen& operator=(NodeThen&&) = delete;

    [[nodiscard]] Verdict takes(const migration::PreparedGuest& guest,
                                const migration::TargetPod& pod) const {
        auto answer = migration::compare(guest, target);
        migration::apply(pod, labels, answer);
        return answer.verdict;
    }

private:
    static migration::Labels taking_vms(migration::Labels labels) {
        labels.insert_or_assign(std::string{migration::label::schedulable}, "true");
        return labels;
    }
};

/// Which guests could go to the node before and cannot now. They are of few sorts: each is judged
/// once.
class LosingGuests {
public:
    explicit LosingGuests(const Upgrade& upgrade)
        : map_(upgrade.options.map),
          before_(labels_before(upgrade), upgrade.before, map_),
          after_(plain_labels(upgrade.node.labels), upgrade.after, map_) {}

    [[nodiscard]] bool has(const migration::MovingVm& vm) {
        const auto pod = migration::target_pod(vm);
        Sort sort{.cpu = migration::assumed_guest(vm, pod, map_),
                  .asked = migration::selectors_of(pod)};
        const auto known = std::find_if(sorts_.begin(), sorts_.end(), [&sort](const Sort& each) {
            return each.cpu == sort.cpu && each.asked == sort.asked;
        });
        if (known != sorts_.end()) {
            return known->loses;
        }
        const auto guest = migration::prepare(sort.cpu, pod.stock, map_);
        sort.loses = before_.takes(guest, pod) == Verdict::can &&
                     after_.takes(guest, pod) == Verdict::cannot;
        return sorts_.emplace_back(std::move(sort)).loses;
    }

private:
    struct Sort {
        migration::GuestCpu cpu;
        migration::Labels asked;
        bool loses = false;
    };

    const migration::CpuMap* map_;
    NodeThen before_;
    NodeThen after_;
    std::vector<Sort> sorts_;
};

/// VMIs of other nodes that could go to this one before and cannot now, for the sake of their CPU
/// and of what else they ask of its labels. Those of one node mostly differ in nothing but names.
std::vector<std::string> losing_the_node(const Upgrade& upgrade, const MovingVms& vms) {
    std::unordered_map<std::string_view, std::vector<const kube::Vmi*>> by_node;
    for (const auto& vmi : upgrade.objects.vmis) {
        if (vmi.node != upgrade.node.meta.name && !why_not_movable(vmi)) {
            by_node[vmi.node.view()].push_back(&vmi);
        }
    }
    LosingGuests losing(upgrade);
    std::unordered_set<const kube::Vmi*> losers;
    for (const auto& [node, guests] : by_node) {
        const auto labels = vms.labels_of(node);
        std::vector<std::pair<migration::MovingVm, bool>> judged;
        for (const auto* const vmi : guests) {
            auto vm = vms.without_source(*vmi);
            auto known = std::find_if(judged.begin(), judged.end(),
                                      [&vm](const auto& each) { return each.first == vm; });
            if (known == judged.end()) {
                auto with_source = vm;
                with_source.source = labels;
                known = judged.insert(judged.end(), {std::move(vm), losing.has(with_source)});
            }
            if (known->second) {
                losers.insert(vmi);
            }
        }
    }
    std::vector<std::string> names;
    for (const auto& vmi : upgrade.objects.vmis) {
        if (losers.contains(&vmi)) {
            names.push_back(full_name(vmi.meta));
        }
    }
    return names;
}

/// Nodes that a host-model guest could go to when the node was as before, and cannot go to now: it
/// keeps the CPU that it started with, and KubeVirt asks for what the node's labels say now.
std::vector<std::string> lost_targets(const Upgrade& upgrade) {
    const auto* map = upgrade.options.map;
    const auto& profile = upgrade.before.profile;
    const auto machine =
        machine_type_for(upgrade.stock.arch, upgrade.options, upgrade.objects.kubevirts);
    const auto labels = migration::standalone_labels(profile, {}, map);
    const auto stock_then = migration::stock_host_model_guest(
        migration::derived_stock_node(labels, profile, {}, map), machine);
    const auto stock_now = migration::stock_host_model_guest(upgrade.stock, machine);
    const auto cpu = migration::host_model_guest(profile);
    const auto guest_then = migration::prepare(cpu, stock_then, map);
    const auto guest_now = migration::prepare(cpu, stock_now, map);
    std::vector<std::string> names;
    for (const auto& target : upgrade.objects.nodes) {
        if (&target == &upgrade.node || !is_of_kubevirt(target)) {
            continue;
        }
        const auto own_labels = plain_labels(target.labels);
        const auto stock = migration::stock_node(own_labels);
        const auto own = truth_profile(node_profile(target, stock, upgrade.objects), stock, map);
        const migration::HostFacts no_facts;
        const auto ready = migration::prepare(
            {.profile = own, .facts = no_facts, .labels = own_labels, .labels_derived = false},
            map);
        if (migration::compare(guest_then, ready).verdict == Verdict::can &&
            migration::compare(guest_now, ready).verdict == Verdict::cannot) {
            names.push_back(target.meta.name);
        }
    }
    return names;
}

/// Host-model VMIs of the node that are judged by its labels: what was migrated to it keeps the
/// selectors of its first node (case 11).
std::vector<std::string> started_there(const Upgrade& upgrade, const MovingVms& vms) {
    std::vector<std::string> names;
    for (const auto& vmi : upgrade.objects.vmis) {
        if (is_running(vmi) && vmi.node == upgrade.node.meta.name && vms.goes_by_node(vmi)) {
            names.push_back(full_name(vmi.meta));
        }
    }
    return names;
}

std::vector<std::string> vmi_notes(const Upgrade& upgrade) {
    if (upgrade.objects.vmis.empty()) {
        return {"VMIs: there are none among the objects, so none are named"};
    }
    const MovingVms vms(upgrade.objects);
    std::vector<std::string> notes;
    if (const auto losing = losing_the_node(upgrade, vms); !losing.empty()) {
        notes.push_back("VMIs: running elsewhere, could go to " + upgrade.node.meta.name +
                        " before and cannot now: " + first_names(losing, most_vmis));
    }
    if (const auto there = started_there(upgrade, vms); !there.empty()) {
        if (const auto targets = lost_targets(upgrade); !targets.empty()) {
            notes.push_back("VMIs: running on " + upgrade.node.meta.name +
                            ", if started before the change can no longer go to " +
                            first_names(targets, most_nodes) + ": " +
                            first_names(there, most_vmis));
        }
    }
    if (notes.empty()) {
        notes.emplace_back("VMIs: none of those that run loses a target by the change");
    }
    return notes;
}

Result<const CpuProfile*> profile_of(const Objects& objects, const kube::Node& node,
                                     std::string_view annotation) {
    const auto name = named_profile(node, annotation);
    if (name.empty()) {
        return fail(Errc::not_found,
                    "expected annotation " + std::string{annotation} + " on node " +
                        node.meta.name + ", found none: " +
                        (annotation == profile_annotation
                             ? "no agent has told its CPU profile yet"
                             : "its CPU profile has not changed since virt-scout keeps it"));
    }
    if (const auto* profile = find_profile(objects, name)) {
        return profile;
    }
    return fail(Errc::not_found, "expected CPUProfile " + std::string{name} + ", which node " +
                                     node.meta.name + " names, found none among the objects " +
                                     "(kubectl get cpuprofiles -o yaml)");
}

}  // namespace

Result<migration::UpgradeImpact> node_upgrade_impact(const Objects& objects, std::string_view name,
                                                     const LevelOptions& options) {
    const auto node = find_node(objects, name);
    if (!node) {
        return fail(node.error());
    }
    const auto after = profile_of(objects, **node, profile_annotation);
    if (!after) {
        return fail(after.error());
    }
    const auto before = profile_of(objects, **node, former_profile_annotation);
    if (!before) {
        return fail(before.error());
    }
    const Upgrade upgrade{.objects = objects,
                          .node = **node,
                          .stock = migration::stock_node(plain_labels((*node)->labels)),
                          .before = **before,
                          .after = **after,
                          .options = options};
    // Labels tell the TSC of now alone.
    const migration::HostFacts facts_before;
    const auto facts_after = migration::label_facts(upgrade.stock);
    auto impact = migration::upgrade_impact({upgrade.before.profile, facts_before},
                                            {upgrade.after.profile, facts_after}, options.map);
    auto notes = vmi_notes(upgrade);
    std::move(notes.begin(), notes.end(), std::back_inserter(impact.notes));
    return impact;
}

std::string profile_change_note(const CpuProfile& before, const CpuProfile& now,
                                const migration::CpuMap* map) {
    const auto shown = [](const CpuProfile& profile) {
        const auto& model = profile.profile.host_model;
        return profile.meta.name + " (" + (model ? "host-model " + model->name : "no host-model") +
               ")";
    };
    const migration::HostFacts no_facts;
    const auto impact =
        migration::upgrade_impact({before.profile, no_facts}, {now.profile, no_facts}, map);
    std::string text = "the CPU profile changed from " + shown(before) + " to " + shown(now);
    if (!impact.comparable) {
        return text + "; what that means cannot be told: " + impact.advice;
    }
    const auto told = [&text](const char* what, const migration::FeatureSet& features) {
        text += std::string{"; "} + what + ": " +
                (features.empty() ? "none" : first_names(features, most_features));
    };
    told("features that guests started before have and it no longer offers", impact.missing_after);
    told("features that guests started now have and it did not offer", impact.missing_before);
    return text;
}

}  // namespace scout::cluster
