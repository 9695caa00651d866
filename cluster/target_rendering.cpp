// SPDX-License-Identifier: Apache-2.0
#include "cluster/target_rendering.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "cluster/scheduling_objects.h"
#include "migration/node_selector.h"

namespace scout::cluster {
namespace {

using migration::NodeSelectorTerm;
namespace scheduling = migration::scheduling;
using scheduling::LabelRequirement;
using scheduling::PodTerm;

constexpr std::string_view created_by = "kubevirt.io/created-by";
constexpr std::string_view of_nodes = "node.kubernetes.io/";
constexpr std::string_view reservations = "pr.kubevirt.io/";
constexpr std::string_view persistent_state = "persistent-state-for";
/// More than people write. Each term is compared with every pod, or with every node.
constexpr std::size_t most_terms = 200;

template <class Object>
const Object* find(const std::vector<Object>& objects, const kube::ObjectMeta& meta) {
    const auto found = std::find_if(objects.begin(), objects.end(), [&meta](const Object& each) {
        return each.meta.space == meta.space && each.meta.name == meta.name;
    });
    return found == objects.end() ? nullptr : &*found;
}

bool is_of_kubevirt_label(std::string_view key) {
    return key == "kubevirt.io" || key.find("kubevirt.io/") != std::string_view::npos ||
           key == "sidecar.istio.io/inject";
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

template <class Value>
bool has(const std::vector<Value>& list, const Value& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

/// Takes the first ones and says that there are more.
template <class Term>
void limit(std::vector<Term>& terms, const char* what, RenderedTarget& out) {
    if (terms.size() > most_terms) {
        terms.resize(most_terms);
        out.open.push_back("it has more than " + std::to_string(most_terms) + " " + what);
    }
}

/// As the API server merges matchLabelKeys when the pod is made.
void merge_label_keys(const migration::Labels& labels, std::vector<PodTerm>& terms) {
    for (auto& term : terms) {
        const auto add = [&labels, &term](const std::vector<std::string>& keys, const char* op) {
            for (const auto& key : keys) {
                const auto found = labels.find(key);
                if (found != labels.end() && term.pods) {
                    term.pods->expressions.push_back(
                        {.key = key, .op = op, .values = {found->second}});
                }
            }
        };
        add(term.label_keys, "In");
        add(term.unlike_label_keys, "NotIn");
    }
}

/// modifyNodeAffintyToRejectLabel(): in every term, also where it asked for nothing, or in one.
void reject_labels(const std::vector<std::string>& keys, scheduling::Pod& pod) {
    if (keys.empty()) {
        return;
    }
    if (!pod.node_terms || pod.node_terms->empty()) {
        pod.node_terms.emplace(1);
    }
    for (auto& term : *pod.node_terms) {
        for (const auto& key : keys) {
            term.expressions.push_back({.key = key, .op = "DoesNotExist", .values = {}});
        }
    }
}

void render_affinity(const migration::TargetPod& selectors, const kube::Vmi& vmi,
                     RenderedTarget& out) {
    auto& pod = out.pod;
    if (pod.node_terms) {
        limit(*pod.node_terms, "node affinity terms", out);
        // One that asks for nothing gets what KubeVirt rejects, and matches then.
        const bool some_empty = std::any_of(pod.node_terms->begin(), pod.node_terms->end(),
                                            [](const auto& term) { return term.empty(); });
        out.own_terms = some_empty ? std::nullopt : pod.node_terms;
    }
    limit(pod.affinity, "pod affinity terms", out);
    limit(pod.anti_affinity, "pod anti-affinity terms", out);
    limit(pod.spread, "topology spread constraints", out);
    auto rejected = selectors.absent;
    if (!selectors.stock.host_model.empty()) {
        rejected.emplace_back(migration::label::obsolete);
    }
    reject_labels(rejected, pod);
    if (selectors.term && !selectors.term->empty()) {
        pod.node_terms = migration::merged(
            std::move(pod.node_terms).value_or(std::vector<NodeSelectorTerm>{}), *selectors.term);
    }
    PodTerm not_beside;
    not_beside.pods.emplace().labels.emplace(created_by, vmi.meta.uid);
    not_beside.topology = migration::hostname_label;
    pod.anti_affinity.push_back(std::move(not_beside));
}

void render_labels(const ScheduledPod* launcher, const kube::Vmi& vmi, scheduling::Pod& pod) {
    pod.labels["kubevirt.io"] = "virt-launcher";
    pod.labels.insert_or_assign(std::string{created_by}, vmi.meta.uid);
    pod.labels.insert_or_assign("vm.kubevirt.io/name", vmi.meta.name);
    pod.labels.insert_or_assign("vmi.kubevirt.io/id", vmi.meta.name);
    pod.labels.insert_or_assign("kubevirt.io/migrationJobUID", "of the next");
    if (launcher == nullptr) {
        return;
    }
    for (const auto& [key, value] : launcher->pod.labels) {
        if (is_of_kubevirt_label(key)) {
            pod.labels.emplace(key, value);
        }
    }
}

/// Terms that KubeVirt renders for disks with SCSI persistent reservations: by their labels.
bool is_of_reservations(const PodTerm& term) {
    const auto is = [](std::string_view key) { return key.starts_with(reservations); };
    return term.pods && (std::any_of(term.pods->labels.begin(), term.pods->labels.end(),
                                     [&is](const auto& each) { return is(each.first); }) ||
                         std::any_of(term.pods->expressions.begin(), term.pods->expressions.end(),
                                     [&is](const LabelRequirement& each) { return is(each.key); }));
}

void take_tolerations(const ScheduledPod& launcher, RenderedTarget& out) {
    for (const auto& each : launcher.pod.tolerations) {
        if (each.key.starts_with(of_nodes)) {
            out.pod.tolerations.push_back(each);
        } else if (!has(out.pod.tolerations, each)) {
            out.perhaps_tolerated.push_back(each);
        }
    }
}

/// Claims that are in its launcher and not among the volumes of the VMI.
void take_claims(const ScheduledPod& launcher, const VmiWishes* wishes,
                 const scheduling::Cluster& cluster, RenderedTarget& out) {
    std::set<std::string, std::less<>> known(out.pod.claims.begin(), out.pod.claims.end());
    if (wishes != nullptr) {
        known.insert(wishes->moved_away.begin(), wishes->moved_away.end());
    }
    for (const auto& claim : launcher.pod.claims) {
        if (!known.insert(claim).second) {
            continue;
        }
        const auto* found = cluster.find_claim(launcher.pod.space, claim);
        const bool shared = found != nullptr && found->shared;
        if (claim.starts_with(persistent_state) && !shared) {
            out.open.push_back("KubeVirt makes a new claim for its persistent state, " + claim +
                               ", and nobody knows yet from where that can be reached");
        } else {
            out.pod.claims.push_back(claim);
        }
    }
}

/// It runs, so what it uses is there, whether it was told or not.
void drop_untold_claims(const scheduling::Cluster& cluster, RenderedTarget& out) {
    std::erase_if(out.pod.claims, [&cluster, &out](const std::string& claim) {
        const auto* found = cluster.find_claim(out.pod.space, claim);
        const bool untold = (cluster.claims && found == nullptr) ||
                            (found != nullptr && found->bound && cluster.volumes &&
                             cluster.volumes->find(found->volume) == cluster.volumes->end());
        if (untold) {
            out.open.push_back("of its claim " + claim +
                               ", or the volume of that, nothing was told, though of others was");
        }
        return untold;
    });
}

/// Labels that its launcher asks nodes for beside what KubeVirt renders.
void take_selectors(const ScheduledPod& launcher, RenderedTarget& out) {
    constexpr std::array<std::string_view, 3> of_others{"kubernetes.io/arch", "kubernetes.io/os",
                                                        "kubevirt.io/schedulable"};
    for (const auto& [key, value] : launcher.pod.node_selector) {
        const bool rendered = out.pod.node_selector.find(key) != out.pod.node_selector.end();
        const bool of_kubevirt =
            key.find("kubevirt.io/") != std::string::npos ||
            std::find(of_others.begin(), of_others.end(), key) != of_others.end();
        if (!rendered && !of_kubevirt) {
            out.perhaps_asked.emplace(key, value);
        }
    }
}

void take_launcher(const ScheduledPod& launcher, RenderedTarget& out) {
    auto& pod = out.pod;
    out.amounts_known = true;
    pod.requests = launcher.when_new;
    pod.ports = launcher.pod.ports;
    for (const auto& field : launcher.pod.not_judged) {
        if (!has(pod.not_judged, field)) {
            pod.not_judged.push_back(field);
        }
    }
    std::copy_if(launcher.pod.anti_affinity.begin(), launcher.pod.anti_affinity.end(),
                 std::back_inserter(pod.anti_affinity), &is_of_reservations);
    take_tolerations(launcher, out);
    take_selectors(launcher, out);
}

void add_doubts(const Objects& objects, const kube::Vmi& vmi, RenderedTarget& out) {
    if (!out.amounts_known && !objects.scheduling->pods.empty()) {
        out.open.emplace_back("its launcher pod, which tells what it takes, is not known");
    }
    for (const auto* change : {"HotVCPUChange", "HotMemoryChange"}) {
        const auto* condition = kube::find_condition(vmi.conditions, change);
        if (condition != nullptr && condition->status == "True") {
            out.open.emplace_back(
                "its CPUs or memory are being changed, and its next launcher "
                "asks for more than the present one");
            return;
        }
    }
}

}  // namespace

RenderedTarget render_target(const Objects& objects, const kube::Vmi& vmi,
                             const kube::LauncherPod* launcher,
                             const migration::TargetPod& selectors,
                             const scheduling::Cluster& cluster) {
    RenderedTarget out;
    const auto* wishes = find(objects.scheduling->wishes, vmi.meta);
    if (wishes != nullptr) {
        out.pod = wishes->pod;
    } else if (!objects.scheduling->all_wishes) {
        out.open.emplace_back("what it says of places cannot be read");
    }
    auto& pod = out.pod;
    pod.space = vmi.meta.space.str();
    pod.name = vmi.meta.name;
    pod.node_selector = migration::selectors_of(selectors);
    const auto* running =
        launcher == nullptr ? nullptr : find(objects.scheduling->pods, launcher->meta);
    render_labels(running, vmi, pod);
    render_affinity(selectors, vmi, out);
    if (running != nullptr) {
        take_launcher(*running, out);
        take_claims(*running, wishes, cluster, out);
    } else {
        for (auto& each : given_tolerations()) {
            pod.tolerations.push_back(std::move(each));
        }
    }
    merge_label_keys(pod.labels, pod.affinity);
    merge_label_keys(pod.labels, pod.anti_affinity);
    drop_untold_claims(cluster, out);
    add_doubts(objects, vmi, out);
    return out;
}

}  // namespace scout::cluster
