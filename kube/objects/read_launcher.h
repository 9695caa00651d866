// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "kube/json.h"
#include "kube/objects/launcher_grace.h"
#include "kube/objects/launcher_pod.h"
#include "kube/objects/read_pod.h"

// Shared by the decoders of pods.

namespace scout::kube {

/// The spec.containers of a launcher, of which its grace is kept; none: it has no such flag, or one
/// that is no number.
struct LauncherContainers {
    std::optional<LauncherGrace>& target;
    std::vector<ContainerSpec> specs = {};         ///< all of them
    std::vector<ContainerRequests> requests = {};  ///< of those that request something
};
[[nodiscard]] Status read_json(JsonValue value, LauncherContainers& target);

/// The same of spec.initContainers, of which nothing else is read.
struct InitRequests {
    std::vector<ContainerRequests>& target;
};
[[nodiscard]] Status read_json(JsonValue value, InitRequests& target);

[[nodiscard]] Status read_json(JsonValue value, ContainerRequests& target);

}  // namespace scout::kube
