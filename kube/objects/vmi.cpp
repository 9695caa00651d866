// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/vmi.h"

#include <algorithm>

#include "kube/objects/new_pod.h"
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

struct OwnerReference {
    bool controller = false;
};

}  // namespace

[[nodiscard]] static Status read_json(JsonValue value, OwnerReference& target) {
    return read_members(value, Field{"controller", target.controller});
}

Status read_json(JsonValue value, Controlled& target) {
    std::vector<OwnerReference> owners;
    auto status = read_json(value, owners);
    target.target = std::any_of(owners.begin(), owners.end(),
                                [](const OwnerReference& owner) { return owner.controller; });
    return status;
}

/// When a final phase was reached, of all that are told.
struct EndTime {
    std::optional<WallTime>& target;
};

[[nodiscard]] static Status read_json(JsonValue value, EndTime& target) {
    std::vector<PhaseTime> phases;
    auto status = read_json(value, phases);
    target.target = final_time(phases);
    return status;
}

/// A member that only matters for being there.
struct Present {
    bool& target;
};

[[nodiscard]] static Status read_json(JsonValue /*value*/, Present& target) {
    target.target = true;
    return {};
}

/// One entry of spec.domain.devices.disks.
struct DiskEntry {
    SharedText name;
    bool is_cdrom = false;
};

[[nodiscard]] static Status read_json(JsonValue value, DiskEntry& target) {
    Present cdrom{target.is_cdrom};
    return read_members(value, Field{"name", target.name}, Field{"cdrom", cdrom});
}

/// One entry of spec.domain.devices.interfaces.
struct InterfaceEntry {
    bool is_sriov = false;
};

[[nodiscard]] static Status read_json(JsonValue value, InterfaceEntry& target) {
    Present sriov{target.is_sriov};
    return read_members(value, Field{"sriov", sriov});
}

/// spec.domain.devices.
struct Devices {
    std::vector<DiskEntry> disks;
    std::vector<InterfaceEntry> interfaces;
    bool filesystems = false;
    bool gpus = false;
    bool host_devices = false;

    [[nodiscard]] bool are_of_host() const {
        return gpus || host_devices ||
               std::any_of(interfaces.begin(), interfaces.end(),
                           [](const auto& each) { return each.is_sriov; });
    }
};

[[nodiscard]] static Status read_json(JsonValue value, Devices& target) {
    Present filesystems{target.filesystems};
    Present gpus{target.gpus};
    Present host_devices{target.host_devices};
    return read_members(value, Field{"disks", target.disks}, Field{"interfaces", target.interfaces},
                        Field{"filesystems", filesystems}, Field{"gpus", gpus},
                        Field{"hostDevices", host_devices});
}

/// One entry of spec.volumes.
struct Volume {
    SharedText name;
    SharedText capacity;    ///< of an emptyDisk
    bool in_pod = false;    ///< emptyDisk, containerDisk or ephemeral
    bool is_claim = false;  ///< or lies on the host
};

[[nodiscard]] static Status read_json(JsonValue value, Volume& target) {
    QuantityText capacity{target.capacity};
    Present in_pod{target.in_pod};
    Present claim{target.is_claim};
    auto status = read_members(value, Field{"name", target.name},
                               Nested{"emptyDisk", Field{"capacity", capacity}},
                               Field{"containerDisk", in_pod}, Field{"ephemeral", in_pod},
                               Field{"persistentVolumeClaim", claim}, Field{"dataVolume", claim},
                               Field{"hostDisk", claim});
    target.in_pod = target.in_pod || !target.capacity.empty();
    return status;
}

/// One entry of status.migratedVolumes.
struct MigratedVolume {
    SharedText name;
    SharedText asked;  ///< of its claim, which holds no less; KubeVirt counts the lesser of both
};

[[nodiscard]] static Status read_json(JsonValue value, MigratedVolume& target) {
    QuantityText asked{target.asked};
    return read_members(value, Field{"volumeName", target.name},
                        Nested{"sourcePVCInfo", Nested{"requests", Field{"storage", asked}}});
}

namespace {

/// Members of the specification that only matter for being there.
struct Demands {
    std::vector<SharedText> node_affinity;
    std::vector<SharedText> pod_affinity;
    std::vector<SharedText> pod_anti_affinity;
    std::vector<SharedText> launch_security;
    std::vector<SharedText> liveness_probe;
    Devices devices;
    std::optional<bool> dedicated_cpus;

