// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <prometheus/registry.h>

#include "libvirt_glue/hypervisor.h"

namespace prometheus {
class Counter;
class Gauge;
template <typename T>
class Family;
}  // namespace prometheus

namespace scout::agent {

/// The hypervisor port's counters as metrics.
class HypervisorMetrics {
public:
    explicit HypervisorMetrics(prometheus::Registry& registry);

    /// What they are now; they never go down.
    void take(const hypervisor::Counters& now);

private:
    prometheus::Counter& reconnects_;
    prometheus::Counter& resyncs_;
    prometheus::Counter& stuck_calls_;
    prometheus::Counter& lost_events_;
};

/// The agent's own metrics, all without labels. Any thread; the registry keeps them alive.
struct AgentMetrics {
    explicit AgentMetrics(prometheus::Registry& registry);

    prometheus::Counter& probes;
    prometheus::Counter& probe_failures;
    prometheus::Gauge& last_probe_seconds;  ///< how long the last one took
    prometheus::Gauge& guests;
    /// Not there where no guests are watched (embedded driver), so that no alert waits for it.
    prometheus::Family<prometheus::Gauge>& hypervisor_connected;
    HypervisorMetrics hypervisor;
    prometheus::Gauge& aggregator_connected;
    /// In Unix time. Not there where nothing is served with TLS.
    prometheus::Family<prometheus::Gauge>& serving_certificate_expires;
    prometheus::Counter& reconnects;  ///< streams begun after the first try
    prometheus::Counter& messages_sent;
    prometheus::Gauge& abandoned_calls;
    prometheus::Gauge& loop_lag_seconds;
};

}  // namespace scout::agent
