// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/objects/new_pod.h"
#include "kube/objects/node.h"
#include "migration/named_target.h"

/// How a term that a migration carries comes to its target pod, past a KubeVirt that does not know
/// it (design §7.2; proposal added-node-selector-term): what stands for it in addedNodeSelector is
/// copied by KubeVirt to the pod, and matches no node until the term is put in its place. Pure.
namespace scout::cluster {

/// What a VirtualMachineInstanceMigration that the API server has, or is about to have, asks for.
struct CarriedMove {
    std::string uid;                 ///< empty while it is being made
    migration::MoveRequest request;  ///< VMI, wish, and what is wrong with the wish

    /// The value that stands for a term; empty: none does.
    [[nodiscard]] std::string sentinel() const;
};

/// Errors: invalid, for what is no such object. A wrong term is in the request's faults.
[[nodiscard]] Result<CarriedMove> read_carried_move(std::string_view object);

/// What stands for the term: 40 hex digits. Others for another one, and for other orders.
[[nodiscard]] std::string sentinel_of(const migration::NodeSelectorTerm& term);

struct SentinelPlan {
    std::vector<migration::MoveReason> faults;  ///< for which it is refused; empty: it is not
    std::string patch;                          ///< JSON Patch (RFC 6902); empty: none
};
/// Of a migration that is being made: grammar alone, the state of the world is nobody's fault. No
/// more than single keys are added: KubeVirt's own stay (dossier §16).
[[nodiscard]] SentinelPlan plan_sentinel(const CarriedMove& move);

/// What a node must have by the move: without what stands for a term.
[[nodiscard]] migration::MoveWish asked_of_nodes(const CarriedMove& move);

/// What the node does not have of what the move asks for, for people; empty: it has all.
[[nodiscard]] std::string lacking(const CarriedMove& move, const kube::Node& node);

/// The node has all of it, by its labels and its name. Looks up each requirement and value once.
[[nodiscard]] bool is_asked_for(const migration::MoveWish& asked, const kube::Node& node);

/// The JSON Patch that puts the term in the place of what stands for it in a target pod. Errors:
/// invalid: the pod is not of this migration, the term was changed since, or is wrong, or the pod
/// cannot be read; it must not be touched then, so that it goes nowhere.
[[nodiscard]] Result<std::string> aim_pod(const kube::NewPod& pod, const CarriedMove& move);

}  // namespace scout::cluster
