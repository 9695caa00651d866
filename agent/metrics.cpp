// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>

namespace scout::agent {
namespace {

prometheus::Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Gauge& gauge(prometheus::Registry& registry, const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

AgentMetrics::AgentMetrics(prometheus::Registry& registry)
    : probes(counter(registry, "virt_scout_agent_probes_total", "Probes of the hypervisor.")),
      probe_failures(counter(registry, "virt_scout_agent_probe_failures_total",
                             "Probes without a usable answer.")),
      last_probe_seconds(
          gauge(registry, "virt_scout_agent_last_probe_seconds", "How long the last probe took.")),
      guests(gauge(registry, "virt_scout_agent_guests", "Guests that are known on this host.")),
      hypervisor_connected(gauge(registry, "virt_scout_agent_hypervisor_connected",
                                 "1 while the guests can be seen.")),
      aggregator_connected(gauge(registry, "virt_scout_agent_aggregator_connected",
                                 "1 while the aggregator takes reports.")),
      reconnects(counter(registry, "virt_scout_agent_reconnects_total",
                         "Attempts to reach the aggregator after the first.")),
      messages_sent(counter(registry, "virt_scout_agent_messages_sent_total",
                            "Messages sent to the aggregator.")),
      abandoned_calls(gauge(registry, "virt_scout_agent_abandoned_calls",
                            "Blocking calls that were given up since the start.")),
      loop_lag_seconds(gauge(registry, "virt_scout_agent_loop_lag_seconds",
                             "How late the loop woke up last.")) {}

}  // namespace scout::agent
