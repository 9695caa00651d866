// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <future>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <gmock/gmock.h>

#include "tests/agent/pressure_watch_fixture.h"
#include "tests/support/wait_until.h"

namespace scout::agent {
namespace {

using namespace std::chrono_literals;
using migration::PressureSignal;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class PressureWatchTest : public PressureWatchFixture {};

TEST_F(PressureWatchTest, ARampIsToldHalfAMinuteAheadInLogMetricsAndHealth) {
    make();
    constexpr double hit = 300 + 75 * (1 - 100.0 / 16384);
    const auto begun =
        follow([](double at) { return 16 * gibibyte * (1 - std::max(0.0, at - 300) / 75); },
               std::floor(hit) - 2);
    ASSERT_THAT(begun, SizeIs(1));
    EXPECT_GE(hit - begun.front(), 30);
    EXPECT_THAT(log.str(), AllOf(HasSubstr("node pressure is coming signal=memory.available"),
                                 HasSubstr("kind=hard"), HasSubstr("pods_get_at_most=1s")));
    EXPECT_THAT(health.text(), AllOf(HasSubstr("ready\n"),
                                     HasSubstr("node pressure: memory.available reaches in ")));
    EXPECT_THAT(
        metrics(),
        AllOf(HasSubstr("virt_scout_pressure_warning{kind=\"hard\",signal=\"memory.available\"} 1"),
              HasSubstr("virt_scout_pressure_seconds_to_threshold{kind=\"hard\""),
              HasSubstr("virt_scout_pressure_confidence{kind=\"hard\""),
              HasSubstr("virt_scout_pressure_swap_used_bytes 1572864")));

    follow([](double) { return 16 * gibibyte; }, 200);
    EXPECT_THAT(log.str(), HasSubstr("node pressure is over signal=memory.available"));
    EXPECT_THAT(metrics(), Not(HasSubstr("virt_scout_pressure_seconds_to_threshold{")));
    EXPECT_THAT(health.text(), Not(HasSubstr("node pressure:")));
}

class PressureSawtoothTest : public PressureWatchTest,
                             public testing::WithParamInterface<double> {};

TEST_P(PressureSawtoothTest, IsSilentOnceItIsKnown) {
    make();
    const double period = GetParam();
    for (const double begun :
         follow([period](double at) { return (8 - std::fmod(at, period) / period * 6) * gibibyte; },
                400)) {
        EXPECT_LT(begun, 2 * period);
    }
}

INSTANTIATE_TEST_SUITE_P(Periods, PressureSawtoothTest, testing::Values(7, 90));

TEST_F(PressureWatchTest, AStepIsSilentAndWhatStallsIsLookedAtClosely) {
    make();
    EXPECT_THAT(follow([](double at) { return (at < 100 ? 16 : 1) * gibibyte; }, 500), IsEmpty());
    EXPECT_EQ(watch->next_look(), 5s);
    tree.set_stall(10.5);
    look();
    EXPECT_EQ(watch->next_look(), 1s);
    EXPECT_THAT(
        metrics(),
        HasSubstr("virt_scout_pressure_stall_ratio{resource=\"memory\",tasks=\"some\"} 0.1"));
}

TEST_F(PressureWatchTest, WhatItKnowsIsReportedWhenItIsWorthAMessage) {
    make(head +
         "evictionHard: {memory.available: 100Mi}\nevictionSoft: {memory.available: 1Gi}\n"
         "evictionSoftGracePeriod: {memory.available: 30s}\nevictionMaxPodGracePeriod: 300\n"
         "shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 60}, "
         "{priority: 1000000000, shutdownGracePeriodSeconds: 10}]\n");
    add_launchers(7);
    auto& teller = watch->teller();
    EXPECT_FALSE(teller.is_due(clock.steady())) << "nothing was looked at yet";
    tree.set_memory(8 << 20U);
    look();
    const auto first = teller.next(clock.steady());
    ASSERT_TRUE(first);
    EXPECT_EQ(told, 1U);
    ASSERT_THAT(first->lines, SizeIs(3));
    EXPECT_EQ(first->lines[2].signal, PressureSignal::allocatable_memory_available);
    EXPECT_FALSE(first->lines[2].room) << "looked for once the configuration is known";
    EXPECT_EQ(first->lines[0].at, std::uint64_t{100} << 20U);
    EXPECT_EQ(first->lines[1].soft_grace, 30s);
    EXPECT_EQ(first->lines[1].room.value().available, std::uint64_t{8} << 30U);
    EXPECT_EQ(first->graces->soft, 300s);
    EXPECT_EQ(first->graces->shutdown, 60s);
    EXPECT_FALSE(first->graces->handler_stops);
    EXPECT_EQ(first->short_guests, 7U);
    EXPECT_EQ(first->longest_wanted, 120s);
    ASSERT_THAT(first->order, Not(IsEmpty()));
    ASSERT_THAT(first->order[0].first, SizeIs(migration::told_launchers));
    EXPECT_EQ(first->order[0].first[0].vmi, "shop/aa-7");
    EXPECT_EQ(first->order[0].first[0].usage, 7000U);
    EXPECT_EQ(first->order[0].others, 2U);

    look_after(10s);
    EXPECT_TRUE(teller.next(clock.steady())) << "what pods may take is known by now";
    EXPECT_EQ(std::exchange(told, 1U), 2U);
    for (int i = 0; i < 60; ++i) {
        look_after(5s);
    }
    EXPECT_EQ(told, 1U) << "nothing new";
    EXPECT_FALSE(teller.next(clock.steady()));
    tree.set_memory(512 << 10U);
    look_after(5s);
    EXPECT_EQ(told, 2U);
    const auto near = teller.next(clock.steady());
    ASSERT_TRUE(near && near->lines[1].passed_for);
    EXPECT_TRUE(near->lines[1].warned);
    teller.connected();
    EXPECT_TRUE(teller.is_due(clock.steady())) << "another stream knows nothing";
}

TEST_F(PressureWatchTest, WhatPodsMayTakeIsTold) {
    make();
    add_launchers(1);
    look();
    for (int left = 900; left > 300; left -= 10) {
        tree.set_pods_memory(static_cast<std::uint64_t>(left) << 10U);
        look_after(1s);
    }
    EXPECT_THAT(log.str(),
                AllOf(HasSubstr("node pressure is coming signal=allocatableMemory.available"),
                      HasSubstr("first=shop/aa-1"), Not(HasSubstr("signal=memory.available"))));
    EXPECT_THAT(metrics(),
                HasSubstr("virt_scout_pressure_capacity{signal=\"allocatableMemory.available\"}"));
    EXPECT_THAT(health.text(), Not(HasSubstr("not known")));

    std::filesystem::remove_all(tree.roots().cgroups / "kubepods.slice");
    look_after(1s);
    EXPECT_THAT(health.text(), HasSubstr("pressure is not known in full: pods: "));
    tree.folder().write("kubelet/config.yaml", memory_alone + "enforceNodeAllocatable: []\n");
    look_after(61s);
    look_after(1s);
    EXPECT_THAT(health.text(), Not(HasSubstr("not known")));
}

TEST_F(PressureWatchTest, LaunchersAreRankedAsFarAsTheNodeKnows) {
    make();
    write_pod("aa-1", pressure::QosClass::guaranteed, "9000\n", "10000\n");
    write_pod("aa-2", pressure::QosClass::burstable, "2000\n", "max\n");
    write_pod("aa-3", pressure::QosClass::burstable, "3000\n", "max\n");
    launchers = {{.pod_uid = "aa-1", .guest = "shop/db", .vm_grace = {}},
                 {.pod_uid = "aa-2", .guest = "shop/web", .vm_grace = {}},
                 {.pod_uid = "aa-3", .guest = "", .vm_grace = {}}};
    tree.set_memory(50 << 10U);
    look();
    const auto ranked = watch->launchers().ranked(PressureSignal::memory_available);
    ASSERT_THAT(ranked, SizeIs(3));
    EXPECT_EQ(ranked[0].pod_uid, "aa-3");
    EXPECT_EQ(ranked[1].vmi, "shop/web");
    EXPECT_EQ(ranked[2].usage, 9000U);
    EXPECT_THAT(log.str(), HasSubstr("first=aa-3,shop/web,shop/db"));
    EXPECT_THAT(watch->launchers().ranked(PressureSignal::pid_available), SizeIs(3));

    // A launcher requests its guest's memory, and some are worth more than others.
    watch->take({{"aa-2", {.priority = 9, .memory_request = 1000}},
                 {"aa-3", {.priority = 0, .memory_request = 4000}}});
    EXPECT_THAT(watch->report(clock.steady()).order.at(0).first.at(0).vmi, "shop/web");

    // One goes away between two looks, one is not told any more.
    std::filesystem::remove_all(tree.roots().cgroups / "kubepods.slice");
    launchers.pop_back();
    clock.advance(5s);
    look();
    const auto later = watch->launchers().ranked(PressureSignal::memory_available);
    ASSERT_THAT(later, SizeIs(2));
    EXPECT_FALSE(later[0].usage);
}

TEST_F(PressureWatchTest, VolumesAreMeasuredAtOnceAndThenSeldom) {
    make();
    const auto disk = tree.folder().write(
        "kubelet/pods/aa-1/volumes/kubernetes.io~empty-dir/ephemeral-disks/disk.img",
        std::string(40'000, 'x'));
    tree.folder().write("kubelet/pods/aa-2/etc-hosts", "");
    launchers = {{.pod_uid = "aa-2", .guest = "shop/web", .vm_grace = {}},
                 {.pod_uid = "aa-1", .guest = "shop/db", .vm_grace = {}}};
    look();
    const auto first = [this](PressureSignal signal) {
        return watch->launchers().ranked(signal).at(0);
    };
    EXPECT_EQ(first(PressureSignal::nodefs_available).vmi, "shop/db");
    EXPECT_GE(first(PressureSignal::nodefs_available).usage, 40'000U);
    EXPECT_EQ(first(PressureSignal::imagefs_inodes_free).usage, 2U) << "on the same filesystem";
    EXPECT_THAT(watch->report(clock.steady()).order, SizeIs(6));

    std::filesystem::remove(disk);
    clock.advance(4min);
    look();
    EXPECT_GE(first(PressureSignal::nodefs_available).usage, 40'000U) << "walking costs time";
    clock.advance(1min);
    look();
    EXPECT_LT(first(PressureSignal::nodefs_available).usage, 40'000U);
}

/// The disk of the test's folder is fuller than that.
TEST_F(PressureWatchTest, NearAFilesystemsThresholdVolumesAreMeasuredMoreOften) {
    make(head + "evictionHard: {nodefs.available: 99.999%}\n");
    const auto disk = tree.folder().write(
        "kubelet/pods/aa-1/volumes/kubernetes.io~empty-dir/a/disk.img", std::string(40'000, 'x'));
    launchers = {{.pod_uid = "aa-1", .guest = "shop/db", .vm_grace = {}}};
    look();
    std::filesystem::remove(disk);
    clock.advance(30s);
    look();
    ASSERT_TRUE(watch->pressure().outlooks().at(0).passed_since);
    EXPECT_LT(watch->launchers().ranked(PressureSignal::nodefs_available).at(0).usage, 40'000U);
}

TEST_F(PressureWatchTest, WhatCannotBeReadIsToldOnceAndCounted) {
    make();
    std::filesystem::remove(tree.roots().cgroups / "memory.stat");
    for (int i = 0; i < 3; ++i) {
        look();
        clock.advance(5s);
    }
    const auto text = log.str();
    EXPECT_THAT(text, HasSubstr("memory.stat"));
    EXPECT_EQ(text.find("memory.stat"), text.rfind("memory.stat"));
    EXPECT_THAT(metrics(), AllOf(HasSubstr("virt_scout_pressure_failed_looks_total 3"),
                                 HasSubstr("virt_scout_pressure_looks_total 3"),
                                 Not(HasSubstr("_available{signal=\"memory.available\"}"))));
    EXPECT_TRUE(health.ready());
    EXPECT_THAT(health.text(), HasSubstr("pressure is not known in full: memory: "));
}

TEST_F(PressureWatchTest, NoLookIsBegunWhileAnotherHangs) {
    make();
    std::promise<void> release;
    ASSERT_TRUE(pool.post([&] { release.get_future().wait(); }));
    bool ended = false;
    asio::co_spawn(loop, watch->look(), [&](const std::exception_ptr&) { ended = true; });
    loop.restart();
    loop.poll();
    look();
    EXPECT_FALSE(ended);
    EXPECT_THAT(health.text(), HasSubstr("still hangs"));
    release.set_value();
    while (!ended && loop.run_one() > 0) {
    }
    EXPECT_TRUE(ended);
    look();
    EXPECT_EQ(health.text(), "ready\n");
}

TEST_F(PressureWatchTest, LookThatWaitedInVainForAThreadKeepsNoOtherFromBeginning) {
    make();
    add_launchers(1);
    tree.folder().write("kubelet/pods/aa-1/etc-hosts", "");
    std::promise<void> release;
    ASSERT_TRUE(pool.post([&] { release.get_future().wait(); }));
    look();
    EXPECT_THAT(health.text(), HasSubstr("no answer within"));
    release.set_value();
    EXPECT_TRUE(test::wait_until([this] {
        look();
        return health.text() == "ready\n";
    })) << health.text();
    // What the look in vain was to read is read by the next one, not when it is due anew.
    EXPECT_EQ(watch->pressure().outlooks().size(), 2U) << "of memory as configured, no defaults";
    EXPECT_TRUE(watch->launchers().ranked(PressureSignal::memory_available).at(0).usage);
    EXPECT_TRUE(watch->launchers().ranked(PressureSignal::nodefs_available).at(0).usage);
}

}  // namespace
}  // namespace scout::agent
