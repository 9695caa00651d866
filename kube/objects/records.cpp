// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/records.h"

#include <algorithm>
#include <array>

#include "kube/objects/read_meta.h"
#include "kube/objects/read_pod.h"
#include "kube/objects/read_vmi.h"

namespace scout::kube {
namespace {

/// Of metadata.managedFields: who wrote first.
struct Manager {
    SharedText name;
    SharedText subresource;
    std::optional<WallTime> at;
};

/// A member that only matters for being there.
struct Presence {
    bool& there;
};

struct NodeCondition {
    Condition condition;
    std::optional<WallTime> heartbeat;
};

/// The times of both APIs.
struct EventTimes {
    std::optional<WallTime> series;
    std::optional<WallTime> last;
    std::optional<WallTime> event;
    std::optional<WallTime> first;

    [[nodiscard]] WallTime when() const {
        return std::max({series, last, event, first}).value_or(WallTime{});
    }
};

/// What an Event is about.
struct EventObject {
    SeenEvent& event;
};

/// The annotations of a VMIM, of which few are kept.
struct MoveAnnotations {
    MoveRecord& move;
};

/// spec.sendTo: there with or without an address.
struct SendTo {
    std::optional<SharedText>& url;
};

/// What is no time says nothing.
struct Beat {
    std::optional<WallTime>& at;
};

}  // namespace

bool MoveRecord::is_final() const noexcept {
    return is_final_phase(phase.view());
}

bool PodRecord::is_final() const noexcept {
    return is_final_phase(phase.view());
}

std::optional<WallTime> end_of_launcher(const PodRecord& pod) noexcept {
    std::optional<WallTime> launcher;
    std::optional<WallTime> others;
    for (const auto& container : pod.containers) {
        auto& end = container.name == "compute" ? launcher : others;
        end = std::max(end, container.finished);
    }
    return launcher || !pod.is_final() ? launcher : others;
}

[[nodiscard]] static Status read_json(JsonValue value, MoveState& target) {
    return read_migration_state(value, target,
                                Nested{"sourceState", Field{"syncAddress", target.source_sync}},
                                Nested{"targetState", Field{"syncAddress", target.target_sync}});
}

[[nodiscard]] static Status read_json(JsonValue value, Manager& target) {
    return read_members(value, Field{"manager", target.name},
                        Field{"subresource", target.subresource}, Field{"time", target.at});
}

[[nodiscard]] static Status read_json(JsonValue value, Presence& target) {
    target.there = true;
    return read_map(value,
                    [](std::string_view /*key*/, JsonValue /*value*/) -> Status { return {}; });
}

[[nodiscard]] static Status read_json(JsonValue value, EventObject& target) {
    auto& event = target.event;
    return read_members(value, Field{"kind", event.kind}, Field{"namespace", event.space},
                        Field{"name", event.name}, Field{"uid", event.uid});
}

[[nodiscard]] static Status read_json(JsonValue value, SendTo& target) {
    return read_members(value, Field{"connectURL", target.url.emplace()});
}

[[nodiscard]] static Status read_json(JsonValue value, Beat& target) {
    WallTime at;
    if (read_json(value, at)) {
        target.at = std::max(target.at, std::optional{at});
    }
    return {};
}

[[nodiscard]] static Status read_json(JsonValue value, MoveAnnotations& target) {
    auto& move = target.move;
    const auto take = [&move](std::string_view key, JsonValue item) -> Status {
        if (key == evacuation_annotation) {
            return read_json(item, move.evacuation.emplace());
        }
        if (key == workload_update_annotation) {
            return read_json(item, move.workload_update.emplace());
        }
        return {};
    };
    return read_annotations(value, move.annotations, take);
}

[[nodiscard]] static Status read_json(JsonValue value, NodeCondition& target) {
    auto& condition = target.condition;
    return read_members(value, Field{"type", condition.type}, Field{"status", condition.status},
                        Field{"reason", condition.reason}, Field{"message", condition.message},
                        Field{"lastTransitionTime", condition.since},
                        Field{"lastHeartbeatTime", target.heartbeat});
}

namespace {

/// Of the entries that write no status, the earliest.
SharedText first_of(const std::vector<Manager>& managers) {
    const Manager* first = nullptr;
    for (const auto& each : managers) {
        if (each.subresource.empty() && (first == nullptr || each.at < first->at)) {
            first = &each;
        }
    }
    return first == nullptr ? SharedText{} : first->name;
}

bool is_asked_about(const SeenEvent& event) {
    constexpr std::array<std::string_view, 5> kinds{"Node", "Pod", "VirtualMachine",
                                                    "VirtualMachineInstance",
                                                    "VirtualMachineInstanceMigration"};
    const bool known = std::find(kinds.begin(), kinds.end(), event.kind.view()) != kinds.end();
    return known && (event.kind != "Pod" || event.name.view().starts_with("virt-"));
}

}  // namespace

Result<VmiRecord> decode_vmi_record(JsonObject& object) {
    VmiRecord vmi;
    ActivePods active_pods{vmi.active_pods};
    Controlled controlled{vmi.controlled};
    auto status = object.read(
        metadata(
            vmi.meta, Field{"ownerReferences", controlled},
            Field{"creationTimestamp", vmi.creation}, Field{"deletionTimestamp", vmi.deletion},
            Nested{"annotations", Field{"kubevirt.io/eviction-source", vmi.eviction_source}},
            Nested{"labels", Field{"kubevirt.io/outdatedLauncherImage", vmi.outdated_launcher}}),
        Nested{"spec", Field{"evictionStrategy", vmi.eviction_strategy}},
        Nested{"status", Field{"phase", vmi.phase}, Field{"reason", vmi.reason},
               Field{"nodeName", vmi.node}, Field{"evacuationNodeName", vmi.evacuation_node},
               Field{"selinuxContext", vmi.selinux_context}, Field{"conditions", vmi.conditions},
               Field{"activePods", active_pods}, Field{"phaseTransitionTimestamps", vmi.phases},
               Field{"migrationState", vmi.move}});
    return decoded(std::move(vmi), std::move(status));
}

Result<MoveRecord> decode_move_record(JsonObject& object) {
    MoveRecord move;
    MoveAnnotations annotations{move};
    std::vector<Manager> managers;
    SendTo send_to{move.send_to};
    Presence receive{move.receives};
    auto status = object.read(
        metadata(move.meta, Field{"annotations", annotations},
                 Nested{"labels", Field{"kubevirt.io/volume-update-migration", move.volume_update}},
                 Field{"managedFields", managers}, Field{"creationTimestamp", move.creation},
                 Field{"deletionTimestamp", move.deletion}),
        Nested{"spec", Field{"vmiName", move.vmi_name}, Field{"priority", move.priority},
               Field{"sendTo", send_to}, Field{"receive", receive}},
        Nested{"status", Field{"phase", move.phase}, Field{"conditions", move.conditions},
               Field{"phaseTransitionTimestamps", move.phases},
               Field{"migrationState", move.state}});
    move.creator = first_of(managers);
    return decoded(std::move(move), std::move(status));
}

Result<PodRecord> decode_pod_record(JsonObject& object) {
    PodRecord pod;
    std::vector<ContainerStatus> states;
    std::vector<ContainerSpec> specs;
    auto status = object.read(
        metadata(pod.meta,
                 Nested{"labels", Field{"kubevirt.io", pod.role},
                        Field{"kubevirt.io/created-by", pod.vmi_uid},
                        Field{"kubevirt.io/migrationJobUID", pod.migration_uid}},
                 Nested{"annotations", Field{"kubevirt.io/domain", pod.vmi_name}},
                 Field{"creationTimestamp", pod.creation}, Field{"deletionTimestamp", pod.deletion},
                 Field{"deletionGracePeriodSeconds", pod.deletion_grace}),
        Nested{"spec", Field{"nodeName", pod.node}, Field{"containers", specs}},
        Nested{"status", Field{"phase", pod.phase}, Field{"reason", pod.reason},
               Field{"message", pod.message}, Field{"conditions", pod.conditions},
               Field{"containerStatuses", states}});
    pod.containers = containers_of(states, specs);
    return decoded(std::move(pod), std::move(status));
}

Result<NodeRecord> decode_node_record(JsonObject& object) {
    NodeRecord node;
    std::vector<NodeCondition> conditions;
    Beat handler{node.heartbeat};
    auto status = object.read(
        metadata(node.meta, Field{"creationTimestamp", node.creation},
                 Nested{"labels", Field{"kubevirt.io/schedulable", node.schedulable}},
                 Nested{"annotations", Field{"kubevirt.io/heartbeat", handler}}),
        Nested{"spec", Field{"unschedulable", node.unschedulable}, Field{"taints", node.taints}},
        Nested{"status", Field{"conditions", conditions}});
    for (auto& each : conditions) {
        node.heartbeat = std::max(node.heartbeat, each.heartbeat);
        node.conditions.push_back(std::move(each.condition));
    }
    return decoded(std::move(node), std::move(status));
}

Result<SeenEvent> decode_seen_event(JsonObject& object) {
    SeenEvent event;
    EventTimes times;
    EventObject about{event};
    const auto source = [&event](std::string_view name) {
        return Nested{name, Field{"component", event.source}};
    };
    auto status = object.read(
        metadata(event.meta, Nested{"annotations", Field{"starved_resource", event.starved}}),
        Field{"involvedObject", about}, Field{"regarding", about}, Field{"reason", event.reason},
        Field{"message", event.message}, Field{"note", event.message},
        Field{"reportingComponent", event.reporter}, Field{"reportingController", event.reporter},
        source("source"), source("deprecatedSource"), Field{"lastTimestamp", times.last},
        Field{"deprecatedLastTimestamp", times.last}, Field{"firstTimestamp", times.first},
        Field{"deprecatedFirstTimestamp", times.first}, Field{"eventTime", times.event},
        Nested{"series", Field{"lastObservedTime", times.series}});
    event.at = times.when();
    if (!is_asked_about(event)) {
        event = {.meta = std::move(event.meta)};
    }
    return decoded(std::move(event), std::move(status));
}

}  // namespace scout::kube
