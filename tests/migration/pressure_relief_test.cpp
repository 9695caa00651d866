// SPDX-License-Identifier: Apache-2.0
#include "migration/pressure_relief.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::uint64_t at = 1000;

/// Falls by half of what is above the threshold within the ten minutes that count, and so on.
PressureLine falling(std::uint64_t available, milliseconds in,
                     PressureSignal signal = PressureSignal::memory_available) {
    return {.signal = signal,
            .soft_grace = std::nullopt,
            .room = SignalRoom{.available = available, .capacity = 100'000},
            .at = at,
            .reached = TrendForecast{.in = in, .confidence = 0.95},
            .passed_for = std::nullopt,
            .evicts_in = in,
            .warned = true};
}

PressureLine passed(std::uint64_t available, std::optional<milliseconds> grace) {
    auto line = falling(available, 0ms);
    line.reached = TrendForecast{.in = 0ms, .confidence = 1};
    line.soft_grace = grace;
    line.passed_for = 1s;
    line.evicts_in = grace ? *grace - 1s : 0ms;
    return line;
}

PressedLauncher launcher(const std::string& vm, std::optional<std::uint64_t> usage) {
    return {.vmi = "shop/" + vm, .pod_uid = "pod " + vm, .usage = usage, .vm_grace = std::nullopt};
}

/// Node n1 is pressed, n2 and n3 take VMs. VMs a to d run on n1, and are evicted in that order.
struct ReliefTest : ::testing::Test {
    ReliefTest() {
        report.order = {{.signal = PressureSignal::memory_available,
                         .first = {launcher("a", 600), launcher("b", 500), launcher("c", 2000),
                                   launcher("d", 100)}}};
        for (const auto* vm : {"a", "b", "c", "d"}) {
            world.vms[std::string{"pod "} + vm] = {.vmi = std::string{"shop/"} + vm,
                                                   .uid = std::string{"uid "} + vm,
                                                   .node = "n1",
                                                   .hold = std::nullopt,
                                                   .moved = std::nullopt};
        }
        for (const auto* node : {"n1", "n2", "n3"}) {
            world.nodes.push_back({.name = node, .takes_vms = true});
        }
        policy.moves_per_minute = 10;
        policy.outbound = 10;
        policy.in_cluster = 10;
    }
    ReliefNode& n1() { return world.nodes[0]; }
    ReliefPlan plan() {
        n1().report = &report;
        return plan_relief(world, policy);
    }
    std::vector<std::string> moved() {
        std::vector<std::string> names;
        for (const auto& move : plan().moves) {
            names.push_back(move.vmi);
        }
        return names;
    }
    std::vector<ReliefHold> holds() {
        std::vector<ReliefHold> all;
        for (const auto& held : plan().held) {
            all.push_back(held.hold);
        }
        return all;
    }

    PressureReport report;
    ReliefWorld world;
    ReliefPolicy policy;
};

TEST(ReliefNeededTest, IsWhatKeepsTheThresholdAwayForTenMinutes) {
    const ReliefPolicy policy;
    // 1000 above the threshold go in 5 min: in ten 1000 are missing, and a tenth of the threshold.
    EXPECT_EQ(relief_needed(falling(2000, 5min), policy), 1100U);
    EXPECT_EQ(relief_needed(falling(2000, 10min), policy), 100U);
    EXPECT_EQ(relief_needed(passed(700, 2min), policy), 400U);
    EXPECT_EQ(relief_needed(falling(5'000'000, 1ms), policy), 100'000U) << "no more than there is";
}

TEST(ReliefNeededTest, ThePaceIsToldWhereWhatIsLeftSwingsAboveTheFall) {
    auto line = falling(5000, 5min);
    line.reached->pace = 2;
    EXPECT_EQ(relief_needed(line, {}), 700U);
    line.reached->in = 0ms;
    EXPECT_EQ(relief_needed(line, {}), 1300U);
}

class LeakBelowTeethTest : public testing::TestWithParam<double> {};

/// 2 MiB/s under teeth of 2 GiB, a minute each, until two minutes after the lows are there, or all
/// is gone.
TEST_P(LeakBelowTeethTest, NeedsWhatTheLeakTakes) {
    constexpr double mebibyte = 1'048'576;
    constexpr double gibibyte = 1024 * mebibyte;
    const double threshold = GetParam() * gibibyte;
    PressureTrend trend;
    std::optional<double> hit;
    double last = 0;
    for (double now = 0; !hit || now < *hit + 120; ++now) {
        const double noise = std::fmod(now, 2) * 5 * mebibyte;
        const double left =
            10 * gibibyte - now * 2 * mebibyte - std::fmod(now, 60) / 60 * 2 * gibibyte - noise;
        if (left <= 0) {
            break;  // nothing is left to look at
        }
        trend.add(SteadyTime{1h} + std::chrono::seconds{static_cast<int>(now)},
                  static_cast<std::uint64_t>(left));
        if (left <= threshold) {
            hit = hit.value_or(now);
            continue;
        }
        PressureLine line;
        line.room = {.available = static_cast<std::uint64_t>(left),
                     .capacity = static_cast<std::uint64_t>(64 * gibibyte)};
        line.at = static_cast<std::uint64_t>(threshold);
        line.reached = trend.until(line.at);
        line.warned = true;
        const auto needed = relief_needed(line, {});
        if (needed && now >= 120) {  // the first tooth may be anything
            last = static_cast<double>(*needed) / gibibyte;
            EXPECT_LT(last, 1.35) << "after " << now << " s";
        }
    }
    EXPECT_NEAR(last, 1.2 + GetParam() / 10, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Gibibytes, LeakBelowTeethTest, testing::Values(0.1, 1));

TEST(ReliefNeededTest, NothingIsDoneForWhatIsNotSureOrTooLate) {
    const ReliefPolicy policy;
    auto line = falling(2000, 5min);
    line.warned = false;
    EXPECT_FALSE(relief_needed(line, policy));
    line = falling(2000, 5min);
    line.reached->confidence = 0.79;
    EXPECT_FALSE(relief_needed(line, policy));
    line.reached->confidence = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(relief_needed(line, policy));
    EXPECT_FALSE(relief_needed(falling(2000, 11min), policy));
    line = falling(2000, 5min);
    line.room.reset();
    EXPECT_FALSE(relief_needed(line, policy));
    EXPECT_FALSE(relief_needed(passed(700, std::nullopt), policy)) << "a hard one is passed";
    EXPECT_FALSE(relief_needed(passed(700, 1s), policy)) << "its grace is over";
}

TEST(ReliefNeededTest, NumbersAtTheEdgeStayNumbers) {
    auto line = falling(std::numeric_limits<std::uint64_t>::max(), 0ms);
    line.at = std::numeric_limits<std::uint64_t>::max();
    line.room->capacity = std::numeric_limits<std::uint64_t>::max();
    EXPECT_GT(relief_needed(line, {}), 1U);
    line.room->capacity = 0;
    EXPECT_EQ(relief_needed(line, {}), 1U);
}

TEST_F(ReliefTest, WhatFreesNextToNothingIsNotMoved) {
    report.lines = {falling(2000, 5min)};  // 1100 are needed
    report.order[0].first = {launcher("a", 54), launcher("b", 55), launcher("c", 2000),
                             launcher("d", 3)};
    EXPECT_THAT(moved(), ElementsAre("shop/b", "shop/c"));
    EXPECT_THAT(plan().held, ElementsAre(HeldRelief{.node = "n1",
                                                    .signal = PressureSignal::memory_available,
                                                    .vmi = "shop/a",
                                                    .hold = ReliefHold::frees_too_little}));
}

TEST_F(ReliefTest, WhereAllTogetherFreeTooLittleNobodyIsMoved) {
    report.lines = {falling(2000, 5min)};
    report.order[0].first = {launcher("a", 100), launcher("b", 100), launcher("c", 74),
                             launcher("d", 3)};
    EXPECT_THAT(moved(), IsEmpty());
    EXPECT_THAT(plan().held, ElementsAre(HeldRelief{.node = "n1",
                                                    .signal = PressureSignal::memory_available,
                                                    .vmi = "",
                                                    .hold = ReliefHold::frees_too_little}));
    report.order[0].first[2].usage = 75;
    EXPECT_THAT(moved(), ElementsAre("shop/a", "shop/b", "shop/c"));
    // What leaves anyway counts, and what may not move does not.
    report.order[0].first[2].usage = 74;
    world.vms["pod d"].moving = true;
    EXPECT_THAT(moved(), ElementsAre("shop/a", "shop/b", "shop/c"));
    world.vms["pod a"].hold = ReliefHold::not_migratable;
    EXPECT_THAT(moved(), IsEmpty());
}

TEST(ReliefRecallTest, WhatGetsNoPodOrIsNotNeededAnyMoreIsTakenBack) {
    const ReliefPolicy policy;
    EXPECT_EQ(recall_of({.has_pod = false, .age = 119s, .pressed = true}, policy), std::nullopt);
    EXPECT_EQ(recall_of({.has_pod = false, .age = 2min, .pressed = true}, policy),
              ReliefRecall::no_pod);
    EXPECT_EQ(recall_of({.has_pod = true, .age = 1h, .pressed = true}, policy), std::nullopt);
    EXPECT_EQ(recall_of({.has_pod = true, .age = 1s, .pressed = false}, policy),
              ReliefRecall::over);
}

TEST_F(ReliefTest, BehindManyThatMayNotMoveOneThatMayIsFound) {
    report.lines = {falling(2000, 5min)};
    auto& first = report.order[0].first;
    first = std::vector(told_near - 1, launcher("a", 600));
    world.vms["pod a"].hold = ReliefHold::not_migratable;
    first.push_back(launcher("c", 2000));
    EXPECT_THAT(moved(), ElementsAre("shop/c"));
}

TEST_F(ReliefTest, WhatPodsMayTakeIsRelievedInTheOrderOfMemory) {
    report.lines = {falling(2000, 5min, PressureSignal::allocatable_memory_available)};
    ASSERT_THAT(moved(), ElementsAre("shop/a", "shop/b"));
    EXPECT_EQ(plan().moves[0].signal, PressureSignal::allocatable_memory_available);
}

TEST_F(ReliefTest, TheFewestInTheKubeletsOrderAreMoved) {
    report.lines = {falling(2000, 5min)};
    EXPECT_THAT(moved(), ElementsAre("shop/a", "shop/b"));
    const auto first = plan().moves.front();
    EXPECT_EQ(first.node, "n1");
    EXPECT_EQ(first.vmi_uid, "uid a");
    EXPECT_EQ(first.expected, 5min);
    EXPECT_EQ(first.at, at);
    EXPECT_EQ(first.frees, 600U);
    EXPECT_THAT(plan().pressed, ElementsAre("n1"));

    report.lines = {falling(2000, 10min)};
    EXPECT_THAT(moved(), ElementsAre("shop/a"));
}

TEST_F(ReliefTest, OnlyWhatRelievesThatSignalIsMoved) {
    report.lines = {falling(2000, 5min, PressureSignal::pid_available)};
    EXPECT_THAT(moved(), IsEmpty());
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::nobody));

    report.order.push_back(
        {.signal = PressureSignal::pid_available, .first = {launcher("d", 5000)}});
    EXPECT_THAT(moved(), ElementsAre("shop/d"));
}

TEST_F(ReliefTest, WhoLeavesForOneSignalCountsForTheOther) {
    report.lines = {falling(2000, 5min), falling(2000, 5min, PressureSignal::pid_available)};
    report.order.push_back({.signal = PressureSignal::pid_available,
                            .first = {launcher("b", 700), launcher("d", 700)}});
    EXPECT_THAT(moved(), ElementsAre("shop/a", "shop/b", "shop/d"));
    report.order[1].first[0].usage = 1100;
    EXPECT_THAT(moved(), ElementsAre("shop/a", "shop/b"));
}

TEST_F(ReliefTest, WhatIsUnderWayCountsAsFreed) {
    report.lines = {falling(2000, 5min)};
    world.vms["pod c"].moving = true;
    EXPECT_THAT(moved(), IsEmpty());
    world.vms["pod c"].moving = false;
    world.vms["pod a"].moving = true;
    EXPECT_THAT(moved(), ElementsAre("shop/b"));
}

TEST_F(ReliefTest, WhoCannotBeMovedIsPassedOverAndItIsSaid) {
    report.lines = {falling(2000, 5min)};
    world.vms["pod a"].hold = ReliefHold::owner;
    world.vms["pod b"].node = "n2";
    EXPECT_THAT(moved(), ElementsAre("shop/c"));
    EXPECT_THAT(plan().held, ElementsAre(HeldRelief{.node = "n1",
                                                    .signal = PressureSignal::memory_available,
                                                    .vmi = "shop/a",
                                                    .hold = ReliefHold::owner},
                                         HeldRelief{.node = "n1",
                                                    .signal = PressureSignal::memory_available,
                                                    .vmi = "shop/b",
                                                    .hold = ReliefHold::not_seen}));

    report.order[0].first[2].usage.reset();
    report.order[0].first[3].usage = 0;
    EXPECT_THAT(moved(), IsEmpty());
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::owner, ReliefHold::not_seen,
                                     ReliefHold::usage_unknown, ReliefHold::frees_nothing));
}

