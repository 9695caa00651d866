// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "migration/node_selector.h"

namespace scout::cluster {

using migration::NodeRequirement;

struct NodePreference {
    unsigned weight = 1;  ///< 1 to 100
    NodeRequirement requirement;
};

/// What a pod is to ask of its node beside what it asks already.
struct NodeDemands {
    migration::NodeSelectorTerm required;  ///< empty: nothing
    std::optional<NodePreference> preferred;
};

/// The JSON Patch (RFC 6902) of a pod that adds the demands to its node affinity; empty if it has
/// them all, so that a second time changes nothing. What the pod asks for stays.
///
/// Required terms are alternatives: the requirements go into each of them. One with neither
/// expressions nor fields matches no node, as does a selector without terms: these are left alone,
/// lest they begin to match.
///
/// `affinity`: the pod's spec.affinity as JSON; empty: it has none. Errors: invalid, with the path
/// of what is wrong. Pure.
[[nodiscard]] Result<std::string> affinity_patch(std::string_view affinity,
                                                 const NodeDemands& demands);

/// True if one of the required terms has an expression of that key and operator. Errors as above.
[[nodiscard]] Result<bool> requires_of_node(std::string_view affinity, std::string_view key,
                                            std::string_view op);

}  // namespace scout::cluster
