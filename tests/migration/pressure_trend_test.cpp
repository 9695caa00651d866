// SPDX-License-Identifier: Apache-2.0
#include "migration/pressure_trend.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;

constexpr double mebibyte = 1'048'576;
constexpr double gibibyte = 1024 * mebibyte;
constexpr auto threshold = static_cast<std::uint64_t>(100 * mebibyte);

using Curve = std::function<double(double seconds)>;

struct Warning {
    double at;  ///< seconds from the start
    double in;  ///< seconds that are said to be left
    double confidence;
};

/// What is said of a curve, each second, of what is to come within `horizon`.
std::vector<Warning> warnings(const Curve& curve, double seconds, double noise = 0,
                              double horizon = 600) {
    PressureTrend trend;
    std::mt19937_64 random{3};
    std::normal_distribution<double> around{0, noise > 0 ? noise : 1};
    std::vector<Warning> said;
    for (double at = 0; at <= seconds; ++at) {
        const double value = curve(at) + (noise > 0 ? around(random) : 0);
        trend.add(SteadyTime{1h} + std::chrono::milliseconds{static_cast<std::int64_t>(at * 1000)},
                  static_cast<std::uint64_t>(std::max(0.0, value)));
        const auto forecast = trend.until(threshold);
        const double in = forecast ? std::chrono::duration<double>(forecast->in).count() : 0;
        if (forecast && in <= horizon) {
            said.push_back({.at = at, .in = in, .confidence = forecast->confidence});
        }
    }
    return said;
}

/// From `from` down to nothing in so many seconds, after a quiet time.
Curve ramp(double from, double quiet, double seconds) {
    return [=](double at) { return from - std::max(0.0, at - quiet) * from / seconds; };
}

class RampTest : public testing::TestWithParam<double> {};

