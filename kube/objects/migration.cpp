// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/migration.h"

#include "kube/objects/read_meta.h"

namespace scout::kube {

bool Migration::is_final() const noexcept {
    return phase == "Succeeded" || phase == "Failed";
}

Result<Migration> decode_migration(JsonObject& object) {
    Migration migration;
    OurAnnotations annotations{migration.annotations};
    auto status = object.read(
        metadata(migration.meta, Field{"annotations", annotations},
                 Field{"creationTimestamp", migration.creation},
                 Field{"deletionTimestamp", migration.deletion}),
        Nested{"spec", Field{"vmiName", migration.vmi_name}, Field{"priority", migration.priority},
               Field{"addedNodeSelector", migration.added_node_selector}},
        Nested{"status", Field{"phase", migration.phase},
               Field{"conditions", migration.conditions}});
    return decoded(std::move(migration), std::move(status));
}

}  // namespace scout::kube
