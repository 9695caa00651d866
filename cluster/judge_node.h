// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cluster/node_profile.h"
#include "cluster/node_state.h"
#include "kube/objects/node.h"
#include "migration/comparison.h"
#include "migration/cpu_map.h"

namespace scout::cluster {

/// Both layers for one guest on one node: what the guest's CPU asks for, and whether the node takes
/// VMs now. `chosen`: by what the truth layer knows the node. `map` may be null. Pure.
[[nodiscard]] migration::Comparison judge_node(const migration::PreparedGuest& guest,
                                               const kube::Node& node, const NodeState& state,
                                               const NodeProfile& chosen,
                                               const migration::CpuMap* map);

}  // namespace scout::cluster
