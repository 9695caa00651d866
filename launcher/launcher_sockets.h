// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

/// Where launchers listen (dossier §1.1): in an emptyDir of their pod, below the kubelet's folder
/// of pods. What is in such a folder is the launcher's to write, and a launcher may have been taken
/// over by its guest: no symbolic link is followed on the way, and only a socket counts.
namespace scout::launcher {

/// Of a pod's folder, to the one with the socket.
inline constexpr std::string_view sockets_folder = "volumes/kubernetes.io~empty-dir/sockets";

/// What the folder of a launcher holds.
enum class SocketState : std::uint8_t {
    starting,      ///< `launcher-init-sock`, or nothing yet: the launcher is not ready
    ready,         ///< `launcher-sock`
    unresponsive,  ///< virt-handler gave this launcher up: `launcher-unresponsive`
    foreign,       ///< something under the socket's name that is none: nobody talks to it
};

struct LauncherSocket {
    std::string pod_uid;
    SocketState state = SocketState::starting;
    std::uint64_t device = 0;  ///< with `inode`: which socket it is; only while `ready`
    std::uint64_t inode = 0;

    friend bool operator==(const LauncherSocket&, const LauncherSocket&) = default;
};

/// Most launchers of one node that are looked at. KubeVirt's default is 110 pods on a node.
inline constexpr std::size_t launchers_limit = 1'000;

/// The launchers below a folder of pods, sorted by pod. A pod without the folder `sockets` is none.
/// Blocking. Errors: not_found, invalid (no folder, too many entries), unavailable.
[[nodiscard]] Result<std::vector<LauncherSocket>> find_launchers(
    const std::filesystem::path& pods_dir);

/// Connects to the very socket that was found, whatever is under its name by now. Of a path over
/// 107 bytes too, the kernel's limit. Blocking, but a listener that takes nobody is an error at
/// once. Errors: not_found (gone), refused (it is another one, or no socket), unavailable.
[[nodiscard]] Result<UniqueFd> connect_launcher(const std::filesystem::path& pods_dir,
                                                const LauncherSocket& socket);

}  // namespace scout::launcher
