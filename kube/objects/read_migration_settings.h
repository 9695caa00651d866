// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/objects/kubevirt.h"
#include "kube/objects/read_meta.h"

// Shared by the decoders of KubeVirt objects and of migration policies.

namespace scout::kube {

/// A resource.Quantity: a string, or a number as people write it.
struct QuantityText {
    SharedText& target;
};
[[nodiscard]] Status read_json(JsonValue value, QuantityText& target);

/// What a policy may say (dossier §7), and more of the same object.
template <class... More>
[[nodiscard]] Status read_migration_settings(JsonValue value, MigrationSettings& settings,
                                             const More&... more) {
    QuantityText bandwidth{settings.bandwidth};
    return read_members(
        value, Field{"completionTimeoutPerGiB", settings.completion_seconds_per_gib},
        Field{"maxDowntimeMs", settings.max_downtime_ms}, Field{"bandwidthPerMigration", bandwidth},
        Field{"allowAutoConverge", settings.allow_auto_converge},
        Field{"allowPostCopy", settings.allow_post_copy},
        Field{"allowWorkloadDisruption", settings.allow_workload_disruption}, more...);
}

}  // namespace scout::kube
