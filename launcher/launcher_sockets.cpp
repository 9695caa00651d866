// SPDX-License-Identifier: Apache-2.0
#include "launcher/launcher_sockets.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/files.h"
#include "base/system_text.h"

namespace scout::launcher {
namespace {

constexpr const char* ready_name = "launcher-sock";
constexpr const char* unresponsive_name = "launcher-unresponsive";
constexpr int folder_flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
/// A pod's UID has 36 characters; the kubelet's own names are not much longer.
constexpr std::size_t uid_limit = 128;

/// Not there, or no folder of the kubelet's. Anything else says nothing of the pod: no descriptor
/// may be left, or the disk be ill.
bool says_none(int error) {
    return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES;
}

/// The folder with the socket of one pod. Errors: not_found (the pod has none), unavailable.
Result<UniqueFd> open_sockets(const UniqueFd& pods, const std::string& pod_uid) {
    UniqueFd folder;
    for (const auto* step : {pod_uid.c_str(), "volumes", "kubernetes.io~empty-dir", "sockets"}) {
        UniqueFd next{::openat((folder ? folder : pods).get(), step, folder_flags)};
        if (!next) {
            const int error = errno;
            return fail(says_none(error) ? Errc::not_found : Errc::unavailable,
                        "folders of pod " + pod_uid + ": " + system_text(error));
        }
        folder = std::move(next);
    }
    return folder;
}

std::optional<struct stat> look(const UniqueFd& folder, const char* name) {
    struct stat info{};
    if (::fstatat(folder.get(), name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return std::nullopt;
    }
    return info;
}

LauncherSocket state_of(const UniqueFd& folder, std::string pod_uid) {
    LauncherSocket found{.pod_uid = std::move(pod_uid)};
    if (look(folder, unresponsive_name)) {
        found.state = SocketState::unresponsive;
        return found;
    }
    const auto socket = look(folder, ready_name);
    if (!socket) {
        return found;
    }
    if (!S_ISSOCK(socket->st_mode)) {
        found.state = SocketState::foreign;
        return found;
    }
    found.state = SocketState::ready;
    found.device = socket->st_dev;
    found.inode = socket->st_ino;
    return found;
}

Result<UniqueFd> open_pods(const std::filesystem::path& pods_dir) {
    UniqueFd pods{::open(pods_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (!pods) {
        const int error = errno;
        return fail(error == ENOENT ? Errc::not_found : Errc::unavailable,
                    pods_dir.string() + ": " + system_text(error));
    }
    return pods;
}

/// A new socket of ours, connected to the one that a descriptor stands for. The kernel finds that
/// by the descriptor: the path is short, and cannot change its meaning.
Result<UniqueFd> connect_to(const UniqueFd& place, const std::string& pod_uid) {
    const std::string path = "/proc/self/fd/" + std::to_string(place.get());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof(address.sun_path) - 1));
    UniqueFd own{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    // sockaddr_un is passed as sockaddr: the form of the system call.
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (!own || ::connect(own.get(), generic, sizeof(address)) != 0) {
        const int error = errno;
        return fail(Errc::unavailable,
                    "launcher of pod " + pod_uid + ": cannot connect: " +
                        (error == EAGAIN ? "it takes no connections" : system_text(error)));
    }
    return own;
}

}  // namespace

Result<std::vector<LauncherSocket>> find_launchers(const std::filesystem::path& pods_dir) {
    const auto entries = list_folder(pods_dir, [](const std::filesystem::directory_entry& entry) {
        std::error_code ignored;
        return entry.symlink_status(ignored).type() == std::filesystem::file_type::directory;
    });
    if (!entries) {
        return fail(entries.error());
    }
    const auto pods = open_pods(pods_dir);
    if (!pods) {
        return fail(pods.error());
    }
    std::vector<LauncherSocket> found;
    for (const auto& entry : *entries) {
        auto pod_uid = entry.filename().string();
        if (pod_uid.size() > uid_limit || found.size() == launchers_limit) {
            continue;
        }
        const auto folder = open_sockets(*pods, pod_uid);
        if (folder) {
            found.push_back(state_of(*folder, std::move(pod_uid)));
        } else if (folder.error().code != Errc::not_found) {
            return fail(folder.error());
        }
    }
    return found;
}

Result<UniqueFd> connect_launcher(const std::filesystem::path& pods_dir,
                                  const LauncherSocket& socket) {
    const auto pods = open_pods(pods_dir);
    if (!pods) {
        return fail(pods.error());
    }
    const auto folder = open_sockets(*pods, socket.pod_uid);
    const UniqueFd place{
        folder ? ::openat(folder->get(), ready_name, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1};
    struct stat info{};
    if (!place || ::fstat(place.get(), &info) != 0) {
        return fail(Errc::not_found, "launcher of pod " + socket.pod_uid + ": its socket is gone");
    }
    if (!S_ISSOCK(info.st_mode) || info.st_dev != socket.device || info.st_ino != socket.inode) {
        return fail(Errc::refused, "launcher of pod " + socket.pod_uid +
                                       ": something else is under the name of its socket by now");
    }
    return connect_to(place, socket.pod_uid);
}

}  // namespace scout::launcher
