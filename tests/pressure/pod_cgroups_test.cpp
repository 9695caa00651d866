// SPDX-License-Identifier: Apache-2.0
#include "pressure/pod_cgroups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace scout::pressure {
namespace {

using testing::HasSubstr;

const std::string uid = "0b6c1f2e-0000-4000-8000-00000000000a";

TEST(PodCgroupTest, NamesAreThoseOfTheDrivers) {
    EXPECT_EQ(pod_cgroup("/", CgroupDriver::systemd, QosClass::burstable, "a-b"),
              "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_b.slice");
    EXPECT_EQ(pod_cgroup("", CgroupDriver::systemd, QosClass::guaranteed, "a-b"),
              "kubepods.slice/kubepods-poda_b.slice");
    // As kind has it.
    EXPECT_EQ(pod_cgroup("/kubelet", CgroupDriver::systemd, QosClass::best_effort, "a"),
              "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
              "kubelet-kubepods-besteffort-poda.slice");
    EXPECT_EQ(pod_cgroup("/a/b", CgroupDriver::cgroupfs, QosClass::burstable, "a-b"),
              "a/b/kubepods/burstable/poda-b");
    EXPECT_EQ(pod_cgroup("/../x", CgroupDriver::cgroupfs, QosClass::guaranteed, "a"),
              "x/kubepods/poda");
    EXPECT_EQ(pods_cgroup("/kubelet", CgroupDriver::systemd),
              "kubelet.slice/kubelet-kubepods.slice");
    EXPECT_EQ(pods_cgroup("", CgroupDriver::cgroupfs), "kubepods");
}

class PodCgroupsTest : public testing::Test {
protected:
    PodCgroupsTest() { folder.write("cgroup.controllers", "memory pids\n"); }

    void make(CgroupDriver driver, QosClass qos, const std::string& limit = "max\n") const {
        const auto place = pod_cgroup("", driver, qos, uid);
        folder.write(place / "memory.current", "5000\n");
        folder.write(place / "memory.stat", "anon 4000\nfile 900\ninactive_file 800\n");
        folder.write(place / "memory.max", limit);
        folder.write(place / "pids.current", "17\n");
    }

    test::TemporaryFolder folder;
    PodCgroups cgroups{folder.path(), ""};
};

TEST_F(PodCgroupsTest, ALauncherIsFoundUnderEachDriverAndClass) {
    for (const auto driver : {CgroupDriver::systemd, CgroupDriver::cgroupfs}) {
        for (const auto qos : {QosClass::burstable, QosClass::guaranteed, QosClass::best_effort}) {
            make(driver, qos, "6000\n");
            const auto usage = cgroups.read(uid);
            ASSERT_TRUE(usage) << usage.error().message;
            EXPECT_EQ(usage->qos, qos);
            EXPECT_EQ(usage->working_set, 4200U);
            EXPECT_EQ(usage->memory, 5000U);
            EXPECT_EQ(usage->limit, 6000U);
            EXPECT_EQ(usage->tasks, 17U);
            EXPECT_FALSE(usage->swap);
            EXPECT_FALSE(usage->memory_stall);
            std::filesystem::remove_all(folder.path() / "kubepods.slice");
            std::filesystem::remove_all(folder.path() / "kubepods");
        }
    }
}

TEST_F(PodCgroupsTest, WhatTheKernelTellsBesides) {
    make(CgroupDriver::systemd, QosClass::burstable);
    const auto place = pod_cgroup("", CgroupDriver::systemd, QosClass::burstable, uid);
    folder.write(place / "memory.swap.current", "700\n");
    folder.write(place / "memory.pressure",
                 "some avg10=1.00 avg60=0 avg300=0 total=1\n"
                 "full avg10=0.50 avg60=0 avg300=0 total=1\n");
    const auto usage = cgroups.read(uid).value();
    EXPECT_FALSE(usage.limit);
    EXPECT_EQ(usage.swap, 700U);
    EXPECT_EQ(usage.memory_stall, (Stall{.some = 0.01, .full = 0.005}));
}

TEST_F(PodCgroupsTest, ARequestIsKnownWhereTheClassTellsIt) {
    EXPECT_EQ((PodUsage{.qos = QosClass::guaranteed, .limit = 6000}.memory_request()), 6000U);
    EXPECT_EQ((PodUsage{.qos = QosClass::best_effort}.memory_request()), 0U);
    EXPECT_FALSE((PodUsage{.qos = QosClass::burstable, .limit = 6000}.memory_request()));
}

TEST_F(PodCgroupsTest, OnCgroupV1TheControllersAreApart) {
    std::filesystem::remove(folder.path() / "cgroup.controllers");
    const auto place = pod_cgroup("", CgroupDriver::cgroupfs, QosClass::burstable, uid);
    folder.write("memory" / place / "memory.usage_in_bytes", "5000\n");
    folder.write("memory" / place / "memory.stat", "total_inactive_file 800\n");
    folder.write("memory" / place / "memory.limit_in_bytes", "9223372036854771712\n");
    folder.write("memory" / place / "memory.memsw.usage_in_bytes", "5600\n");
    folder.write("pids" / place / "pids.current", "3\n");
    const auto usage = cgroups.read(uid);
    ASSERT_TRUE(usage) << usage.error().message;
    EXPECT_EQ(usage->working_set, 4200U);
    EXPECT_EQ(usage->swap, 600U);
    EXPECT_EQ(usage->tasks, 3U);
    EXPECT_FALSE(usage->limit);
}

TEST_F(PodCgroupsTest, APodThatIsGoneIsNotFound) {
    EXPECT_EQ(cgroups.read(uid).error().code, Errc::not_found);
    make(CgroupDriver::systemd, QosClass::burstable);
    // In the middle of it.
    std::filesystem::remove(folder.path() /
                            pod_cgroup("", CgroupDriver::systemd, QosClass::burstable, uid) /
                            "memory.stat");
    EXPECT_EQ(cgroups.read(uid).error().code, Errc::not_found);
}

TEST_F(PodCgroupsTest, GarbageIsAnErrorWithItsFile) {
    make(CgroupDriver::systemd, QosClass::burstable, "lots\n");
    EXPECT_THAT(cgroups.read(uid).error().message, HasSubstr("memory.max"));
    make(CgroupDriver::systemd, QosClass::burstable, std::string(kernel_file_limit + 1, '9'));
    EXPECT_THAT(cgroups.read(uid).error().message, HasSubstr("at most"));
}

TEST_F(PodCgroupsTest, OnlyAUidBecomesAPath) {
    for (const auto* bad : {"", "..", "a/../../b", "a b", "a.slice"}) {
        EXPECT_EQ(cgroups.read(bad).error().code, Errc::invalid) << bad;
    }
    EXPECT_FALSE(cgroups.read(std::string(200, 'a')));
}

}  // namespace
}  // namespace scout::pressure
