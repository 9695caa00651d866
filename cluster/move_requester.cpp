// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "cluster/cause_story.h"

namespace scout::cluster {
namespace {

bool has_condition(const kube::VmiRecord& vmi, std::string_view type) {
    const auto* condition = kube::find_condition(vmi.conditions, type);
    return condition != nullptr && condition->status == "True";
}

/// The source's launcher, by the state or else by what the VMI says.
std::string source_pod(const kube::MoveRecord& move) {
    return move.state ? move.state->source_pod.str() : std::string{};
}

bool told_before(const kube::SeenEvent& event, const kube::MoveRecord& move) {
    return event.at == WallTime{} || !move.creation || event.at <= *move.creation;
}

bool is_evicted_by_kubelet(const Records& records, const kube::MoveRecord& move) {
    const auto pod = source_pod(move);
    return !pod.empty() && std::any_of(records.events.begin(), records.events.end(),
                                       [&pod, &move](const kube::SeenEvent& event) {
                                           return event.kind == "Pod" && event.name == pod &&
                                                  event.space == move.meta.space &&
                                                  event.reason == "Evicted" &&
                                                  told_before(event, move);
                                       });
}

bool is_node_shutting_down(const Records& records, const kube::MoveRecord& move) {
    const auto node = move.evacuation ? move.evacuation->str() : std::string{};
    return !node.empty() && std::any_of(records.events.begin(), records.events.end(),
                                        [&node, &move](const kube::SeenEvent& event) {
                                            return event.kind == "Node" && event.name == node &&
                                                   event.reason == "NodeShutdown" &&
                                                   told_before(event, move);
                                        });
}

}  // namespace

migration::RequestAnswer requester_of(const Records& records, const kube::MoveRecord& move,
                                      const kube::VmiRecord* vmi) {
    migration::RequestFacts facts;
    facts.name = move.meta.name;
    facts.recorded = move.annotations.find(migration::cause_annotation).value_or("");
    facts.user = move.annotations.find(migration::requester_annotation).value_or("");
    facts.client = move.creator.str();
    facts.evacuation = move.evacuation.has_value();
    facts.workload_update = move.workload_update.has_value();
    facts.volume_update = move.volume_update.has_value();
    facts.crosses = move.send_to || move.receives;
    facts.priority = move.priority.str();
    facts.of_now = move.phase != "Succeeded" && move.phase != "Failed";
    facts.evicted_by_kubelet = is_evicted_by_kubelet(records, move);
    facts.node_shutting_down = is_node_shutting_down(records, move);
    if (vmi != nullptr) {
        constexpr std::array<std::string_view, 2> plugging{"HotMemoryChange", "MigrationRequired"};
        facts.descheduled = vmi->eviction_source == "descheduler";
        // Of CPUs the condition counts whatever its status is, as KubeVirt has it.
        facts.hotplug_pending =
            kube::find_condition(vmi->conditions, "HotVCPUChange") != nullptr ||
            std::any_of(plugging.begin(), plugging.end(),
                        [vmi](std::string_view type) { return has_condition(*vmi, type); });
        facts.volumes_pending = has_condition(*vmi, "VolumesChange");
        facts.launcher_outdated = vmi->outdated_launcher.has_value();
    }
    return migration::who_wanted(facts);
}

}  // namespace scout::cluster
