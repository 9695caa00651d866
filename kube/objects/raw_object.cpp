// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/raw_object.h"

#include "kube/json.h"
#include "kube/watch_event.h"

namespace scout::kube {

Result<RawObject> decode_raw(JsonObject& object) {
    const auto identity = read_identity(object);
    if (!identity) {
        return fail(identity.error());
    }
    RawObject raw{.meta = {.space = object.texts().get(identity->space),
                           .name = std::string{identity->name},
                           .uid = std::string{identity->uid},
                           .version = std::string{identity->version}}};
    const auto text = object.raw();
    if (!text) {
        return fail(text.error());
    }
    raw.json = *text;
    return raw;
}

}  // namespace scout::kube
