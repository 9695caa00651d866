// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/level_keeper.h"
#include "cluster/placement_rules.h"
#include "kube/objects/new_pod.h"

namespace scout::cluster {

/// True for the first launcher pod of a host-model VM. A pod shows host-model by KubeVirt's rule
/// against nodes with an obsolete host model (dossier §5.4); a migration's target, whose node is
/// bound by the guest's CPU already, by its label. Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<bool> is_first_of_host_model(const kube::NewPod& pod);

struct FirstPlacement {
    std::string patch;                  ///< JSON Patch (RFC 6902) of the pod; empty: none
    std::vector<std::string> warnings;  ///< one sentence each
    /// Required, but no counted node has it now: the pod will wait.
    std::optional<LevelRequirement> unmet;
};

/// How to let such a pod start on a node of a good level (design §7): "at least L" is `Gt L−1`,
/// which a node without the label does not match; level 0 asks for nothing. `standing`: the counted
/// nodes that the pod may be for. With fewer than two of them every level is 0, and to require one
/// would keep every VM from starting. Errors: invalid, with the path of what is wrong. Pure.
[[nodiscard]] Result<FirstPlacement> first_placement(const kube::NewPod& pod,
                                                     const PlacementRules& rules,
                                                     const LevelStanding& standing);

}  // namespace scout::cluster
