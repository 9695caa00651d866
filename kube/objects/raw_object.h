// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "kube/objects/meta.h"

namespace scout::kube {

class JsonObject;

/// A whole object as the server sent it, for kinds that nobody decodes: people who look on, and
/// small kinds with a reader of their own. Costs what the object costs.
struct RawObject {
    ObjectMeta meta;
    std::string json;

    bool operator==(const RawObject&) const = default;
};

/// Errors: invalid (no name, uid or version).
[[nodiscard]] Result<RawObject> decode_raw(JsonObject& object);

}  // namespace scout::kube
