// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

/// The folder where a daemon keeps what survives a restart. Blocking; main thread.
namespace scout::daemon {

/// Why no process could keep files there: a relative path, or one that leads through what is no
/// folder. Empty if none is seen: the rights of its user are for make_state_folder() to find.
[[nodiscard]] std::string state_folder_fault(const std::filesystem::path& folder);

/// Makes the folder and those above that are missing, and a file in it that goes at once.
/// Errc::invalid, one sentence.
[[nodiscard]] Status make_state_folder(const std::filesystem::path& folder);

}  // namespace scout::daemon
