// SPDX-License-Identifier: Apache-2.0
#include "migration/eviction_thresholds.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Texts = KubeletEvictionFields::Texts;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;
constexpr auto allocatable = PressureSignal::allocatable_memory_available;
const std::vector<std::string> none;

EvictionThreshold amount(PressureSignal signal, std::uint64_t value) {
    return {.signal = signal,
            .value = {.amount = Quantity{value}},
            .soft_grace = {},
            .minimum_reclaim = {}};
}

KubeletEviction read(const KubeletEvictionFields& fields) {
    auto made = kubelet_eviction(fields);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return made.value_or(KubeletEviction{});
}

std::string refusal(const KubeletEvictionFields& fields) {
    const auto made = kubelet_eviction(fields);
    return made ? "(taken)" : made.error().message;
}

TEST(KubeletEvictionTest, WithoutAnyFieldTheDefaultsAreInForce) {
    const auto made = read({});
    ASSERT_THAT(made.thresholds, SizeIs(6));
    EXPECT_EQ(made.thresholds[0], amount(PressureSignal::memory_available, 100 * mebibyte));
    EXPECT_EQ(made.thresholds[1], amount(allocatable, 100 * mebibyte));
    EXPECT_EQ(made.thresholds[2].signal, PressureSignal::nodefs_available);
    EXPECT_DOUBLE_EQ(made.thresholds[2].value.share, 0.1);
    EXPECT_EQ(made.max_pod_grace, 0s);
}

TEST(KubeletEvictionTest, OneHardThresholdTakesThePlaceOfAllDefaults) {
    const auto made = read({.hard = Texts{{"memory.available", "10Mi"}}});
    EXPECT_THAT(made.thresholds,
                ElementsAre(amount(PressureSignal::memory_available, 10 * mebibyte),
                            amount(allocatable, 10 * mebibyte)));
    EXPECT_THAT(read({.hard = Texts{}}).thresholds, IsEmpty());
}

TEST(KubeletEvictionTest, MergedTheDefaultsStayForTheOthers) {
    const auto made = read({.hard = Texts{{"memory.available", "10Mi"}}, .merge_defaults = true});
    ASSERT_THAT(made.thresholds, SizeIs(6));
    EXPECT_EQ(made.thresholds[0], amount(PressureSignal::memory_available, 10 * mebibyte));
}

/// What the proposal sets for its functional test.
TEST(KubeletEvictionTest, SoftThresholdsHaveATimeAndThePodsHaveOne) {
    const auto made = read({.hard = Texts{{"memory.available", "10Mi"}},
                            .soft = {{"memory.available", "3500Mi"}},
                            .soft_grace = {{"memory.available", "5s"}},
                            .max_pod_grace = 300,
                            .enforced = none});
    ASSERT_THAT(made.thresholds, SizeIs(2));
    EXPECT_FALSE(made.thresholds[0].soft_grace);
    EXPECT_EQ(made.thresholds[1].soft_grace, 5000ms);
    EXPECT_EQ(eviction_grace(made.thresholds[0], made, 60s), 1s);
    EXPECT_EQ(eviction_grace(made.thresholds[1], made, 60s), 60s);
    EXPECT_EQ(eviction_grace(made.thresholds[1], made, 330s), 300s);
}

TEST(KubeletEvictionTest, WithoutAPodGraceASoftThresholdGivesNone) {
    const auto made =
        read({.soft = {{"memory.available", "1Gi"}}, .soft_grace = {{"memory.available", "1m"}}});
    for (const auto& one : made.thresholds) {
        EXPECT_EQ(eviction_grace(one, made, 60s), one.soft_grace ? 0s : 1s);
    }
    EXPECT_EQ(eviction_grace(made.thresholds[1], {.thresholds = {}, .max_pod_grace = -5s}, 60s),
              0s);
}

