// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/meta.h"

namespace scout::kube {

class JsonObject;

/// One entry of spec.domain.cpu.features.
struct CpuFeature {
    SharedText name;
    SharedText policy;  ///< empty means require

    bool operator==(const CpuFeature&) const = default;
};

/// What status.migrationState says (dossier §6.2). `completed` is set for success and failure.
struct MigrationState {
    std::string uid;  ///< of the VMIM
    SharedText source_node;
    SharedText source_pod;
    SharedText target_node;
    SharedText target_pod;
    SharedText mode;
    SharedText policy;  ///< migrationPolicyName: the MigrationPolicy that it was handed off with
    SharedText abort_status;
    SharedText failure;
    std::optional<WallTime> start;
    std::optional<WallTime> end;
    bool completed = false;
    bool failed = false;
    bool abort_requested = false;
    /// migrationConfiguration: what it was handed off with, that of its policy put in; of a VMI
    /// whose migration has not ended.
    std::optional<MigrationSettings> settings;

    bool operator==(const MigrationState&) const = default;

    /// A migration was handed to the virt-handlers, and has not ended.
    [[nodiscard]] bool is_under_way() const noexcept { return !uid.empty() && !completed; }
};

/// A launcher pod that status.activePods names.
struct ActivePod {
    std::string uid;
    SharedText node;

    bool operator==(const ActivePod&) const = default;
};

/// A disk of the guest that a migration copies along (dossier §8): its volume lies in the
/// launcher's pod, or is moved to another claim. Not the small ones that KubeVirt makes, as for
/// cloud-init.
struct CopiedDisk {
    SharedText name;
    SharedText size;       ///< a quantity of bytes: what it can hold; empty: not told
    bool claimed = false;  ///< of a claim that status.migratedVolumes names

    bool operator==(const CopiedDisk&) const = default;
};

/// What we use of a kubevirt.io/v1 VirtualMachineInstance (dossier §9.2).
struct Vmi {
    ObjectMeta meta;
    Labels labels;               ///< which migration policies choose by
    SharedText eviction_source;  ///< annotation kubevirt.io/eviction-source
    SharedText wanted_grace;     ///< annotation of grace_key
    SharedText phase;
    SharedText reason;
    SharedText node;
    SharedText evacuation_node;
    SharedText architecture;
    SharedText cpu_model;
    SharedText machine_asked;  ///< spec.domain.machine.type
    SharedText machine;        ///< status.machine.type: what it runs with
    SharedText eviction_strategy;
    std::vector<CpuFeature> cpu_features;
    std::vector<Condition> conditions;
    std::vector<ActivePod> active_pods;
    std::optional<MigrationState> migration;
    std::optional<std::int64_t> tsc_hz;  ///< status.topologyHints.tscFrequency
    std::optional<std::chrono::seconds> grace;
    /// A quantity of bytes: what the guest has now, else what its specification gives it, or asks
    /// of its node; empty: none of them is told.
    SharedText memory;
    Labels node_selector;
    bool liveness_probe = false;  ///< spec.livenessProbe
    bool shares_files = false;    ///< spec.domain.devices.filesystems, which are virtiofs
    bool holds_devices = false;   ///< of its host: gpus, hostDevices, or an interface with sriov
    std::vector<CopiedDisk> copied_disks;
    /// status.migrationMethod is BlockMigration, and nothing of it tells which disks those are.
    bool copies_unnamed = false;
    /// What else of its specification ties it to certain nodes, by the names of the fields:
    /// "nodeAffinity", "launchSecurity", …. Preferences do not.
    std::vector<std::string> other_demands;
    bool controlled =
        false;  ///< by a VirtualMachine or a replica set: an owner with controller: true
    std::optional<WallTime> deletion;
    std::optional<WallTime> ended;  ///< when it came to Succeeded or Failed

    bool operator==(const Vmi&) const = default;
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<Vmi> decode_vmi(JsonObject& object);

}  // namespace scout::kube
