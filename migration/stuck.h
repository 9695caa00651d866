// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "migration/eviction.h"

/// Evacuation marks that are left behind, and migrations that wait: for what, until when, and what
/// an admin can do (dossier §4.2, §6.5, §16; cases 19, 23). Pure: facts and time are passed in. Any
/// thread; nothing here fails.
namespace scout::migration {

enum class StuckState : std::uint8_t {
    stale_mark,       ///< marked for the node that it is on, and nothing moves it now
    already_moved,    ///< the mark names a node that it is not on
    being_moved,      ///< a migration of a marked VM is under way
    external,         ///< marked, and by its strategy somebody else is to move it
    unwanted,         ///< marked, and its strategy wants no move
    not_migratable,   ///< marked, and it cannot be migrated
    node_gone,        ///< the Node object is missing: nobody can evacuate or cancel
    two_active_pods,  ///< a migration waits for a launcher of an earlier one to end
    synchronizing,    ///< a move between clusters in which one side hears nothing of the other
    queued,           ///< KubeVirt's limits are used up
    backing_off,      ///< KubeVirt waits after failures of its own update of launchers
    blocked,          ///< the VMIM says by a condition what it waits for
    no_selinux,       ///< the VMI has no status.selinuxContext: no target pod can be made
    unschedulable,    ///< no node takes the target pod
    handed_off,  ///< the virt-handlers have it, and it does not start: KubeVirt has no time-out
    pending,     ///< not begun, and nothing that is known explains it
    deleting,    ///< the VMIM is being deleted, and that does not end
};
[[nodiscard]] std::string_view to_string(StuckState state) noexcept;  // "stale-mark", …

/// A VirtualMachineInstanceMigration, as far as it can be stuck.
struct StuckMoveFacts {
    std::string name;
    std::string phase;    ///< KubeVirt's word; empty: not seen by it yet
    WallTime created;     ///< the epoch: not known
    WallTime since;       ///< when it came to its phase; the epoch: not known
    WallTime failed_at;   ///< the epoch: it has not, or not known when
    std::string failure;  ///< why it did; empty: it has not, or nobody says
    bool deleting = false;
    WallTime deleting_since;
    bool backs_off = false;  ///< annotated as of an evacuation or of a launcher update
    bool crosses = false;    ///< between clusters: sendTo or receive
    bool receives = false;   ///< and this side is the target
    std::string blocked;     ///< by a condition: "migrationRejectedByResourceQuota: …"
    std::string missing;     ///< first field of the migrationState that the other side should tell
    std::string target_pod;  ///< that is made and has not ended; empty: none
    bool pod_unschedulable = false;  ///< that one
    std::string scheduler;           ///< says why not

    [[nodiscard]] bool is_final() const noexcept {
        return phase == "Succeeded" || phase == "Failed";
    }
};

struct StuckVmFacts {
    std::string vmi;  ///< NAMESPACE/NAME
    std::string phase;
    std::string node;
    std::string mark;     ///< status.evacuationNodeName; empty: not marked
    WallTime mark_since;  ///< the epoch: not known
    bool deleting = false;
    EvictionStrategy strategy = EvictionStrategy::none;
    bool migratable = false;
    std::string not_migratable;  ///< reason of the condition, with its message
    bool selinux_context = true;
    /// Launchers that have not ended, but for targets of migrations that go on.
    std::vector<std::string> active_pods;
    /// Node to which a migration runs, by the VMI itself, whether its VMIM is known or not; empty:
    /// none does.
    std::string moving_to;
    std::vector<StuckMoveFacts> moves;  ///< of this VMI, in any order
};

/// What the VM's surroundings say.
struct StuckSurroundings {
    bool nodes_known = true;      ///< Node objects are among what was read
    bool node_there = true;       ///< that of the node it is on
    bool mark_node_there = true;  ///< that of the node which the mark names
    std::string drain_taint;      ///< "key:NoSchedule" if the mark's node carries KubeVirt's own
    bool cancel_served = true;    ///< evacuate/cancel; since KubeVirt 1.7
    unsigned outbound = 0;        ///< migrations that leave its node now
    unsigned outbound_limit = 2;  ///< parallelOutboundMigrationsPerNode
    unsigned in_cluster = 0;      ///< migrations that run in the cluster now
    unsigned cluster_limit = 5;   ///< parallelMigrationsPerCluster
    unsigned standing = 0;        ///< of those, by stands_still()
    bool moves_known = true;      ///< VMIMs are among what was read
    std::string handler_trouble;  ///< why virt-handler of its node does not work; empty: it does
    WallTime now;
};

/// What evacuate/cancel would answer.
struct CancelOutlook {
    bool possible = false;
    std::string reason;  ///< why not, or what is not known; empty: it would be accepted
};

struct StuckAnswer {
    std::string vmi;
    std::string node;
    std::string mark;  ///< empty: none
    StuckState state{};
    std::string move;     ///< name of the VMIM that it is about; empty: none
    std::string phase;    ///< of that; KubeVirt's word
    unsigned failed = 0;  ///< tries of KubeVirt in a row
    std::string failure;  ///< why the last of them failed; empty: none has, or nobody says
    std::optional<WallTime> next_try;
    std::optional<WallTime> since;  ///< marked, or in this phase
    std::string waiting_for;
    std::string advice;
    CancelOutlook cancel;
};

/// How long a phase may last before a migration that is not of a marked VM counts as stuck. Those
/// that KubeVirt itself ends by its time-outs are not told before.
struct StuckPatience {
    std::chrono::seconds pending{60};        ///< Pending, for no reason that is known
    std::chrono::seconds synchronizing{60};  ///< cross-cluster moves synchronise in seconds
    std::chrono::seconds deleting{60};
    /// From hand-off to start it is seconds.
    std::chrono::seconds handed_off{120};
    /// A source in Scheduling waits for the other cluster's target pod, of whose failure it never
    /// hears; over there it is given up after 300 s or 900 s.
    std::chrono::seconds far_pod{900};
};

/// It was handed off, and has not started for so long: it takes up a place until somebody ends it.
[[nodiscard]] bool stands_still(const StuckMoveFacts& move, WallTime now,
                                const StuckPatience& patience = {});

/// One VMI with what of it is stuck; none if it is fine.
[[nodiscard]] std::optional<StuckAnswer> find_stuck(const StuckVmFacts& vm,
                                                    const StuckSurroundings& around,
                                                    const StuckPatience& patience = {});

/// KubeVirt's tries that failed in a row, and when the next may begin: 20 s after the last failure
/// for the first, twice as long after each further one. It has no cap of its own; it counts the
/// finished VMIMs that are kept, of which there are five, so 320 s is the most. Those being
/// deleted are not counted (dossier §6.5).
struct BackOff {
    unsigned failed = 0;
    std::string failure;  ///< of the last one; empty: nobody says
    std::optional<WallTime> next_try;
};
[[nodiscard]] BackOff back_off(std::vector<StuckMoveFacts> moves);
/// "3 failed tries, the last one for: …"
[[nodiscard]] std::string tries_text(const BackOff& tries);

}  // namespace scout::migration
