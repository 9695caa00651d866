// SPDX-License-Identifier: Apache-2.0
#include "pressure/node_sample.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/system_text.h"
#include "pressure/pod_cgroups.h"

namespace scout::pressure {
namespace {

using migration::PressureSignal;
using migration::SignalRoom;

SignalRoom room_of(std::uint64_t capacity, std::uint64_t used) {
    return {.available = capacity - std::min(capacity, used), .capacity = capacity};
}

Result<std::uint64_t> usage_v2(const std::filesystem::path& folder, const std::string& stat) {
    auto current = read_kernel_file(folder / "memory.current", parse_number);
    if (current || current.error().code != Errc::not_found) {
        return current;
    }
    // The root has none.
    auto anon = parse_stat(stat, "anon");
    if (!anon) {
        return anon;
    }
    return parse_stat(stat, "file").map([&anon](std::uint64_t file) { return *anon + file; });
}

Status read_memory(const NodeRoots& roots, NodeSample& sample) {
    const auto info = read_kernel_file(roots.proc / "meminfo", parse_meminfo);
    if (!info) {
        return fail(info.error());
    }
    sample.swap =
        Swap{.total = info->swap_total, .free = std::min(info->swap_free, info->swap_total)};
    const auto version = cgroup_version(roots.cgroups);
    if (!version) {
        return fail(version.error());
    }
    const auto root = *version == CgroupVersion::v2 ? roots.cgroups : roots.cgroups / "memory";
    const auto used = working_set(root, *version);
    if (!used) {
        return fail(used.error());
    }
    sample.room[PressureSignal::memory_available] = room_of(info->total, *used);
    return {};
}

/// None: it has no limit. Errors: not_found (no such cgroup) among others.
Result<std::optional<SignalRoom>> pods_room(const std::filesystem::path& folder,
                                            CgroupVersion version) {
    const auto* const file = version == CgroupVersion::v2 ? "memory.max" : "memory.limit_in_bytes";
    const auto limit = read_kernel_file(folder / file, parse_limit);
    if (!limit) {
        return fail(limit.error());
    }
    const auto& most = *limit;
    if (!most) {
        return std::nullopt;
    }
    return working_set(folder, version).map([&most](std::uint64_t used) {
        return std::optional{room_of(*most, used)};
    });
}

Status read_pods(const NodeRoots& roots, std::string_view pods_root, NodeSample& sample) {
    const auto version = cgroup_version(roots.cgroups);
    if (!version) {
        return fail(version.error());
    }
    const auto base = *version == CgroupVersion::v2 ? roots.cgroups : roots.cgroups / "memory";
    for (const auto driver : {CgroupDriver::systemd, CgroupDriver::cgroupfs}) {
        const auto folder = base / pods_cgroup(pods_root, driver);
        const auto found = pods_room(folder, *version);
        if (!found && found.error().code == Errc::not_found) {
            continue;
        }
        if (!found) {
            return fail(found.error());
        }
        if (const auto& room = *found) {
            sample.room[PressureSignal::allocatable_memory_available] = *room;
            return {};
        }
        return fail(Errc::not_found, folder.string() +
                                         ": expected a limit of memory, which the kubelet sets, "
                                         "found none: does it run with the configuration that the "
                                         "agent reads?");
    }
    return fail(Errc::not_found,
                base.string() + ": expected the cgroup of all pods, found neither '" +
                    pods_cgroup(pods_root, CgroupDriver::systemd).string() + "' nor '" +
                    pods_cgroup(pods_root, CgroupDriver::cgroupfs).string() +
                    "': does the kubelet run with the configuration that the agent reads?");
}

Status read_tasks(const NodeRoots& roots, NodeSample& sample) {
    std::optional<std::uint64_t> most;
    for (const auto* name : {"sys/kernel/pid_max", "sys/kernel/threads-max"}) {
        if (const auto limit = read_kernel_file(roots.proc / name, parse_number)) {
            most = std::min(most.value_or(*limit), *limit);
        }
    }
    if (!most) {
        return fail(Errc::unavailable, (roots.proc / "sys/kernel").string() +
                                           ": expected pid_max or threads-max, found none");
    }
    const auto tasks = read_kernel_file(roots.proc / "loadavg", parse_task_count);
    if (!tasks) {
        return fail(tasks.error());
    }
    sample.room[PressureSignal::pid_available] = room_of(*most, *tasks);
    return {};
}

Status read_filesystem(const std::filesystem::path& folder, PressureSignal bytes,
                       PressureSignal inodes, NodeSample& sample) {
    struct statvfs info{};
    if (::statvfs(folder.c_str(), &info) != 0) {
        const int error = errno;
        return fail(error == ENOENT ? Errc::not_found : Errc::unavailable,
                    folder.string() + ": " + system_text(error));
    }
    const std::uint64_t block = info.f_frsize != 0 ? info.f_frsize : info.f_bsize;
    sample.room[bytes] = {.available = info.f_bavail * block, .capacity = info.f_blocks * block};
    if (info.f_files != 0) {
        sample.room[inodes] = {.available = info.f_ffree, .capacity = info.f_files};
    }
    return {};
}

std::optional<Stall> read_stall(const std::filesystem::path& file) {
    const auto stall = read_kernel_file(file, parse_stall);
    return stall ? std::optional{*stall} : std::nullopt;
}

bool are_apart(const std::filesystem::path& a, const std::filesystem::path& b) {
    struct stat one{};
    struct stat other{};
    return ::stat(a.c_str(), &one) != 0 || ::stat(b.c_str(), &other) != 0 ||
           one.st_dev != other.st_dev;
}

}  // namespace

Result<CgroupVersion> cgroup_version(const std::filesystem::path& cgroups) {
    std::error_code ignored;
    if (std::filesystem::exists(cgroups / "cgroup.controllers", ignored)) {
        return CgroupVersion::v2;
    }
    if (std::filesystem::is_directory(cgroups / "memory", ignored)) {
        return CgroupVersion::v1;
    }
    return fail(Errc::not_found, cgroups.string() +
                                     ": expected the host's cgroups, found neither "
                                     "'cgroup.controllers' nor a folder 'memory': mount the host's "
                                     "/sys/fs/cgroup and name it in cgroup-root");
}

Result<std::uint64_t> working_set(const std::filesystem::path& folder, CgroupVersion version) {
    const bool v2 = version == CgroupVersion::v2;
    const auto stat = read_file(folder / "memory.stat", kernel_file_limit);
    if (!stat) {
        return fail(stat.error());
    }
    auto used = v2 ? usage_v2(folder, *stat)
                   : read_kernel_file(folder / "memory.usage_in_bytes", parse_number);
    if (!used) {
        return used;
    }
    const auto inactive = parse_stat(*stat, v2 ? "inactive_file" : "total_inactive_file");
    if (!inactive) {
        return fail(Error{inactive.error()}.within((folder / "memory.stat").string()));
    }
    return *used - std::min(*used, *inactive);
}

NodeSample read_node(const NodeRoots& roots, const std::optional<std::string>& pods_root) {
    NodeSample sample;
    const auto note = [&sample](const char* subject, const Status& read) {
        if (!read) {
            sample.faults[subject] = read.error().message;
        }
    };
    note("memory", read_memory(roots, sample));
    if (pods_root) {
        note("pods", read_pods(roots, *pods_root, sample));
    }
    note("pid", read_tasks(roots, sample));
    note("nodefs", read_filesystem(roots.kubelet, PressureSignal::nodefs_available,
                                   PressureSignal::nodefs_inodes_free, sample));
    note("imagefs", read_filesystem(roots.images.empty() ? roots.kubelet : roots.images,
                                    PressureSignal::imagefs_available,
                                    PressureSignal::imagefs_inodes_free, sample));
    sample.own_imagefs = !roots.images.empty() && are_apart(roots.kubelet, roots.images);
    sample.memory_stall = read_stall(roots.proc / "pressure/memory");
    sample.io_stall = read_stall(roots.proc / "pressure/io");
    return sample;
}

}  // namespace scout::pressure
