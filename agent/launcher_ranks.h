// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "migration/eviction_order.h"
#include "migration/pressure_report.h"
#include "pressure/pod_cgroups.h"
#include "pressure/pod_storage.h"

namespace scout::agent {

/// A launcher of this node, as far as an agent knows it.
struct LauncherPod {
    std::string pod_uid;
    std::string guest;                             ///< "NAMESPACE/NAME"; empty: not told yet
    std::optional<std::chrono::seconds> vm_grace;  ///< what its owner lets it take to shut down
};

/// What is known of the launchers of this node, and the order in which the kubelet is expected to
/// evict them for that. What could not be read of a launcher is not there.
///
/// Of a launcher whose standing the leader has not told the priority counts as 0, and so does a
/// request that its cgroup does not tell. Usage of memory is that of the pod's cgroup, where the
/// kubelet adds up containers; of filesystems see pressure::read_pod_storage().
struct LauncherRanks {
    template <class T>
    using ByPod = std::map<std::string, T, std::less<>>;  ///< by the UIDs of the pods

    std::vector<LauncherPod> pods;
    ByPod<pressure::PodUsage> usages;
    /// None: not measured yet.
    std::optional<ByPod<pressure::PodStorage>> storages;
    bool own_imagefs = true;  ///< images, and what containers write, are on another filesystem
    migration::PodStandings standings;

    /// The first one first. None where nothing is known of single launchers: of an imagefs of its
    /// own, and of filesystems before they are measured.
    [[nodiscard]] std::vector<migration::PressedLauncher> ranked(
        migration::PressureSignal of) const;
    /// The same of each signal that others are ranked as, as others are told.
    /// `near`: those of which a threshold is near.
    [[nodiscard]] std::vector<migration::EvictionLine> lines(
        const std::set<migration::PressureSignal>& near = {}) const;

private:
    [[nodiscard]] bool knows(migration::PressureSignal signal) const noexcept;
    [[nodiscard]] migration::PressedLauncher pressed(const LauncherPod& pod,
                                                     migration::PressureSignal signal) const;
    [[nodiscard]] migration::EvictionCandidate candidate(const migration::PressedLauncher& launcher,
                                                         migration::PressureSignal signal) const;
};

}  // namespace scout::agent
