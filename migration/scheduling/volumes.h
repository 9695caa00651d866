// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "migration/scheduling/findings.h"
#include "migration/scheduling/node_use.h"

namespace scout::migration::scheduling {

/// VolumeBinding, VolumeZone, VolumeRestrictions and NodeVolumeLimits for the claims of one pod.
/// Refers to all that it is given.
class PodVolumes {
public:
    PodVolumes(const Cluster& cluster, const std::vector<PlacedNode>& nodes, const Pod& pod);

    void judge(const PlacedNode& node, Findings& out) const;

private:
    struct Bound {
        std::string_view claim;
        std::string_view name;
        const Volume* volume = nullptr;
    };

    void take(const std::string& claim, const std::vector<PlacedNode>& nodes);
    [[nodiscard]] bool is_used(const std::string& claim,
                               const std::vector<PlacedNode>& nodes) const;
    void take_bound(const std::string& claim, const Claim& found);
    void judge_place(const Bound& bound, const Node& node, Findings& out) const;
    using Handles = std::map<std::string_view, std::set<std::string>>;  ///< by driver
    void add_handles(const Pod& pod, Handles& handles) const;
    /// Attached to the node, and of none of these.
    [[nodiscard]] Handles only_attached(const Node& node, const Handles& of_pods) const;
    [[nodiscard]] const Volume* find_volume(std::string_view name) const;
    void judge_limits(const PlacedNode& node, Findings& out) const;
    /// Driver and handle; none: it is no volume of CSI, or not known.
    [[nodiscard]] std::optional<std::pair<std::string_view, std::string>> csi_volume(
        std::string_view space, std::string_view claim) const;

    const Cluster& cluster_;
    const Pod& pod_;
    std::vector<Bound> bound_;
    Findings everywhere_;  ///< of every node
};

}  // namespace scout::migration::scheduling
