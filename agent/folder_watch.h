// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/result.h"
#include "base/task.h"

namespace scout::agent {

/// What a folder holds, without reading it: one line for each file, with size, time and inode. A
/// folder that is not there has no lines. Blocking.
[[nodiscard]] Result<std::vector<std::string>> folder_signature(
    const std::filesystem::path& folder);

/// Wakes up when something happens in a folder (inotify), also if the folder comes later or is
/// replaced. Only a hint, and not there on every file system: compare folder_signature() too.
/// Loop thread.
class FolderWatch {
public:
    FolderWatch(const asio::any_io_executor& loop, std::filesystem::path folder);

    /// Returns after a change, once no more came for `quiet`, or after the limit.
    [[nodiscard]] Task<> wait(std::chrono::milliseconds limit, std::chrono::milliseconds quiet);

private:
    void arm();
    [[nodiscard]] bool drain();

    std::filesystem::path folder_;
    asio::posix::stream_descriptor events_;
    int watch_ = -1;
};

}  // namespace scout::agent
