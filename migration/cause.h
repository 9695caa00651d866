// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

/// What ended a VM's launcher, or is ending it (design §6; dossier §9.2, §12, §16; cases 15, 17).
/// Pure: what objects and Events say is passed in. Any thread; nothing here fails.
namespace scout::migration {

enum class Cause : std::uint8_t {
    node_pressure,        ///< the node ran short of something, and the kubelet chose this pod
    own_limit,            ///< a limit of the pod's own, whatever the node had left
    api_eviction,         ///< the eviction API: a drain, the descheduler, a tool
    preemption,           ///< a pod of higher priority needed the room
    taint,                ///< a NoExecute taint that it does not tolerate
    liveness,             ///< its liveness probe failed
    node_shutdown,        ///< the kubelet saw the node shut down
    kubelet_readmission,  ///< a kubelet that was restarted would not take it again
    garbage_collection,   ///< of pods
    node_removed,         ///< its Node object was deleted
    owner_delete,         ///< VM or VMI was stopped or deleted
    guest_shutdown,       ///< the guest ended by itself
    unknown,
};
[[nodiscard]] std::string_view to_string(Cause cause) noexcept;  // "node-pressure", …
[[nodiscard]] std::optional<Cause> cause_named(std::string_view word) noexcept;

/// The object that an Event is about.
enum class EventOn : std::uint8_t { pod, vmi, node };

struct CauseEvent {
    EventOn on = EventOn::pod;
    std::string reason;
    std::string message;
    std::string starved;  ///< annotation starved_resource of kubelet's evictions
    WallTime at;          ///< the epoch: not known
};

struct ContainerEnd {
    std::string name;
    std::int64_t exit_code = 0;
    std::string reason;         ///< Completed, Error, OOMKilled, …
    bool memory_limit = false;  ///< it has one of its own
    WallTime at;                ///< the epoch: not known

    /// Side containers may end while the guest runs on, and the pod with it.
    [[nodiscard]] bool is_launcher() const noexcept { return name == "compute"; }
};

struct CauseFacts {
    bool pod_there = false;  ///< else the pod is known by Events alone
    std::string pod;
    /// Another VM that it may have been the launcher of, by its name alone; empty: none.
    std::string perhaps_of;
    std::string pod_phase;
    std::string pod_reason;
    std::string pod_message;
    std::string disruption;  ///< reason of the condition DisruptionTarget, if True
    std::string disruption_message;
    WallTime disrupted_at;
    bool pod_deleting = false;
    WallTime pod_deleted_at;    ///< when that was asked for; the epoch: not known
    bool told_to_stop = false;  ///< its launcher was, by whomever
    std::vector<ContainerEnd> ends;

    bool vmis_known = false;  ///< VMIs are among what was read
    bool vmi_there = false;   ///< that of this very launcher
    std::string vmi_phase;
    std::string vmi_reason;
    WallTime vmi_ended_at;  ///< when it came to Succeeded or Failed; the epoch: not known
    /// By a VirtualMachine or a replica set, which delete it once it is final; what nobody controls
    /// KubeVirt does not delete.
    bool vmi_controlled = false;
    bool vmi_deleting = false;
    WallTime vmi_deleted_at;
    std::string moved_to;  ///< the node to which a migration from this launcher took the VM
    /// The node that this very VMI runs on after this launcher has ended: it moved, as a VMI never
    /// starts anew.
    std::string runs_on;

    bool nodes_known = false;  ///< Node objects are among what was read
    std::string node;          ///< that it is or was on; empty: none
    bool node_there = false;
    std::vector<std::string> node_pressures;  ///< conditions that are True now: "DiskPressure"
    std::string node_not_ready;               ///< what its Ready condition says, if it is not True
    bool node_closed = false;                 ///< label kubevirt.io/schedulable is not true

    bool events_known = false;  ///< Events are among what was read
    /// Why it is not known what ended a launcher of the VM, though nothing ends this one; empty: it
    /// is known that nothing did, or nothing tells that one was.
    std::string unseen;
    /// Why the end of an earlier one would not be seen, of which nothing tells; empty: it would.
    std::string perhaps_unseen;
    std::vector<CauseEvent> events;
};

struct CauseAnswer {
    std::optional<Cause> cause;  ///< none: nothing ends it, or it was only the source of a move
    std::string resource;        ///< ephemeral-storage, memory, pids, inodes, …; empty: none
    std::vector<std::string> evidence;  ///< what decides first
    /// What says so says it itself, and nothing says otherwise.
    bool certain = false;
    bool ended = false;  ///< the launcher does not run any more
};

[[nodiscard]] CauseAnswer find_cause(const CauseFacts& facts);

}  // namespace scout::migration
