// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"
#include "migration/named_target.h"

namespace scout::cluster {

/// A VirtualMachineInstanceMigration as somebody wrote it for kubectl: YAML by its rules, or JSON.
/// What the API server would refuse in how it is written is in MoveRequest::faults. Errors:
/// invalid, for what is not one such object: what cannot be read, other kinds, several documents.
/// Pure.
[[nodiscard]] Result<migration::MoveRequest> read_move_manifest(std::string_view text);

}  // namespace scout::cluster
