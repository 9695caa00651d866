// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/clock.h"

/// The snapshot's file. Blocking; any thread.
namespace scout::aggregator {

struct LoadedSnapshot {
    std::string text;     ///< empty: start empty
    std::string message;  ///< why, if it is not for the lack of a file
};

/// Reads the file; never fails. A file that cannot be read is left alone.
[[nodiscard]] LoadedSnapshot load_snapshot(const std::filesystem::path& path);

/// Moves a damaged file to "<name>.damaged-<time>", so that it can be looked at and the next
/// snapshot does not overwrite it. Answers one sentence with the outcome.
[[nodiscard]] std::string set_aside(const std::filesystem::path& path, WallTime wall);

}  // namespace scout::aggregator