TEST_P(RampTest, IsWarnedOfHalfAMinuteAheadAndMore) {
    const double seconds = GetParam();
    const double hit = 300 + seconds * (1 - 100 * mebibyte / (16 * gibibyte));
    for (const double noise : {0.0, 20 * mebibyte}) {
        const auto said = warnings(ramp(16 * gibibyte, 300, seconds), std::floor(hit) - 1, noise);
        ASSERT_FALSE(said.empty());
        EXPECT_GE(hit - said.front().at, 30);
        // Once the line is the whole of the last half minute.
        for (const auto& warning : said) {
            if (warning.at >= 340) {
                EXPECT_NEAR(warning.in, hit - warning.at, 5 + (hit - warning.at) / 5)
                    << "at " << warning.at;
                EXPECT_GT(warning.confidence, 0.85);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seconds, RampTest, testing::Values(75, 120, 300, 600));

TEST(PressureTrendTest, ALeakOfHoursIsToldLongBefore) {
    const auto said = warnings(ramp(16 * gibibyte, 0, 4 * 3600), 600, 0, 5 * 3600);
    ASSERT_FALSE(said.empty());
    EXPECT_NEAR(said.back().in, 4 * 3600 * (1 - 100.0 / 16384) - 600, 30);
}

TEST(PressureTrendTest, AStepIsNoTrend) {
    const auto said =
        warnings([](double at) { return at < 300 ? 16 * gibibyte : gibibyte; }, 900, 5 * mebibyte);
    EXPECT_TRUE(said.empty());
}

TEST(PressureTrendTest, WhatStaysIsNoTrend) {
    EXPECT_TRUE(warnings([](double) { return 2 * gibibyte; }, 900).empty());
    EXPECT_TRUE(warnings([](double) { return 2 * gibibyte; }, 900, 50 * mebibyte).empty());
}

TEST(PressureTrendTest, WhatGrowsIsNoTrend) {
    EXPECT_TRUE(warnings([](double at) { return gibibyte + at * mebibyte; }, 900).empty());
}

class SawtoothTest : public testing::TestWithParam<double> {};

/// From 8 GiB down to 2 GiB and back at once: a garbage collector, a batch.
TEST_P(SawtoothTest, IsKnownAfterItsFirstTooth) {
    const double period = GetParam();
    const auto curve = [period](double at) {
        return 8 * gibibyte - std::fmod(at, period) / period * 6 * gibibyte;
    };
    for (const auto& warning : warnings(curve, 1800, 20 * mebibyte)) {
        EXPECT_LT(warning.at, 2 * period) << "in " << warning.in;
    }
}

INSTANTIATE_TEST_SUITE_P(Periods, SawtoothTest,
                         testing::Values(3, 7, 15, 40, 54, 90, 110, 120, 180));

TEST(PressureTrendTest, AToothThatGoesDeeperThanAllBeforeIsWarnedOf) {
    const auto curve = [](double at) {
        return at < 540 ? 8 * gibibyte - std::fmod(at, 90) / 90 * 4 * gibibyte
                        : 8 * gibibyte - (at - 540) / 90 * 4 * gibibyte;
    };
    const double hit = 540 + 90 * (8 * gibibyte - threshold) / (4 * gibibyte);
    std::optional<double> first;
    for (const auto& warning : warnings(curve, std::floor(hit) - 1, 5 * mebibyte)) {
        if (warning.at > 540 && !first) {
            first = warning.at;
        }
    }
    ASSERT_TRUE(first);
    EXPECT_GE(hit - *first, 30);
}

/// When it was said first from `from` on, in seconds.
std::optional<double> first_of(const std::vector<Warning>& said, double from) {
    const auto found = std::find_if(said.begin(), said.end(),
                                    [from](const Warning& warning) { return warning.at >= from; });
    return found == said.end() ? std::nullopt : std::optional{found->at};
}

class NearMissTest : public testing::TestWithParam<double> {};

/// From 12 GiB down to so much in a minute, back in 5 s, and two minutes later down for good.
TEST_P(NearMissTest, IsNoProofThatALongerFallEndsAboveTheThreshold) {
    const double depth = GetParam() * gibibyte;
    const double top = 12 * gibibyte;
    const double pace = 50 * mebibyte;
    const auto curve = [=](double at) {
        return at < 120   ? top
               : at < 180 ? top - (top - depth) * (at - 120) / 60
               : at < 185 ? depth + (top - depth) * (at - 180) / 5
               : at < 300 ? top
                          : top - (at - 300) * pace;
    };
    const double hit = 300 + (top - threshold) / pace;
    const auto first = first_of(warnings(curve, std::floor(hit) - 1, 5 * mebibyte), 300);
    ASSERT_TRUE(first);
    EXPECT_GE(hit - *first, 120);
}

INSTANTIATE_TEST_SUITE_P(Gibibytes, NearMissTest, testing::Values(0.3, 0.5, 0.8, 1, 2, 4));

struct Leak {
    double period;  ///< of teeth of 2 GiB
    double pace;    ///< MiB/s
};
class LeakUnderTeethTest : public testing::TestWithParam<Leak> {};

TEST_P(LeakUnderTeethTest, IsToldMinutesAheadAndTheTeethAreNot) {
    const auto [period, pace] = GetParam();
    const auto curve = [=](double at) {
        return 10 * gibibyte - at * pace * mebibyte - std::fmod(at, period) / period * 2 * gibibyte;
    };
    double hit = 0;
    while (curve(hit) > threshold) {
        ++hit;
    }
    const auto said = warnings(curve, hit - 1, 5 * mebibyte);
    const auto first = first_of(said, 2 * period);
    ASSERT_TRUE(first);
    EXPECT_GE(hit - *first, 300);
    EXPECT_LE(hit - *first, 700) << "teeth alone say nothing";
    EXPECT_LE(hit - said.back().at, 2) << "up to the end";
}

INSTANTIATE_TEST_SUITE_P(Leaks, LeakUnderTeethTest,
                         testing::Values(Leak{.period = 20, .pace = 5},
                                         Leak{.period = 20, .pace = 2},
                                         Leak{.period = 60, .pace = 2},
                                         Leak{.period = 7, .pace = 5}));

TEST(PressureTrendTest, TeethThatGoDeeperByALittleEachAreToldAhead) {
    const auto curve = [](double at) {
        return 10 * gibibyte - std::fmod(at, 60) / 60 * (2 * gibibyte + at * 4 * mebibyte);
    };
    double hit = 0;
    while (curve(hit) > threshold) {
        ++hit;
    }
    const auto first = first_of(warnings(curve, hit - 1, 20 * mebibyte), 120);
    ASSERT_TRUE(first);
    EXPECT_GE(hit - *first, 120);
}

class StairsTest : public testing::TestWithParam<double> {};

/// 2 GiB less at once each time, from 64 GiB.
TEST_P(StairsTest, AreToldMinutesAhead) {
    const double period = GetParam();
    const auto curve = [period](double at) {
        return 64 * gibibyte - std::floor(std::max(0.0, at - 300) / period) * 2 * gibibyte;
    };
    const double hit = 300 + 32 * period;
    const auto first = first_of(warnings(curve, hit - 1, 5 * mebibyte), 0);
    ASSERT_TRUE(first);
    EXPECT_GE(hit - *first, 240);
}

INSTANTIATE_TEST_SUITE_P(Periods, StairsTest, testing::Values(10, 20, 30, 45, 60));

TEST(PressureTrendTest, TwoStepsAreNoTrend) {
    EXPECT_TRUE(warnings([](double at) { return (at < 300   ? 16
                                                 : at < 360 ? 8
                                                            : 2) *
                                                gibibyte; },
                         1200, 5 * mebibyte)
                    .empty());
}

/// A batch that runs again and again, with a rest between.
TEST(PressureTrendTest, ATimeOfRestMakesAToothNoLonger) {
    const auto curve = [](double at) {
        return 8 * gibibyte - std::max(0.0, std::fmod(at, 300) - 200) / 100 * 6 * gibibyte;
    };
    for (const auto& warning : warnings(curve, 3000, 20 * mebibyte)) {
        EXPECT_LT(warning.at, 400) << "in " << warning.in;
    }
}

TEST(PressureTrendTest, AtTheThresholdItIsThere) {
    PressureTrend trend;
    EXPECT_FALSE(trend.until(0));
    trend.add(SteadyTime{1h}, threshold);
    EXPECT_EQ(trend.until(threshold), (TrendForecast{.in = 0ms, .confidence = 1}));
    EXPECT_FALSE(trend.until(threshold - 1));
}

TEST(PressureTrendTest, AGapBeginsAnew) {
    PressureTrend trend;
    SteadyTime now{1h};
    for (int i = 0; i < 60; ++i, now += 1s) {
        trend.add(now, static_cast<std::uint64_t>((4000 - i * 10) * mebibyte));
    }
    ASSERT_TRUE(trend.until(threshold));
    trend.add(now + 10s, static_cast<std::uint64_t>(3000 * mebibyte));
    EXPECT_FALSE(trend.until(threshold));
}

TEST(PressureTrendTest, NumbersWithoutMeaningDoNoHarm) {
    PressureTrend trend;
    SteadyTime now{1h};
    for (int i = 0; i < 1000; ++i, now += 1s) {
        trend.add(now, i % 7 == 0 ? std::numeric_limits<std::uint64_t>::max() : 0);
        const auto forecast = trend.until(std::numeric_limits<std::uint64_t>::max() / 2);
        if (forecast) {
            EXPECT_GE(forecast->in, 0ms);
        }
    }
}

}  // namespace
}  // namespace scout::migration
