// SPDX-License-Identifier: Apache-2.0
#include "tests/kube/thing.h"

#include "kube/json.h"
#include "kube/objects/read_meta.h"

namespace scout::test {

Result<Thing> decode_thing(kube::JsonObject& object) {
    Thing thing;
    auto status = object.read(kube::metadata(thing.meta), kube::Field{"text", thing.text});
    return kube::decoded(std::move(thing), std::move(status));
}

kube::Resource things() {
    return {.group = "test.io", .version = "v1", .plural = "things", .kind = "Thing"};
}

std::string thing_json(const std::string& name, const std::string& version, const std::string& text,
                       std::string uid) {
    uid = uid.empty() ? "u-" + name : uid;
    return R"({"kind":"Thing","metadata":{"name":")" + name + R"(","namespace":"s","uid":")" + uid +
           R"(","resourceVersion":")" + version +
           R"(","managedFields":[{"manager":"m","fieldsV1":{"f:x":{}}}]},"text":")" + text +
           R"("})";
}

}  // namespace scout::test
