// SPDX-License-Identifier: Apache-2.0
#include "agent/pressure_metrics.h"

#include <string>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>

namespace scout::agent {
namespace {

using prometheus::Labels;

prometheus::Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

Labels labels_of(const migration::EvictionThreshold& threshold) {
    return {{"signal", std::string{to_string(threshold.signal)}},
            {"kind", threshold.soft_grace ? "soft" : "hard"}};
}

void add_stall(const char* resource, const std::optional<pressure::Stall>& stall,
               GaugeSet::Values& values) {
    if (stall) {
        values[{{"resource", resource}, {"tasks", "some"}}] = stall->some;
        values[{{"resource", resource}, {"tasks", "all"}}] = stall->full;
    }
}

}  // namespace

GaugeSet::GaugeSet(prometheus::Registry& registry, const char* name, const char* help)
    : family_(prometheus::BuildGauge().Name(name).Help(help).Register(registry)) {}

void GaugeSet::take(const Values& values) {
    for (auto shown = shown_.begin(); shown != shown_.end();) {
        if (values.contains(shown->first)) {
            ++shown;
        } else {
            family_.Remove(shown->second);
            shown = shown_.erase(shown);
        }
    }
    for (const auto& [labels, value] : values) {
        auto& gauge = shown_[labels];
        if (gauge == nullptr) {
            gauge = &family_.Add(labels);
        }
        gauge->Set(value);
    }
}

PressureMetrics::PressureMetrics(prometheus::Registry& registry)
    : looks(counter(registry, "virt_scout_pressure_looks_total", "Looks at the node's pressure.")),
      failed_looks(counter(registry, "virt_scout_pressure_failed_looks_total",
                           "Looks of which something could not be read.")),
      available_(registry, "virt_scout_pressure_available",
                 "What is left, as the kubelet counts it: bytes, inodes, process numbers."),
      capacity_(registry, "virt_scout_pressure_capacity", "What there is in all."),
      threshold_(registry, "virt_scout_pressure_threshold",
                 "What must be left, or the kubelet evicts pods."),
      seconds_(registry, "virt_scout_pressure_seconds_to_threshold",
               "When the threshold is expected to be passed; not there while it is not."),
      confidence_(registry, "virt_scout_pressure_confidence",
                  "How steady the fall is, 0 to 1; there with the seconds."),
      warning_(registry, "virt_scout_pressure_warning",
               "1 while an eviction is expected within ten minutes, or goes on."),
      stall_(registry, "virt_scout_pressure_stall_ratio",
             "Share of the last ten seconds in which some or all tasks waited for a resource."),
      swap_(registry, "virt_scout_pressure_swap_used_bytes", "Swap that is in use."),
      shutdown_grace_(registry, "virt_scout_kubelet_shutdown_grace_seconds",
                      "What the kubelet gives ordinary pods when the node shuts down; not there "
                      "where it does not wait."),
      short_guests_(registry, "virt_scout_kubelet_shutdown_short_guests",
                    "Guests that ask for more time than that to shut down.") {}

void PressureMetrics::take(const std::vector<migration::ThresholdOutlook>& outlooks,
                           const pressure::NodeSample& sample) {
    GaugeSet::Values available;
    GaugeSet::Values capacity;
    for (const auto& [signal, room] : sample.room) {
        const Labels labels{{"signal", std::string{to_string(signal)}}};
        available[labels] = static_cast<double>(room.available);
        capacity[labels] = static_cast<double>(room.capacity);
    }
    GaugeSet::Values threshold;
    GaugeSet::Values seconds;
    GaugeSet::Values confidence;
    GaugeSet::Values warning;
    for (const auto& outlook : outlooks) {
        const auto labels = labels_of(outlook.threshold);
        warning[labels] = outlook.warned ? 1 : 0;
        if (outlook.room) {
            threshold[labels] = static_cast<double>(outlook.at);
        }
        if (outlook.reached) {
            seconds[labels] = std::chrono::duration<double>(outlook.reached->in).count();
            confidence[labels] = outlook.reached->confidence;
        }
    }
    available_.take(available);
    capacity_.take(capacity);
    threshold_.take(threshold);
    seconds_.take(seconds);
    confidence_.take(confidence);
    warning_.take(warning);
    take_stalls(sample);
}

void PressureMetrics::take_stalls(const pressure::NodeSample& sample) {
    GaugeSet::Values stalls;
    add_stall("memory", sample.memory_stall, stalls);
    add_stall("io", sample.io_stall, stalls);
    stall_.take(stalls);
    GaugeSet::Values swap;
    if (sample.swap) {
        swap[{}] = static_cast<double>(sample.swap->total - sample.swap->free);
    }
    swap_.take(swap);
}

void PressureMetrics::take_shutdown(std::optional<std::chrono::seconds> given,
                                    std::size_t short_guests) {
    GaugeSet::Values grace;
    if (given) {
        grace[{}] = static_cast<double>(given->count());
    }
    shutdown_grace_.take(grace);
    short_guests_.take({{{}, static_cast<double>(short_guests)}});
}

}  // namespace scout::agent
