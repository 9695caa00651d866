// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace scout {

/// Largest document that any reader of ours takes: 4 MiB. Real ones are under 64 KiB.
inline constexpr std::size_t document_limit = std::size_t{4} << 20U;

/// The whole file, if it is a regular file of at most `limit` bytes. A FIFO, device or directory
/// is refused without reading from it. Errors: not_found, invalid (kind, size), unavailable.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path,
                                            std::size_t limit = document_limit);

/// Everything that can be read from a descriptor until its end, at most `limit` bytes.
[[nodiscard]] Result<std::string> read_descriptor(int descriptor, std::size_t limit);

/// Replaces the file in one step: temporary file beside it, fsync, rename. Mode 0600. Temporary
/// files that killed writers of this file left there more than ten minutes ago are removed.
[[nodiscard]] Status write_file_atomically(const std::filesystem::path& path,
                                           std::string_view text);

/// Regular files directly in the folder, sorted by name; hidden files are left out.
[[nodiscard]] Result<std::vector<std::filesystem::path>> list_files(
    const std::filesystem::path& folder);

}  // namespace scout
