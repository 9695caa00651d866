// SPDX-License-Identifier: Apache-2.0
#include "migration/copy_speed.h"

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t megabyte = 1'000'000;

class CopySpeedTest : public testing::Test {
protected:
    void saw(std::chrono::milliseconds at, std::optional<std::uint64_t> remaining,
             std::optional<std::uint64_t> copied = std::nullopt) {
        speed.saw(remaining, copied, SteadyTime{at});
    }

    CopySpeed speed;
};

TEST_F(CopySpeedTest, IsTheMostThatWasSeenOfWhatQemuTellsItself) {
    saw(1s, 9000 * megabyte, 20 * megabyte);
    saw(4s, 8900 * megabyte, 110 * megabyte);
    EXPECT_EQ(speed.fastest(), std::nullopt) << "the start may be slow";
    saw(7s, 8800 * megabyte, 60 * megabyte);
    EXPECT_EQ(speed.fastest(), 110 * megabyte);
}

/// Of 64 GB a tenth is in use: as QEMU runs over the rest, the link is idle.
TEST_F(CopySpeedTest, WhatCostsNothingToCopyCounts) {
    saw(0s, 64'000 * megabyte, 2 * megabyte);
    saw(3s, 58'000 * megabyte, 2 * megabyte);
    saw(6s, 57'000 * megabyte, 2 * megabyte);
    EXPECT_EQ(speed.fastest(), 2000 * megabyte);
}

/// libvirt tells 0 until QEMU on the target answers, and the launcher repeats itself.
TEST_F(CopySpeedTest, CountsFromTheFirstPageOnAndNothingTwice) {
    saw(0s, 0);
    saw(4s, 0);
    saw(6s, 8000 * megabyte, 2 * megabyte);
    saw(10s, 8000 * megabyte, 2 * megabyte);
    saw(12s, 8000 * megabyte, 2 * megabyte);
    EXPECT_EQ(speed.fastest(), std::nullopt);
    saw(14s, 7200 * megabyte, 2 * megabyte);
    EXPECT_EQ(speed.fastest(), 100 * megabyte) << "of eight seconds";
}

TEST_F(CopySpeedTest, ANewPassOverTheMemoryIsNoSpeed) {
    saw(0s, 100 * megabyte, 50 * megabyte);
    saw(3s, 900 * megabyte, 50 * megabyte);
    saw(6s, 901 * megabyte);
    EXPECT_EQ(speed.fastest(), 50 * megabyte);
}

TEST_F(CopySpeedTest, TheNextMigrationBeginsAnew) {
    saw(0s, 900 * megabyte, 50 * megabyte);
    saw(6s, 600 * megabyte, 50 * megabyte);
    EXPECT_EQ(speed.fastest(), 50 * megabyte);
    saw(9s, std::nullopt);
    EXPECT_EQ(speed.fastest(), std::nullopt);
    saw(12s, 900 * megabyte, 10 * megabyte);
    saw(18s, 890 * megabyte, 10 * megabyte);
    EXPECT_EQ(speed.fastest(), 10 * megabyte);
}

TEST_F(CopySpeedTest, NothingIsSaidOfOneThatStandsOrOfOddNumbers) {
    saw(0s, 900 * megabyte, 0);
    saw(6s, 900 * megabyte, 0);
    EXPECT_EQ(speed.fastest(), std::nullopt);
    saw(6s, std::nullopt);
    saw(7s, 900 * megabyte);
    saw(13s, 950 * megabyte);
    saw(13s, 0);
    EXPECT_EQ(speed.fastest(), std::nullopt) << "in no time";
    saw(14s, ~std::uint64_t{0});
    saw(14001ms, 0);
    EXPECT_EQ(speed.fastest(), 1'000'000'000'000'000'000U);
}

TEST(WriteRateTest, IsTheLeastOfThreeLooks) {
    WriteRate rate;
    for (const std::uint64_t seen : {900U, 70U}) {
        rate.saw(seen);
        EXPECT_EQ(rate.least(), std::nullopt);
    }
    rate.saw(std::nullopt);
    EXPECT_EQ(rate.least(), std::nullopt) << "nothing was told";
    rate.saw(800);
    EXPECT_EQ(rate.least(), 70U);
    rate.saw(500);
    EXPECT_EQ(rate.least(), 70U);
    rate.saw(600);
    EXPECT_EQ(rate.least(), 500U) << "the 70 are too long ago";
}

}  // namespace
}  // namespace scout::migration
