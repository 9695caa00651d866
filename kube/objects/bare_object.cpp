// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/bare_object.h"

#include "kube/json.h"
#include "kube/watch_event.h"

namespace scout::kube {

Result<BareObject> decode_bare(JsonObject& object) {
    const auto identity = read_identity(object);
    if (!identity) {
        return fail(identity.error());
    }
    return BareObject{.meta = {.space = object.texts().get(identity->space),
                               .name = std::string{identity->name},
                               .uid = std::string{identity->uid},
                               .version = std::string{identity->version}}};
}

}  // namespace scout::kube
