// SPDX-License-Identifier: Apache-2.0
#include "kube/rate_limit.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace scout::kube {
namespace {

using namespace std::chrono_literals;

class RateLimitTest : public testing::Test {
protected:
    std::chrono::milliseconds wait(Urgency urgency) {
        return limit.reserve(urgency, clock.steady(), 1h).value();
    }

    test::FakeClock clock;
    RateLimit limit{{.per_second = 10, .burst = 2, .urgent_per_second = 10, .urgent_burst = 1},
                    clock.steady()};
};

TEST_F(RateLimitTest, LetsABurstThroughAndThenOneAfterTheOther) {
    EXPECT_EQ(wait(Urgency::normal), 0ms);
    EXPECT_EQ(wait(Urgency::normal), 0ms);
    EXPECT_EQ(wait(Urgency::normal), 100ms);
    EXPECT_EQ(wait(Urgency::normal), 200ms);

    clock.advance(200ms);
    EXPECT_EQ(wait(Urgency::normal), 100ms);
}

TEST_F(RateLimitTest, AQuietTimeFillsTheBucketAndNoMore) {
    wait(Urgency::normal);
    clock.advance(1h);

    EXPECT_EQ(wait(Urgency::normal), 0ms);
    EXPECT_EQ(wait(Urgency::normal), 0ms);
    EXPECT_EQ(wait(Urgency::normal), 100ms);
}

TEST_F(RateLimitTest, UrgentCallsDoNotStandBehindOthers) {
    for (int i = 0; i < 1000; ++i) {
        wait(Urgency::normal);
    }

    EXPECT_EQ(wait(Urgency::urgent), 0ms);
    EXPECT_EQ(wait(Urgency::urgent), 100ms);
}

TEST_F(RateLimitTest, WhoCannotWaitThatLongTakesNothing) {
    wait(Urgency::normal);
    wait(Urgency::normal);

    const auto refused = limit.reserve(Urgency::normal, clock.steady(), 99ms);

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::timed_out);
    EXPECT_EQ(wait(Urgency::normal), 100ms);
}

}  // namespace
}  // namespace scout::kube
