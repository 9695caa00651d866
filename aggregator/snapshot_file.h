// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

/// The snapshot's file. Blocking; any thread.
namespace scout::aggregator {

/// The file's text; nothing if there is no file. Errors: invalid (over the limit, no regular file),
/// unavailable (no right to read it, a disk that fails).
[[nodiscard]] Result<std::optional<std::string>> load_snapshot(const std::filesystem::path& path);

/// Replaces the file. Errc::invalid, and the file stays as it is, for a text that load_snapshot()
/// would not take back.
[[nodiscard]] Status store_snapshot(const std::filesystem::path& path, std::string_view text);

/// Files that set_aside() keeps, the one just moved included.
inline constexpr std::size_t kept_aside = 5;

/// Moves a file that cannot be used to "<name>.damaged-<time>", over nothing that is there, so that
/// it can be looked at and the next snapshot does not take its place; older ones than the last
/// `kept_aside` are removed. Answers the new path. Errors: whatever keeps it from being moved; what
/// is no regular file is left alone.
[[nodiscard]] Result<std::filesystem::path> set_aside(const std::filesystem::path& path,
                                                      WallTime wall);

}  // namespace scout::aggregator
