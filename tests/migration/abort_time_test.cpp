// SPDX-License-Identifier: Apache-2.0
#include "migration/abort_time.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;

TEST(AbortTimeTest, WhatIsPlannedForAnAbort) {
    struct Row {
        const char* what;
        AbortSubject subject;
        milliseconds planned;
    };
    const std::vector<Row> rows{
        {"nothing is known", {}, 3s},
        {"a common guest", {.memory = 64 * gib}, 3s},
        {"a large one", {.memory = 512 * gib}, 11960ms},
        {"one without KVM", {.memory = gib / 8, .emulated = true}, 12s},
        {"quick aborts were seen", {.memory = gib, .seen = 400ms}, 3s},
        {"slow ones were", {.memory = gib, .seen = 8s}, 10s},
        {"and slower ones without KVM", {.emulated = true, .seen = 14s}, 17500ms},
        {"one that never ended", {.seen = 10min}, 30s},
        {"more memory than there is", {.memory = ~std::uint64_t{0}, .emulated = true}, 30s},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(abort_time(row.subject), row.planned) << row.what;
    }
}

TEST(AbortTimeTest, MoreOfAnythingNeverMakesItShorter) {
    std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): every run shall see the same
    for (int i = 0; i < 2000; ++i) {
        const AbortSubject less{.memory = random() >> (random() % 64),
                                .seen = milliseconds{random() % 60'000}};
        auto more = less;
        switch (random() % 3) {
            case 0:
                more.memory += std::min<std::uint64_t>(random(), ~less.memory);
                break;
            case 1:
                more.emulated = true;
                break;
            default:
                more.seen += milliseconds{random() % 60'000};
                break;
        }
        EXPECT_LE(abort_time(less), abort_time(more));
        EXPECT_LE(3s, abort_time(less));
        EXPECT_LE(abort_time(more), 30s);
    }
}

TEST(AbortTimesTest, TheSlowestOfTheLastOnesCounts) {
    const SteadyTime start{10h};
    AbortTimes times;
    EXPECT_EQ(times.slowest(start), 0s);
    times.add(14s, start);
    times.add(2s, start + 1min);
    EXPECT_EQ(times.slowest(start + 1min), 14s);
    EXPECT_EQ(times.slowest(start + 1h), 14s);
    EXPECT_EQ(times.slowest(start + 1h + 30s), 2s);
    EXPECT_EQ(times.slowest(start + 2h), 0s);
}

TEST(AbortTimesTest, NoMoreThanEightAreKept) {
    const SteadyTime start{10h};
    AbortTimes times;
    times.add(14s, start);
    for (std::size_t i = 1; i < AbortTimes::most; ++i) {
        times.add(2s, start);
    }
    EXPECT_EQ(times.slowest(start), 14s);
    times.add(3s, start);
    EXPECT_EQ(times.slowest(start), 3s);
}

}  // namespace
}  // namespace scout::migration
