// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/config_map.h"

#include "kube/objects/read_meta.h"

namespace scout::kube {
namespace {

struct Data {
    std::map<std::string, std::string>& target;
};

}  // namespace

[[nodiscard]] static Status read_json(JsonValue value, Data& target) {
    target.target.clear();
    return read_map(value, [&target](std::string_view key, JsonValue item) {
        return read_json(item, target.target[std::string{key}]);
    });
}

Result<ConfigMap> decode_config_map(JsonObject& object) {
    ConfigMap map;
    Data data{map.data};
    auto status = object.read(metadata(map.meta), Field{"data", data});
    return decoded(std::move(map), std::move(status));
}

}  // namespace scout::kube
