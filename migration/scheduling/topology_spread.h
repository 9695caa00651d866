// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "migration/scheduling/findings.h"
#include "migration/scheduling/node_use.h"

namespace scout::migration::scheduling {

/// PodTopologySpread for one pod. Refers to all that it is given.
class TopologySpread {
public:
    TopologySpread(const std::vector<PlacedNode>& nodes, const Pod& pod);

    void judge(const Node& node, Findings& out) const;

private:
    struct Domains {
        const SpreadConstraint* constraint = nullptr;
        LabelSelector pods;
        bool none = false;                                ///< its selector chooses no pod
        std::map<std::string_view, std::int64_t> counts;  ///< of pods, by the topology's values
        std::int64_t least = 0;
    };

    [[nodiscard]] bool has_all_keys(const Node& node) const;
    [[nodiscard]] bool counts_for(const Domains& domains, const Node& node) const;
    [[nodiscard]] std::int64_t chosen(const Domains& domains, const NodeUse& use) const;
    void count(const PlacedNode& node);

    const Pod& pod_;
    std::vector<Domains> domains_;
    Findings open_;  ///< of every node
};

}  // namespace scout::migration::scheduling
