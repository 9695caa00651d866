// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "kube/objects/launcher_pod.h"
#include "migration/eviction_order.h"

namespace scout::cluster {

/// What the kubelet ranks a launcher by. Its requests are counted as the kubelet does when it
/// evicts: by the specification alone, and without the overhead of what is not requested. None: a
/// quantity in it is none.
[[nodiscard]] std::optional<migration::PodStanding> standing_of(const kube::LauncherPod& pod);

}  // namespace scout::cluster
