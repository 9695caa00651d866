// SPDX-License-Identifier: Apache-2.0
#include "migration/node_pressure.h"

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double mebibyte = 1'048'576;
constexpr double gibibyte = 1024 * mebibyte;
constexpr SteadyTime start{1h};

/// What the proposal sets for its functional test.
KubeletEviction proposals_kubelet() {
    return kubelet_eviction({.hard = KubeletEvictionFields::Texts{{"memory.available", "100Mi"}},
                             .soft = {{"memory.available", "3500Mi"}},
                             .soft_grace = {{"memory.available", "5s"}},
                             .max_pod_grace = 300})
        .value();
}

KubeletEviction hard_memory() {
    return kubelet_eviction({.hard = KubeletEvictionFields::Texts{{"memory.available", "100Mi"}}})
        .value();
}

NodeRoom memory(double left) {
    return {{PressureSignal::memory_available,
             {.available = static_cast<std::uint64_t>(std::max(0.0, left)),
              .capacity = static_cast<std::uint64_t>(64 * gibibyte)}}};
}

using Curve = std::function<double(double seconds)>;

/// When warnings of the first threshold began, in seconds, looked at as often as it asks for.
std::vector<double> warned_at(const Curve& curve, double seconds, double noise = 0) {
    NodePressure pressure(hard_memory());
    std::mt19937_64 random{5};
    std::normal_distribution<double> around{0, noise > 0 ? noise : 1};
    std::vector<double> begun;
    std::chrono::milliseconds at{0};
    while (at <= std::chrono::duration<double>(seconds)) {
        const double second = std::chrono::duration<double>(at).count();
        const double left = curve(second) + (noise > 0 ? around(random) : 0);
        for (const auto& change : pressure.add(start + at, memory(left))) {
            if (change.began) {
                begun.push_back(second);
            }
        }
        // A look takes a little time itself.
        at += pressure.next_look() + 7ms;
    }
    return begun;
}

class NodeRampTest : public testing::TestWithParam<double> {};

