// SPDX-License-Identifier: Apache-2.0
#include "migration/move_queue.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using testing::Each;
using testing::ElementsAre;

TEST(MoveQueueTest, OneThatEndsInTimeIsHeldAndOneThatDoesNotIsNot) {
    EXPECT_THAT(moves_that_fit({{.duration = 30s, .left = 30s}}, {}), ElementsAre(true));
    EXPECT_THAT(moves_that_fit({{.duration = 30s, .left = 29s}}, {}), ElementsAre(false));
    EXPECT_THAT(moves_that_fit({}, {}), testing::IsEmpty());
}

TEST(MoveQueueTest, TwoHundredMarksHoldAsManyAsTheSlotsServe) {
    const std::vector<QueuedMove> marks(200, {.duration = 5s, .left = 35s});
    const auto fits = moves_that_fit(marks, {.at_once = 2});
    // The last one begins when the twelve others' minute, in two slots, is over.
    EXPECT_EQ(std::count(fits.begin(), fits.end(), true), 13);
}

TEST(MoveQueueTest, TheShorterOnesAreTaken) {
    EXPECT_THAT(moves_that_fit({{.duration = 30s, .left = 35s},
                                {.duration = 5s, .left = 35s},
                                {.duration = 30s, .left = 35s},
                                {.duration = 5s, .left = 35s}},
                               {.at_once = 2}),
                ElementsAre(true, true, false, true));
}

/// The one in a hurry would let nobody wait beside it.
TEST(MoveQueueTest, OneInAHurryDoesNotKeepTheOthersOut) {
    EXPECT_THAT(moves_that_fit({{.duration = 2s, .left = 2s},
                                {.duration = 5s, .left = 60s},
                                {.duration = 5s, .left = 60s}},
                               {.at_once = 1}),
                ElementsAre(false, true, true));
}

TEST(MoveQueueTest, WhatRunsAlreadyTakesItsTime) {
    const std::vector<QueuedMove> one{{.duration = 10s, .left = 15s}};
    EXPECT_THAT(moves_that_fit(one, {.at_once = 2, .running = 10s}), ElementsAre(true));
    EXPECT_THAT(moves_that_fit(one, {.at_once = 2, .running = 11s}), ElementsAre(false));
}

TEST(MoveQueueTest, HeldOnesStayAndAreNotPushedOutOfTime) {
    EXPECT_THAT(moves_that_fit({{.duration = 10s, .left = 20s, .held = true},
                                {.duration = 5s, .left = 60s},
                                {.duration = 15s, .left = 60s}},
                               {.at_once = 1}),
                ElementsAre(true, true, false));
    // Late already: its own affair.
    EXPECT_THAT(
        moves_that_fit({{.duration = 10s, .left = 5s, .held = true}, {.duration = 5s, .left = 60s}},
                       {.at_once = 1}),
        ElementsAre(true, true));
}

TEST(MoveQueueTest, NumbersWithoutMeaningHoldNothing) {
    EXPECT_THAT(moves_that_fit(
                    {{.duration = milliseconds::max(), .left = 0s}, {.duration = 0s, .left = -5s}},
                    {.at_once = 0, .running = milliseconds::max()}),
                Each(false));
}

/// When the last one ends if KubeVirt takes them in this order.
bool all_in_time(const std::vector<QueuedMove>& moves, const std::vector<std::size_t>& order,
                 unsigned at_once) {
    std::vector<milliseconds> free(at_once, 0ms);
    return std::all_of(order.begin(), order.end(), [&](std::size_t index) {
        const auto slot = std::min_element(free.begin(), free.end());
        *slot += moves[index].duration;
        return *slot <= moves[index].left;
    });
}

TEST(MoveQueueTest, WhateverTheOrderThoseThatAreHeldEndInTime) {
    std::mt19937_64 random{7};
    std::size_t held = 0;
    for (int round = 0; round < 2000; ++round) {
        const auto at_once = static_cast<unsigned>(1 + random() % 3);
        std::vector<QueuedMove> moves(1 + random() % 12);
        for (auto& move : moves) {
            move = {.duration = milliseconds{random() % 20'000},
                    .left = milliseconds{random() % 60'000}};
        }
        const auto fits = moves_that_fit(moves, {.at_once = at_once});
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < moves.size(); ++i) {
            if (fits[i]) {
                order.push_back(i);
            }
        }
        held += order.size();
        for (int shuffle = 0; shuffle < 20; ++shuffle) {
            std::shuffle(order.begin(), order.end(), random);
            ASSERT_TRUE(all_in_time(moves, order, at_once)) << "round " << round;
        }
    }
    EXPECT_GT(held, 4000U);
}

}  // namespace
}  // namespace scout::migration