TEST(KubeletEvictionTest, ASoftThresholdWithoutATimeIsAHardOne) {
    const auto made = read({.hard = Texts{{"memory.available", "1Gi"}, {"pid.available", "5%"}},
                            .soft = {{"memory.available", "2Gi"}, {"pid.available", "100"}},
                            .soft_grace = {{"memory.available", "0s"}, {"pid.available", "0"}},
                            .max_pod_grace = 300,
                            .enforced = none});
    ASSERT_THAT(made.thresholds, SizeIs(2)) << "of two hard ones the greater one acts first";
    EXPECT_EQ(made.thresholds[0], amount(PressureSignal::memory_available, 2048 * mebibyte));
    EXPECT_EQ(eviction_grace(made.thresholds[0], made, 60s), 1s);
    EXPECT_EQ(made.thresholds[1].value.of(1000), 100U);
    EXPECT_EQ(made.thresholds[1].value.of(10'000), 500U);
}

TEST(KubeletEvictionTest, ZeroAndAHundredPercentSwitchOneOff) {
    EXPECT_THAT(
        read({.hard = Texts{{"nodefs.available", "0%"}, {"imagefs.available", "100%"}}}).thresholds,
        IsEmpty());
}

TEST(KubeletEvictionTest, AMinimumReclaimIsOfBothThresholdsOfItsSignal) {
    const auto made = read({.hard = Texts{{"memory.available", "10Mi"}, {"nodefs.available", "5%"}},
                            .soft = {{"memory.available", "1Gi"}},
                            .soft_grace = {{"memory.available", "5s"}},
                            .minimum_reclaim = {{"memory.available", "64Mi"},
                                                {"nodefs.available", "2%"},
                                                {"pid.available", "0"}},
                            .enforced = none});
    ASSERT_THAT(made.thresholds, SizeIs(3));
    EXPECT_EQ(made.thresholds[0].minimum_reclaim,
              ThresholdValue{.amount = Quantity{64 * mebibyte}});
    EXPECT_EQ(made.thresholds[1].minimum_reclaim,
              ThresholdValue{.amount = Quantity{64 * mebibyte}});
    EXPECT_EQ(made.thresholds[2].minimum_reclaim.value().of(1000), 20U);
}

TEST(KubeletEvictionTest, AHardThresholdOfMemoryIsAlsoOneOfWhatPodsMayTake) {
    const KubeletEvictionFields fields{.hard = Texts{{"memory.available", "5%"}},
                                       .soft = {{"memory.available", "1Gi"}},
                                       .soft_grace = {{"memory.available", "5s"}},
                                       .minimum_reclaim = {{"memory.available", "64Mi"}}};
    auto limited = fields;
    for (const auto& enforced :
         {std::optional<std::vector<std::string>>{}, {{"pods"}}, {{"kube-reserved", "pods"}}}) {
        limited.enforced = enforced;
        const auto made = read(limited);
        ASSERT_THAT(made.thresholds, SizeIs(3));
        EXPECT_EQ(made.thresholds[2].signal, allocatable);
        EXPECT_FALSE(made.thresholds[2].soft_grace);
        EXPECT_EQ(made.thresholds[2].value, made.thresholds[0].value);
        EXPECT_EQ(made.thresholds[2].minimum_reclaim, made.thresholds[0].minimum_reclaim);
    }
    for (const auto& enforced : {none, {"none"}, {"kube-reserved"}}) {
        limited.enforced = enforced;
        EXPECT_THAT(read(limited).thresholds, SizeIs(2));
    }
    limited.enforced.reset();
    limited.hard = Texts{{"memory.available", "0%"}};
    EXPECT_THAT(read(limited).thresholds, SizeIs(1));
    limited.hard = Texts{{"memory.available", "1Gi"}, {"allocatableMemory.available", "2Gi"}};
    EXPECT_EQ(read(limited).thresholds.at(2).value.of(0), 2048 * mebibyte);
}

TEST(KubeletEvictionTest, WhatKubeletDoesNotStartWithIsNamed) {
    EXPECT_THAT(refusal({.hard = Texts{{"memory.availible", "1Gi"}}}),
                AllOf(HasSubstr("evictionHard"), HasSubstr("memory.availible")));
    EXPECT_THAT(refusal({.hard = Texts{{"memory.available", "1GB"}}}),
                AllOf(HasSubstr("evictionHard"), HasSubstr("'1GB'")));
    EXPECT_THAT(refusal({.hard = Texts{{"memory.available", "0"}}}), HasSubstr("0%"));
    EXPECT_THAT(refusal({.hard = Texts{{"memory.available", "-5%"}}}), HasSubstr("'-5%'"));
    EXPECT_THAT(refusal({.hard = Texts{{"memory.available", "101%"}}}), HasSubstr("'101%'"));
    EXPECT_THAT(refusal({.hard = Texts{{"memory.available", "%"}}}), HasSubstr("'%'"));
    EXPECT_THAT(refusal({.soft = {{"memory.available", "1Gi"}}}),
                HasSubstr("evictionSoftGracePeriod"));
    EXPECT_THAT(refusal({.soft = {{"memory.available", "1Gi"}},
                         .soft_grace = {{"memory.available", "soon"}}}),
                HasSubstr("evictionSoftGracePeriod"));
    EXPECT_THAT(refusal({.minimum_reclaim = {{"memory.available", "0%"}}}),
                AllOf(HasSubstr("evictionMinimumReclaim"), HasSubstr("'0%'")));
    EXPECT_THAT(refusal({.minimum_reclaim = {{"memory", "1Mi"}}}),
                AllOf(HasSubstr("evictionMinimumReclaim"), HasSubstr("'memory'")));
    EXPECT_THAT(refusal({.minimum_reclaim = {{"memory.available", "-1Mi"}}}),
                HasSubstr("evictionMinimumReclaim"));
}

TEST(ThresholdValueTest, AShareIsOfWhatThereIs) {
    const ThresholdValue tenth{.amount = {}, .share = 0.1};
    EXPECT_EQ(tenth.of(1000), 100U);
    EXPECT_EQ(tenth.of(0), 0U);
    EXPECT_EQ(ThresholdValue{.amount = Quantity{7}}.of(1000), 7U);
}

TEST(PressureSignalTest, WordsAreKubelets) {
    for (int i = 0; i <= static_cast<int>(PressureSignal::pid_available); ++i) {
        const auto signal = static_cast<PressureSignal>(i);
        EXPECT_EQ(signal_named(to_string(signal)), signal);
    }
    EXPECT_FALSE(signal_named("memory"));
}

}  // namespace
}  // namespace scout::migration
