// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "migration/scheduling/findings.h"
#include "migration/scheduling/node_use.h"

/// Filters that look at one node alone.
namespace scout::migration::scheduling {

/// NodeUnschedulable and TaintToleration. A cordon counts once, not as its taint too.
void judge_taints(const Pod& pod, const Node& node, Findings& out);
[[nodiscard]] bool tolerates_cordon(const Pod& pod);
/// No taint that it does not tolerate would keep the pod away.
[[nodiscard]] bool tolerates_all(const Pod& pod, const Node& node);

/// NodeAffinity: the node selector and the required terms.
void judge_affinity(const Pod& pod, const Node& node, Findings& out);
[[nodiscard]] bool meets_affinity(const Pod& pod, const Node& node);

/// NodeResourcesFit, without what a pod with no number of its own would take.
void judge_resources(const Pod& pod, const PlacedNode& node, Findings& out);

/// NodePorts.
void judge_ports(const Pod& pod, const PlacedNode& node, Findings& out);

}  // namespace scout::migration::scheduling
