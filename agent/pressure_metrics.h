// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include <prometheus/labels.h>
#include <prometheus/registry.h>

#include "migration/node_pressure.h"
#include "pressure/node_sample.h"

namespace prometheus {
class Counter;
class Gauge;
template <typename T>
class Family;
}  // namespace prometheus

namespace scout::agent {

/// Gauges of one family, of which those are there that were given last: an alert on what is not
/// known must not see the value of before.
class GaugeSet {
public:
    using Values = std::map<prometheus::Labels, double>;

    GaugeSet(prometheus::Registry& registry, const char* name, const char* help);

    void take(const Values& values);

private:
    prometheus::Family<prometheus::Gauge>& family_;
    std::map<prometheus::Labels, prometheus::Gauge*> shown_;
};

/// What a node's pressure is, as metrics. Loop thread; the registry outlives it.
class PressureMetrics {
public:
    explicit PressureMetrics(prometheus::Registry& registry);

    void take(const std::vector<migration::ThresholdOutlook>& outlooks,
              const pressure::NodeSample& sample);
    /// None given: the kubelet waits for no pod.
    void take_shutdown(std::optional<std::chrono::seconds> given, std::size_t short_guests);

    prometheus::Counter& looks;
    prometheus::Counter& failed_looks;  ///< of which something could not be read

private:
    void take_stalls(const pressure::NodeSample& sample);

    GaugeSet available_;
    GaugeSet capacity_;
    GaugeSet threshold_;
    GaugeSet seconds_;
    GaugeSet confidence_;
    GaugeSet warning_;
    GaugeSet stall_;
    GaugeSet swap_;
    GaugeSet shutdown_grace_;
    GaugeSet short_guests_;
};

}  // namespace scout::agent
