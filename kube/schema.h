// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace scout::kube {

/// What becomes of a field that is written to a custom resource.
enum class FieldFate : std::uint8_t {
    declared,  ///< the schema knows it
    kept,      ///< not known, but stored: the object around it preserves unknown fields
    pruned,    ///< not known, and silently dropped
};

/// Looks the field up in a CustomResourceDefinition (its JSON text): {"spec", "addedNodeSelector"}.
/// Lists and maps on the way are gone through: indices and keys are no steps. not_found: the
/// version is not served; invalid: no CustomResourceDefinition with structural schemas. Pure.
[[nodiscard]] Result<FieldFate> field_fate(std::string_view definition, std::string_view version,
                                           const std::vector<std::string>& path);

}  // namespace scout::kube
