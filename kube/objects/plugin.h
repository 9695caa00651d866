// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/objects/meta.h"

namespace scout::kube {

class JsonObject;

/// One of a plugin's node hooks.
struct NodeHook {
    SharedText socket;
    std::vector<SharedText> permitted;  ///< hook points
    std::string condition;              ///< CEL
    SharedText failure_strategy;
    SharedText timeout;  ///< a Go duration

    bool operator==(const NodeHook&) const = default;
};

/// What we use of a plugin.kubevirt.io/v1alpha1 Plugin (dossier §3.4).
struct Plugin {
    ObjectMeta meta;
    std::vector<SharedText> owners;  ///< their uids
    std::vector<NodeHook> hooks;
    std::optional<WallTime> deletion;

    bool operator==(const Plugin&) const = default;
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<Plugin> decode_plugin(JsonObject& object);

}  // namespace scout::kube
