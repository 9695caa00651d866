// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/meta.h"

namespace scout::kube {

class JsonObject;

/// What we use of a migrations.kubevirt.io/v1alpha1 MigrationPolicy (dossier §7).
struct MigrationPolicy {
    /// Plain maps; what is absent chooses all.
    struct Selectors {
        Labels space;
        Labels vmi;

        bool operator==(const Selectors&) const = default;
    };

    ObjectMeta meta;
    std::string move_of;                 ///< our label virt-scout.io/move-of; empty: without
    std::string tune;                    ///< likewise virt-scout.io/tune
    std::string expires;                 ///< our annotation virt-scout.io/expires; empty: without
    std::optional<Selectors> selectors;  ///< none: it chooses nothing
    MigrationSettings settings;          ///< only what policies may say is set

    bool operator==(const MigrationPolicy&) const = default;
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<MigrationPolicy> decode_migration_policy(JsonObject& object);

}  // namespace scout::kube
