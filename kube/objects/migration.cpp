// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/migration.h"

#include "kube/objects/read_meta.h"

namespace scout::kube {
namespace {

/// Ours are kept, and whether there is one for which KubeVirt waits after a failure.
struct Annotations {
    Migration& migration;
};

}  // namespace

[[nodiscard]] static Status read_json(JsonValue value, Annotations& target) {
    auto& migration = target.migration;
    const auto see = [&migration](std::string_view key, JsonValue /*value*/) -> Status {
        migration.backs_off = migration.backs_off || key == evacuation_annotation ||
                              key == workload_update_annotation;
        return {};
    };
    return read_annotations(value, migration.annotations, see);
}

bool Migration::is_final() const noexcept {
    return is_final_phase(phase.view());
}

Result<Migration> decode_migration(JsonObject& object) {
    Migration migration;
    Annotations annotations{migration};
    std::vector<PhaseTime> phases;
    auto status = object.read(
        metadata(migration.meta, Field{"annotations", annotations},
                 Field{"creationTimestamp", migration.creation},
                 Field{"deletionTimestamp", migration.deletion}),
        Nested{"spec", Field{"vmiName", migration.vmi_name}, Field{"priority", migration.priority},
               Field{"addedNodeSelector", migration.added_node_selector}},
        Nested{"status", Field{"phase", migration.phase}, Field{"conditions", migration.conditions},
               Field{"phaseTransitionTimestamps", phases}});
    for (const auto& each : phases) {
        if (each.phase == "Failed" && !migration.failed_at) {
            migration.failed_at = each.at;
        }
    }
    return decoded(std::move(migration), std::move(status));
}

}  // namespace scout::kube
