// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/objects/node.h"
#include "kube/objects/vmi.h"

/// Objects as one reads them who looks back: what became of a VM, and what waits for what. They
/// hold more than informers should keep of every VM of a cluster, so they are read for one answer
/// and forgotten.
namespace scout::kube {

class JsonObject;

/// A migrationState with what a move between clusters adds (dossier §6.2, §6.6).
struct MoveState : MigrationState {
    SharedText source_sync;  ///< sourceState.syncAddress
    SharedText target_sync;  ///< targetState.syncAddress

    bool operator==(const MoveState&) const = default;
};

/// A kubevirt.io/v1 VirtualMachineInstance (dossier §9.2).
struct VmiRecord {
    ObjectMeta meta;
    SharedText eviction_source;  ///< annotation kubevirt.io/eviction-source
    /// Label kubevirt.io/outdatedLauncherImage, whatever its value.
    std::optional<SharedText> outdated_launcher;
    SharedText eviction_strategy;
    SharedText phase;
    SharedText reason;
    SharedText node;
    SharedText evacuation_node;
    SharedText selinux_context;
    std::vector<Condition> conditions;
    std::vector<ActivePod> active_pods;
    std::vector<PhaseTime> phases;
    std::optional<MoveState> move;
    bool controlled = false;  ///< as of Vmi
    std::optional<WallTime> creation;
    std::optional<WallTime> deletion;

    bool operator==(const VmiRecord&) const = default;
};

/// A kubevirt.io/v1 VirtualMachineInstanceMigration (dossier §6).
struct MoveRecord {
    ObjectMeta meta;
    Labels annotations;  ///< ours only
    /// Annotation kubevirt.io/evacuationMigration: the node that is left.
    std::optional<SharedText> evacuation;
    std::optional<SharedText> workload_update;  ///< annotation kubevirt.io/workloadUpdateMigration
    std::optional<SharedText> volume_update;    ///< label kubevirt.io/volume-update-migration
    SharedText creator;                         ///< manager of its first fields: "kubectl-create"
    SharedText vmi_name;
    SharedText priority;
    std::optional<SharedText> send_to;  ///< spec.sendTo.connectURL; may be empty
    bool receives = false;              ///< has spec.receive
    SharedText phase;
    std::vector<Condition> conditions;
    std::vector<PhaseTime> phases;
    std::optional<MoveState> state;
    std::optional<WallTime> creation;
    std::optional<WallTime> deletion;

    [[nodiscard]] bool is_final() const noexcept;
    bool operator==(const MoveRecord&) const = default;
};

/// One entry of a pod's containerStatuses, with the memory limit of its specification.
struct ContainerRecord {
    SharedText name;
    SharedText memory_limit;  ///< a quantity; empty: none, or not told
    std::optional<std::int64_t> exit_code;
    SharedText reason;  ///< of its end: Completed, Error, OOMKilled, …
    std::optional<WallTime> finished;

    bool operator==(const ContainerRecord&) const = default;
};

/// A virt-launcher pod (dossier §9.1); of virt-handler's only what tells whether it is ready.
struct PodRecord {
    ObjectMeta meta;
    SharedText role;  ///< label kubevirt.io: virt-launcher, virt-handler
    std::string vmi_name;
    std::string vmi_uid;
    std::string migration_uid;
    SharedText node;
    SharedText phase;
    SharedText reason;
    SharedText message;
    std::vector<Condition> conditions;
    std::vector<ContainerRecord> containers;
    std::optional<WallTime> creation;
    std::optional<WallTime> deletion;  ///< when the kubelet's patience ends
    std::optional<std::chrono::seconds> deletion_grace;

    [[nodiscard]] bool is_final() const noexcept;
    bool operator==(const PodRecord&) const = default;
};

/// When the container of a launcher that is the launcher ended. Others may end while the guest runs
/// on, and count only of a pod that is final and tells nothing of that one.
[[nodiscard]] std::optional<WallTime> end_of_launcher(const PodRecord& pod) noexcept;

/// A v1 Node.
struct NodeRecord {
    ObjectMeta meta;
    SharedText schedulable;  ///< label kubevirt.io/schedulable
    bool unschedulable = false;
    std::vector<Taint> taints;
    std::vector<Condition> conditions;
    std::optional<WallTime> heartbeat;  ///< the latest of its conditions and of virt-handler
    std::optional<WallTime> creation;

    bool operator==(const NodeRecord&) const = default;
};

/// An Event of either API: v1 or events.k8s.io/v1.
struct SeenEvent {
    ObjectMeta meta;
    SharedText kind;  ///< of what it is about
    SharedText space;
    SharedText name;
    SharedText uid;
    SharedText reason;
    SharedText message;
    SharedText starved;   ///< annotation starved_resource of kubelet's evictions
    SharedText source;    ///< the component that tells it, by the older field
    SharedText reporter;  ///< the same by the newer one
    WallTime at;          ///< the last time that it happened; the epoch if not told

    bool operator==(const SeenEvent&) const = default;
};

/// Errors of each: invalid, with the path of what is wrong.
[[nodiscard]] Result<VmiRecord> decode_vmi_record(JsonObject& object);
[[nodiscard]] Result<MoveRecord> decode_move_record(JsonObject& object);
[[nodiscard]] Result<PodRecord> decode_pod_record(JsonObject& object);
[[nodiscard]] Result<NodeRecord> decode_node_record(JsonObject& object);
/// Of an Event about what no answer needs only its name is kept.
[[nodiscard]] Result<SeenEvent> decode_seen_event(JsonObject& object);

}  // namespace scout::kube
