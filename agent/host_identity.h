// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace scout::agent {

/// Tells a restarted node from another one under the same name: 32 hex digits derived from
/// `etc/machine-id` below the root (hashed, as machine-id(5) asks), else from a random id that is
/// kept in the state folder. Blocking. Errors: unavailable (neither can be had).
[[nodiscard]] Result<std::string> host_identity(const std::filesystem::path& root,
                                                const std::filesystem::path& state_dir);

/// The host's name as the kernel has it; empty if it has none.
[[nodiscard]] std::string host_name();

}  // namespace scout::agent
