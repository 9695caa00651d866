// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/objects/meta.h"

namespace scout::kube {

class JsonObject;

/// What we use of a kubevirt.io/v1 VirtualMachineInstanceMigration (dossier §6).
struct Migration {
    ObjectMeta meta;
    SharedText vmi_name;
    SharedText phase;  ///< empty until virt-controller has seen it
    SharedText priority;
    Labels annotations;  ///< ours only
    Labels added_node_selector;
    std::vector<Condition> conditions;
    std::optional<WallTime> creation;
    std::optional<WallTime> deletion;
    std::optional<WallTime> failed_at;
    /// Annotated as of an evacuation or of a launcher update: KubeVirt waits after failures of such
    /// (dossier §6.5).
    bool backs_off = false;

    /// Succeeded or Failed.
    [[nodiscard]] bool is_final() const noexcept;

    bool operator==(const Migration&) const = default;
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<Migration> decode_migration(JsonObject& object);

}  // namespace scout::kube
