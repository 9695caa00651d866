// SPDX-License-Identifier: Apache-2.0
#include "migration/vm_protection.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
constexpr MoveAssumptions gigabyte_a_second{.bandwidth = 1'000'000'000, .setup = 2s};

/// 4 GiB that KubeVirt would move, in a launcher as it makes them.
ProtectionFacts movable() {
    ProtectionFacts facts;
    facts.strategy = EvictionStrategy::live_migrate;
    facts.strategy_said = "LiveMigrate";
    facts.migratable = true;
    facts.subject.memory = 4 * gib;
    facts.subject.resident = 4 * gib;
    return facts;
}

struct Row {
    const char* what;
    std::function<void(ProtectionFacts&)> change;
    ProtectionVerdict verdict;
    const char* why;
};

const std::vector<Row> what_decides{
    {"nothing is amiss", [](auto&) {}, ProtectionVerdict::guarded,
     "a move takes 11 s, at worst it takes 45 s"},
    {"as the cluster says, where it can",
     [](auto& one) { one.strategy = EvictionStrategy::live_migrate_if_possible; },
     ProtectionVerdict::guarded, "its launcher kills the guest after 45 s, of which 13 s"},
    {"nobody has a strategy",
     [](auto& one) {
         one.strategy = EvictionStrategy::none;
         one.strategy_said.clear();
     },
     ProtectionVerdict::strategy, "neither the VMI nor the KubeVirt object"},
    {"strategy None",
     [](auto& one) {
         one.strategy = EvictionStrategy::none;
         one.strategy_said = "None";
     },
     ProtectionVerdict::strategy, "evictionStrategy is None"},
    {"a strategy of tomorrow",
     [](auto& one) {
         one.strategy = EvictionStrategy::none;
         one.strategy_said = "Teleport";
     },
     ProtectionVerdict::strategy, "evictionStrategy is Teleport, which nobody knows"},
    {"somebody else moves it", [](auto& one) { one.strategy = EvictionStrategy::external; },
     ProtectionVerdict::strategy, "somebody else has to move it"},
    {"not migratable",
     [](auto& one) {
         one.migratable = false;
         one.not_migratable = "DisksNotLiveMigratable";
     },
     ProtectionVerdict::not_migratable, "DisksNotLiveMigratable"},
    {"KubeVirt has not said", [](auto& one) { one.migratable.reset(); }, ProtectionVerdict::unknown,
     "LiveMigratable"},
    {"nobody is asked", [](auto& one) { one.no_hook = "no gate"; }, ProtectionVerdict::no_hook,
     "no gate"},
    {"what the VM is comes before what is around it",
     [](auto& one) {
         one.no_hook = "no gate";
         one.migratable = false;
         one.not_migratable = "HostDevices";
     },
     ProtectionVerdict::not_migratable, "HostDevices"},
    {"something is not known", [](auto& one) { one.missing = "no KubeVirt object"; },
     ProtectionVerdict::unknown, "no KubeVirt object"},
    {"its size is not known", [](auto& one) { one.subject.memory = 0; }, ProtectionVerdict::unknown,
     "does not tell its memory"},
    {"too big for its time",
     [](auto& one) { one.subject.memory = *(one.subject.resident = 64 * gib); },
     ProtectionVerdict::too_big, "at best a move takes 71 s, and"},
    {"the same, with more time",
     [](auto& one) {
         one.subject.memory = *(one.subject.resident = 64 * gib);
         one.subject.times.launcher_grace = 1200s;
         one.subject.times.pod_grace = 1215s;
     },
     ProtectionVerdict::guarded, "a move takes 690 s at worst"},
    {"begun, though it is not expected to end",
     [](auto& one) { one.subject.memory = *(one.subject.resident = 20 * gib); },
     ProtectionVerdict::guarded, "but it is expected that it takes 45 s"},
    {"given up by KubeVirt before it ends",
     [](auto& one) { one.subject.settings.bandwidth = Quantity{1'000'000}; },
     ProtectionVerdict::too_big, "is given up by KubeVirt after"},
    {"writes faster than is copied, without a limit",
     [](auto& one) {
         one.subject.dirty_rate = 2'000'000'000;
         one.subject.settings.completion_per_gib = 0s;
     },
     ProtectionVerdict::too_big, "the guest writes faster than is copied"},
    {"the pod's grace is less than the launcher's",
     [](auto& one) {
         one.subject.times.launcher_grace = 600s;
         one.subject.times.pod_grace = 12s;
     },
     ProtectionVerdict::too_big, "its pod is killed after 12 s"},
    {"its kubelet knows only hard thresholds", [](auto& one) { one.kubelet = KubeletGraces{}; },
     ProtectionVerdict::too_big, "the kubelet gives it 1 s"},
    {"its kubelet waits at a shutdown alone",
     [](auto& one) { one.kubelet = {.soft = 0s, .shutdown = 300s}; }, ProtectionVerdict::guarded,
     "at a threshold of the kubelet it is killed at once"},
    {"its kubelet waits at soft thresholds alone",
     [](auto& one) { one.kubelet = {.soft = 300s, .shutdown = {}}; }, ProtectionVerdict::guarded,
     "when its node shuts down the kubelet waits for no pod"},
    {"virt-handler stops with it at a shutdown",
     [](auto& one) { one.kubelet = {.soft = 300s, .shutdown = 50s, .handler_stops = true}; },
     ProtectionVerdict::guarded,
     "when its node shuts down it has 50 s, in which nothing is moved, for virt-handler stops too"},
    {"the same, and it is evicted at hard thresholds alone",
     [](auto& one) { one.kubelet = {.soft = {}, .shutdown = 300s, .handler_stops = true}; },
     ProtectionVerdict::too_big, "the kubelet gives it 1 s"},
    {"its kubelet has a soft threshold of something else",
     [](auto& one) {
         one.kubelet = {
             .soft = 300s,
             .shutdown = 300s,
             .hard_alone = {PressureSignal::memory_available, PressureSignal::pid_available}};
     },
     ProtectionVerdict::guarded, "killed at once for want of memory.available, pid.available"},
};

TEST(VmProtectionTest, WhatDecidesIsNamed) {
    for (const auto& row : what_decides) {
        SCOPED_TRACE(row.what);
        auto facts = movable();
        row.change(facts);

        const auto answer = judge_protection(facts, gigabyte_a_second);

        EXPECT_EQ(answer.verdict, row.verdict) << to_string(answer.verdict) << ": " << answer.why;
        EXPECT_THAT(answer.why, HasSubstr(row.why));
        EXPECT_EQ(answer.forecast.has_value(), facts.subject.memory > 0);
    }
}

TEST(VmProtectionTest, IsBegunWhereTheAgentWouldBeginIt) {
    for (std::uint64_t memory = 1; memory <= 128; memory *= 2) {
        auto facts = movable();
        facts.subject.memory = memory * gib;
        facts.subject.resident = facts.subject.memory;

        const auto answer = judge_protection(facts, gigabyte_a_second);
        const auto outlook = outlook_of(facts.subject, gigabyte_a_second);

        EXPECT_EQ(answer.budget, outlook.budget);
        EXPECT_EQ(answer.verdict == ProtectionVerdict::guarded,
                  outlook.duration &&
                      *outlook.duration <= outlook.budget.ends - facts.reserve - outlook.abort_time)
            << memory;
    }
}

TEST(VmProtectionTest, MoreIsNeededForMoreMemoryAndWorseLinks) {
    auto facts = movable();
    const auto little = judge_protection(facts, gigabyte_a_second);
    ASSERT_TRUE(little.forecast && little.needed);
    EXPECT_LT(little.forecast->optimistic.duration, little.forecast->expected.duration);
    EXPECT_LT(little.forecast->expected.duration, little.forecast->pessimistic.duration);
    EXPECT_EQ(*little.needed, 24s) << "2 s, 8.6 s at half the bandwidth, and 3 s and 10 s";

    facts.subject.memory = 64 * gib;
    facts.subject.resident = facts.subject.memory;
    const auto much = judge_protection(facts, gigabyte_a_second);
    ASSERT_TRUE(much.needed);
    facts.subject.times.launcher_grace = much.needed;
    facts.subject.times.pod_grace = *much.needed + 15s;
    const auto raised = judge_protection(facts, gigabyte_a_second);
    EXPECT_EQ(raised.verdict, ProtectionVerdict::guarded) << "what is needed is enough";
    EXPECT_LE(raised.forecast->expected.duration, raised.left());

    facts.subject.settings.bandwidth = Quantity{1'000'000};
    EXPECT_FALSE(judge_protection(facts, gigabyte_a_second).needed) << "time would not help";
}

/// 16 GiB, of which KubeVirt gives the move up halfway.
ProtectionFacts given_up_early(Escalation escalation) {
    auto facts = movable();
    facts.subject.memory = 16 * gib;
    facts.subject.resident = facts.subject.memory;
    facts.subject.settings.completion_per_gib = 1s;
    facts.subject.escalation = escalation;
    return facts;
}
constexpr MoveAssumptions slow_link{.bandwidth = 640'000'000, .setup = 2s};

TEST(VmProtectionTest, WhatEscalationSavesIsGuardedAndSaysSo) {
    const auto without = judge_protection(given_up_early(Escalation::none), slow_link);
    EXPECT_EQ(without.verdict, ProtectionVerdict::too_big);
    EXPECT_FALSE(without.escalated);

    const auto facts = given_up_early(Escalation::pause);
    const auto with = judge_protection(facts, slow_link);

    EXPECT_EQ(with.verdict, ProtectionVerdict::guarded) << with.why;
    EXPECT_THAT(with.why, HasSubstr("is given up by KubeVirt"));
    EXPECT_THAT(with.why, HasSubstr("with pause, which evacuation.escalation allows, it takes"));
    ASSERT_TRUE(with.escalated);
    EXPECT_EQ(with.duration(), with.escalated->duration);
    auto subject = facts.subject;
    subject.left = with.left();
    EXPECT_EQ(with.escalated, outlook_of(subject, slow_link).escalated) << "as is decided then";
}

TEST(VmProtectionTest, EscalationThatCannotBeSavesNothing) {
    auto facts = given_up_early(Escalation::pause);
    facts.escalation_refused = "policy gold forbids pause";
    const auto refused = judge_protection(facts, slow_link);
    EXPECT_EQ(refused.verdict, ProtectionVerdict::too_big);
    EXPECT_THAT(refused.why, HasSubstr("with pause it would end in time, but policy gold"));

    facts = given_up_early(Escalation::pause);
    facts.subject.handed_off = true;
    const auto late = judge_protection(facts, slow_link);
    EXPECT_EQ(late.verdict, ProtectionVerdict::too_big) << "it keeps to what it was handed off by";
    EXPECT_THAT(late.why, testing::Not(HasSubstr("pause")));
}

TEST(VmProtectionTest, TheKubeletsTimeIsThatOfItsBestWay) {
    EXPECT_EQ(longest_grace({}, 60s), 1s);
    EXPECT_EQ(longest_grace({.soft = 300s, .shutdown = {}}, 60s), 60s) << "the pod's own";
    EXPECT_EQ(longest_grace({.soft = 30s, .shutdown = {}}, 60s), 30s);
    EXPECT_EQ(longest_grace({.soft = 0s, .shutdown = 20s}, 60s), 20s);
    EXPECT_EQ(longest_grace({.soft = -5s, .shutdown = -5s}, 60s), 1s);
}

TEST(VmProtectionTest, VerdictsHaveWords) {
    for (std::size_t i = 0; i < protection_verdicts; ++i) {
        const auto verdict = static_cast<ProtectionVerdict>(i);
        EXPECT_EQ(protection_verdict_named(to_string(verdict)), verdict);
    }
    EXPECT_EQ(protection_verdict_named("safe"), ProtectionVerdict::unknown);
}

}  // namespace
}  // namespace scout::migration
