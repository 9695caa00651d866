// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "kube/objects/meta.h"

namespace scout::kube {

class JsonObject;

/// An object of any kind, of which only names and labels are kept: namespaces, by which migration
/// policies choose.
struct LabelledObject {
    ObjectMeta meta;
    Labels labels;

    bool operator==(const LabelledObject&) const = default;
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<LabelledObject> decode_labelled(JsonObject& object);

}  // namespace scout::kube
