// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kube/json.h"
#include "kube/objects/records.h"

// Shared by the decoders that tell what became of pods.

namespace scout::kube {

/// One of spec.containers.
struct ContainerSpec {
    SharedText name;
    SharedText memory_limit;
};
[[nodiscard]] Status read_json(JsonValue value, ContainerSpec& target);

/// One of status.containerStatuses.
struct ContainerStatus {
    ContainerRecord record;
};
[[nodiscard]] Status read_json(JsonValue value, ContainerStatus& target);

/// The statuses, each with the limit of the specification that has its name.
[[nodiscard]] std::vector<ContainerRecord> containers_of(const std::vector<ContainerStatus>& states,
                                                         const std::vector<ContainerSpec>& specs);

}  // namespace scout::kube
