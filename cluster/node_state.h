// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "kube/objects/node.h"
#include "migration/frozen_selectors.h"
#include "migration/labels.h"
#include "migration/stock_gate.h"
#include "migration/verdict.h"

namespace scout::cluster {

/// When a node stops to count (design §5).
struct CountingRules {
    /// Labels that the KubeVirt object asks of every node that takes VMs.
    migration::Labels selectors;
    /// So that a rolling drain does not relabel the fleet.
    std::chrono::milliseconds cordoned_for = std::chrono::minutes{10};
    std::chrono::milliseconds not_ready_for = std::chrono::minutes{5};
};

/// What a Node object says about taking VMs. Pure.
struct NodeState {
    migration::Labels labels;
    migration::StockNode stock;
    bool cordoned = false;
    std::optional<bool> ready;  ///< none: the object does not tell
    /// Takes VMs now: `kubevirt.io/schedulable` is true, not cordoned, not known to be not ready.
    bool schedulable = false;
    std::vector<std::string> lacking;  ///< keys of CountingRules::selectors that it does not match
    /// Why it is not counted for levels and gets none, one clause; empty: it is counted.
    std::string not_counted;
    /// Why it takes no VMs now and is counted all the same, one clause; empty: it is not so.
    std::string still_counted;
    /// A counted node ceases to count then, unless its object changes before; none: it does not.
    std::optional<WallTime> counts_until;
};

/// `now`: the moment that the object is of; ages are counted to it. `cordon_seen`: when the caller
/// saw the node become cordoned, if it did: its taint, which tells since when, comes a little
/// later. A cordon of which neither tells may have been for long, so the node is not counted.
[[nodiscard]] NodeState node_state(const kube::Node& node, WallTime now,
                                   const CountingRules& rules = {},
                                   std::optional<WallTime> cordon_seen = std::nullopt);

[[nodiscard]] migration::Labels plain_labels(const kube::Labels& labels);

/// Nodes by their labels, with the labels that they refer to.
struct LabelledNodes {
    std::vector<migration::Labels> labels;
    std::vector<migration::LabelledNode> nodes;
};
[[nodiscard]] LabelledNodes labelled_nodes(const std::vector<kube::Node>& nodes);

/// True if the node has any label of KubeVirt: virt-handler has been there.
[[nodiscard]] bool is_of_kubevirt(const kube::Node& node);

/// What besides its labeller's labels keeps VMs away from the node now, one reason each: it is
/// cordoned (no key), not ready (the key of the taint that says so), or lacks labels that the
/// KubeVirt object asks for (their keys). Code unschedulable.
[[nodiscard]] std::vector<migration::Reason> why_closed(const NodeState& state);

}  // namespace scout::cluster
