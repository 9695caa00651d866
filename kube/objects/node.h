// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "kube/objects/meta.h"

namespace scout::kube {

class JsonObject;

struct Taint {
    SharedText key;
    SharedText value;
    SharedText effect;  ///< NoSchedule, PreferNoSchedule, NoExecute
    std::optional<WallTime> added;

    bool operator==(const Taint&) const = default;
};

/// What we use of a v1 Node.
struct Node {
    ObjectMeta meta;
    Labels labels;
    Labels annotations;  ///< ours only
    bool unschedulable = false;
    std::vector<Taint> taints;
    /// Ready and …Pressure, without messages but that of a Ready which is not True.
    std::vector<Condition> conditions;
    std::optional<WallTime> deletion;

    bool operator==(const Node&) const = default;
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<Node> decode_node(JsonObject& object);

}  // namespace scout::kube
