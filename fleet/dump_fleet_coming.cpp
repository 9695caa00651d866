// SPDX-License-Identifier: Apache-2.0
// What may come to nodes and VMs. The rest is in dump_fleet.cpp.
#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "cluster/vm_placement.h"
#include "cluster/vm_protection.h"
#include "fleet/dump_fleet.h"

namespace scout::fleet {
namespace {

constexpr const char* forecast_note =
    "how much of its memory a guest uses and how fast it writes is not known before its launcher "
    "is told to stop: forecasts copy all of it once, over a link of 10 Gbit/s (optimistic), half "
    "of it (expected), 1 Gbit/s (pessimistic)";
constexpr const char* target_note =
    "whether another node takes a VM now is not looked at: 'scoutctl drain-plan NODE' does";
constexpr const char* kubelet_note =
    "what time the kubelet itself gives pods is not known of every node: at a hard threshold it is "
    "a second, at a soft one evictionMaxPodGracePeriod, at a shutdown shutdownGracePeriod";
constexpr const char* thresholds_note =
    "the kubelets' thresholds, and how near they are, are not in the objects of the API server: "
    "agents tell them to the aggregator that leads; here is only what a kubelet "
    "tells once one is passed";
constexpr const char* no_agent_note =
    "of a node without thresholds no agent has told any yet: one that is given the kubelet's "
    "configuration does";

PressureNode pressure_node(const kube::Node& node) {
    PressureNode line;
    line.name = node.meta.name;
    for (const auto& condition : node.conditions) {
        if (condition.type.view().ends_with("Pressure")) {
            line.conditions.push_back(
                {.type = condition.type.str(),
                 .status = condition.status.str(),
                 .since_unix_ms = std::chrono::floor<std::chrono::milliseconds>(
                                      condition.since.time_since_epoch())
                                      .count()});
        }
    }
    for (const auto& taint : node.taints) {
        line.taints.push_back(taint.key.str() + ":" + taint.effect.str());
    }
    return line;
}

/// Of agents that are heard now: a kubelet may have been configured anew since.
cluster::KubeletWords kubelet_words(const std::optional<ToldPressures>& pressures) {
    cluster::KubeletWords words;
    for (const auto& [node, told] : pressures.value_or(ToldPressures{})) {
        const auto& graces = told.report->graces;
        if (graces && told.freshness == "fresh") {
            words.emplace(node, *graces);
        }
    }
    return words;
}

/// An API server says of each kind whether there is any; of a dump it may have been left out.
bool is_live(const cluster::Dump& dump) {
    return dump.files == 0;
}

}  // namespace

Result<ProtectionListing> DumpFleet::protection(const ProtectionQuestion& question) {
    std::set<std::string, std::less<>> wanted;
    for (const auto& name : question.vms) {
        const auto vmi = cluster::find_vmi(dump_.objects, name);
        if (!vmi) {
            return fail(vmi.error());
        }
        if (!cluster::is_running(**vmi)) {
            return fail(Errc::invalid, "expected a VM that runs, found '" + name + "' " +
                                           ((*vmi)->deletion ? "on its way to its end"
                                                             : "in phase " + (*vmi)->phase.str()));
        }
        wanted.insert(cluster::full_name((*vmi)->meta));
    }
    if (!question.node.empty()) {
        if (const auto node = cluster::find_node(dump_.objects, question.node); !node) {
            return fail(node.error());
        }
    }
    const auto kubelets = kubelet_words(options_.pressures);
    const bool plugins_known = is_live(dump_) || !dump_.objects.plugins.empty();
    ProtectionListing answer{.vms = cluster::vm_protections(dump_.objects, kubelets, plugins_known),
                             .notes = {forecast_note, target_note}};
    std::erase_if(answer.vms, [&wanted, &question](const cluster::VmProtection& each) {
        return (!wanted.empty() && !wanted.contains(each.vmi)) ||
               (!question.node.empty() && each.node != question.node);
    });
    if (std::any_of(answer.vms.begin(), answer.vms.end(),
                    [&kubelets](const auto& each) { return !kubelets.contains(each.node); })) {
        answer.notes.emplace_back(kubelet_note);
    }
    return answer;
}

Result<PressureListing> DumpFleet::pressure(const std::vector<std::string>& names) {
    auto nodes = named(names);
    if (!nodes) {
        return fail(nodes.error());
    }
    if (names.empty()) {
        for (const auto& node : dump_.objects.nodes) {
            nodes->push_back(&node);
        }
    }
    PressureListing answer{
        .nodes = {}, .notes = {}, .hears_agents = options_.pressures.has_value()};
    bool told_of_all = true;
    for (const auto* node : *nodes) {
        auto& line = answer.nodes.emplace_back(pressure_node(*node));
        if (options_.pressures) {
            const auto told = options_.pressures->find(line.name);
            if (told != options_.pressures->end()) {
                line.told = told->second;
            }
        }
        told_of_all = told_of_all && line.told;
    }
    if (!answer.hears_agents) {
        answer.notes.emplace_back(thresholds_note);
    } else if (!told_of_all) {
        answer.notes.emplace_back(no_agent_note);
    }
    return answer;
}

}  // namespace scout::fleet
