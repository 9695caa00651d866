// SPDX-License-Identifier: Apache-2.0
#include "migration/convergence.h"

#include <limits>

#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30U;

constexpr Range just(std::uint64_t value) {
    return {value, value, value};
}

MigrationLoad load(std::uint64_t memory, std::uint64_t dirty_rate, std::uint64_t bandwidth) {
    return {.memory = just(memory), .dirty_rate = just(dirty_rate), .bandwidth = just(bandwidth)};
}

MigrationCourse course(const MigrationLoad& of, const MigrationSettings& settings = {}) {
    return forecast(of, settings).expected;
}

TEST(ForecastTest, AnIdleGuestNeedsOnePass) {
    const auto made = course(load(4 * gibibyte, 0, 512 * mebibyte));

    EXPECT_EQ(made.end, MigrationEnd::converged);
    EXPECT_EQ(made.duration, 8s);
    EXPECT_EQ(made.passes, 1U);
    EXPECT_EQ(made.downtime, 0ms);
}

/// 8 s, then a quarter of it each time: 2 s, 500 ms, and 125 ms fit into the pause.
TEST(ForecastTest, WhatIsWrittenMeanwhileIsSentAgainUntilTheRestFitsIntoThePause) {
    const auto made = course(load(4 * gibibyte, 128 * mebibyte, 512 * mebibyte));

    EXPECT_EQ(made.end, MigrationEnd::converged);
    EXPECT_EQ(made.duration, 10'625ms);
    EXPECT_EQ(made.downtime, 125ms);
    EXPECT_EQ(made.passes, 3U);
}

TEST(ForecastTest, ALongerPauseEndsItSooner) {
    const auto made =
        forecast(load(4 * gibibyte, 128 * mebibyte, 512 * mebibyte), {}, 2000ms).expected;

    EXPECT_EQ(made.duration, 10s);
    EXPECT_EQ(made.downtime, 2s);
}

TEST(ForecastTest, AGuestThatWritesFasterThanTheLinkIsGivenUpAtTheLimit) {
    const auto made = course(load(4 * gibibyte, gibibyte, 512 * mebibyte));

    EXPECT_EQ(made.end, MigrationEnd::aborted);
    EXPECT_FALSE(made.moved());
    EXPECT_EQ(made.duration, 750s);
    EXPECT_EQ(made.downtime, 0s);
}

TEST(ForecastTest, WithoutALimitItNeitherEndsNorIsGivenUp) {
    MigrationSettings settings;
    settings.completion_per_gib = 0s;
    const auto made = course(load(4 * gibibyte, gibibyte, 512 * mebibyte), settings);

    EXPECT_EQ(made.end, MigrationEnd::never);
    EXPECT_FALSE(made.moved());
}

/// No more than all of its memory can be written to: a small guest on a fast link gets there.
TEST(ForecastTest, AGuestThatIsSentWithinThePauseIsMovedWhateverItWrites) {
    EXPECT_EQ(course(load(128 * mebibyte, 100 * gibibyte, gibibyte)).end, MigrationEnd::converged);
}

TEST(ForecastTest, AutoConvergeSlowsTheGuestUntilItIsMoved) {
    MigrationSettings settings;
    settings.allow_auto_converge = true;
    const auto made = course(load(4 * gibibyte, gibibyte, 512 * mebibyte), settings);

    EXPECT_EQ(made.end, MigrationEnd::converged);
    // Above a half of the link's rate the rest grows.
    EXPECT_GT(made.throttle, 50U);
    EXPECT_GT(made.passes, 6U);
    EXPECT_LT(made.duration, 750s);
}

TEST(ForecastTest, PostCopyMovesTheRestWhenTheLimitIsOver) {
    MigrationSettings settings;
    settings.completion_per_gib = 10s;
    settings.allow_post_copy = true;
    settings.allow_workload_disruption = true;
    const auto made = course(load(4 * gibibyte, gibibyte, 512 * mebibyte), settings);

    EXPECT_EQ(made.end, MigrationEnd::post_copy);
    EXPECT_TRUE(made.moved());
    // Five started billions, and all of its memory is left then.
    EXPECT_EQ(made.duration, 58s);
    EXPECT_EQ(made.downtime, 300ms);
}

/// Seen in real moves: the limit of bandwidth holds until the switch alone.
TEST(ForecastTest, AfterTheSwitchToPostCopyThePolicysBandwidthIsNoLimit) {
    MigrationSettings settings;
    settings.completion_per_gib = 10s;
    settings.allow_post_copy = true;
    settings.allow_workload_disruption = true;
    settings.bandwidth = Quantity{64 * mebibyte};
    const auto made = course(load(4 * gibibyte, 128 * mebibyte, 512 * mebibyte), settings);

    EXPECT_EQ(made.end, MigrationEnd::post_copy);
    // At most the 4 GiB of its memory are left after the 50 s.
    EXPECT_GT(made.duration, 50s);
    EXPECT_LE(made.duration, 58s);
}

TEST(ForecastTest, PausedItIsDownForAsLongAsTheRestTakes) {
    MigrationSettings settings;
    settings.completion_per_gib = 10s;
    settings.allow_workload_disruption = true;
    const auto made = course(load(4 * gibibyte, gibibyte, 512 * mebibyte), settings);

    EXPECT_EQ(made.end, MigrationEnd::paused);
    EXPECT_EQ(made.duration, 58s);
    EXPECT_EQ(made.downtime, 8s);
}

TEST(ForecastTest, APauseThatIsTooShortForTheRestIsPaidForNothing) {
    MigrationSettings settings;
    settings.completion_per_gib = 1s;
    settings.allow_workload_disruption = true;
    const auto made = course(load(4 * gibibyte, gibibyte, 256 * mebibyte), settings);

    EXPECT_EQ(made.end, MigrationEnd::aborted);
    EXPECT_EQ(made.duration, 10s);
    EXPECT_EQ(made.downtime, 5s);
}

TEST(ForecastTest, TheLimitMayComeInTheFirstPass) {
    MigrationSettings settings;
    settings.completion_per_gib = 1s;
    EXPECT_EQ(course(load(4 * gibibyte, 0, 512 * mebibyte), settings).end, MigrationEnd::aborted);
    EXPECT_EQ(course(load(4 * gibibyte, 0, gibibyte), settings).end, MigrationEnd::converged);
}

TEST(ForecastTest, ThePolicysBandwidthLimitsTheLink) {
    MigrationSettings settings;
    settings.bandwidth = Quantity{64 * mebibyte};
    EXPECT_EQ(course(load(gibibyte, 0, 512 * mebibyte), settings).duration, 16s);
    settings.bandwidth = Quantity{gibibyte};
    EXPECT_EQ(course(load(gibibyte, 0, 512 * mebibyte), settings).duration, 2s);
}

TEST(ForecastTest, LocalDisksAndTheSetUpTakeTheirTime) {
    auto with_disk = load(gibibyte, 0, 512 * mebibyte);
    with_disk.disks = {
        .bytes = {.least = 4 * gibibyte, .likely = 4 * gibibyte, .most = 4 * gibibyte},
        .counted = 0};
    with_disk.setup = 1500ms;
    EXPECT_EQ(course(with_disk).duration, 11'500ms);
}

TEST(ForecastTest, TheLimitIsLongerForThoseDisksThatKubeVirtCounts) {
    MigrationSettings settings;
    settings.completion_per_gib = 2s;
    auto with_disk = load(gibibyte, 0, 512 * mebibyte);
    with_disk.disks.bytes = {.least = 4 * gibibyte, .likely = 4 * gibibyte, .most = 4 * gibibyte};
    EXPECT_EQ(course(with_disk, settings).end, MigrationEnd::aborted) << "10 s, of which it has 4";
    with_disk.disks.counted = 4 * gibibyte;
    EXPECT_EQ(course(with_disk, settings).end, MigrationEnd::converged) << "12 s";
}

TEST(ForecastTest, WhatADiskMayHoldCountsWhereItIsNotKnownToBeInUse) {
    auto with_disk = load(gibibyte, 0, 512 * mebibyte);
    with_disk.disks.bytes = {.least = 0, .likely = 2 * gibibyte, .most = 4 * gibibyte};
    const auto told = forecast(with_disk, {});
    EXPECT_EQ(told.optimistic.duration, 2s);
    EXPECT_EQ(told.expected.duration, 6s);
    EXPECT_EQ(told.pessimistic.duration, 10s);
}

/// Seen in real moves: virt-launcher's clock runs while libvirt starts QEMU on the target.
TEST(ForecastTest, TheStartIsPartOfTheLimitAndTheSetUpIsNot) {
    MigrationSettings settings;
    settings.completion_per_gib = 10s;
    auto idle = load(gibibyte, 0, 64 * mebibyte);
    idle.setup = 7s;
    idle.start = 3s;
    EXPECT_EQ(course(idle, settings).end, MigrationEnd::converged);
    EXPECT_EQ(course(idle, settings).duration, 26s);
    idle.start = 5s;
    EXPECT_EQ(course(idle, settings).end, MigrationEnd::aborted);
    EXPECT_EQ(course(idle, settings).duration, 27s);
    idle.start = 30s;
    EXPECT_EQ(course(idle, settings).duration, 27s);
}

TEST(ForecastTest, WithoutALinkItIsGivenUpWhenNothingHasMoved) {
    const auto made = course(load(gibibyte, 0, 0));
    EXPECT_EQ(made.end, MigrationEnd::aborted);
    EXPECT_EQ(made.duration, 150s);

    MigrationSettings patient;
    patient.progress = 0s;
    EXPECT_EQ(course(load(gibibyte, 0, 0), patient).duration, 300s);
    patient.completion_per_gib = 0s;
    EXPECT_EQ(course(load(gibibyte, 0, 0), patient).end, MigrationEnd::never);
}

TEST(ForecastTest, EachEndOfWhatIsKnownIsTold) {
    const MigrationLoad vague{.memory = {gibibyte, 2 * gibibyte, 4 * gibibyte},
                              .dirty_rate = {0, 0, 64 * mebibyte},
                              .bandwidth = {256 * mebibyte, 512 * mebibyte, gibibyte}};
    const auto made = forecast(vague, {});

    EXPECT_EQ(made.optimistic.duration, 1s);
    EXPECT_EQ(made.expected.duration, 4s);
    EXPECT_GT(made.pessimistic.duration, 16s);
    EXPECT_EQ(made.pessimistic.end, MigrationEnd::converged);
}

TEST(ForecastTest, NumbersWithoutMeaningCostNoTimeAndNoOverflow) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    MigrationSettings settings;
    settings.completion_per_gib = std::chrono::seconds::max();
    settings.allow_auto_converge = true;
    for (const auto memory : {std::uint64_t{0}, std::uint64_t{1}, most}) {
        for (const auto dirty : {std::uint64_t{0}, std::uint64_t{1}, most}) {
            for (const auto bandwidth : {std::uint64_t{0}, std::uint64_t{1}, most}) {
                const auto made = course(load(memory, dirty, bandwidth), settings);
                EXPECT_GE(made.duration, 0ms);
                EXPECT_GE(made.downtime, 0ms);
                EXPECT_LE(made.throttle, 99U);
            }
        }
    }
}

}  // namespace
}  // namespace scout::migration
