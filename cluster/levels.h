// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
    bool names_destinations = true;  ///< else Levels::out() and ::unknown() are empty
};

struct NodeLevel {
    std::string name;
    bool schedulable = false;       ///< takes VMs now
    std::optional<unsigned> level;  ///< 0 to 100; none: the node is not counted
    std::string not_counted;        ///< why not, one clause
    std::string still_counted;      ///< NodeState::still_counted
    /// Counted nodes of which the CPU truth is not known for its guests, whatever the layer.
    std::uint32_t truth_not_known = 0;
    std::uint32_t destinations = 0;  ///< how many counted nodes its guests can go to
    std::size_t outlook = 0;         ///< its place in Levels::outlooks
    std::size_t refusals = 0;        ///< how many of those in its outlook are listed for it
};

/// One layer that says no. Both layers of a pair may.
struct Refusal {
    using Reasons = std::shared_ptr<const std::vector<migration::Reason>>;

    std::uint32_t to = 0;  ///< place in Levels::nodes
    migration::Layer layer{};
    Reasons reasons;  ///< never null; nodes that are refused alike share them
};

/// What guests of equal nodes meet, told once for all of these: a fleet has many pairs of nodes and
/// few of classes. Lists are of places in Levels::nodes, ascending. The nodes that it is the
/// outlook of may be in them, and each is to be passed over where it speaks for itself.
struct Outlook {
    std::vector<std::uint32_t> out;      ///< counted nodes that they can go to
    std::vector<std::uint32_t> unknown;  ///< the same of those that cannot be compared
    std::vector<Refusal> refused;        ///< of nodes with a host-model only
};

struct Levels {
    std::vector<NodeLevel> nodes;  ///< sorted by name
    std::vector<Outlook> outlooks;
    std::size_t not_listed = 0;  ///< refusals beyond LevelOptions::most_refusals

    /// Names of the counted nodes that guests of this one can go to.
    [[nodiscard]] std::vector<std::string> out(std::size_t node) const;
    /// The same of those that cannot be compared.
    [[nodiscard]] std::vector<std::string> unknown(std::size_t node) const;
    /// By whom guests of this node are refused, as far as it is listed.
    [[nodiscard]] std::vector<Refusal> refused(std::size_t node) const;
};

/// Levels count among nodes of one architecture. Work and answer grow with nodes times classes
/// of equal nodes; LevelKeeper keeps levels alone, at every change.
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
