// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "kube/objects/meta.h"

namespace scout::kube {

class JsonObject;

/// An object of any kind, of which only what names it is kept: for those that count or look on.
struct BareObject {
    ObjectMeta meta;

    bool operator==(const BareObject&) const = default;
};

/// Errors: invalid (no name, uid or version).
[[nodiscard]] Result<BareObject> decode_bare(JsonObject& object);

}  // namespace scout::kube
