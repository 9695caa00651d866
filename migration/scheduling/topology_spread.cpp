// SPDX-License-Identifier: Apache-2.0
#include "migration/scheduling/topology_spread.h"

#include <algorithm>
#include <limits>

#include "migration/scheduling/node_filters.h"

namespace scout::migration::scheduling {
namespace {

/// With what matchLabelKeys name of the pod's own labels.
LabelSelector selector_of(const SpreadConstraint& constraint, const Pod& pod) {
    auto selector = constraint.pods.value_or(LabelSelector{});
    for (const auto& key : constraint.label_keys) {
        if (const auto found = pod.labels.find(key); found != pod.labels.end()) {
            selector.expressions.push_back({.key = key, .op = "In", .values = {found->second}});
        }
    }
    return selector;
}

}  // namespace

TopologySpread::TopologySpread(const std::vector<PlacedNode>& nodes, const Pod& pod) : pod_(pod) {
    for (const auto& constraint : pod.spread) {
        auto& domains = domains_.emplace_back();
        domains.constraint = &constraint;
        domains.pods = selector_of(constraint, pod);
        domains.none = !constraint.pods;
        if (const auto fault = fault_of(domains.pods)) {
            leave_open(open_, "a topology spread constraint cannot be read: " + *fault,
                       {"topologySpreadConstraints"});
        }
    }
    if (domains_.empty()) {
        return;
    }
    for (const auto& node : nodes) {
        count(node);
    }
    for (auto& domains : domains_) {
        // Without a domain that counts nothing is too many.
        domains.least = std::numeric_limits<std::int32_t>::max();
        for (const auto& [value, pods] : domains.counts) {
            domains.least = std::min(domains.least, pods);
        }
        const auto number = static_cast<std::int64_t>(domains.counts.size());
        if (number < domains.constraint->min_domains) {
            domains.least = 0;
        }
    }
}

bool TopologySpread::has_all_keys(const Node& node) const {
    return std::all_of(domains_.begin(), domains_.end(), [&node](const Domains& domains) {
        return node.labels.find(domains.constraint->topology) != node.labels.end();
    });
}

bool TopologySpread::counts_for(const Domains& domains, const Node& node) const {
    return (!domains.constraint->honors_affinity || meets_affinity(pod_, node)) &&
           (!domains.constraint->honors_taints || tolerates_all(pod_, node));
}

/// None of a selector that asks for nothing: so it is in the scheduler, though such a selector
/// chooses the pod itself.
std::int64_t TopologySpread::chosen(const Domains& domains, const NodeUse& use) const {
    if (domains.none || domains.pods.empty()) {
        return 0;
    }
    return std::count_if(use.pods.begin(), use.pods.end(), [this, &domains](const Pod* pod) {
        return !pod->deleting && pod->space == pod_.space && matches(domains.pods, pod->labels);
    });
}

void TopologySpread::count(const PlacedNode& placed) {
    const auto& node = *placed.node;
    if (!has_all_keys(node)) {
        return;
    }
    for (auto& domains : domains_) {
        if (counts_for(domains, node)) {
            domains.counts[node.labels.find(domains.constraint->topology)->second] +=
                chosen(domains, placed.use);
        }
    }
}

void TopologySpread::judge(const Node& node, Findings& out) const {
    for (const auto& each : open_) {
        add(out, each);
    }
    for (const auto& domains : domains_) {
        const auto& constraint = *domains.constraint;
        const auto label = node.labels.find(constraint.topology);
        if (label == node.labels.end()) {
            refuse(out, ReasonCode::topology_spread,
                   "the node has no label " + constraint.topology + ", over which it is spread",
                   {constraint.topology});
            continue;
        }
        const auto found = domains.counts.find(label->second);
        const auto there = found == domains.counts.end() ? 0 : found->second;
        const std::int64_t self = !domains.none && matches(domains.pods, pod_.labels) ? 1 : 0;
        const auto skew = there + self - domains.least;
        if (skew > constraint.max_skew) {
            refuse(out, ReasonCode::topology_spread,
                   std::to_string(there) + " such pods run at " +
                       pair_text(constraint.topology, label->second) + " and " +
                       std::to_string(domains.least) + " where the fewest are: one more is over " +
                       "its maxSkew of " + std::to_string(constraint.max_skew),
                   {constraint.topology});
        }
    }
}

}  // namespace scout::migration::scheduling
