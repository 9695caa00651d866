// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace scout::cluster {

/// The files behind these paths, in their order; those of a folder at any depth, sorted, by their
/// names (.yaml, .yml, .json, each perhaps with .gz). Links are followed once, to files only.
/// Errors: not_found; unavailable; invalid (neither file nor folder, more than the limit).
[[nodiscard]] Result<std::vector<std::filesystem::path>> dump_files(
    const std::vector<std::filesystem::path>& paths, std::size_t limit);

/// The text of a file, unpacked if it is gzip, whatever its name. Errors: not_found; unavailable;
/// invalid (kind, damaged, over the limit of bytes unpacked).
[[nodiscard]] Result<std::string> read_dump_file(const std::filesystem::path& path,
                                                 std::size_t limit);

}  // namespace scout::cluster
