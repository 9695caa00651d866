// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "agent/evacuations.h"
#include "base/result.h"

namespace scout::agent {

/// Only this one is ever vetoed (dossier §16: one of PreMigrationSource blocks the migration).
inline constexpr std::string_view pre_vm_stop = "PreVMStop";

/// What virt-handler sends with a call of PreVMStop: the VMI's JSON, `kind` and `apiVersion` may be
/// missing. Any thread. Errors: invalid (no such JSON, over 4 MiB, no UID).
[[nodiscard]] Result<StopQuestion> read_stop_question(std::string_view json);

/// Why its guest may stop, whatever else is known; empty: what its launcher says counts.
[[nodiscard]] std::string why_allowed(const StopQuestion& question);

}  // namespace scout::agent
