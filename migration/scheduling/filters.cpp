// SPDX-License-Identifier: Apache-2.0
#include "migration/scheduling/filters.h"

#include "migration/scheduling/node_filters.h"
#include "migration/scheduling/pod_affinity.h"
#include "migration/scheduling/topology_spread.h"
#include "migration/scheduling/volumes.h"

namespace scout::migration::scheduling {

struct Filters::Index {
    const Cluster& cluster;
    std::vector<PlacedNode> nodes;
};

Filters::Filters(const Cluster& cluster)
    : index_(std::make_unique<const Index>(Index{cluster, place(cluster)})) {}
Filters::~Filters() = default;

std::int64_t Filters::unrequested(std::size_t node, std::string_view resource) const {
    const auto& [there, use] = index_->nodes.at(node);
    const auto all = there->allocatable ? amount_of(*there->allocatable, resource) : 0;
    return all - amount_of(use.requested, resource);
}

PodFilters Filters::prepare(const Pod& pod) const {
    return {*this, pod};
}

struct PodFilters::Prepared {
    const std::vector<PlacedNode>& nodes;
    const Pod& pod;
    PodAffinity affinity;
    TopologySpread spread;
    PodVolumes volumes;
};

PodFilters::PodFilters(const Filters& filters, const Pod& pod)
    : prepared_(std::make_unique<const Prepared>(
          Prepared{filters.index_->nodes, pod,
                   PodAffinity(filters.index_->cluster, filters.index_->nodes, pod),
                   TopologySpread(filters.index_->nodes, pod),
                   PodVolumes(filters.index_->cluster, filters.index_->nodes, pod)})) {}
PodFilters::~PodFilters() = default;

Findings PodFilters::judge(std::size_t node) const {
    const auto& placed = prepared_->nodes.at(node);
    const auto& pod = prepared_->pod;
    Findings out;
    judge_affinity(pod, *placed.node, out);
    judge_taints(pod, *placed.node, out);
    judge_ports(pod, placed, out);
    judge_resources(pod, placed, out);
    prepared_->volumes.judge(placed, out);
    prepared_->spread.judge(*placed.node, out);
    prepared_->affinity.judge(*placed.node, out);
    for (const auto& field : pod.not_judged) {
        leave_open(out, "it asks for what is not judged here: " + field, {field});
    }
    return out;
}

}  // namespace scout::migration::scheduling
