// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "migration/node_pressure.h"
#include "pressure/kernel_texts.h"

/// What is left on a node, as its kubelet counts it.
namespace scout::pressure {

/// Where things are on this node. All but `proc` may be a mount of the host's folder.
struct NodeRoots {
    std::filesystem::path proc = "/proc";
    std::filesystem::path cgroups = "/sys/fs/cgroup";
    /// The kubelet's root folder, or one on the same filesystem, which is its nodefs.
    std::filesystem::path kubelet = "/var/lib/kubelet";
    /// The container runtime's folder of images: its filesystem is the imagefs. Empty: they are
    /// taken to be on the nodefs, as on nodes with one filesystem, where the kubelet judges it by
    /// both thresholds.
    std::filesystem::path images;
};

enum class CgroupVersion : std::uint8_t { v1, v2 };

/// By what is in the folder: v2 has `cgroup.controllers` at its root, v1 a folder for each
/// controller; a hybrid of both counts as v1, for the kubelet takes its memory controller from
/// there. Blocking. Errors: not_found, invalid.
[[nodiscard]] Result<CgroupVersion> cgroup_version(const std::filesystem::path& cgroups);

/// Memory that is in use and cannot be dropped at once: usage less inactive file pages, of the
/// cgroup in this folder (v1: of the memory controller). Blocking.
[[nodiscard]] Result<std::uint64_t> working_set(const std::filesystem::path& folder,
                                                CgroupVersion version);

struct Swap {
    std::uint64_t total = 0;  ///< bytes
    std::uint64_t free = 0;

    friend bool operator==(const Swap&, const Swap&) = default;
};

struct NodeSample {
    migration::NodeRoom room;
    std::optional<Stall> memory_stall;  ///< none: the kernel does not tell it (CONFIG_PSI, psi=1)
    std::optional<Stall> io_stall;
    std::optional<Swap> swap;
    bool own_imagefs = false;  ///< images are on another filesystem than the nodefs
    /// What could not be read, by "memory", "pods", "pid", "nodefs", "imagefs", and why.
    std::map<std::string, std::string, std::less<>> faults;
};

/// One look. Blocking, on a dead mount for long; a few files of less than 5 KiB otherwise.
///
/// - memory (cadvisor, and runc since 1.1.8): of /proc/meminfo's MemTotal the working set is taken
///   away. On v2 the root cgroup has no `memory.current`: usage is `anon` + `file` of its
///   `memory.stat`. On v1 it is the root's `memory.usage_in_bytes`.
/// - memory of all pods: of the limit of their cgroup, which the kubelet sets to what there is less
///   what it reserves (enforceNodeAllocatable), the working set of that cgroup is taken away. Not
///   looked for without `pods_root`: the kubelet's cgroupRoot, as for pods_cgroup().
/// - pid: the lesser of `kernel.pid_max` and `kernel.threads-max`, less all tasks of the machine.
///   From Linux 6.14 on `pid_max` is that of the reader's PID namespace: a container without the
///   host's sees the host's limit only where it is the lower one of threads-max.
/// - filesystems: what statvfs() says is available to those without privilege, and free inodes.
///   One without inodes of its own, as btrfs, has no such signal.
[[nodiscard]] NodeSample read_node(const NodeRoots& roots,
                                   const std::optional<std::string>& pods_root = {});

}  // namespace scout::pressure
