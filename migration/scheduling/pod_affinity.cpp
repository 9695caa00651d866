// SPDX-License-Identifier: Apache-2.0
#include "migration/scheduling/pod_affinity.h"

#include <algorithm>

namespace scout::migration::scheduling {
namespace {

void add(std::map<std::pair<std::string_view, std::string_view>, std::int64_t>& places,
         const Node& node, const PodTerm& term) {
    if (const auto found = node.labels.find(term.topology); found != node.labels.end()) {
        ++places[{found->first, found->second}];
    }
}

/// "zone=a"
std::string place_text(const Node& node, const std::string& topology) {
    const auto found = node.labels.find(topology);
    return found == node.labels.end() ? topology : pair_text(topology, found->second);
}

}  // namespace

PodAffinity::PodAffinity(const Cluster& cluster, const std::vector<PlacedNode>& nodes,
                         const Pod& pod)
    : cluster_(cluster), pod_(pod) {
    check_terms();
    for (const auto& node : nodes) {
        count(node);
    }
}

/// What cannot be read, or asks for what was not told.
void PodAffinity::check_terms() {
    const auto check = [this](const PodTerm& term, const Pod& owner) {
        for (const auto* selector : {&term.pods, &term.space_labels}) {
            if (const auto fault = *selector ? fault_of(**selector) : std::nullopt) {
                leave_open(open_, "a term of its affinity cannot be read: " + *fault, {"affinity"});
            }
        }
        if (term.space_labels && !term.space_labels->empty() && !cluster_.spaces) {
            leave_open(open_,
                       "pod affinity of " + owner.space + "/" + owner.name +
                           " chooses namespaces by their labels, and those are not known",
                       {"namespaceSelector"});
        }
    };
    for (const auto* terms : {&pod_.affinity, &pod_.anti_affinity}) {
        for (const auto& term : *terms) {
            check(term, pod_);
        }
    }
    for (const auto& other : cluster_.pods) {
        for (const auto& term : other.anti_affinity) {
            if (open_.empty()) {
                check(term, other);
            }
        }
    }
}

/// The namespace and the labels of the other are what the term of the owner asks for.
bool PodAffinity::chooses(const PodTerm& term, const Pod& owner, const Pod& other) const {
    if (!term.pods || !matches(*term.pods, other.labels)) {
        return false;
    }
    if (term.spaces.empty() && !term.space_labels) {
        return owner.space == other.space;
    }
    if (std::find(term.spaces.begin(), term.spaces.end(), other.space) != term.spaces.end()) {
        return true;
    }
    return term.space_labels && matches(*term.space_labels, labels_of_space(other.space));
}

/// Of one that was not told, none.
const Labels& PodAffinity::labels_of_space(const std::string& space) const {
    static const Labels none;
    if (!cluster_.spaces) {
        return none;
    }
    const auto found = cluster_.spaces->find(space);
    return found == cluster_.spaces->end() ? none : found->second;
}

bool PodAffinity::chosen_by_all(const Pod& other) const {
    return !pod_.affinity.empty() &&
           std::all_of(pod_.affinity.begin(), pod_.affinity.end(),
                       [this, &other](const PodTerm& term) { return chooses(term, pod_, other); });
}

void PodAffinity::count(const PlacedNode& placed) {
    const auto& node = *placed.node;
    for (const auto* other : placed.use.pods) {
        for (const auto& term : other->anti_affinity) {
            if (chooses(term, *other, pod_)) {
                add(avoiding_, node, term);
            }
        }
        for (const auto& term : pod_.anti_affinity) {
            if (chooses(term, pod_, *other)) {
                add(avoided_, node, term);
            }
        }
        if (chosen_by_all(*other)) {
            for (const auto& term : pod_.affinity) {
                add(wanted_, node, term);
            }
        }
    }
}

/// Where no pod at all is what it wants to be with, and it is that itself, it may be the first.
void PodAffinity::judge_affinity(const Node& node, Findings& out) const {
    std::vector<std::string> missing;
    for (const auto& term : pod_.affinity) {
        const auto label = node.labels.find(term.topology);
        if (label == node.labels.end()) {
            refuse(out, ReasonCode::pod_affinity,
                   "the node has no label " + term.topology + ", by which its pod affinity goes",
                   {term.topology});
            return;
        }
        if (wanted_.find({label->first, label->second}) == wanted_.end()) {
            missing.push_back(term.topology);
        }
    }
    if (!missing.empty() && !(wanted_.empty() && chosen_by_all(pod_))) {
        refuse(out, ReasonCode::pod_affinity,
               "no pod that it must be with runs at " + place_text(node, missing.front()), missing);
    }
}

void PodAffinity::judge(const Node& node, Findings& out) const {
    for (const auto& each : open_) {
        add(out, each);
    }
    judge_affinity(node, out);
    for (const auto& term : pod_.anti_affinity) {
        const auto label = node.labels.find(term.topology);
        if (label != node.labels.end() &&
            avoided_.find({label->first, label->second}) != avoided_.end()) {
            refuse(out, ReasonCode::pod_anti_affinity,
                   "a pod that it must not be with runs at " + place_text(node, term.topology),
                   {term.topology});
        }
    }
    for (const auto& [key, value] : node.labels) {
        if (const auto found = avoiding_.find({key, value}); found != avoiding_.end()) {
            refuse(out, ReasonCode::pod_anti_affinity,
                   std::to_string(found->second) + " of the pods at " + pair_text(key, value) +
                       " must not be with it",
                   {key});
        }
    }
}

}  // namespace scout::migration::scheduling
