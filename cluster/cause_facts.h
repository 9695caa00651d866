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

    [[nodiscard]] std::string uid() const { return pod == nullptr ? "" : pod->meta.uid; }
};

/// When it ended, where that is told.
[[nodiscard]] std::optional<WallTime> end_of(const kube::PodRecord& pod);

/// What is known of a launcher's end. `vmi`: of the name of its VM, whether its own or a later one;
/// may be null.
[[nodiscard]] migration::CauseFacts cause_facts(const Records& records,
                                                const LauncherSeen& launcher,
                                                const kube::VmiRecord* vmi);

/// Whether the kubelet kills a launcher that runs for its liveness probe, by the Events of its pod
/// alone: the kill itself, or the failure of the probe just before it and nothing else that ends
/// it. Of a pod that is not started again, as launchers are not, the kubelet may name the kill by
/// no cause.
[[nodiscard]] bool is_killed_for_liveness(const std::vector<kube::SeenEvent>& events, WallTime now);

}  // namespace scout::cluster
