// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kube/json.h"
#include "kube/objects/vmi.h"

// Shared by the decoders that read VMIs and their migrations.

namespace scout::kube {

/// What an informer keeps of a migrationState, and more of it.
template <class... More>
[[nodiscard]] Status read_migration_state(JsonValue value, MigrationState& target,
                                          const More&... more) {
    return read_members(
        value, Field{"migrationUid", target.uid}, Field{"sourceNode", target.source_node},
        Field{"sourcePod", target.source_pod}, Field{"targetNode", target.target_node},
        Field{"targetPod", target.target_pod}, Field{"mode", target.mode},
        Field{"migrationPolicyName", target.policy}, Field{"abortStatus", target.abort_status},
        Field{"failureReason", target.failure}, Field{"startTimestamp", target.start},
        Field{"endTimestamp", target.end}, Field{"completed", target.completed},
        Field{"failed", target.failed}, Field{"abortRequested", target.abort_requested}, more...);
}

/// {"<pod uid>": "<node>"}
struct ActivePods {
    std::vector<ActivePod>& target;
};
[[nodiscard]] Status read_json(JsonValue value, ActivePods& target);

/// metadata.ownerReferences: whether one of them is the controller.
struct Controlled {
    bool& target;
};
[[nodiscard]] Status read_json(JsonValue value, Controlled& target);

}  // namespace scout::kube
