// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "kube/objects/meta.h"
#include "kube/resource.h"

namespace scout::kube {
class JsonObject;
}

namespace scout::test {

/// An object of a kind that only tests know.
struct Thing {
    kube::ObjectMeta meta;
    std::string text;
};

[[nodiscard]] Result<Thing> decode_thing(kube::JsonObject& object);

[[nodiscard]] kube::Resource things();

/// {"metadata":…,"text":…}, uid "u-<name>" if none is given.
[[nodiscard]] std::string thing_json(const std::string& name, const std::string& version,
                                     const std::string& text = "t", std::string uid = {});

}  // namespace scout::test
