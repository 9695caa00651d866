// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cluster/node_state.h"
#include "cluster/objects.h"
#include "migration/cpu_map.h"
#include "migration/verdict.h"

/// Where host-model guests of each node of a cluster can go, from its objects alone, and the
/// proposal's level that follows (design §5, proposals/host-model-migratability.md). Pure.
namespace scout::cluster {

/// The proposal's node label; its value is the level.
inline constexpr std::string_view level_label = "kubevirt/host-model-migratability-level";

struct LevelOptions {
    migration::Layer layer = migration::Layer::stock;  ///< that levels and destinations are of
    std::string machine_type;                ///< empty: the cluster's default for each node
    const migration::CpuMap* map = nullptr;  ///< may be null
    CountingRules counting;
    /// A fleet has as many pairs as its nodes squared: what is listed must not take all memory.
    std::size_t most_refusals = 200'000;
    bool names_destinations = true;  ///< else NodeLevel::out and ::unknown stay empty
};

struct NodeLevel {
    std::string name;
    bool schedulable = false;          ///< takes VMs now
    std::optional<unsigned> level;     ///< 0 to 100; none: the node is not counted
    std::string not_counted;           ///< why not, one clause
    std::uint32_t destinations = 0;    ///< how many counted nodes its guests can go to
    std::vector<std::string> out;      ///< which, sorted
    std::vector<std::string> unknown;  ///< the same of those that cannot be compared
};

/// One layer that says no. Both layers of a pair may.
struct Refusal {
    std::string from;
    std::string to;
    migration::Layer layer{};
    std::vector<migration::Reason> reasons;
};

struct Levels {
    std::vector<NodeLevel> nodes;  ///< sorted by name
    std::vector<Refusal> refused;  ///< sorted by names; of nodes with a host-model only
    std::size_t not_listed = 0;    ///< refusals beyond LevelOptions::most_refusals
};

/// Levels count among nodes of one architecture. The work grows with classes of equal nodes, what
/// is answered with pairs of nodes; LevelKeeper keeps levels alone, at every change.
[[nodiscard]] Levels judge_levels(const Objects& objects, WallTime now,
                                  const LevelOptions& options);

/// The rules with what the KubeVirt object asks of every node.
[[nodiscard]] CountingRules counting_rules(const LevelOptions& options,
                                           const std::vector<kube::KubeVirt>& kubevirts);

/// The machine type that guests on nodes of this architecture are judged for.
[[nodiscard]] std::string machine_type_for(std::string_view arch, const LevelOptions& options,
                                           const std::vector<kube::KubeVirt>& kubevirts);

/// The machine type that a VM gets on a node of this architecture (Kubernetes' name) if it asks for
/// none: of the KubeVirt object, else KubeVirt's own (dossier §10).
[[nodiscard]] std::string default_machine(const std::vector<kube::KubeVirt>& kubevirts,
                                          std::string_view arch);

}  // namespace scout::cluster
