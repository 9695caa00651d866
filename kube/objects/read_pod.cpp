// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/read_pod.h"

#include <algorithm>

namespace scout::kube {

Status read_json(JsonValue value, ContainerSpec& target) {
    return read_members(
        value, Field{"name", target.name},
        Nested{"resources", Nested{"limits", Field{"memory", target.memory_limit}}});
}

Status read_json(JsonValue value, ContainerStatus& target) {
    auto& record = target.record;
    return read_members(value, Field{"name", record.name},
                        Nested{"state", Nested{"terminated", Field{"exitCode", record.exit_code},
                                               Field{"reason", record.reason},
                                               Field{"finishedAt", record.finished}}});
}

std::vector<ContainerRecord> containers_of(const std::vector<ContainerStatus>& states,
                                           const std::vector<ContainerSpec>& specs) {
    std::vector<ContainerRecord> containers;
    for (const auto& state : states) {
        auto& record = containers.emplace_back(state.record);
        const auto spec = std::find_if(specs.begin(), specs.end(), [&record](const auto& each) {
            return each.name == record.name;
        });
        if (spec != specs.end()) {
            record.memory_limit = spec->memory_limit;
        }
    }
    return containers;
}

}  // namespace scout::kube
