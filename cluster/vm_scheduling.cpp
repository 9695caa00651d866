// SPDX-License-Identifier: Apache-2.0
#include "cluster/vm_scheduling.h"

#include <algorithm>
#include <utility>

#include "cluster/name_list.h"
#include "cluster/scheduling_objects.h"
#include "migration/scheduling/node_filters.h"

namespace scout::cluster {

using migration::Layer;
using migration::ReasonCode;
using migration::Verdict;
namespace scheduling = migration::scheduling;

namespace {

migration::Reason doubt(std::string text, std::vector<std::string> keys) {
    return {ReasonCode::not_comparable, Layer::stock, std::move(text), std::move(keys)};
}

std::string_view label_of(const scheduling::Pod& pod, const char* key) {
    const auto found = pod.labels.find(key);
    return found == pod.labels.end() ? std::string_view{} : std::string_view{found->second};
}

scheduling::Cluster without_targets_of(const kube::Vmi& vmi, const Objects& objects) {
    auto cluster = scheduling_cluster(*objects.scheduling, objects.nodes, objects.namespaces);
    std::erase_if(cluster.pods, [&vmi, &objects](const scheduling::Pod& pod) {
        return is_target_of(pod, vmi, objects);
    });
    return cluster;
}

}  // namespace

bool is_target_of(const scheduling::Pod& pod, const kube::Vmi& vmi, const Objects& objects) {
    if (label_of(pod, "kubevirt.io/created-by") != vmi.meta.uid || pod.node == vmi.node.view()) {
        return false;
    }
    const auto& move = vmi.migration;
    if (move && !move->completed && move->target_node.view() == pod.node) {
        return true;
    }
    const auto uid = label_of(pod, "kubevirt.io/migrationJobUID");
    const auto& all = objects.migrations;
    return std::any_of(all.begin(), all.end(), [uid](const auto& migration) {
        return migration.meta.uid == uid && !migration.is_final();
    });
}

SchedulingView::SchedulingView(const Objects& objects)
    : objects_(objects),
      cluster_(scheduling_cluster(*objects.scheduling, objects.nodes, objects.namespaces)),
      filters_(cluster_) {}

SchedulingView::SchedulingView(const Objects& objects, const kube::Vmi& vmi)
    : objects_(objects), cluster_(without_targets_of(vmi, objects)), filters_(cluster_) {}

bool SchedulingView::has_target_of(const kube::Vmi& vmi) const {
    return std::any_of(
        cluster_.pods.begin(), cluster_.pods.end(),
        [this, &vmi](const scheduling::Pod& pod) { return is_target_of(pod, vmi, objects_); });
}

VmScheduling::VmScheduling(const SchedulingView& view, const kube::Vmi& vmi,
                           const kube::LauncherPod* launcher, const migration::TargetPod& target)
    : view_(view),
      target_(render_target(view.objects(), vmi, launcher, target, view.cluster())),
      ready_(view.filters(), target_.pod) {}

bool VmScheduling::tolerates_cordons() const {
    return scheduling::tolerates_cordon(target_.pod);
}

/// The layer of labels has said it, in its own words: cordons, and labels that KubeVirt asks for.
bool VmScheduling::is_told(const migration::Reason& reason, bool labels_refuse,
                           const scheduling::Node& node) const {
    if (reason.code == ReasonCode::node_affinity) {
        const auto& own = target_.own_terms;
        return labels_refuse && (!own || migration::matches(*own, node.labels, node.name));
    }
    return reason.code == ReasonCode::unschedulable ||
           (reason.code == ReasonCode::selector && labels_refuse);
}

bool VmScheduling::is_tolerated_perhaps(const scheduling::Node& node) const {
    if (target_.perhaps_tolerated.empty()) {
        return false;
    }
    scheduling::Pod lenient;
    lenient.tolerations = target_.pod.tolerations;
    lenient.tolerations.insert(lenient.tolerations.end(), target_.perhaps_tolerated.begin(),
                               target_.perhaps_tolerated.end());
    return scheduling::tolerates_all(lenient, node);
}

void VmScheduling::judge(std::size_t at, migration::Comparison& answer) const {
    const bool labels_refuse = answer.gate == Verdict::cannot;
    const auto& node = view_.cluster().nodes.at(at);
    for (auto& finding : ready_.judge(at)) {
        auto& reason = finding.reason;
        if (is_told(reason, labels_refuse, node)) {
            continue;
        }
        if (reason.code == ReasonCode::taint && is_tolerated_perhaps(node)) {
            migration::leave_open(answer,
                                  doubt(reason.text + " by the VM, but by its present launcher",
                                        std::move(reason.keys)));
        } else if (finding.verdict == Verdict::cannot) {
            migration::refuse(answer, std::move(reason));
        } else {
            migration::leave_open(answer, std::move(reason));
        }
    }
    if (answer.gate != Verdict::cannot) {
        add_doubts(node, answer);
    }
}

void VmScheduling::add_doubts(const scheduling::Node& node, migration::Comparison& answer) const {
    for (const auto& [key, value] : target_.perhaps_asked) {
        const auto found = node.labels.find(key);
        if (found == node.labels.end() || found->second != value) {
            migration::leave_open(
                answer, doubt("its present launcher asks for " + migration::pair_text(key, value) +
                                  ", which neither the VM nor KubeVirt does, and the node has not",
                              {key}));
        }
    }
    for (const auto& why : target_.open) {
        migration::leave_open(answer, doubt(why, {}));
    }
    if (knows_resources() && !node.allocatable) {
        migration::leave_open(
            answer, doubt("the node does not tell what it has for pods", {"allocatable"}));
    }
}

bool VmScheduling::knows_resources() const {
    const auto& nodes = view_.cluster().nodes;
    return target_.amounts_known && std::any_of(nodes.begin(), nodes.end(),
                                                [](const auto& node) { return node.allocatable; });
}

std::vector<std::string> VmScheduling::notes() const {
    std::vector<std::string> out;
    const auto& told = *view_.objects().scheduling;
    const auto& claims = target_.pod.claims;
    const auto& cluster = view_.cluster();
    if (told.pods.empty()) {
        out.emplace_back(
            "no pods are known: whether what it asks for is free, and what others keep "
            "away, is not judged");
    } else if (target_.amounts_known && !knows_resources()) {
        out.emplace_back("no node tells what it has for pods: free resources are not judged");
    } else if (std::all_of(told.pods.begin(), told.pods.end(),
                           [](const ScheduledPod& pod) { return pod.launcher; })) {
        out.emplace_back(
            "of all pods only launchers are known: what others take or keep away is not counted");
    }
    if (!claims.empty() && (!cluster.claims || !cluster.volumes)) {
        out.push_back("from where its volumes can be reached is not judged: " +
                      std::string{!cluster.claims ? "the claims " : "the volumes of the claims "} +
                      name_list(claims, claims.size()) + " are not known");
    } else if (!claims.empty() && told.csi_nodes.empty()) {
        out.emplace_back("how many volumes a node takes is not judged: no CSINodes are known");
    }
    return out;
}

}  // namespace scout::cluster