TEST_F(ReliefTest, AVmThatCameLatelyStays) {
    report.lines = {falling(2000, 10min)};
    world.vms["pod a"].moved = 29min;
    EXPECT_THAT(moved(), ElementsAre("shop/b"));
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::moved_lately));
    world.vms["pod a"].moved = 30min;
    EXPECT_THAT(moved(), ElementsAre("shop/a"));
}

TEST_F(ReliefTest, ANodeIsLeftAloneUntilItIsKnownWhatCameOfTheLastMoves) {
    report.lines = {falling(2000, 5min)};
    n1().begun = 1;
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::moving));
    n1().begun = 0;
    n1().ended = 59s;
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::settling));
    n1().ended = 61s;
    n1().told = 61s;
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::settling)) << "told before they ended";
    n1().told = 5s;
    EXPECT_THAT(moved(), ElementsAre("shop/a", "shop/b"));
}

TEST_F(ReliefTest, ASilentAgentIsNotBelieved) {
    report.lines = {falling(2000, 5min)};
    n1().silent = agent_silence_limit;
    EXPECT_THAT(moved(), IsEmpty());
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::agent_silent));
}

TEST_F(ReliefTest, WhatTheKubeletEvictsForIsTooLate) {
    report.lines = {passed(700, std::nullopt), passed(700, 2min)};
    EXPECT_THAT(moved(), IsEmpty());
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::evicting));
    report.lines = {passed(700, 2min)};
    EXPECT_THAT(moved(), ElementsAre("shop/a"));
    EXPECT_FALSE(plan().moves.front().expected);
    EXPECT_TRUE(plan().moves.front().soft);
}