TEST_P(NodeRampTest, IsWarnedOfOnceAndHalfAMinuteAhead) {
    const double seconds = GetParam();
    for (const double quiet : {301.0, 302.5, 304.0}) {
        const double hit = quiet + seconds * (1 - 100 * mebibyte / (16 * gibibyte));
        const auto ramp = [=](double at) {
            return 16 * gibibyte - std::max(0.0, at - quiet) * 16 * gibibyte / seconds;
        };
        for (const double noise : {0.0, 20 * mebibyte}) {
            const auto begun = warned_at(ramp, std::floor(hit) - 1, noise);
            ASSERT_THAT(begun, SizeIs(1));
            EXPECT_GE(hit - begun.front(), 30) << quiet;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seconds, NodeRampTest, testing::Values(75, 120, 300, 600));

/// A leak of hours: of one that noise hides the warning may end and begin again, but not often.
TEST(NodePressureTest, ALeakIsWarnedOfMinutesAhead) {
    constexpr double seconds = 4 * 3600;
    constexpr double hit = seconds * (1 - 100 * mebibyte / (16 * gibibyte));
    const auto leak = [](double at) { return 16 * gibibyte * (1 - at / seconds); };
    const auto plain = warned_at(leak, std::floor(hit) - 1);
    ASSERT_THAT(plain, SizeIs(1));
    EXPECT_NEAR(hit - plain.front(), 600, 60);
    const auto noisy = warned_at(leak, std::floor(hit) - 1, 20 * mebibyte);
    ASSERT_FALSE(noisy.empty());
    EXPECT_GE(hit - noisy.front(), 300);
    EXPECT_LE(noisy.size(), 5U);
}

class NodeSawtoothTest : public testing::TestWithParam<double> {};

/// Also of teeth that are shorter than the time between two looks, and as long.
TEST_P(NodeSawtoothTest, IsSilentOnceItIsKnown) {
    const double period = GetParam();
    const auto curve = [period](double at) {
        return 8 * gibibyte - std::fmod(at, period) / period * 6 * gibibyte;
    };
    for (const double begun : warned_at(curve, 3600, 20 * mebibyte)) {
        EXPECT_LT(begun, 2 * period);
    }
}

INSTANTIATE_TEST_SUITE_P(Periods, NodeSawtoothTest,
                         testing::Values(2, 3, 5, 5.02, 5.1, 7, 10, 15, 40, 90, 180));

TEST(NodePressureTest, AStepAndWhatStaysAreNotWarnedOf) {
    EXPECT_THAT(
        warned_at([](double at) { return at < 300 ? 16 * gibibyte : gibibyte; }, 900, 5 * mebibyte),
        IsEmpty());
    EXPECT_THAT(warned_at([](double) { return gibibyte; }, 900, 20 * mebibyte), IsEmpty());
}

TEST(NodePressureTest, LooksAreCloseAsLongAsThereIsASign) {
    NodePressure pressure(hard_memory());
    EXPECT_EQ(pressure.next_look(), 5s);
    pressure.add(start, memory(16 * gibibyte));
    EXPECT_EQ(pressure.next_look(), 5s);
    pressure.add(start + 5s, memory(15 * gibibyte));
    EXPECT_EQ(pressure.next_look(), 1s);
    pressure.add(start + 124s, memory(15 * gibibyte));
    EXPECT_EQ(pressure.next_look(), 1s);
    pressure.add(start + 125s, memory(15 * gibibyte));
    EXPECT_EQ(pressure.next_look(), 5s);
    pressure.add(start + 130s, memory(15 * gibibyte), true);
    EXPECT_EQ(pressure.next_look(), 1s);
}

TEST(NodePressureTest, AWarningEndsTwoMinutesAfterItsCause) {
    NodePressure pressure(hard_memory());
    const auto begun = pressure.add(start, memory(50 * mebibyte));
    ASSERT_THAT(begun, SizeIs(1));
    EXPECT_TRUE(begun[0].began);
    EXPECT_TRUE(pressure.outlooks()[0].warned);
    EXPECT_THAT(pressure.add(start + 119s, memory(16 * gibibyte)), IsEmpty());
    const auto ended = pressure.add(start + 120s, memory(16 * gibibyte));
    ASSERT_THAT(ended, SizeIs(1));
    EXPECT_FALSE(ended[0].began);
}

TEST(NodePressureTest, TheKubeletsGraceIsThatOfWhatItActsOn) {
    NodePressure pressure(proposals_kubelet());
    pressure.add(start, memory(4000 * mebibyte));
    EXPECT_FALSE(pressure.kubelet_grace(60s));
    // Not passed for long enough yet, by when it was seen here: the kubelet may have seen it
    // sooner.
    pressure.add(start + 1s, memory(3400 * mebibyte));
    EXPECT_EQ(pressure.outlooks()[1].evicts_in, 5000ms);
    EXPECT_EQ(pressure.acting(), nullptr);
    EXPECT_EQ(pressure.kubelet_grace(330s), 300s);
    pressure.add(start + 6s, memory(3400 * mebibyte));
    EXPECT_EQ(pressure.kubelet_grace(60s), 60s);
    EXPECT_EQ(pressure.kubelet_grace(330s), 300s);
    EXPECT_EQ(pressure.acting()->threshold.soft_grace, 5000ms);
    pressure.add(start + 7s, memory(90 * mebibyte));
    EXPECT_EQ(pressure.kubelet_grace(330s), 1s);
    pressure.add(start + 8s, memory(4000 * mebibyte));
    EXPECT_FALSE(pressure.kubelet_grace(60s));
}

TEST(NodePressureTest, MemoryIsWhatTheKubeletActsOnFirst) {
    NodePressure pressure(
        kubelet_eviction({.hard = KubeletEvictionFields::Texts{{"nodefs.available", "10%"}},
                          .soft = {{"memory.available", "1Gi"}},
                          .soft_grace = {{"memory.available", "1ms"}},
                          .max_pod_grace = 40})
            .value());
    auto room = memory(1);
    room[PressureSignal::nodefs_available] = {.available = 99, .capacity = 1000};
    pressure.add(start, room);
    pressure.add(start + 1s, room);
    EXPECT_EQ(pressure.kubelet_grace(60s), 40s);
    room.erase(PressureSignal::memory_available);
    pressure.add(start + 2s, room);
    EXPECT_EQ(pressure.kubelet_grace(60s), 1s);
    room[PressureSignal::nodefs_available].available = 100;
    pressure.add(start + 3s, room);
    EXPECT_FALSE(pressure.kubelet_grace(60s));
}

TEST(NodePressureTest, OfTheTwoLimitsOfMemoryTheHardOneGivesTheTime) {
    NodePressure pressure(
        kubelet_eviction({.hard = KubeletEvictionFields::Texts{{"memory.available", "100Mi"}},
                          .soft = {{"memory.available", "1Gi"}},
                          .soft_grace = {{"memory.available", "1ms"}},
                          .max_pod_grace = 40})
            .value());
    auto room = memory(1000 * mebibyte);
    pressure.add(start, room);
    pressure.add(start + 1s, room);
    EXPECT_EQ(pressure.kubelet_grace(60s), 40s);
    room[PressureSignal::allocatable_memory_available] = {.available = 1,
                                                          .capacity = 1'000'000'000};
    pressure.add(start + 2s, room);
    EXPECT_EQ(pressure.acting()->threshold.signal, PressureSignal::allocatable_memory_available);
    EXPECT_EQ(pressure.kubelet_grace(60s), 1s);
}

TEST(NodePressureTest, OverIsWhatTheMinimumReclaimSays) {
    NodePressure pressure(
        kubelet_eviction({.hard = KubeletEvictionFields::Texts{{"memory.available", "100Mi"}},
                          .minimum_reclaim = {{"memory.available", "1Gi"}}})
            .value());
    pressure.add(start, memory(500 * mebibyte));
    EXPECT_EQ(pressure.acting(), nullptr);
    pressure.add(start + 1s, memory(99 * mebibyte));
    EXPECT_NE(pressure.acting(), nullptr);
    pressure.add(start + 2s, memory(500 * mebibyte));
    EXPECT_NE(pressure.acting(), nullptr);
    pressure.add(start + 3s, memory(1124 * mebibyte));
    EXPECT_EQ(pressure.acting(), nullptr);
    pressure.add(start + 4s, memory(500 * mebibyte));
    EXPECT_EQ(pressure.acting(), nullptr);
}

TEST(NodePressureTest, ASoftThresholdWhoseTimeWasNotUpNeedsNoMinimumReclaim) {
    NodePressure pressure(kubelet_eviction({.hard = KubeletEvictionFields::Texts{},
                                            .soft = {{"memory.available", "1Gi"}},
                                            .soft_grace = {{"memory.available", "5s"}},
                                            .minimum_reclaim = {{"memory.available", "1Gi"}},
                                            .max_pod_grace = 300})
                              .value());
    pressure.add(start, memory(1000 * mebibyte));
    EXPECT_EQ(pressure.kubelet_grace(330s), 300s);
    pressure.add(start + 4s, memory(1100 * mebibyte));
    EXPECT_FALSE(pressure.kubelet_grace(330s)) << "a short dip";
    EXPECT_FALSE(pressure.outlooks()[0].passed_since);

    pressure.add(start + 5s, memory(1000 * mebibyte));
    pressure.add(start + 10s, memory(1000 * mebibyte));
    pressure.add(start + 11s, memory(1100 * mebibyte));
    EXPECT_EQ(pressure.kubelet_grace(330s), 300s) << "it acted";
    pressure.add(start + 12s, memory(2048 * mebibyte));
    EXPECT_FALSE(pressure.kubelet_grace(330s));
}

TEST(NodePressureTest, WhatPodsMayTakeIsAThresholdOfItsOwn) {
    NodePressure pressure(hard_memory());
    auto room = memory(16 * gibibyte);
    constexpr auto allocatable = PressureSignal::allocatable_memory_available;
    for (int i = 0; i <= 60; ++i) {
        room[allocatable] = {.available = static_cast<std::uint64_t>(mebibyte * (900 - i * 10)),
                             .capacity = static_cast<std::uint64_t>(60 * gibibyte)};
        pressure.add(start + std::chrono::seconds{i}, room);
    }
    EXPECT_FALSE(pressure.outlooks()[0].warned);
    EXPECT_TRUE(pressure.outlooks()[1].warned);
    EXPECT_FALSE(pressure.kubelet_grace(60s));
    room[allocatable].available = 1;
    pressure.add(start + 61s, room);
    EXPECT_EQ(pressure.kubelet_grace(60s), 1s);
}

TEST(NodePressureTest, WhatCannotBeReadIsNotKnown) {
    NodePressure pressure(hard_memory());
    pressure.add(start, memory(50 * mebibyte));
    pressure.add(start + 1s, {});
    EXPECT_FALSE(pressure.outlooks()[0].room);
    EXPECT_FALSE(pressure.outlooks()[0].evicts_in);
    EXPECT_EQ(pressure.acting(), nullptr);
    EXPECT_TRUE(pressure.outlooks()[0].warned);
}

TEST(NodePressureTest, ANewConfigurationKeepsWhatWasSeen) {
    NodePressure pressure(hard_memory());
    std::chrono::seconds at{0};
    const auto left = [&at] {
        return memory(8 * gibibyte - static_cast<double>(at.count()) * 10 * mebibyte);
    };
    for (; at < 60s; at += 1s) {
        pressure.add(start + at, left());
    }
    pressure.use(proposals_kubelet());
    pressure.add(start + at, left());
    ASSERT_THAT(pressure.outlooks(), SizeIs(3));
    ASSERT_TRUE(pressure.outlooks()[1].reached);
    EXPECT_NEAR(std::chrono::duration<double>(pressure.outlooks()[1].reached->in).count(),
                (8192 - 600 - 3500) / 10.0, 10);
    EXPECT_EQ(pressure.outlooks()[1].evicts_in, pressure.outlooks()[1].reached->in + 5s);
}

}  // namespace
}  // namespace scout::migration
