// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <prometheus/collectable.h>

#include "aggregator/agent_streams.h"
#include "aggregator/cluster_side.h"
#include "aggregator/fleet.h"
#include "aggregator/snapshot_keeper.h"

namespace scout::aggregator {

/// Everything that the metrics tell, taken in one turn of the loop.
struct MetricFacts {
    std::size_t fresh = 0;
    std::size_t stale = 0;
    std::size_t gone = 0;
    std::size_t guests = 0;
    std::size_t profiles = 0;
    std::size_t classes = 0;
    std::size_t agent_streams = 0;
    std::size_t watchers = 0;
    std::uint64_t watchers_too_slow = 0;
    ReportCounters reports;
    SnapshotCounters snapshots;
    std::optional<ClusterFacts> cluster;  ///< none: no cluster is followed
};

/// Counts of nodes, guests, profiles and classes.
[[nodiscard]] MetricFacts facts_of(const Fleet& fleet);

/// The facts as Prometheus families, `virt_scout_…`; asked when scraped, on the loop thread.
class FleetMetrics final : public prometheus::Collectable {
public:
    explicit FleetMetrics(std::function<MetricFacts()> ask) : ask_(std::move(ask)) {}

    [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

private:
    std::function<MetricFacts()> ask_;
};

}  // namespace scout::aggregator
