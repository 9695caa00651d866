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

/// Most entries that are taken of one folder.
inline constexpr std::size_t folder_limit = 10'000;

/// Entries directly in the folder that are to be kept, sorted by path; hidden ones are left out.
/// Blocking. Errors: not_found; invalid (no folder, over the limit).
[[nodiscard]] Result<std::vector<std::filesystem::path>> list_folder(
    const std::filesystem::path& folder,
    bool (*keep)(const std::filesystem::directory_entry& entry));

/// The same of regular files.
[[nodiscard]] Result<std::vector<std::filesystem::path>> list_files(
    const std::filesystem::path& folder);

}  // namespace scout
