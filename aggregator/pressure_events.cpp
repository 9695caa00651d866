// SPDX-License-Identifier: Apache-2.0
#include "aggregator/pressure_events.h"

#include <string>

namespace scout::aggregator {
namespace {

/// No numbers that change: equal notes are one Event.
std::string note_text(const std::string& node, const migration::PressureLine& line) {
    return std::string{to_string(line.signal)} + " is expected to fall below the kubelet's " +
           (line.soft_grace ? "soft" : "hard") + " threshold of " + std::to_string(line.at) +
           ", and pods to be evicted then; 'scoutctl pressure " + node +
           "' tells when, and which VMs go first";
}

}  // namespace

void PressureEvents::follow(Registry& registry) {
    registry.observe_pressure([this](const Node& node, const auto* before) { take(node, before); });
}

void PressureEvents::take(const Node& node, const migration::PressureReport* before) {
    const auto begun = migration::begun_warnings(before, *node.pressure.report);
    if (begun.empty() || !elector_.leads()) {
        return;
    }
    const auto object = nodes_.find({}, node.name);
    if (!object) {
        return;
    }
    for (const auto* line : begun) {
        events_.record({.regarding = {.api_version = "v1",
                                      .kind = "Node",
                                      .space = {},
                                      .name = object->meta.name,
                                      .uid = object->meta.uid},
                        .related = {},
                        .warning = true,
                        .reason = "NodePressureExpected",
                        .action = "Warn",
                        .note = note_text(node.name, *line)});
    }
}

}  // namespace scout::aggregator
