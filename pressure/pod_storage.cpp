// SPDX-License-Identifier: Apache-2.0
#include "pressure/pod_storage.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_text.h"
#include "base/unique_fd.h"
#include "pressure/pod_uid.h"

namespace scout::pressure {
namespace {

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::uint64_t block = 512;  // of st_blocks, whatever the filesystem's own are

struct CloseFolder {
    void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

/// It was there a moment ago, as a folder.
bool is_gone(int error) noexcept {
    return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

tl::unexpected<Error> failed(const char* what, int error) {
    return fail(Errc::unavailable, std::string{what} + ": " + system_text(error));
}

/// Counts what is below folders that are open: names mean nothing but entries of those, whoever
/// moves things about meanwhile.
class Counter {
public:
    Counter(dev_t device, std::size_t most) : device_(device), left_(most) {}

    /// All that is in it; the folder itself does not count.
    [[nodiscard]] Status take_entries(UniqueFd folder, unsigned level);

    [[nodiscard]] const PodStorage& storage() const noexcept { return storage_; }
    [[nodiscard]] std::size_t left() const noexcept { return left_; }

private:
    [[nodiscard]] Status take_entry(int folder, const char* name, unsigned level);
    [[nodiscard]] Status take_folder(int parent, const char* name, unsigned level);
    void add(const struct stat& info);

    dev_t device_;
    std::size_t left_;
    std::unordered_set<ino_t> linked_;  ///< in this volume, that were counted
    PodStorage storage_;
};

void Counter::add(const struct stat& info) {
    if (info.st_nlink > 1 && !linked_.insert(info.st_ino).second) {
        return;
    }
    storage_.bytes += static_cast<std::uint64_t>(info.st_blocks) * block;
    ++storage_.inodes;
}

Status Counter::take_entries(UniqueFd folder, unsigned level) {
    const std::unique_ptr<DIR, CloseFolder> entries{::fdopendir(folder.get())};
    if (entries == nullptr) {
        return failed("fdopendir", errno);
    }
    const int descriptor = folder.release();  // it is the stream's now
    for (;;) {
        errno = 0;
        // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of its own
        const auto* entry = ::readdir(entries.get());
        if (entry == nullptr) {
            return errno == 0 || is_gone(errno) ? Status{} : failed("readdir", errno);
        }
        const std::string_view name{entry->d_name};
        if (name == "." || name == "..") {
            continue;
        }
        if (auto taken = take_entry(descriptor, entry->d_name, level); !taken) {
            return taken;
        }
    }
}

Status Counter::take_entry(int folder, const char* name, unsigned level) {
    if (left_ == 0) {
        return fail(Errc::invalid, "more files in its volumes than are counted");
    }
    --left_;
    struct stat info{};
    if (::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) {
        return is_gone(errno) ? Status{} : failed("fstatat", errno);
    }
    if (info.st_dev != device_) {
        return {};
    }
    if (S_ISDIR(info.st_mode)) {
        return take_folder(folder, name, level);
    }
    add(info);
    return {};
}

Status Counter::take_folder(int parent, const char* name, unsigned level) {
    if (level == most_pod_levels) {
        return fail(Errc::invalid, "folders in its volumes more than " +
                                       std::to_string(most_pod_levels) + " levels deep");
    }
    UniqueFd folder{::openat(parent, name, folder_flags)};
    if (!folder) {
        return is_gone(errno) ? Status{} : failed("openat", errno);
    }
    // It may be another one than a moment ago.
    struct stat info{};
    if (::fstat(folder.get(), &info) != 0) {
        return failed("fstat", errno);
    }
    if (info.st_dev != device_) {
        return {};
    }
    if (level == 0) {
        linked_.clear();  // hard links between volumes count in each
    }
    add(info);
    return take_entries(std::move(folder), level + 1);
}

/// The folder with the emptyDir volumes of a pod; none: it has no such volumes.
Result<UniqueFd> open_volumes(const UniqueFd& pods, const std::string& pod_uid) {
    UniqueFd folder{::openat(pods.get(), pod_uid.c_str(), folder_flags)};
    if (!folder) {
        const int error = errno;
        return is_gone(error) ? fail(Errc::not_found, "it has no folder") : failed("openat", error);
    }
    for (const auto* step : {"volumes", "kubernetes.io~empty-dir"}) {
        folder = UniqueFd{::openat(folder.get(), step, folder_flags)};
        if (!folder) {
            const int error = errno;
            if (is_gone(error)) {
                return folder;
            }
            return failed("openat", error);
        }
    }
    return folder;
}

Result<PodStorage> count(const std::filesystem::path& pods, const std::string& pod_uid,
                         std::size_t& entries_left) {
    const UniqueFd folder{::open(pods.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    struct stat info{};
    if (!folder || ::fstat(folder.get(), &info) != 0) {
        return failed(pods.c_str(), errno);
    }
    auto volumes = open_volumes(folder, pod_uid);
    if (!volumes || !*volumes) {
        return volumes ? Result<PodStorage>{} : fail(std::move(volumes.error()));
    }
    const auto most = std::min(most_pod_entries, entries_left);
    Counter counter{info.st_dev, most};
    const auto taken = counter.take_entries(*std::move(volumes), 0);
    entries_left -= most - counter.left();
    return taken ? Result<PodStorage>{counter.storage()} : fail(taken.error());
}

}  // namespace

Result<PodStorage> read_pod_storage(const std::filesystem::path& pods, std::string_view pod_uid,
                                    std::size_t& entries_left) {
    if (auto checked = check_pod_uid(pod_uid); !checked) {
        return fail(std::move(checked.error()));
    }
    const std::string uid{pod_uid};
    auto counted = count(pods, uid, entries_left);
    return counted ? std::move(counted) : fail(std::move(counted.error()).within("pod " + uid));
}

}  // namespace scout::pressure
