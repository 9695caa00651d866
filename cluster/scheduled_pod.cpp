// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "cluster/read_scheduling.h"
#include "cluster/scheduling_objects.h"
#include "kube/objects/read_meta.h"
#include "migration/scheduling/requests.h"

namespace scout::cluster {

namespace scheduling = migration::scheduling;
using kube::Field;
using kube::JsonObject;
using kube::JsonValue;
using kube::Nested;

namespace {

struct AskOf {
    scheduling::Ask ask;
};
Status read_json(JsonValue value, AskOf& target) {
    Amounts requests{target.ask.requests};
    return read_members(value, Field{"requests", requests});
}

struct Port {
    scheduling::HostPort port;
};
Status read_json(JsonValue value, Port& target) {
    auto& [address, protocol, port] = target.port;
    return read_members(value, Field{"hostIP", address}, Field{"protocol", protocol},
                        Field{"hostPort", port});
}

/// One of spec.containers or spec.initContainers.
struct Container {
    std::string name;
    AskOf resources;
    std::vector<Port> ports;
    std::string restarts;

    [[nodiscard]] bool stays() const { return restarts == "Always"; }
};
Status read_json(JsonValue value, Container& target) {
    return read_members(value, Field{"name", target.name}, Field{"resources", target.resources},
                        Field{"ports", target.ports}, Field{"restartPolicy", target.restarts});
}

/// One of status.containerStatuses: what it has while its resources are being changed.
struct Actual {
    std::string name;
    std::optional<AskOf> resources;
    scheduling::Resources allocated;
};
Status read_json(JsonValue value, Actual& target) {
    Amounts allocated{target.allocated};
    return read_members(value, Field{"name", target.name}, Field{"resources", target.resources},
                        Field{"allocatedResources", allocated});
}

struct PodVolume {
    std::string name;
    std::string claim;
    std::string data_volume;  ///< of a VMI; its claim has that name
    std::vector<kube::SharedText> kinds;
};

/// A volume names itself and has one member of the name of its kind.
Status read_json(JsonValue value, PodVolume& target) {
    return read_map(value, [&target](std::string_view key, JsonValue item) -> Status {
        if (key == "name") {
            return kube::read_json(item, target.name);
        }
        target.kinds.emplace_back(key);
        if (key == "persistentVolumeClaim") {
            return read_members(item, Field{"claimName", target.claim});
        }
        if (key == "dataVolume") {
            return read_members(item, Field{"name", target.data_volume});
        }
        if (key == "ephemeral") {
            // A VMI's lies over a claim; a pod's has one of its own making.
            return read_members(item,
                                Nested{"persistentVolumeClaim", Field{"claimName", target.claim}});
        }
        if (key == "memoryDump") {
            return read_members(item, Field{"claimName", target.claim});
        }
        return {};
    });
}

bool has(const std::vector<kube::SharedText>& kinds, std::string_view kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

/// Volumes that are no claims and that still tie a pod to nodes.
constexpr std::array<std::string_view, 4> exclusive_kinds{"gcePersistentDisk",
                                                          "awsElasticBlockStore", "iscsi", "rbd"};

void take_volumes(const std::vector<PodVolume>& volumes, scheduling::Pod& pod) {
    std::set<std::string_view> known;
    std::set<std::string_view> exclusive;
    const auto add_claim = [&known, &pod](const std::string& name) {
        if (!name.empty() && known.insert(name).second) {
            pod.claims.push_back(name);
        }
    };
    for (const auto& volume : volumes) {
        add_claim(volume.claim);
        add_claim(volume.data_volume);
        // A pod's generic ephemeral volume has the claim "POD-VOLUME".
        if (has(volume.kinds, "ephemeral") && volume.claim.empty()) {
            pod.claims.push_back(pod.name + "-" + volume.name);
        }
        for (const auto kind : exclusive_kinds) {
            if (has(volume.kinds, kind) && exclusive.insert(kind).second) {
                pod.not_judged.emplace_back("volumes." + std::string{kind});
            }
        }
    }
}

using States = std::map<std::string_view, const Actual*>;

States by_name(const std::vector<Actual>& all) {
    States out;
    for (const auto& each : all) {
        out.emplace(each.name, &each);
    }
    return out;
}

scheduling::Ask ask_of(const Container& container, const States& states) {
    auto ask = container.resources.ask;
    const auto state = states.find(container.name);
    if (state == states.end()) {
        return ask;
    }
    if (const Actual& actual = *state->second; actual.resources) {
        ask.actual = actual.resources->ask.requests;
        ask.allocated = actual.allocated;
    }
    return ask;
}

/// What of a pod's JSON decides how much it takes.
struct Amounted {
    std::vector<Container> containers;
    std::vector<Container> init_containers;
    std::vector<Actual> states;
    std::vector<Actual> init_states;
    std::optional<AskOf> whole;
    std::optional<AskOf> whole_actual;
    scheduling::Resources whole_allocated;
    scheduling::Resources overhead;
    std::vector<kube::Condition> conditions;
};

bool is_of_whole_pods(std::string_view resource) {
    return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

scheduling::PodAsk pod_ask(const Amounted& found) {
    scheduling::PodAsk pod;
    const auto states = by_name(found.states);
    const auto init_states = by_name(found.init_states);
    for (const auto& container : found.init_containers) {
        pod.init_containers.push_back(
            {.ask = ask_of(container, init_states), .restarts = container.stays()});
    }
    for (const auto& container : found.containers) {
        pod.containers.push_back(ask_of(container, states));
    }
    if (found.whole) {
        auto& whole = pod.whole.emplace(found.whole->ask);
        std::erase_if(whole.requests,
                      [](const auto& each) { return !is_of_whole_pods(each.first); });
        if (found.whole_actual) {
            whole.actual = found.whole_actual->ask.requests;
            whole.allocated = found.whole_allocated;
        }
    }
    pod.overhead = found.overhead;
    const auto* resize = kube::find_condition(found.conditions, "PodResizePending");
    pod.resize_infeasible = resize != nullptr && resize->reason == "Infeasible";
    return pod;
}

void take_ports(const std::vector<Container>& containers, bool init, scheduling::Pod& pod) {
    for (const auto& container : containers) {
        for (const auto& each : container.ports) {
            if (each.port.port > 0 && (!init || container.stays())) {
                pod.ports.push_back(each.port);
            }
        }
    }
}

void name_pod(const kube::ObjectMeta& meta, scheduling::Pod& pod) {
    pod.space = meta.space.str();
    pod.name = meta.name;
}

/// Only that it is there counts.
struct Something {};
Status read_json(JsonValue /*value*/, Something& /*target*/) {
    return {};
}

/// What a pod and a VMI say in the same words.
struct Spec {
    std::vector<PodVolume> volumes;
    std::string scheduler;
    std::vector<Something> resource_claims;
};

void take_spec(const Spec& spec, scheduling::Pod& pod) {
    take_volumes(spec.volumes, pod);
    if (!spec.scheduler.empty() && spec.scheduler != "default-scheduler") {
        pod.not_judged.emplace_back("schedulerName");
    }
    if (!spec.resource_claims.empty()) {
        pod.not_judged.emplace_back("resourceClaims");
    }
}

}  // namespace

Result<ScheduledPod> decode_scheduled_pod(JsonObject& object) {
    ScheduledPod out;
    auto& pod = out.pod;
    Spec spec;
    Amounted amounted;
    std::optional<WallTime> deletion;
    std::string phase;
    PlainLabels labels{pod.labels};
    PlainLabels node_selector{pod.node_selector};
    AffinityOf affinity{pod};
    SpreadOf spread{pod};
    TolerationsOf tolerations{pod};
    Amounts overhead{amounted.overhead};
    Amounts allocated{amounted.whole_allocated};
    auto status = object.read(
        metadata(out.meta, Field{"labels", labels}, Field{"deletionTimestamp", deletion}),
        Nested{"spec", Field{"nodeName", pod.node}, Field{"nodeSelector", node_selector},
               Field{"affinity", affinity}, Field{"tolerations", tolerations},
               Field{"topologySpreadConstraints", spread}, Field{"volumes", spec.volumes},
               Field{"schedulerName", spec.scheduler},
               Field{"resourceClaims", spec.resource_claims},
               Field{"containers", amounted.containers},
               Field{"initContainers", amounted.init_containers},
               Field{"resources", amounted.whole}, Field{"overhead", overhead}},
        Nested{"status", Field{"phase", phase}, Field{"conditions", amounted.conditions},
               Field{"containerStatuses", amounted.states},
               Field{"initContainerStatuses", amounted.init_states},
               Field{"resources", amounted.whole_actual}, Field{"allocatedResources", allocated}});
    name_pod(out.meta, pod);
    pod.deleting = deletion.has_value();
    take_spec(spec, pod);
    take_ports(amounted.containers, false, pod);
    take_ports(amounted.init_containers, true, pod);
    auto asked = pod_ask(amounted);
    pod.requests = scheduling::requests_of(asked);
    out.when_new = scheduling::requests_when_new(std::move(asked));
    out.final = kube::is_final_phase(phase);
    const auto role = pod.labels.find("kubevirt.io");
    out.launcher = role != pod.labels.end() && role->second == "virt-launcher";
    return kube::decoded(std::move(out), std::move(status));
}

/// One of status.migratedVolumes.
struct MovedVolume {
    std::string source;
};
Status read_json(JsonValue value, MovedVolume& target) {
    return read_members(value, Nested{"sourcePVCInfo", Field{"claimName", target.source}});
}

Result<VmiWishes> decode_vmi_wishes(JsonObject& object) {
    VmiWishes out;
    std::vector<MovedVolume> moved;
    auto& pod = out.pod;
    Spec spec;
    PlainLabels labels{pod.labels};
    AffinityOf affinity{pod};
    SpreadOf spread{pod};
    TolerationsOf tolerations{pod};
    auto status =
        object.read(metadata(out.meta, Field{"labels", labels}),
                    Nested{"spec", Field{"affinity", affinity}, Field{"tolerations", tolerations},
                           Field{"topologySpreadConstraints", spread},
                           Field{"volumes", spec.volumes}, Field{"schedulerName", spec.scheduler},
                           Field{"resourceClaims", spec.resource_claims}},
                    Nested{"status", Field{"migratedVolumes", moved}});
    name_pod(out.meta, pod);
    take_spec(spec, pod);
    for (auto& each : moved) {
        out.moved_away.push_back(std::move(each.source));
    }
    return kube::decoded(std::move(out), std::move(status));
}

}  // namespace scout::cluster
