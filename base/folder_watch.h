// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/result.h"
#include "base/task.h"

namespace scout {

/// What a folder holds, without reading it: one line for each file, with size, time and inode. A
/// folder that is not there has no lines. Blocking.
[[nodiscard]] Result<std::vector<std::string>> folder_signature(
    const std::filesystem::path& folder);

/// Wakes up when something happens in one of some folders (inotify), also if a folder comes later
/// or is replaced. Only a hint, and not there on every file system: look at the folders now and
/// then too. Loop thread.
class FolderWatch {
public:
    FolderWatch(const asio::any_io_executor& loop, std::filesystem::path folder);

    /// Watches these from now on, and no others. A folder that is not there yet is tried again with
    /// each wait().
    void watch(const std::vector<std::filesystem::path>& folders);

    /// Returns after a change, once no more came for `quiet`, or after the limit. True if there was
    /// one.
    Task<bool> wait(std::chrono::milliseconds limit, std::chrono::milliseconds quiet);

private:
    void arm();
    [[nodiscard]] bool drain();

    asio::posix::stream_descriptor events_;
    std::map<std::filesystem::path, int> watches_;  ///< inotify's numbers; negative: not watched
};

}  // namespace scout
