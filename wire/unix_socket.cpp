// SPDX-License-Identifier: Apache-2.0
#include "wire/unix_socket.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace scout::wire {
namespace {

constexpr std::size_t path_limit = sizeof(sockaddr_un::sun_path) - 1;

std::string system_text(int error) {
    return std::generic_category().message(error);
}

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

Status check_length(const std::string& path, const std::string& private_name) {
    if (path.empty() || path.size() > path_limit) {
        return fail(Errc::invalid, "expected a unix socket path of 1 to " +
                                       std::to_string(path_limit) + " bytes, found " +
                                       std::to_string(path.size()));
    }
    if (private_name.size() > path_limit) {
        const auto over = private_name.size() - path_limit;
        return fail(Errc::invalid, "socket " + path + ": the path of its folder is " +
                                       std::to_string(over) +
                                       " bytes too long: choose a shorter one");
    }
    return {};
}

Status check_free(const std::string& path) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) {
        if (errno == ENOENT &&
            std::filesystem::is_directory(std::filesystem::path{path}.parent_path())) {
            return {};
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
    return {};
}

}  // namespace

Result<UnixSocketPlace> UnixSocketPlace::claim(std::string path) {
    auto private_name = private_name_in(std::filesystem::path{path}.parent_path());
    if (auto fits = check_length(path, private_name); !fits) {
        return fail(std::move(fits.error()));
    }
    if (auto free = check_free(path); !free) {
        return fail(std::move(free.error()));
    }
    return UnixSocketPlace{std::move(path), std::move(private_name)};
}

UnixSocketPlace::UnixSocketPlace(UnixSocketPlace&& other) noexcept
    : path_(std::move(other.path_)),
      private_name_(std::move(other.private_name_)),
      published_(std::exchange(other.published_, false)),
      device_(other.device_),
      inode_(other.inode_) {}

Status UnixSocketPlace::publish() {
    if (auto free = check_free(path_); !free) {
        return free;
    }
    struct stat info{};
    if (::lstat(private_name_.c_str(), &info) != 0 ||
        ::rename(private_name_.c_str(), path_.c_str()) != 0) {
        const auto why = system_text(errno);
        ::unlink(private_name_.c_str());
        return fail(Errc::unavailable, "socket " + path_ + ": cannot be put there: " + why);
    }
    device_ = info.st_dev;
    inode_ = info.st_ino;
    published_ = true;
    return {};
}

void UnixSocketPlace::give_back() noexcept {
    struct stat info{};
    if (std::exchange(published_, false) && ::lstat(path_.c_str(), &info) == 0 &&
        info.st_dev == device_ && info.st_ino == inode_) {
        ::unlink(path_.c_str());
    }
}

}  // namespace scout::wire
