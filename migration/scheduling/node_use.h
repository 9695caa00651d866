// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "migration/scheduling/cluster.h"

namespace scout::migration::scheduling {

/// What the pods of one node take of it.
struct NodeUse {
    std::vector<const Pod*> pods;
    Resources requested;
    std::vector<HostPort> ports;
};

/// A node and what is on it.
struct PlacedNode {
    const Node* node = nullptr;
    NodeUse use;
};

/// In the order of the cluster's nodes. Refers to the cluster. Pods of nodes that are not there are
/// left out, as the scheduler does it.
[[nodiscard]] std::vector<PlacedNode> place(const Cluster& cluster);

/// 0 of what is not named.
[[nodiscard]] std::int64_t amount_of(const Resources& resources, std::string_view name);

/// As the scheduler adds amounts up: what is too much for 63 bits is as much as they hold.
void add(Resources& sum, const Resources& more);

}  // namespace scout::migration::scheduling
