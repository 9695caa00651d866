// SPDX-License-Identifier: Apache-2.0
#include "migration/scheduling/node_use.h"

#include <limits>
#include <string_view>
#include <unordered_map>

namespace scout::migration::scheduling {

std::int64_t amount_of(const Resources& resources, std::string_view name) {
    const auto found = resources.find(name);
    return found == resources.end() ? 0 : found->second;
}

void add(Resources& sum, const Resources& more) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    for (const auto& [name, amount] : more) {
        auto& total = sum[name];
        total = amount > most - total ? most : total + amount;
    }
}

std::vector<PlacedNode> place(const Cluster& cluster) {
    std::vector<PlacedNode> nodes(cluster.nodes.size());
    std::unordered_map<std::string_view, std::size_t> by_name;
    for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
        nodes[i].node = &cluster.nodes[i];
        by_name.emplace(cluster.nodes[i].name, i);
    }
    for (const auto& pod : cluster.pods) {
        const auto found = by_name.find(pod.node);
        if (found == by_name.end()) {
            continue;
        }
        auto& use = nodes[found->second].use;
        use.pods.push_back(&pod);
        add(use.requested, pod.requests);
        use.ports.insert(use.ports.end(), pod.ports.begin(), pod.ports.end());
    }
    return nodes;
}

}  // namespace scout::migration::scheduling
