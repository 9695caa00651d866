// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migration/cause.h"

/// Who wanted a migration (design §6; dossier §4.2, §6.1). Pure; any thread; nothing here fails.
namespace scout::migration {

enum class Requester : std::uint8_t {
    user,             ///< somebody, by hand or through a client of theirs
    drain,            ///< its launcher was evicted, or deleted by hand, in the API
    descheduler,      ///< the same by the descheduler
    node_pressure,    ///< the kubelet was killing the launcher
    forecast,         ///< it would have been killed soon
    shutdown,         ///< its node was shutting down
    taint,            ///< a NoExecute taint had the launcher deleted
    preemption,       ///< the launcher made room for a pod that goes before it
    launcher_update,  ///< KubeVirt renews outdated launchers
    hotplug,          ///< CPUs or memory are plugged by moving it
    volume,           ///< its volumes are replaced
    cross_cluster,    ///< it moves to or from another cluster
};
[[nodiscard]] std::string_view to_string(Requester requester) noexcept;  // "node-pressure", …
[[nodiscard]] std::optional<Requester> requester_named(std::string_view word) noexcept;

/// The annotation in which our aggregator keeps the cause, one of the words of to_string().
inline constexpr std::string_view cause_annotation = "virt-scout.io/migration-cause";
/// And the one with the name of the user who asked for it, or else of the client by which.
inline constexpr std::string_view requester_annotation = "virt-scout.io/requested-by";
/// KubeVirt's word for how it ended: PreCopy, PostCopy or Paused.
inline constexpr std::string_view mode_annotation = "virt-scout.io/migration-mode";
/// Names of migrations that we make begin so, and the names of none of KubeVirt's own.
inline constexpr std::string_view own_move_prefix = "virt-scout-";
/// Those of them that we make ahead of pressure that is expected.
inline constexpr std::string_view forecast_move_prefix = "virt-scout-forecast-";

struct RequestFacts {
    std::string name;         ///< of the VMIM
    std::string recorded;     ///< cause_annotation; empty: none
    std::string user;         ///< requester_annotation; empty: none
    std::string client;       ///< manager of its first fields, as "kubectl-create"; empty: not told
    bool evacuation = false;  ///< annotation kubevirt.io/evacuationMigration
    bool workload_update = false;  ///< annotation kubevirt.io/workloadUpdateMigration
    bool volume_update = false;    ///< label kubevirt.io/volume-update-migration
    bool crosses = false;          ///< sendTo or receive
    std::string priority;          ///< spec.priority

    // What of the VMI may be of another moment than the VMIM: for a finished one it does not count.
    bool of_now = false;             ///< the VMIM has not ended
    bool descheduled = false;        ///< annotation kubevirt.io/eviction-source: descheduler
    bool hotplug_pending = false;    ///< HotVCPUChange, HotMemoryChange or MigrationRequired
    bool volumes_pending = false;    ///< VolumesChange
    bool launcher_outdated = false;  ///< label kubevirt.io/outdatedLauncherImage
    /// What was ending the source's launcher before the VMIM was made, as whoever did it told.
    Cause ending = Cause::unknown;
    bool node_shutting_down = false;  ///< its node said so then
    /// An agent of ours told that the source's launcher was told to stop, before that.
    bool told_to_stop = false;
    /// That launcher's pod was deleted in the API before: a kubelet deletes none.
    bool pod_deleted = false;
};

struct RequestAnswer {
    Requester requester{};
    std::string user;  ///< or the client by which it was made; empty: not known
    std::string why;   ///< what it was seen by
    bool certain = true;
};

[[nodiscard]] RequestAnswer who_wanted(const RequestFacts& facts);

/// Whether a launcher that ends for this shows that what was recorded was guessed wrong, or tells
/// it where nothing was recorded.
[[nodiscard]] bool is_outdone(std::string_view recorded, Cause ending) noexcept;

}  // namespace scout::migration
