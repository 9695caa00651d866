// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/vmi.h"

#include <algorithm>

#include "kube/objects/read_meta.h"
#include "kube/objects/read_migration_settings.h"
#include "kube/objects/read_vmi.h"

namespace scout::kube {

[[nodiscard]] static Status read_json(JsonValue value, CpuFeature& target) {
    return read_members(value, Field{"name", target.name}, Field{"policy", target.policy});
}

[[nodiscard]] static Status read_json(JsonValue value, MigrationSettings& target) {
    return read_migration_settings(value, target,
                                   Field{"progressTimeout", target.progress_seconds});
}

[[nodiscard]] static Status read_json(JsonValue value, MigrationState& target) {
    auto status =
        read_migration_state(value, target, Field{"migrationConfiguration", target.settings});
    if (target.completed) {
        target.settings.reset();
    }
    return status;
}

Status read_json(JsonValue value, ActivePods& target) {
    target.target.clear();
    return read_map(value, [&target](std::string_view key, JsonValue item) -> Status {
        auto& pod = target.target.emplace_back();
        pod.uid = key;
        return read_json(item, pod.node);
    });
}

namespace {

/// Members of the specification that only matter for being there.
struct Demands {
    std::vector<SharedText> node_affinity;
    std::vector<SharedText> pod_affinity;
    std::vector<SharedText> pod_anti_affinity;
    std::vector<SharedText> launch_security;
    std::vector<SharedText> devices;
    std::optional<bool> dedicated_cpus;

    static bool has(const std::vector<SharedText>& keys, std::string_view key) {
        return std::find(keys.begin(), keys.end(), key) != keys.end();
    }

    [[nodiscard]] std::vector<std::string> names() const {
        constexpr std::string_view required = "requiredDuringSchedulingIgnoredDuringExecution";
        std::vector<std::string> out;
        const auto add = [&out](bool there, const char* name) {
            if (there) {
                out.emplace_back(name);
            }
        };
        add(dedicated_cpus.value_or(false), "dedicatedCpuPlacement");
        add(has(devices, "gpus"), "gpus");
        add(has(devices, "hostDevices"), "hostDevices");
        add(!launch_security.empty(), "launchSecurity");
        add(has(node_affinity, required), "nodeAffinity");
        add(has(pod_affinity, required), "podAffinity");
        add(has(pod_anti_affinity, required), "podAntiAffinity");
        return out;
    }
};

/// Where the memory of a guest is told.
struct MemoryTexts {
    SharedText now;    ///< status.memory.guestCurrent
    SharedText given;  ///< spec.domain.memory.guest
    SharedText asked;  ///< spec.domain.resources.requests.memory: the guest has as much then

    [[nodiscard]] SharedText best() const {
        return !now.empty() ? now : given.empty() ? asked : given;
    }
};

/// What is told of how it is, read into what is given.
auto status_into(Vmi& vmi, ActivePods& active_pods, QuantityText& memory) {
    return Nested{"status",
                  Field{"phase", vmi.phase},
                  Field{"reason", vmi.reason},
                  Field{"nodeName", vmi.node},
                  Field{"evacuationNodeName", vmi.evacuation_node},
                  Field{"activePods", active_pods},
                  Field{"conditions", vmi.conditions},
                  Field{"migrationState", vmi.migration},
                  Nested{"machine", Field{"type", vmi.machine}},
                  Nested{"memory", Field{"guestCurrent", memory}},
                  Nested{"topologyHints", Field{"tscFrequency", vmi.tsc_hz}}};
}

}  // namespace

Result<Vmi> decode_vmi(JsonObject& object) {
    Vmi vmi;
    Demands demands;
    MemoryTexts memory;
    QuantityText memory_now{memory.now};
    QuantityText memory_given{memory.given};
    QuantityText memory_asked{memory.asked};
    Keys node_affinity{demands.node_affinity};
    Keys pod_affinity{demands.pod_affinity};
    Keys pod_anti_affinity{demands.pod_anti_affinity};
    Keys launch_security{demands.launch_security};
    Keys devices{demands.devices};
    std::vector<SharedText> probe;
    Keys liveness{probe};
    ActivePods active_pods{vmi.active_pods};
    const Nested cpu{"cpu", Field{"model", vmi.cpu_model}, Field{"features", vmi.cpu_features},
                     Field{"dedicatedCpuPlacement", demands.dedicated_cpus}};
    const Nested spec{
        "spec",
        Nested{"domain", cpu, Nested{"machine", Field{"type", vmi.machine_asked}},
               Nested{"memory", Field{"guest", memory_given}},
               Nested{"resources", Nested{"requests", Field{"memory", memory_asked}}},
               Field{"launchSecurity", launch_security}, Field{"devices", devices}},
        Nested{"affinity", Field{"nodeAffinity", node_affinity}, Field{"podAffinity", pod_affinity},
               Field{"podAntiAffinity", pod_anti_affinity}},
        Field{"architecture", vmi.architecture},
        Field{"evictionStrategy", vmi.eviction_strategy},
        Field{"terminationGracePeriodSeconds", vmi.grace},
        Field{"livenessProbe", liveness},
        Field{"nodeSelector", vmi.node_selector}};
    auto status = object.read(
        metadata(vmi.meta, Field{"labels", vmi.labels}, Field{"deletionTimestamp", vmi.deletion},
                 Nested{"annotations", Field{"kubevirt.io/eviction-source", vmi.eviction_source}}),
        spec, status_into(vmi, active_pods, memory_now));
    vmi.liveness_probe = !probe.empty();
    vmi.shares_files = Demands::has(demands.devices, "filesystems");
    vmi.other_demands = demands.names();
    vmi.memory = memory.best();
    return decoded(std::move(vmi), std::move(status));
}

}  // namespace scout::kube
