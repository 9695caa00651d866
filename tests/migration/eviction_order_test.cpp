// SPDX-License-Identifier: Apache-2.0
#include "migration/eviction_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto memory = PressureSignal::memory_available;

/// Case 16.
TEST(EvictionOrderTest, OverItsRequestAPodGoesFirstWhateverItsPriority) {
    EvictionCandidate launcher{.priority = 1000, .usage = 45'000'000, .request = 50'000'000};
    const EvictionCandidate other{.priority = 0, .usage = 1000, .request = 2000};
    EXPECT_FALSE(launcher.exceeds_request(PressureSignal::nodefs_available));
    EXPECT_THAT(eviction_order({launcher, other}, PressureSignal::nodefs_available),
                ElementsAre(1, 0));

    launcher.usage = 63'000'000;
    EXPECT_TRUE(launcher.exceeds_request(PressureSignal::nodefs_available));
    EXPECT_THAT(eviction_order({other, launcher}, PressureSignal::nodefs_available),
                ElementsAre(1, 0));
}

TEST(EvictionOrderTest, ThenTheLowerPriorityThenTheMostOverItsRequest) {
    EXPECT_THAT(eviction_order({{.priority = 5, .usage = 900, .request = 100},
                                {.priority = 0, .usage = 150, .request = 100},
                                {.priority = 0, .usage = 300, .request = 100},
                                {.priority = -1, .usage = 50, .request = 100},
                                {.priority = -1, .usage = 90, .request = 100}},
                               memory),
                ElementsAre(2, 1, 0, 4, 3));
}

TEST(EvictionOrderTest, AtItsRequestItDoesNotExceedIt) {
    EXPECT_FALSE(
        (EvictionCandidate{.priority = 0, .usage = 100, .request = 100}).exceeds_request(memory));
    EXPECT_TRUE(
        (EvictionCandidate{.priority = 0, .usage = 1, .request = 0}).exceeds_request(memory));
}

/// The kubelet compares inodes with a request of inodes, which nobody has, but takes the bytes of
/// ephemeral-storage off their number.
TEST(EvictionOrderTest, ForInodesWhoUsesOneIsOverItsRequest) {
    constexpr auto inodes = PressureSignal::nodefs_inodes_free;
    EXPECT_THAT(eviction_order({{.priority = 5, .usage = 900, .request = 100},
                                {.priority = 0, .usage = 0, .request = 0},
                                {.priority = 0, .usage = 20, .request = 50'000'000},
                                {.priority = 0, .usage = 10, .request = 40'000'000}},
                               inodes),
                ElementsAre(3, 2, 0, 1));
}

TEST(EvictionOrderTest, WhatPodsMayTakeIsRankedAsMemory) {
    EXPECT_EQ(ranked_as(PressureSignal::allocatable_memory_available), memory);
    EXPECT_EQ(ranked_as(PressureSignal::nodefs_available), PressureSignal::nodefs_available);
}

TEST(EvictionOrderTest, WhatIsNotKnownGoesFirst) {
    EXPECT_THAT(eviction_order({{.priority = 0, .usage = 900, .request = 100},
                                {.priority = 7, .usage = {}, .request = 100}},
                               memory),
                ElementsAre(1, 0));
}

TEST(EvictionOrderTest, ForProcessesRequestsDoNotCount) {
    EXPECT_THAT(eviction_order({{.priority = 5, .usage = 900},
                                {.priority = 0, .usage = 3},
                                {.priority = 0, .usage = 30}},
                               PressureSignal::pid_available),
                ElementsAre(2, 1, 0));
}

TEST(EvictionOrderTest, CriticalPodsStay) {
    EXPECT_THAT(eviction_order({{.priority = critical_priority, .usage = 900}}, memory), IsEmpty());
    EXPECT_THAT(eviction_order({}, memory), IsEmpty());
}

TEST(EvictionOrderTest, OfEqualsTheOrderStays) {
    const EvictionCandidate same{.priority = 0, .usage = 10, .request = 5};
    EXPECT_THAT(eviction_order({same, same, same}, memory), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace scout::migration
