// SPDX-License-Identifier: Apache-2.0
#include "pressure/node_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include "tests/pressure/node_tree.h"

namespace scout::pressure {
namespace {

using migration::PressureSignal;
using migration::SignalRoom;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30U;

TEST(NodeSampleTest, OnCgroupV2) {
    const test::NodeTree tree;
    tree.set_memory(10 << 20U);
    tree.set_stall(12.5);

    const auto sample = read_node(tree.roots());

    EXPECT_THAT(sample.faults, IsEmpty());
    EXPECT_EQ(sample.room.at(PressureSignal::memory_available),
              (SignalRoom{.available = 10 * gibibyte, .capacity = 64 * gibibyte}));
    EXPECT_EQ(sample.room.at(PressureSignal::pid_available),
              (SignalRoom{.available = 19'500, .capacity = 20'000}));
    EXPECT_EQ(sample.swap, (Swap{.total = 2'097'152, .free = 524'288}));
    EXPECT_EQ(sample.memory_stall, (Stall{.some = 0.125, .full = 0}));
    EXPECT_EQ(sample.io_stall, (Stall{.some = 0.125, .full = 0}));
}

TEST(NodeSampleTest, OnCgroupV1UsageIsTheRootsOwn) {
    const test::NodeTree tree;
    std::filesystem::remove(tree.roots().cgroups / "cgroup.controllers");
    tree.folder().write("cgroup/memory/memory.usage_in_bytes", std::to_string(8 * gibibyte));
    tree.folder().write("cgroup/memory/memory.stat",
                        "inactive_file 1\ntotal_inactive_file " + std::to_string(gibibyte) + "\n");
    // The hybrid layout: without a memory controller there.
    tree.folder().write("cgroup/unified/cgroup.controllers", "\n");

    const auto sample = read_node(tree.roots());

    EXPECT_EQ(sample.room.at(PressureSignal::memory_available).available, (64 - 7) * gibibyte);
}

constexpr auto allocatable = PressureSignal::allocatable_memory_available;

TEST(NodeSampleTest, WhatPodsMayTakeIsTheLimitOfTheirCgroup) {
    const test::NodeTree tree;
    tree.set_pods_memory(3 << 20U);
    EXPECT_FALSE(read_node(tree.roots()).room.contains(allocatable)) << "nobody asked";
    EXPECT_EQ(read_node(tree.roots(), "").room.at(allocatable),
              (SignalRoom{.available = 3 * gibibyte, .capacity = 60 * gibibyte}));

    tree.folder().write("cgroup/kube/kubepods/memory.max", "5000\n");
    tree.folder().write("cgroup/kube/kubepods/memory.current", "4000\n");
    tree.folder().write("cgroup/kube/kubepods/memory.stat", "inactive_file 500\n");
    EXPECT_EQ(read_node(tree.roots(), "/kube").room.at(allocatable),
              (SignalRoom{.available = 1500, .capacity = 5000}));

    std::filesystem::remove(tree.roots().cgroups / "cgroup.controllers");
    const std::string v1 = "cgroup/memory/kubepods.slice/memory.";
    tree.folder().write(v1 + "limit_in_bytes", "6000\n");
    tree.folder().write(v1 + "usage_in_bytes", "4000\n");
    tree.folder().write(v1 + "stat", "inactive_file 1\ntotal_inactive_file 500\n");
    EXPECT_EQ(read_node(tree.roots(), "/").room.at(allocatable),
              (SignalRoom{.available = 2500, .capacity = 6000}));
}

TEST(NodeSampleTest, WithoutTheirCgroupOrALimitOfItPodsHaveNoSignal) {
    const test::NodeTree tree;
    const auto absent = read_node(tree.roots(), "/elsewhere");
    EXPECT_FALSE(absent.room.contains(allocatable));
    EXPECT_THAT(absent.faults.at("pods"), HasSubstr("elsewhere-kubepods.slice"));
    EXPECT_TRUE(absent.room.contains(PressureSignal::memory_available));

    tree.folder().write("cgroup/kubepods.slice/memory.max", "max\n");
    const auto without = read_node(tree.roots(), "");
    EXPECT_FALSE(without.room.contains(allocatable));
    EXPECT_THAT(without.faults.at("pods"), HasSubstr("a limit of memory"));

    tree.folder().write("cgroup/kubepods.slice/memory.max", "many\n");
    EXPECT_THAT(read_node(tree.roots(), "").faults.at("pods"), HasSubstr("memory.max"));
}

TEST(NodeSampleTest, FilesystemsAreWhatStatvfsSays) {
    const test::NodeTree tree;
    struct statvfs info{};
    ASSERT_EQ(::statvfs(tree.roots().kubelet.c_str(), &info), 0);

    const auto sample = read_node(tree.roots());

    const auto& nodefs = sample.room.at(PressureSignal::nodefs_available);
    EXPECT_EQ(nodefs.capacity, info.f_blocks * info.f_frsize);
    EXPECT_GT(nodefs.available, 0U);
    EXPECT_LE(nodefs.available, nodefs.capacity);
    // Without a folder of images they are on the same one.
    EXPECT_EQ(sample.room.at(PressureSignal::imagefs_available).capacity, nodefs.capacity);
    EXPECT_EQ(sample.room.contains(PressureSignal::nodefs_inodes_free), info.f_files != 0);
}

TEST(NodeSampleTest, WhatIsAwayIsNamedAndTheRestIsTold) {
    const test::NodeTree tree;
    auto roots = tree.roots();
    roots.cgroups = tree.folder().path() / "elsewhere";
    roots.images = tree.folder().path() / "no-runtime";
    std::filesystem::remove(roots.proc / "loadavg");
    std::filesystem::remove_all(roots.proc / "pressure");

    const auto sample = read_node(roots);

    EXPECT_THAT(sample.faults.at("memory"),
                AllOf(HasSubstr("elsewhere"), HasSubstr("cgroup-root")));
    EXPECT_THAT(sample.faults.at("pid"), HasSubstr("loadavg"));
    EXPECT_THAT(sample.faults.at("imagefs"), HasSubstr("no-runtime"));
    EXPECT_THAT(sample.faults, Not(Contains(Key("nodefs"))));
    EXPECT_THAT(sample.room, Not(Contains(Key(PressureSignal::memory_available))));
    EXPECT_THAT(sample.room, Contains(Key(PressureSignal::nodefs_available)));
    EXPECT_FALSE(sample.memory_stall);
}

TEST(NodeSampleTest, GarbageIsAFaultAndNoNumber) {
    const test::NodeTree tree;
    for (const auto* text : {"", "\n\n\n", "anon", "anon x\nfile y\n", "anon 1\nfile 2\n"}) {
        tree.folder().write("cgroup/memory.stat", text);
        const auto sample = read_node(tree.roots());
        EXPECT_THAT(sample.faults, Contains(Key("memory"))) << text;
        EXPECT_THAT(sample.room, Not(Contains(Key(PressureSignal::memory_available)))) << text;
    }
    tree.folder().write("cgroup/memory.stat", std::string(kernel_file_limit + 1, 'a'));
    EXPECT_THAT(read_node(tree.roots()).faults.at("memory"), HasSubstr("at most"));
}

TEST(NodeSampleTest, MoreInUseThanThereIsLeavesNothing) {
    const test::NodeTree tree;
    tree.folder().write("cgroup/memory.stat",
                        "anon 99999999999999\nfile 9\ninactive_file 99999999999999999\n");
    EXPECT_EQ(read_node(tree.roots()).room.at(PressureSignal::memory_available).available,
              64 * gibibyte);
    tree.folder().write("cgroup/memory.stat", "anon 99999999999999\nfile 9\ninactive_file 0\n");
    EXPECT_EQ(read_node(tree.roots()).room.at(PressureSignal::memory_available).available, 0U);
}

/// The machine that runs the tests, by the paths of a plain host.
TEST(NodeSampleTest, ARealNode) {
    const auto version = cgroup_version("/sys/fs/cgroup");
    if (!version) {
        GTEST_SKIP() << "no cgroups here: " << version.error().message;
    }
    const auto sample = read_node({.kubelet = "/"});
    if (sample.faults.contains("memory")) {
        GTEST_SKIP() << "no memory controller here: " << sample.faults.at("memory");
    }
    const auto& memory = sample.room.at(PressureSignal::memory_available);
    EXPECT_GT(memory.available, 0U);
    EXPECT_LT(memory.available, memory.capacity);
    EXPECT_GT(sample.room.at(PressureSignal::pid_available).available, 0U);
}

TEST(NodeSampleTest, ImagesMayHaveAFilesystemOfTheirOwn) {
    const test::NodeTree tree;
    auto roots = tree.roots();
    EXPECT_FALSE(read_node(roots).own_imagefs);
    roots.images = tree.folder().path();
    EXPECT_FALSE(read_node(roots).own_imagefs);
    roots.images = "/proc";
    EXPECT_TRUE(read_node(roots).own_imagefs);
    roots.images = tree.folder().path() / "no-runtime";
    EXPECT_TRUE(read_node(roots).own_imagefs) << "not known: nothing is said of it";
}

}  // namespace
}  // namespace scout::pressure
