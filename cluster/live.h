// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/dump.h"
#include "kube/access.h"

namespace scout::cluster {

/// Called while objects arrive: how many of each kind there are by now.
using LiveProgress = std::function<void(std::string_view kind, std::size_t objects)>;

/// What a dump would hold, from the API server itself and with the caller's rights: nodes, KubeVirt
/// objects, VMIs, their migrations, launcher pods, CPUProfiles and ScoutConfigs. A kind that may
/// not be listed, or that the server does not have, is left out with the reason and the rest goes
/// on; without nodes nothing can be said. Blocking, on a loop of its own. Errors: refused (no right
/// to list nodes); timed_out and unavailable, with what is wrong with the server.
[[nodiscard]] Result<Dump> read_cluster(const kube::ClusterAccess& access, const Clock& clock,
                                        std::chrono::milliseconds limit,
                                        const LiveProgress& progress = {});

/// With what decides about the protection of VMs too: MigrationPolicies, namespaces and our Plugin.
[[nodiscard]] Result<Dump> read_protected_cluster(const kube::ClusterAccess& access,
                                                  const Clock& clock,
                                                  std::chrono::milliseconds limit,
                                                  const LiveProgress& progress = {});

/// With what decides where VMs can go, and how fast, too: MigrationPolicies, all pods, namespaces,
/// PersistentVolumeClaims and volumes, StorageClasses, CSINodes, what nodes have for pods and what
/// VMIs say of places.
[[nodiscard]] Result<Dump> read_placing_cluster(const kube::ClusterAccess& access,
                                                const Clock& clock, std::chrono::milliseconds limit,
                                                const LiveProgress& progress = {});

}  // namespace scout::cluster
