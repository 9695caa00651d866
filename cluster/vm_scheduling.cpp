// SPDX-License-Identifier: Apache-2.0
#include "cluster/vm_scheduling.h"

#include <algorithm>
#include <utility>

#include "cluster/name_list.h"
#include "cluster/scheduling_objects.h"

namespace scout::cluster {
namespace {

using migration::NodeSelectorTerm;
using migration::ReasonCode;
using migration::Verdict;
namespace scheduling = migration::scheduling;

constexpr std::string_view created_by = "kubevirt.io/created-by";
constexpr std::string_view hostname = "kubernetes.io/hostname";
constexpr std::string_view of_nodes = "node.kubernetes.io/";

template <class Object>
const Object* find(const std::vector<Object>& objects, const kube::ObjectMeta& meta) {
    const auto found = std::find_if(objects.begin(), objects.end(), [&meta](const Object& each) {
        return each.meta.space == meta.space && each.meta.name == meta.name;
    });
    return found == objects.end() ? nullptr : &*found;
}

/// What the admission plugin DefaultTolerationSeconds gives every pod.
std::vector<scheduling::Toleration> given_tolerations() {
    std::vector<scheduling::Toleration> out;
    for (const auto* state : {"not-ready", "unreachable"}) {
        out.push_back({.key = std::string{of_nodes} + state,
                       .op = "Exists",
                       .value = {},
                       .effect = "NoExecute"});
    }
    return out;
}

void add_missing(const std::vector<std::string>& from, std::vector<std::string>& to) {
    for (const auto& each : from) {
        if (std::find(to.begin(), to.end(), each) == to.end()) {
            to.push_back(each);
        }
    }
}

NodeSelectorTerm lacking(const std::vector<std::string>& keys) {
    NodeSelectorTerm term;
    for (const auto& key : keys) {
        term.expressions.push_back({.key = key, .op = "DoesNotExist", .values = {}});
    }
    return term;
}

}  // namespace

VmScheduling::VmScheduling(const Objects& objects, const kube::Vmi& vmi,
                           const kube::LauncherPod* launcher, const migration::TargetPod& rendered)
    : objects_(objects),
      vmi_(vmi),
      cluster_(scheduling_cluster(*objects.scheduling, objects.nodes, objects.namespaces)),
      pod_(target(launcher, rendered)),
      filters_(cluster_),
      ready_(filters_, pod_) {}

/// As virt-controller renders it (dossier §5.4, §6.3): from the VMI; what it takes of a node, from
/// its launcher, which was rendered from the same.
scheduling::Pod VmScheduling::target(const kube::LauncherPod* launcher,
                                     const migration::TargetPod& rendered) {
    const auto* wishes = find(objects_.scheduling->wishes, vmi_.meta);
    auto pod = wishes == nullptr ? scheduling::Pod{} : wishes->pod;
    own_terms_ = pod.node_terms;
    pod.space = vmi_.meta.space.str();
    pod.name = vmi_.meta.name;
    pod.labels["kubevirt.io"] = "virt-launcher";
    pod.labels.insert_or_assign(std::string{created_by}, vmi_.meta.uid);
    pod.node_selector = migration::selectors_of(rendered);
    for (const auto& term :
         {lacking(rendered.absent), rendered.term.value_or(NodeSelectorTerm{})}) {
        if (!term.empty()) {
            pod.node_terms = migration::merged(
                std::move(pod.node_terms).value_or(std::vector<NodeSelectorTerm>{}), term);
        }
    }
    scheduling::PodTerm not_beside{.pods = scheduling::LabelSelector{},
                                   .spaces = {},
                                   .space_labels = {},
                                   .topology = std::string{hostname}};
    not_beside.pods->labels.emplace(created_by, vmi_.meta.uid);
    pod.anti_affinity.push_back(std::move(not_beside));
    const auto* running =
        launcher == nullptr ? nullptr : find(objects_.scheduling->pods, launcher->meta);
    if (running != nullptr) {
        take_launcher(*running, pod);
    } else {
        for (auto& each : given_tolerations()) {
            pod.tolerations.push_back(std::move(each));
        }
    }
    return pod;
}

void VmScheduling::take_launcher(const ScheduledPod& launcher, scheduling::Pod& pod) {
    amounts_known_ = true;
    pod.requests = launcher.when_new;
    pod.ports = launcher.pod.ports;
    add_missing(launcher.pod.claims, pod.claims);
    add_missing(launcher.pod.not_judged, pod.not_judged);
    // What admission gave it, it gives the next one too.
    std::copy_if(launcher.pod.tolerations.begin(), launcher.pod.tolerations.end(),
                 std::back_inserter(pod.tolerations),
                 [](const auto& each) { return each.key.starts_with(of_nodes); });
}

void VmScheduling::judge(std::size_t node, migration::Comparison& answer) const {
    const bool labels_refuse = answer.gate == Verdict::cannot;
    const auto& target = cluster_.nodes.at(node);
    const bool own_terms_fit =
        !own_terms_ || migration::matches(*own_terms_, target.labels, target.name);
    for (auto& finding : ready_.judge(node)) {
        const auto code = finding.reason.code;
        const bool told = code == ReasonCode::unschedulable ||
                          (code == ReasonCode::selector && labels_refuse) ||
                          (code == ReasonCode::node_affinity && own_terms_fit && labels_refuse);
        if (told) {
            continue;
        }
        if (finding.verdict == Verdict::cannot) {
            migration::refuse(answer, std::move(finding.reason));
        } else {
            migration::leave_open(answer, std::move(finding.reason));
        }
    }
}

bool VmScheduling::knows_resources() const {
    return amounts_known_ && std::any_of(cluster_.nodes.begin(), cluster_.nodes.end(),
                                         [](const auto& node) { return node.allocatable; });
}

std::vector<std::string> VmScheduling::notes() const {
    std::vector<std::string> out;
    const auto& pods = objects_.scheduling->pods;
    if (!amounts_known_) {
        out.emplace_back(
            "its launcher pod is not known: whether what it asks for is free is not judged");
    } else if (!knows_resources()) {
        out.emplace_back("no node tells what it has for pods: free resources are not judged");
    } else if (std::all_of(pods.begin(), pods.end(),
                           [](const ScheduledPod& pod) { return pod.launcher; })) {
        out.emplace_back(
            "of all pods only launchers are known: what others take or keep away is not counted");
    }
    if (!pod_.claims.empty() && (!cluster_.claims || !cluster_.volumes)) {
        out.push_back("from where its volumes can be reached is not judged: " +
                      std::string{!cluster_.claims ? "the claims " : "the volumes of the claims "} +
                      name_list(pod_.claims, pod_.claims.size()) + " are not known");
    }
    for (const auto* change : {"HotVCPUChange", "HotMemoryChange"}) {
        const auto* condition = kube::find_condition(vmi_.conditions, change);
        if (condition != nullptr && condition->status == "True") {
            out.emplace_back(
                "its CPUs or memory are being changed: resources are those of its launcher, and "
                "its next one may ask for more");
        }
    }
    return out;
}

}  // namespace scout::cluster
