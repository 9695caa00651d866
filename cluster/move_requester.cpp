// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include "cluster/cause_facts.h"
#include "cluster/cause_story.h"
#include "migration/cause_words.h"

namespace scout::cluster {
namespace {

bool has_condition(const kube::VmiRecord& vmi, std::string_view type) {
    const auto* condition = kube::find_condition(vmi.conditions, type);
    return condition != nullptr && condition->status == "True";
}

/// A node that told longer ago that it shuts down has done so, or its Ready condition still says
/// it.
constexpr std::chrono::minutes longest_silence{10};

bool told_lately(const kube::SeenEvent& event, const kube::MoveRecord& move) {
    return event.at == WallTime{} || !move.creation ||
           (event.at <= *move.creation && event.at > *move.creation - longest_silence);
}

/// The last of its Events says so, and not that nothing comes of it.
bool told_shutdown(const Records& records, const kube::MoveRecord& move, std::string_view node) {
    const kube::SeenEvent* last = nullptr;
    for (const auto& event : records.events) {
        const bool tells = event.kind == "Node" && event.name == node &&
                           event.reason == "NodeShutdown" && told_lately(event, move);
        if (tells && (last == nullptr || event.at >= last->at)) {
            last = &event;
        }
    }
    return last != nullptr && !migration::is_shutdown_cancelled(last->message.view());
}

/// The launcher that is left, its pod if that is there; without a name: it is not known.
LauncherSeen source_of(const Records& records, const kube::MoveRecord& move,
                       const kube::VmiRecord* vmi) {
    LauncherSeen source{.space = move.meta.space.str(),
                        .name = source_pod(records, move, vmi),
                        .vmi_name = move.vmi_name.str(),
                        .pod = nullptr};
    const auto found = std::find_if(
        records.launchers.begin(), records.launchers.end(), [&source](const kube::PodRecord& pod) {
            return pod.meta.name == source.name && pod.meta.space == source.space;
        });
    if (found != records.launchers.end()) {
        source.pod = &*found;
    }
    return source;
}

/// Its deletion was asked for when the migration was not made yet. After a migration KubeVirt
/// deletes it itself.
bool is_deleted_before(const kube::PodRecord* pod, const kube::MoveRecord& move) {
    return pod != nullptr && move.creation && pod->deletion &&
           *pod->deletion - pod->deletion_grace.value_or(std::chrono::seconds{0}) <= *move.creation;
}

/// In its kubelet's words.
bool says_shutdown(const kube::NodeRecord& node) {
    const auto* const ready = kube::find_condition(node.conditions, "Ready");
    return ready != nullptr && ready->status != "True" &&
           ready->message.view().find("node is shutting down") != std::string_view::npos;
}

bool is_node_shutting_down(const Records& records, const kube::MoveRecord& move,
                           const kube::VmiRecord* vmi) {
    const auto node = node_left(move, vmi);
    const bool says_so =
        !move.is_final() && std::any_of(records.nodes.begin(), records.nodes.end(),
                                        [&node](const kube::NodeRecord& each) {
                                            return each.meta.name == node && says_shutdown(each);
                                        });
    return says_so || (!node.empty() && told_shutdown(records, move, node));
}

}  // namespace

std::string node_left(const kube::MoveRecord& move, const kube::VmiRecord* vmi) {
    if (move.evacuation && !move.evacuation->empty()) {
        return move.evacuation->str();
    }
    if (move.state && !move.state->source_node.empty()) {
        return move.state->source_node.str();
    }
    return vmi == nullptr || move.is_final() ? std::string{} : vmi->node.str();
}

std::string source_pod(const Records& records, const kube::MoveRecord& move,
                       const kube::VmiRecord* vmi) {
    if (move.state && !move.state->source_pod.empty()) {
        return move.state->source_pod.str();
    }
    if (vmi == nullptr || move.is_final()) {
        return {};  // where the VMI is now tells nothing of where it was
    }
    const auto found = std::find_if(
        records.launchers.begin(), records.launchers.end(), [vmi, &move](const auto& pod) {
            return pod.vmi_uid == vmi->meta.uid && pod.node == vmi->node &&
                   pod.migration_uid != move.meta.uid;
        });
    return found == records.launchers.end() ? std::string{} : found->meta.name;
}

migration::RequestAnswer requester_of(const Records& records, const kube::MoveRecord& move,
                                      const kube::VmiRecord* vmi, bool told_to_stop) {
    migration::RequestFacts facts;
    facts.told_to_stop = told_to_stop;
    facts.name = move.meta.name;
    facts.recorded = move.annotations.find(migration::cause_annotation).value_or("");
    facts.user = move.annotations.find(migration::requester_annotation).value_or("");
    facts.client = move.creator.str();
    facts.evacuation = move.evacuation.has_value();
    facts.workload_update = move.workload_update.has_value();
    facts.volume_update = move.volume_update.has_value();
    facts.crosses = move.send_to || move.receives;
    facts.priority = move.priority.str();
    facts.of_now = !move.is_final();
    const auto source = source_of(records, move, vmi);
    facts.ending = ending_told(records, source, move.creation);
    facts.pod_deleted = is_deleted_before(source.pod, move);
    facts.node_shutting_down = is_node_shutting_down(records, move, vmi);
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
