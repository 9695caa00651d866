// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics.h"

#include <algorithm>

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

void raise(prometheus::Counter& counter, std::uint64_t now) {
    counter.Increment(std::max(0.0, static_cast<double>(now) - counter.Value()));
}

}  // namespace

HypervisorMetrics::HypervisorMetrics(prometheus::Registry& registry)
    : reconnects_(counter(registry, "virt_scout_agent_hypervisor_reconnects_total",
                          "Connections to libvirt that were opened after the first.")),
      resyncs_(counter(registry, "virt_scout_agent_hypervisor_resyncs_total",
                       "Full lists of guests that were read.")),
      stuck_calls_(counter(registry, "virt_scout_agent_hypervisor_stuck_calls_total",
                           "Calls to libvirt that were given up at their limit.")),
      lost_events_(counter(registry, "virt_scout_agent_hypervisor_lost_events_total",
                           "Events of libvirt that were dropped; each causes a full list.")) {}

void HypervisorMetrics::take(const hypervisor::Counters& now) {
    raise(reconnects_, now.reconnects);
    raise(resyncs_, now.resyncs);
    raise(stuck_calls_, now.stuck_calls);
    raise(lost_events_, now.lost_events);
}

AgentMetrics::AgentMetrics(prometheus::Registry& registry)
    : probes(counter(registry, "virt_scout_agent_probes_total", "Probes of the hypervisor.")),
      probe_failures(counter(registry, "virt_scout_agent_probe_failures_total",
                             "Probes without a usable answer.")),
      last_probe_seconds(
          gauge(registry, "virt_scout_agent_last_probe_seconds", "How long the last probe took.")),
      guests(gauge(registry, "virt_scout_agent_guests", "Guests that are known on this host.")),
      hypervisor_connected(prometheus::BuildGauge()
                               .Name("virt_scout_agent_hypervisor_connected")
                               .Help("1 while the guests can be seen.")
                               .Register(registry)),
      hypervisor(registry),
      aggregator_connected(gauge(registry, "virt_scout_agent_aggregator_connected",
                                 "1 while the aggregator takes reports.")),
      serving_certificate_expires(
          prometheus::BuildGauge()
              .Name("virt_scout_agent_serving_certificate_expires_seconds")
              .Help("When the certificate that is served ends, in Unix time.")
              .Register(registry)),
      reconnects(counter(registry, "virt_scout_agent_reconnects_total",
                         "Attempts to reach the aggregator after the first.")),
      messages_sent(counter(registry, "virt_scout_agent_messages_sent_total",
                            "Messages sent to the aggregator.")),
      abandoned_calls(gauge(registry, "virt_scout_agent_abandoned_calls",
                            "Blocking calls that were given up since the start.")),
      loop_lag_seconds(gauge(registry, "virt_scout_agent_loop_lag_seconds",
                             "How late the loop woke up last.")) {}

}  // namespace scout::agent
