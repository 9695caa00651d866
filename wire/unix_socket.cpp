// SPDX-License-Identifier: Apache-2.0
#include "wire/unix_socket.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/logging.h"
#include "base/system_text.h"
#include "base/unique_fd.h"

namespace scout::wire {
namespace {

constexpr std::size_t path_limit = sizeof(sockaddr_un::sun_path) - 1;

/// One attempt to connect: 0, or the error number.
int try_connect(const std::string& path) {
    const UniqueFd probe{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!probe) {
        return errno;
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    // sockaddr_un is passed as sockaddr: the form of the system call.
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    return ::connect(probe.get(), generic, sizeof(address)) == 0 ? 0 : errno;
}

/// Unlike those of other processes, also of one with our process id in another container.
std::string private_name_in(const std::filesystem::path& folder) {
    return folder / fmt::format(".{:08x}", std::random_device{}());
}

std::filesystem::path folder_of(const std::string& path) {
    return std::filesystem::path{path}.parent_path();
}

tl::unexpected<Error> cannot_be_put_there(const std::string& path, int error) {
    return fail(Errc::unavailable,
                "socket " + path + ": cannot be put there: " + system_text(error));
}

/// What is at a free path: nothing, or a stale socket.
using Stale = std::optional<struct stat>;

Result<Stale> check_free(const std::string& path) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) {
        if (errno == ENOENT && std::filesystem::is_directory(folder_of(path))) {
            return std::nullopt;
        }
        return fail(Errc::refused, "socket " + path + ": " + system_text(errno) +
                                       ": its folder must exist and be accessible");
    }
    if (!S_ISSOCK(info.st_mode)) {
        return fail(Errc::refused, "socket " + path +
                                       ": a file that is no socket is there; it was left alone: "
                                       "move it away or choose another path");
    }
    const int error = try_connect(path);
    if (error == 0 || error == EAGAIN) {
        return fail(Errc::refused, "socket " + path +
                                       ": another process is listening there: stop it or choose "
                                       "another path");
    }
    // ENOENT: a peer that stops has taken it away meanwhile.
    if (error != ECONNREFUSED && error != ENOENT) {
        return fail(Errc::refused,
                    "socket " + path + ": cannot tell whether it is in use: " + system_text(error));
    }
    return info;
}

bool same_file(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// Moves a file, but over nothing: 0, or the error number.
int move_to_free(const std::string& from, const std::string& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return errno;
    }
    // A file system that cannot do that: link() replaces nothing either.
    if (::link(from.c_str(), to.c_str()) != 0) {
        return errno;
    }
    ::unlink(from.c_str());
    return 0;
}

/// Takes away the socket that was found to be stale. By now a quicker process may have put its own
/// there, which unlink() would not tell: so it is moved first, looked at, and given back if so.
void remove_stale(const std::string& path, const struct stat& stale, const std::string& aside) {
    struct stat moved{};
    if (::rename(path.c_str(), aside.c_str()) != 0 || ::lstat(aside.c_str(), &moved) != 0) {
        return;
    }
    if (same_file(moved, stale)) {
        ::unlink(aside.c_str());
    } else {
        static_cast<void>(move_to_free(aside, path));
    }
}

}  // namespace

Status check_unix_path(std::string_view path) {
    if (path.empty() || path.size() > path_limit) {
        return fail(Errc::invalid, "expected a unix socket path of 1 to " +
                                       std::to_string(path_limit) + " bytes, found " +
                                       std::to_string(path.size()) + ": choose a shorter folder, " +
                                       log_value(path));
    }
    return {};
}

Status UnixSocketPlace::check_path(const std::string& path) {
    if (auto fits = check_unix_path(path); !fits) {
        return fits;
    }
    if (const auto size = private_name_in(folder_of(path)).size(); size > path_limit) {
        return fail(Errc::invalid, "socket " + path + ": the path of its folder is " +
                                       std::to_string(size - path_limit) +
                                       " bytes too long: choose a shorter one");
    }
    return {};
}

Result<UnixSocketPlace> UnixSocketPlace::claim(std::string path) {
    if (auto fits = check_path(path); !fits) {
        return fail(std::move(fits.error()));
    }
    if (auto free = check_free(path); !free) {
        return fail(std::move(free.error()));
    }
    auto private_name = private_name_in(folder_of(path));
    return UnixSocketPlace{std::move(path), std::move(private_name)};
}

UnixSocketPlace::UnixSocketPlace(UnixSocketPlace&& other) noexcept
    : path_(std::move(other.path_)),
      private_name_(std::exchange(other.private_name_, {})),
      published_(std::exchange(other.published_, false)),
      device_(other.device_),
      inode_(other.inode_) {}

Status UnixSocketPlace::publish() {
    struct stat info{};
    if (::lstat(private_name_.c_str(), &info) != 0) {
        return cannot_be_put_there(path_, errno);
    }
    auto stale = check_free(path_);
    if (!stale) {
        return fail(std::move(stale.error()));
    }
    if (const auto& left = *stale) {
        remove_stale(path_, *left, private_name_ + ".stale");
    }
    if (const int error = move_to_free(private_name_, path_); error != 0) {
        return error == EEXIST ? fail(Errc::refused, "socket " + path_ +
                                                         ": another process was quicker to listen "
                                                         "there: stop it or choose another path")
                               : cannot_be_put_there(path_, error);
    }
    device_ = info.st_dev;
    inode_ = info.st_ino;
    published_ = true;
    return {};
}

void UnixSocketPlace::give_back() noexcept {
    if (!std::exchange(published_, false)) {
        ::unlink(private_name_.c_str());
        return;
    }
    struct stat info{};
    if (::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_) {
        ::unlink(path_.c_str());
    }
}

}  // namespace scout::wire