TEST_F(ReliefTest, WhereEveryOtherNodeIsPressedNothingIsMoved) {
    report.lines = {falling(2000, 5min)};
    world.nodes[1].warned = 4min;
    world.nodes[2].takes_vms = false;
    EXPECT_THAT(moved(), IsEmpty());
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::no_target));
    EXPECT_THAT(plan().pressed, ElementsAre("n1", "n2"));
    world.nodes[1].warned = 5min;
    EXPECT_THAT(moved(), ElementsAre("shop/a", "shop/b"));
    world.nodes[1].strained = true;
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::no_target));
}

TEST_F(ReliefTest, LimitsHold) {
    report.lines = {falling(2000, 5min)};
    policy.moves_per_minute = 2;
    world.begun = {59s, 61s, 2min};
    EXPECT_THAT(moved(), ElementsAre("shop/a"));
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::rate));
    world.begun = {};
    policy.outbound = 2;
    n1().leaving = 1;
    EXPECT_THAT(moved(), ElementsAre("shop/a"));
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::node_limit));
    n1().leaving = 0;
    policy.in_cluster = 5;
    world.moving = 7;
    EXPECT_THAT(holds(), ElementsAre(ReliefHold::cluster_limit));
}

TEST_F(ReliefTest, TheNodeWhoseKubeletActsFirstGoesFirst) {
    report.lines = {falling(2000, 5min)};
    PressureReport sooner;
    sooner.lines = {falling(2000, 2min)};
    sooner.order = {{.signal = PressureSignal::memory_available, .first = {launcher("z", 9000)}}};
    world.vms["pod z"] = {
        .vmi = "shop/z", .uid = "uid z", .node = "n2", .hold = std::nullopt, .moved = std::nullopt};
    world.nodes[1].report = &sooner;
    policy.moves_per_minute = 2;
    EXPECT_THAT(moved(), ElementsAre("shop/z", "shop/a"));
    EXPECT_THAT(holds(), Contains(ReliefHold::rate));
}

TEST(ReliefHoldTest, EachHasAWordOfItsOwn) {
    std::vector<std::string> seen;
    for (std::size_t i = 0; i < relief_holds; ++i) {
        const std::string word{to_string(static_cast<ReliefHold>(i))};
        EXPECT_THAT(seen, testing::Not(Contains(word)));
        seen.push_back(word);
    }
    EXPECT_EQ(to_string(ReliefHold::agent_silent), "agent-silent");
    EXPECT_EQ(to_string(ReliefHold::rate), "rate");
    EXPECT_EQ(to_string(ReliefHold::frees_nothing), "frees-nothing");
}

}  // namespace
}  // namespace scout::migration
