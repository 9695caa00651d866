// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "pressure/node_sample.h"
#include "tests/support/temporary_folder.h"

namespace scout::test {

/// The files of one node, in a folder of its own: 64 GiB of memory on cgroup v2.
class NodeTree {
public:
    NodeTree() {
        folder_.write("proc/sys/kernel/pid_max", "32768\n");
        folder_.write("proc/sys/kernel/threads-max", "20000\n");
        folder_.write("proc/loadavg", "0.10 0.20 0.30 2/500 12345\n");
        folder_.write("cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
        folder_.write("kubelet/pods/.keep", "");
        set_memory(memory_kib);
        set_pods_memory(60 << 20U);
        set_stall(0);
    }

    /// So much is left of the node's memory, in KiB, as a kubelet counts it.
    void set_memory(std::uint64_t left_kib) const {
        const auto used = (memory_kib - left_kib) * 1024;
        folder_.write("proc/meminfo", "MemTotal:       " + std::to_string(memory_kib) +
                                          " kB\nMemFree:        1000 kB\nSwapTotal:       2048 kB\n"
                                          "SwapFree:         512 kB\n");
        // 1 GiB of file pages could be dropped, and do not count.
        folder_.write("cgroup/memory.stat", "anon " + std::to_string(used) +
                                                "\nfile 1073741824\nkernel 5000\n"
                                                "inactive_anon 7\ninactive_file 1073741824\n");
    }
    /// So much is left of the 60 GiB that all pods together may take, in KiB.
    void set_pods_memory(std::uint64_t left_kib) const {
        constexpr std::uint64_t limit = std::uint64_t{60} << 30U;
        folder_.write("cgroup/kubepods.slice/memory.max", std::to_string(limit) + "\n");
        folder_.write("cgroup/kubepods.slice/memory.current",
                      std::to_string(limit - left_kib * 1024) + "\n");
        folder_.write("cgroup/kubepods.slice/memory.stat", "inactive_file 0\n");
    }
    void set_stall(double percent) const {
        const auto text = "some avg10=" + std::to_string(percent) +
                          " avg60=0.00 avg300=0.00 total=0\n"
                          "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        folder_.write("proc/pressure/memory", text);
        folder_.write("proc/pressure/io", text);
    }

    [[nodiscard]] pressure::NodeRoots roots() const {
        return {.proc = folder_.path() / "proc",
                .cgroups = folder_.path() / "cgroup",
                .kubelet = folder_.path() / "kubelet",
                .images = {}};
    }
    [[nodiscard]] const TemporaryFolder& folder() const noexcept { return folder_; }

    static constexpr std::uint64_t memory_kib = std::uint64_t{64} << 20U;

private:
    TemporaryFolder folder_;
};

}  // namespace scout::test
