// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

/// The folder where a daemon keeps what survives a restart. Blocking; main thread.
namespace scout::daemon {

/// Why this process could not keep files there: expected, found, what to do. Empty if it could, as
/// far as can be told without making anything.
[[nodiscard]] std::string state_folder_fault(const std::filesystem::path& folder);

/// Makes the folder and those above that are missing, and a file in it that goes at once.
/// Errc::invalid, one sentence.
[[nodiscard]] Status make_state_folder(const std::filesystem::path& folder);

}  // namespace scout::daemon
