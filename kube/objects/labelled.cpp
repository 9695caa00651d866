// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/labelled.h"

#include "kube/objects/read_meta.h"

namespace scout::kube {

Result<LabelledObject> decode_labelled(JsonObject& object) {
    LabelledObject labelled;
    auto status = object.read(metadata(labelled.meta, Field{"labels", labelled.labels}));
    return decoded(std::move(labelled), std::move(status));
}

}  // namespace scout::kube
