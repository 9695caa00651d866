// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_text.h"
#include "base/unique_fd.h"

namespace scout {
namespace {

Errc code_for(int error) {
    return error == ENOENT ? Errc::not_found : Errc::unavailable;
}

Status write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return fail(Errc::unavailable, system_text(errno));
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

constexpr std::string_view temporary_mark = ".new-";
constexpr std::size_t temporary_letters = 6;
/// No write takes so long: whoever began it is dead.
constexpr time_t leftover_age_s = 600;

/// Removes what writers of this file left behind when they were killed: temporary files that are
/// much older than the one that was made just now. What cannot be looked at stays.
void sweep_leftovers(const std::filesystem::path& path, int made_now) {
    struct stat now{};
    if (::fstat(made_now, &now) != 0) {
        return;
    }
    const auto prefix = path.filename().string() + std::string{temporary_mark};
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
    std::error_code error;
    auto entry = std::filesystem::directory_iterator(folder, error);
    while (!error && entry != std::filesystem::directory_iterator{}) {
        const auto name = entry->path().filename().string();
        struct stat found{};
        if (name.size() == prefix.size() + temporary_letters && name.starts_with(prefix) &&
            ::lstat(entry->path().c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
            now.st_mtime - found.st_mtime >= leftover_age_s) {
            ::unlink(entry->path().c_str());
        }
        entry.increment(error);
    }
}

}  // namespace

Result<std::string> read_descriptor(int descriptor, std::size_t limit) {
    std::string text;
    std::array<char, 65536> buffer{};
    for (;;) {
        const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail(code_for(errno), system_text(errno));
        }
        if (got == 0) {
            return text;
        }
        if (text.size() + static_cast<std::size_t>(got) > limit) {
            return fail(Errc::invalid,
                        "expected at most " + std::to_string(limit) + " bytes, found more");
        }
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
    const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!file) {
        return fail(code_for(errno), path.string() + ": " + system_text(errno));
    }
    struct stat info{};
    if (::fstat(file.get(), &info) != 0) {
        return fail(code_for(errno), path.string() + ": " + system_text(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return fail(Errc::invalid,
                    path.string() + ": expected a regular file, found something else");
    }
    if (std::cmp_greater(info.st_size, limit)) {
        return fail(Errc::invalid, path.string() + ": expected at most " + std::to_string(limit) +
                                       " bytes, found " + std::to_string(info.st_size));
    }
    auto text = read_descriptor(file.get(), limit);
    if (!text) {
        return fail(std::move(text.error()).within(path.string()));
    }
    return text;
}

Status write_file_atomically(const std::filesystem::path& path, std::string_view text) {
    std::string temporary = path.string() + std::string{temporary_mark} + "XXXXXX";
    const UniqueFd file{::mkostemp(temporary.data(), O_CLOEXEC)};
    if (!file) {
        return fail(code_for(errno), path.string() + ": " + system_text(errno));
    }
    sweep_leftovers(path, file.get());
    auto written = write_all(file.get(), text);
    if (written && ::fsync(file.get()) != 0) {
        written = fail(Errc::unavailable, system_text(errno));
    }
    if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
        written = fail(Errc::unavailable, system_text(errno));
    }
    if (!written) {
        ::unlink(temporary.c_str());
        return fail(std::move(written.error()).within(path.string()));
    }
    return {};
}

Result<std::vector<std::filesystem::path>> list_folder(
    const std::filesystem::path& folder,
    bool (*keep)(const std::filesystem::directory_entry& entry)) {
    std::error_code error;
    std::vector<std::filesystem::path> paths;
    auto entry = std::filesystem::directory_iterator(folder, error);
    while (!error && entry != std::filesystem::directory_iterator{}) {
        if (!entry->path().filename().string().starts_with('.') && keep(*entry)) {
            paths.push_back(entry->path());
        }
        if (paths.size() > folder_limit) {
            return fail(Errc::invalid, folder.string() + ": expected at most " +
                                           std::to_string(folder_limit) + " files, found more");
        }
        entry.increment(error);
    }
    if (error) {
        return fail(error == std::errc::no_such_file_or_directory ? Errc::not_found : Errc::invalid,
                    folder.string() + ": expected a folder: " + error.message());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

Result<std::vector<std::filesystem::path>> list_files(const std::filesystem::path& folder) {
    return list_folder(folder, [](const std::filesystem::directory_entry& entry) {
        std::error_code ignored;
        return entry.is_regular_file(ignored);
    });
}

}  // namespace scout