    void tell(Vmi& vmi) const {
        vmi.liveness_probe = !liveness_probe.empty();
        vmi.shares_files = devices.filesystems;
        vmi.holds_devices = devices.are_of_host();
        vmi.other_demands = names();
    }

private:
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
        add(devices.gpus, "gpus");
        add(devices.host_devices, "hostDevices");
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

/// Where the disks are told that a migration copies along.
struct DiskTexts {
    std::vector<Volume> volumes;           ///< spec.volumes
    std::vector<MigratedVolume> migrated;  ///< status.migratedVolumes
    SharedText method;                     ///< status.migrationMethod

    /// As KubeVirt chooses them (getDiskTargetsForMigration): no CD-ROM is copied, and of claims
    /// those alone that are migrated. It says BlockMigration also for volumes without a disk, as a
    /// memory dump, and where it could not tell and lets nothing move (checkVolumesForMigration).
    void tell(Vmi& vmi, const std::vector<DiskEntry>& disks) const {
        bool named = !migrated.empty();
        for (const auto& volume : volumes) {
            const auto disk = std::find_if(disks.begin(), disks.end(), [&volume](const auto& each) {
                return each.name == volume.name;
            });
            const bool has_disk = disk != disks.end();
            if (volume.is_claim || (has_disk && disk->is_cdrom)) {
                continue;
            }
            named = true;
            if (has_disk && volume.in_pod) {
                vmi.copied_disks.push_back({.name = volume.name, .size = volume.capacity});
            }
        }
        for (const auto& volume : migrated) {
            vmi.copied_disks.push_back(
                {.name = volume.name, .size = volume.asked, .claimed = true});
        }
        const auto* const migratable = find_condition(vmi.conditions, "LiveMigratable");
        const bool may_move = migratable == nullptr || migratable->status != "False";
        vmi.copies_unnamed = method == "BlockMigration" && !named && may_move;
    }
};

/// What is told of how it is, read into what is given.
auto status_into(Vmi& vmi, ActivePods& active_pods, QuantityText& memory, DiskTexts& disks,
                 EndTime& ended) {
    return Nested{"status",
                  Field{"phase", vmi.phase},
                  Field{"reason", vmi.reason},
                  Field{"nodeName", vmi.node},
                  Field{"evacuationNodeName", vmi.evacuation_node},
                  Field{"phaseTransitionTimestamps", ended},
                  Field{"activePods", active_pods},
                  Field{"conditions", vmi.conditions},
                  Field{"migrationState", vmi.migration},
                  Field{"migrationMethod", disks.method},
                  Field{"migratedVolumes", disks.migrated},
                  Nested{"machine", Field{"type", vmi.machine}},
                  Nested{"memory", Field{"guestCurrent", memory}},
                  Nested{"topologyHints", Field{"tscFrequency", vmi.tsc_hz}}};
}

auto metadata_into(Vmi& vmi, Controlled& controlled) {
    return metadata(vmi.meta, Field{"labels", vmi.labels}, Field{"deletionTimestamp", vmi.deletion},
                    Field{"ownerReferences", controlled},
                    Nested{"annotations", Field{"kubevirt.io/eviction-source", vmi.eviction_source},
                           Field{grace_key, vmi.wanted_grace}});
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
    DiskTexts disks;
    Keys liveness{demands.liveness_probe};
    ActivePods active_pods{vmi.active_pods};
    EndTime ended{vmi.ended};
    Controlled controlled{vmi.controlled};
    const Nested cpu{"cpu", Field{"model", vmi.cpu_model}, Field{"features", vmi.cpu_features},
                     Field{"dedicatedCpuPlacement", demands.dedicated_cpus}};
    const Nested spec{
        "spec",
        Nested{"domain", cpu, Nested{"machine", Field{"type", vmi.machine_asked}},
               Nested{"memory", Field{"guest", memory_given}},
               Nested{"resources", Nested{"requests", Field{"memory", memory_asked}}},
               Field{"launchSecurity", launch_security}, Field{"devices", demands.devices}},
        Nested{"affinity", Field{"nodeAffinity", node_affinity}, Field{"podAffinity", pod_affinity},
               Field{"podAntiAffinity", pod_anti_affinity}},
        Field{"architecture", vmi.architecture},
        Field{"evictionStrategy", vmi.eviction_strategy},
        Field{"terminationGracePeriodSeconds", vmi.grace},
        Field{"livenessProbe", liveness},
        Field{"nodeSelector", vmi.node_selector},
        Field{"volumes", disks.volumes}};
    auto status = object.read(metadata_into(vmi, controlled), spec,
                              status_into(vmi, active_pods, memory_now, disks, ended));
    demands.tell(vmi);
    disks.tell(vmi, demands.devices.disks);
    vmi.memory = memory.best();
    return decoded(std::move(vmi), std::move(status));
}

}  // namespace scout::kube
