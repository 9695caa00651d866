// SPDX-License-Identifier: Apache-2.0
#include "base/folder_watch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <spdlog/spdlog.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/logging.h"
#include "base/system_text.h"

namespace scout {
namespace {

constexpr std::uint32_t changes = IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM |
                                  IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB |
                                  IN_ONLYDIR;
// A folder that changes without end is looked at now and then nevertheless.
constexpr unsigned most_quiet_waits = 50;

}  // namespace

Result<std::vector<std::string>> folder_signature(const std::filesystem::path& folder) {
    const auto files = list_files(folder);
    if (!files) {
        return files.error().code == Errc::not_found ? Result<std::vector<std::string>>{}
                                                     : fail(files.error());
    }
    std::vector<std::string> lines;
    for (const auto& file : *files) {
        struct stat info{};
        if (::stat(file.c_str(), &info) != 0) {
            continue;  // gone since; the next look sees that
        }
        lines.push_back(file.filename().string() + " " + std::to_string(info.st_size) + " " +
                        std::to_string(info.st_mtim.tv_sec) + "." +
                        std::to_string(info.st_mtim.tv_nsec) + " " + std::to_string(info.st_ino));
    }
    return lines;
}

FolderWatch::FolderWatch(const asio::any_io_executor& loop, std::filesystem::path folder)
    : events_(loop) {
    const int descriptor = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (descriptor < 0) {
        const int error = errno;
        spdlog::warn("no change notices, looking once in a while folder={} error={}",
                     log_value(folder.string()), log_value(system_text(error)));
    } else {
        events_.assign(descriptor);
    }
    watches_.emplace(std::move(folder), -1);
}

void FolderWatch::watch(const std::vector<std::filesystem::path>& folders) {
    std::map<std::filesystem::path, int> now;
    for (const auto& folder : folders) {
        const auto known = watches_.find(folder);
        now.emplace(folder, known == watches_.end() ? -1 : known->second);
    }
    for (const auto& [folder, number] : watches_) {
        if (number >= 0 && !now.contains(folder)) {
            ::inotify_rm_watch(events_.native_handle(), number);
        }
    }
    watches_ = std::move(now);
    arm();
}

/// The folders that are there; the caller's limit brings us back to the others.
void FolderWatch::arm() {
    for (auto& [folder, number] : watches_) {
        if (number < 0 && events_.is_open()) {
            number = ::inotify_add_watch(events_.native_handle(), folder.c_str(), changes);
        }
    }
}

/// True if a watched folder itself is gone, which is not watched any more then.
bool FolderWatch::drain() {
    alignas(inotify_event) std::array<char, 4096> buffer{};
    bool gone = false;
    for (;;) {
        const auto size = ::read(events_.native_handle(), buffer.data(), buffer.size());
        if (size <= 0) {
            return gone;
        }
        for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(size);) {
            inotify_event event{};
            std::memcpy(&event, buffer.data() + at, sizeof(event));
            at += sizeof(event) + event.len;
            if ((event.mask & (IN_IGNORED | IN_MOVE_SELF)) == 0) {
                continue;
            }
            // What a removed watch still says is not about a folder that is watched now.
            const auto watched = std::find_if(
                watches_.begin(), watches_.end(),
                [number = event.wd](const auto& each) { return each.second == number; });
            if (watched != watches_.end()) {
                ::inotify_rm_watch(events_.native_handle(), event.wd);
                watched->second = -1;
                gone = true;
            }
        }
    }
}

Task<bool> FolderWatch::wait(std::chrono::milliseconds limit, std::chrono::milliseconds quiet) {
    using namespace asio::experimental::awaitable_operators;
    arm();
    asio::steady_timer timer(events_.get_executor());
    if (!events_.is_open()) {
        timer.expires_after(limit);
        co_await timer.async_wait(as_result);
        co_return false;
    }
    for (unsigned i = 0; i < most_quiet_waits; ++i) {
        timer.expires_after(i == 0 ? limit : quiet);
        const auto outcome =
            co_await (events_.async_wait(asio::posix::stream_descriptor::wait_read, as_result) ||
                      timer.async_wait(as_result));
        if (outcome.index() == 1) {
            co_return i != 0;
        }
        if (drain()) {
            arm();
        }
    }
    co_return true;
}

}  // namespace scout
