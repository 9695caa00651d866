// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "kube/objects/meta.h"

namespace scout::kube {

class JsonObject;

/// v1 ConfigMap without its binary data.
struct ConfigMap {
    ObjectMeta meta;
    std::map<std::string, std::string> data;

    bool operator==(const ConfigMap&) const = default;
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<ConfigMap> decode_config_map(JsonObject& object);

}  // namespace scout::kube
