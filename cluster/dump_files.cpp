// SPDX-License-Identifier: Apache-2.0
#include "cluster/dump_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/unique_fd.h"

namespace scout::cluster {
namespace {

namespace fs = std::filesystem;

bool is_dump_name(std::string_view name) {
    if (name.ends_with(".gz")) {
        name.remove_suffix(3);
    }
    return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

tl::unexpected<Error> unreadable(const fs::path& path, const std::error_code& error) {
    const auto code =
        error == std::errc::no_such_file_or_directory ? Errc::not_found : Errc::unavailable;
    return fail(code, path.string() + ": " + error.message());
}

Status too_many(const fs::path& folder, std::size_t limit) {
    return fail(Errc::invalid, folder.string() + ": expected at most " + std::to_string(limit) +
                                   " files, found more: name the folders that matter");
}

bool is_open_to_us(const fs::path& folder) {
    return ::faccessat(AT_FDCWD, folder.c_str(), R_OK | X_OK, AT_EACCESS) == 0;
}

/// Adds the files of a folder at any depth, and folders that cannot be read, so that they are told
/// of as such. Links to folders are not followed.
Status add_folder(const fs::path& folder, std::size_t limit, std::vector<fs::path>& to) {
    const auto first = static_cast<std::ptrdiff_t>(to.size());
    std::error_code error;
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                        error);
    for (; !error && at != fs::recursive_directory_iterator{}; at.increment(error)) {
        std::error_code of_entry;
        const bool closed =
            at->is_directory(of_entry) && !at->is_symlink(of_entry) && !is_open_to_us(at->path());
        const bool is_file =
            at->is_regular_file(of_entry) && is_dump_name(at->path().filename().string());
        if (!closed && !is_file) {
            continue;
        }
        if (to.size() >= limit) {
            return too_many(folder, limit);
        }
        to.push_back(at->path());
    }
    if (error) {
        return unreadable(folder, error);
    }
    std::sort(to.begin() + first, to.end());
    return {};
}

struct CloseGzip {
    void operator()(gzFile file) const noexcept { ::gzclose_r(file); }
};
using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

Result<GzipFile> open_file(const fs::path& path) {
    // Not blocking, so that a FIFO without a writer is refused at once.
    UniqueFd descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat info{};
    if (!descriptor || ::fstat(descriptor.get(), &info) != 0) {
        return unreadable(path, {errno, std::generic_category()});
    }
    if (!S_ISREG(info.st_mode)) {
        return fail(Errc::invalid, path.string() + ": expected a file, found something else");
    }
    GzipFile file{::gzdopen(descriptor.get(), "rb")};
    if (!file) {
        return fail(Errc::unavailable, path.string() + ": no memory to read it");
    }
    static_cast<void>(descriptor.release());
    return file;
}

/// Where POSIX has the magic of a tar header.
bool is_tar(std::string_view text) {
    constexpr std::size_t place = 257;
    return text.size() > place && text.substr(place).starts_with("ustar");
}

}  // namespace

Result<std::vector<fs::path>> dump_files(const std::vector<fs::path>& paths, std::size_t limit) {
    std::vector<fs::path> out;
    for (const auto& path : paths) {
        std::error_code error;
        const auto status = fs::status(path, error);
        if (error) {
            return unreadable(path, error);
        }
        if (fs::is_directory(status)) {
            if (auto added = add_folder(path, limit, out); !added) {
                return fail(std::move(added.error()));
            }
        } else if (out.size() < limit) {
            out.push_back(path);
        } else {
            return fail(too_many(path, limit).error());
        }
    }
    return out;
}

Result<std::string> read_dump_file(const fs::path& path, std::size_t limit) {
    auto file = open_file(path);
    if (!file) {
        return fail(std::move(file.error()));
    }
    std::string text;
    std::array<char, std::size_t{64} << 10U> piece{};
    for (;;) {
        const int size = ::gzread(file->get(), piece.data(), piece.size());
        if (size < 0) {
            int number = 0;
            const std::string why = ::gzerror(file->get(), &number);
            return fail(Errc::invalid, path.string() + ": damaged: " + why);
        }
        if (size == 0) {
            break;
        }
        if (text.empty() && is_tar({piece.data(), static_cast<std::size_t>(size)})) {
            return fail(Errc::invalid, path.string() +
                                           ": expected objects, found a tar archive: "
                                           "unpack it and name its folder");
        }
        if (text.size() + static_cast<std::size_t>(size) > limit) {
            return fail(Errc::invalid, path.string() + ": expected at most " +
                                           std::to_string(limit) +
                                           " bytes unpacked, found more: split it");
        }
        text.append(piece.data(), static_cast<std::size_t>(size));
    }
    // A gzip file that breaks off ends like a whole one, but for this.
    if (const int closed = ::gzclose_r(file->release()); closed == Z_BUF_ERROR) {
        return fail(Errc::invalid, path.string() + ": damaged: it breaks off");
    }
    return text;
}

}  // namespace scout::cluster
