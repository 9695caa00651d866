// SPDX-License-Identifier: Apache-2.0
#include "base/backoff.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace scout {
namespace {

using namespace std::chrono_literals;

TEST(BackoffTest, GrowsFromOneSecondToOneMinuteAndStaysThere) {
    Backoff backoff(7);

    std::vector<std::chrono::milliseconds> waits;
    for (int i = 0; i < 200; ++i) {
        waits.push_back(backoff.next());
    }

    EXPECT_TRUE(std::all_of(waits.begin(), waits.end(),
                            [](auto wait) { return wait >= 1s && wait <= 60s; }));
    EXPECT_LE(waits.front(), 2s);
    EXPECT_TRUE(std::all_of(waits.begin() + 6, waits.end(), [](auto wait) { return wait >= 30s; }));
}

TEST(BackoffTest, StartsAgainAfterASuccess) {
    Backoff backoff(7);
    for (int i = 0; i < 10; ++i) {
        static_cast<void>(backoff.next());
    }

    backoff.reset();

    EXPECT_LE(backoff.next(), 2s);
}

TEST(BackoffTest, SpreadsAFleetAndRepeatsForOneSeed) {
    Backoff first(1);
    Backoff same(1);
    Backoff other(2);

    const auto wait = first.next();

    EXPECT_EQ(wait, same.next());
    EXPECT_NE(wait, other.next());
}

TEST(BackoffTest, JitterStaysWithinItsShare) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 200; ++i) {
        const auto wait = jittered(10s, 0.2, random);
        EXPECT_GE(wait, 8s);
        EXPECT_LE(wait, 12s);
    }
}

}  // namespace
}  // namespace scout
