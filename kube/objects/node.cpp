// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/node.h"

#include "kube/objects/read_meta.h"

namespace scout::kube {
namespace {

bool is_used(const Condition& condition) {
    return condition.type == "Ready" || condition.type.view().ends_with("Pressure");
}

/// Five thousand kubelets say the same in slightly other words: not worth the memory, but for the
/// few that say why they are not ready.
void keep_used(std::vector<Condition>& conditions) {
    std::erase_if(conditions, [](const Condition& condition) { return !is_used(condition); });
    for (auto& condition : conditions) {
        if (condition.type != "Ready" || condition.status == "True") {
            condition.message = {};
        }
    }
    conditions.shrink_to_fit();
}

}  // namespace

Status read_json(JsonValue value, Taint& target) {
    return read_members(value, Field{"key", target.key}, Field{"value", target.value},
                        Field{"effect", target.effect}, Field{"timeAdded", target.added});
}

Result<Node> decode_node(JsonObject& object) {
    Node node;
    OurAnnotations annotations{node.annotations};
    auto status = object.read(
        metadata(node.meta, Field{"labels", node.labels}, Field{"annotations", annotations},
                 Field{"deletionTimestamp", node.deletion}),
        Nested{"spec", Field{"unschedulable", node.unschedulable}, Field{"taints", node.taints}},
        Nested{"status", Field{"conditions", node.conditions}});
    keep_used(node.conditions);
    return decoded(std::move(node), std::move(status));
}

}  // namespace scout::kube
