// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "migration/scheduling/findings.h"
#include "migration/scheduling/node_use.h"

namespace scout::migration::scheduling {

/// InterPodAffinity for one pod: what it asks of others, and what others ask of it. Refers to all
/// that it is given.
class PodAffinity {
public:
    PodAffinity(const Cluster& cluster, const std::vector<PlacedNode>& nodes, const Pod& pod);

    void judge(const Node& node, Findings& out) const;

private:
    /// Pods by the label of their nodes.
    using Places = std::map<std::pair<std::string_view, std::string_view>, std::int64_t>;

    [[nodiscard]] bool chooses(const PodTerm& term, const Pod& owner, const Pod& other) const;
    [[nodiscard]] const Labels& labels_of_space(const std::string& space) const;
    [[nodiscard]] bool chosen_by_all(const Pod& other) const;
    void count(const PlacedNode& node);
    void check_terms();
    void judge_affinity(const Node& node, Findings& out) const;

    const Cluster& cluster_;
    const Pod& pod_;
    Places wanted_;    ///< pods that all of its affinity terms choose
    Places avoided_;   ///< pods that one of its anti-affinity terms chooses
    Places avoiding_;  ///< pods with an anti-affinity term that chooses it
    Findings open_;    ///< of every node
};

}  // namespace scout::migration::scheduling
