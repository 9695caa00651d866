// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/plugin.h"

#include "kube/objects/read_meta.h"

namespace scout::kube {
namespace {

struct Owner {
    SharedText uid;
};

}  // namespace

[[nodiscard]] static Status read_json(JsonValue value, Owner& target) {
    return read_members(value, Field{"uid", target.uid});
}

[[nodiscard]] static Status read_json(JsonValue value, NodeHook& target) {
    return read_members(
        value, Field{"socket", target.socket}, Field{"permittedHooks", target.permitted},
        Field{"condition", target.condition}, Field{"failureStrategy", target.failure_strategy},
        Field{"timeout", target.timeout});
}

Result<Plugin> decode_plugin(JsonObject& object) {
    Plugin plugin;
    std::vector<Owner> owners;
    auto status = object.read(metadata(plugin.meta, Field{"ownerReferences", owners},
                                       Field{"deletionTimestamp", plugin.deletion}),
                              Nested{"spec", Field{"nodeHooks", plugin.hooks}});
    for (auto& owner : owners) {
        plugin.owners.push_back(std::move(owner.uid));
    }
    return decoded(std::move(plugin), std::move(status));
}

}  // namespace scout::kube
