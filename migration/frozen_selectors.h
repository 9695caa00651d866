// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "migration/feature_set.h"
#include "migration/labels.h"

/// Frozen selectors (case 11). KubeVirt copies the CPU selectors of the source pod to the target
/// pod (dossier §5.4, step 3 and quirks): after its first migration a guest goes on asking for the
/// labels that its first node had at that time, whatever the nodes say today. Pure; any thread;
/// nothing here fails.
namespace scout::migration {

/// A node by its labels of today.
struct LabelledNode {
    std::string name;
    const Labels& labels;
};

/// What the next target pod of one guest would ask for.
struct FrozenGuest {
    const Labels& selectors;                  ///< nodeSelector of the launcher pod, all of it
    std::string node;                         ///< on which that pod runs
    std::optional<FeatureSet> live_features;  ///< that the live domain XML requires, if known
};

enum class FrozenState : std::uint8_t {
    not_frozen,  ///< no CPU selectors: KubeVirt would read the labels of the source node anew
    fits,        ///< some other node carries all of them
    stale,       ///< no node fits, and the source node itself has lost labels that are asked for
    lacking,     ///< no node fits although the source does: the hardware of the others lacks it
    unknown,     ///< no node fits, and the source node is not among the nodes
};

struct FrozenSelectors {
    FrozenState state = FrozenState::not_frozen;
    std::vector<std::string> fitting;  ///< nodes other than the source, in the order given
    /// Names of models, then of features, each sorted: what the source node has no longer, and what
    /// it has (or may have) and no other node does.
    std::vector<std::string> stale;
    std::vector<std::string> lacking;
    /// Stale features that the live domain requires: without the selectors the guest would be
    /// placed, and libvirt would refuse it wherever the CPU lacks them. Empty too if the live
    /// domain is not known.
    FeatureSet still_required;
    std::string text;  ///< for a person
};

/// Compares model and feature labels only, by key and value, as virt-controller does for its event
/// NoSuitableNodesForHostModelMigration; the source node is never a target (dossier §5.4, step 6).
[[nodiscard]] FrozenSelectors judge_frozen_selectors(const FrozenGuest& guest,
                                                     const std::vector<LabelledNode>& nodes);

}  // namespace scout::migration
