// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/migration_policy.h"

#include "kube/objects/read_meta.h"
#include "kube/objects/read_migration_settings.h"

namespace scout::kube {
namespace {

struct Specification {
    MigrationPolicy& policy;
};

}  // namespace

[[nodiscard]] static Status read_json(JsonValue value, MigrationPolicy::Selectors& target) {
    return read_members(value, Field{"namespaceSelector", target.space},
                        Field{"virtualMachineInstanceSelector", target.vmi});
}

[[nodiscard]] static Status read_json(JsonValue value, Specification& target) {
    return read_migration_settings(value, target.policy.settings,
                                   Field{"selectors", target.policy.selectors});
}

Result<MigrationPolicy> decode_migration_policy(JsonObject& object) {
    MigrationPolicy policy;
    Specification specification{policy};
    auto status =
        object.read(metadata(policy.meta,
                             Nested{"labels", Field{"virt-scout.io/move-of", policy.move_of},
                                    Field{"virt-scout.io/tune", policy.tune}},
                             Nested{"annotations", Field{"virt-scout.io/expires", policy.expires}}),
                    Field{"spec", specification});
    return decoded(std::move(policy), std::move(status));
}

}  // namespace scout::kube
