// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/result.h"
#include "base/unique_fd.h"

namespace scout {

/// Keeps a second process away from what the file stands for, as long as this object or, at the
/// latest, the process lives (flock). The file stays and names the last holder. Any thread.
class FileLock {
public:
    /// Never waits. Errors: refused (held; names the process that holds it), unavailable (the file
    /// cannot be made or locked there).
    [[nodiscard]] static Result<FileLock> take(const std::filesystem::path& path);

private:
    explicit FileLock(UniqueFd file) noexcept : file_(std::move(file)) {}

    UniqueFd file_;
};

}  // namespace scout
