// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cluster/records.h"
#include "migration/cause.h"

namespace scout::cluster {

/// A launcher, as the object or only by its name in Events.
struct LauncherSeen {
    std::string space;
    std::string name;
    std::string vmi_name;
    const kube::PodRecord* pod = nullptr;
    std::string perhaps_of;  ///< another VM that it may have been of; empty: it was of this one

    [[nodiscard]] std::string uid() const { return pod == nullptr ? "" : pod->meta.uid; }
};

/// When it ended, where that is told.
[[nodiscard]] std::optional<WallTime> end_of(const kube::PodRecord& pod);

/// It was made for a migration that did not get the VM there, or has not yet. `vmi`: that of its
/// VM; may be null.
[[nodiscard]] bool is_mere_target(const Records& records, const kube::PodRecord& pod,
                                  const kube::VmiRecord* vmi);

/// What is known of a launcher's end. `vmi`: of the name of its VM, whether its own or a later one;
/// may be null.
[[nodiscard]] migration::CauseFacts cause_facts(const Records& records,
                                                const LauncherSeen& launcher,
                                                const kube::VmiRecord* vmi);

/// What was ending a launcher at a moment, by what its pod and the Events of it alone tell;
/// unknown: nothing, as far as they go. No moment: at any.
[[nodiscard]] migration::Cause ending_told(const Records& records, const LauncherSeen& launcher,
                                           std::optional<WallTime> until);

/// Whether the kubelet says that it kills a launcher that runs for its liveness probe, and nothing
/// else that ends it is told, by the Events of its pod alone. A probe that fails tells nothing: on
/// a node under pressure they time out. Of a pod of one container that is not started again, as
/// most launchers are, the kubelet names no cause (computePodActions() and SyncPod() of its
/// pkg/kubelet/kuberuntime/kuberuntime_manager.go): false then.
[[nodiscard]] bool is_killed_for_liveness(const std::vector<kube::SeenEvent>& events, WallTime now);

}  // namespace scout::cluster
