// SPDX-License-Identifier: Apache-2.0
#include "agent/evacuation_messages.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/report_messages.h"

namespace scout::agent {
namespace {

namespace v1 = virt_scout::v1;
using namespace std::chrono_literals;
using migration::StepOutcome;

TEST(EvacuationMessagesTest, LinesAndOrdersGoOutInTheirWords) {
    EvacuationsMessage told;
    told.lines.push_back({.space = "shop",
                          .vmi = "a",
                          .vmi_uid = "u",
                          .pod_uid = "p",
                          .state = migration::EvacuationState::given_up,
                          .reason = "no \xff time " + std::string(2000, 'x'),
                          .stop_by = WallTime{1234ms}});
    const auto message = to_wire(Message{told}).evacuations();
    ASSERT_EQ(message.evacuations_size(), 1);
    const auto& line = message.evacuations(0);
    EXPECT_EQ(line.namespace_(), "shop");
    EXPECT_EQ(line.vmi(), "a");
    EXPECT_EQ(line.vmi_uid(), "u");
    EXPECT_EQ(line.pod_uid(), "p");
    EXPECT_EQ(line.state(), "given-up");
    EXPECT_EQ(line.reason().substr(0, 9), "no ? time");
    EXPECT_LE(line.reason().size(), 1024U);
    EXPECT_EQ(line.stop_by_unix_ms(), 1234);

    const EvacuationOrderMessage asked{
        .id = 7, .vmi_uid = "u", .order = {migration::EvacuationStep::delete_target, "pod-1"}};
    const auto order = to_wire(Message{asked}).evacuation_order();
    EXPECT_EQ(order.id(), 7U);
    EXPECT_EQ(order.vmi_uid(), "u");
    EXPECT_EQ(order.step(), "delete-target");
    EXPECT_EQ(order.object(), "pod-1");
}

TEST(EvacuationMessagesTest, NoMoreLinesThanAnAggregatorTakes) {
    EvacuationsMessage told;
    told.lines.resize(evacuations_limit + 5);
    EXPECT_EQ(to_wire(told).evacuations_size(), static_cast<int>(evacuations_limit));
}

TEST(EvacuationMessagesTest, RulesComeInAndUnknownModesAreOff) {
    v1::AggregatorMessage message;
    auto& rules = *message.mutable_evacuation_rules();
    rules.set_mode(v1::EvacuationRules::MODE_ACT);
    rules.set_stamp(true);
    rules.set_eviction_strategy("LiveMigrate");
    rules.set_reserve_seconds(12);
    rules.set_patience_seconds(std::numeric_limits<std::uint32_t>::max());
    rules.set_escalation("pause");
    const auto request = from_wire(message);
    ASSERT_TRUE(request);
    const auto& taken = std::get<EvacuationRules>(*request);
    EXPECT_EQ(taken.mode, EvacuationMode::act);
    EXPECT_TRUE(taken.stamp);
    EXPECT_EQ(taken.eviction_strategy, "LiveMigrate");
    EXPECT_EQ(taken.reserve, 12s);
    EXPECT_EQ(taken.patience, 1h);
    EXPECT_EQ(taken.escalation, migration::Escalation::pause);
    rules.set_escalation("everything");
    EXPECT_EQ(from_wire(rules).escalation, migration::Escalation::none);

    rules.set_mode(v1::EvacuationRules::MODE_OBSERVE);
    EXPECT_EQ(from_wire(rules).mode, EvacuationMode::observe);
    for (const int odd : {0, 1, 99}) {
        rules.set_mode(static_cast<v1::EvacuationRules::Mode>(odd));
        EXPECT_EQ(from_wire(rules).mode, EvacuationMode::off) << odd;
    }
}

v1::EvacuationFacts facts_of_u() {
    v1::EvacuationFacts facts;
    facts.set_vmi_uid("u");
    auto& vmi = *facts.mutable_vmi();
    vmi.set_uid("u");
    vmi.set_phase("Running");
    vmi.set_node("n1");
    vmi.set_marked_node("n1");
    vmi.set_eviction_strategy("External");
    vmi.set_migratable(true);
    vmi.set_grace_seconds(30);
    vmi.set_node_gone(true);
    vmi.set_handed_off(true);
    auto& move = *facts.add_moves();
    move.set_name("k-1");
    move.set_phase("TargetReady");
    move.set_target_pod("t");
    facts.set_moves_known(true);
    auto& pod = *facts.mutable_pod();
    pod.set_phase("Failed");
    pod.set_deletion_grace_seconds(5);
    auto& numbers = *facts.mutable_numbers();
    numbers.set_allow_post_copy(true);
    numbers.set_bandwidth(64U << 20U);
    numbers.set_completion_seconds_per_gib(150);
    numbers.set_max_downtime_ms(900);
    numbers.set_escalated(true);
    numbers.set_disk_bytes(100U << 20U);
    numbers.set_counted_disk_bytes(20U << 20U);
    facts.set_slots(5);
    facts.set_next_evacuation_unix_ms(1'700'000'000'500);
    return facts;
}

TEST(EvacuationMessagesTest, FactsComeIn) {
    const auto taken = from_wire(facts_of_u());

    ASSERT_TRUE(taken.vmi);
    EXPECT_EQ(taken.vmi->facts.strategy, migration::EvictionStrategy::external);
    EXPECT_EQ(taken.vmi->facts.marked_node, "n1");
    EXPECT_EQ(taken.vmi->grace, 30s);
    EXPECT_TRUE(taken.vmi->facts.node_gone);
    EXPECT_TRUE(taken.vmi->facts.handed_off);
    ASSERT_TRUE(taken.moves);
    ASSERT_EQ(taken.moves->size(), 1U);
    EXPECT_EQ(taken.moves->front().phase, migration::MovePhase::prepared);
    EXPECT_EQ(taken.moves->front().target_pod, "t");
    ASSERT_TRUE(taken.pod);
    EXPECT_EQ(taken.pod->phase, "Failed");
    EXPECT_EQ(taken.pod->deletion_grace, 5s);
    EXPECT_EQ(taken.pod->grace, std::nullopt);
    EXPECT_TRUE(taken.numbers.allow_post_copy);
    EXPECT_TRUE(taken.escalated);
    EXPECT_EQ(taken.disks, (migration::CopiedDisks{
                               .bytes = {.least = 0, .likely = 100U << 20U, .most = 100U << 20U},
                               .counted = 20U << 20U}));
    EXPECT_EQ(taken.numbers.bandwidth.rounded_down(), 64U << 20U);
    EXPECT_EQ(taken.downtime, 900ms);
    EXPECT_EQ(taken.slots, 5U);
    EXPECT_EQ(taken.next_evacuation, WallTime{1'700'000'000'500ms});
}

TEST(EvacuationMessagesTest, WhatIsNotToldIsNotKnown) {
    const auto taken = from_wire(v1::EvacuationFacts{});
    EXPECT_FALSE(taken.vmi);
    EXPECT_FALSE(taken.moves);
    EXPECT_FALSE(taken.pod);
    EXPECT_FALSE(taken.downtime);
    EXPECT_EQ(taken.slots, 1U);
    EXPECT_FALSE(taken.next_evacuation);
    EXPECT_EQ(taken.numbers, migration::MigrationSettings{});
    EXPECT_EQ(taken.disks, migration::CopiedDisks{});
    v1::EvacuationFacts unknown;
    unknown.mutable_vmi()->set_eviction_strategy("Sideways");
    EXPECT_EQ(from_wire(unknown).vmi->facts.strategy, migration::EvictionStrategy::none);
}

TEST(EvacuationMessagesTest, NumbersBeyondReasonAreBroughtIntoRange) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    v1::EvacuationFacts facts;
    facts.mutable_vmi()->set_grace_seconds(least);
    facts.mutable_pod()->set_grace_seconds(most);
    facts.mutable_pod()->set_launcher_grace_seconds(least);
    facts.mutable_numbers()->set_completion_seconds_per_gib(most);
    facts.mutable_numbers()->set_progress_seconds(least);
    facts.mutable_numbers()->set_max_downtime_ms(most);
    facts.set_next_evacuation_unix_ms(most);
    const auto taken = from_wire(facts);
    EXPECT_LT(*taken.next_evacuation, WallTime{std::chrono::hours{24 * 366 * 50'000}});
    EXPECT_EQ(taken.vmi->grace, 0s);
    EXPECT_EQ(taken.pod->launcher_grace, 0s);
    EXPECT_LE(*taken.pod->grace, std::chrono::hours{24 * 366 * 31});
    EXPECT_LE(taken.numbers.completion_per_gib, std::chrono::hours{24 * 366 * 31});
    EXPECT_EQ(taken.numbers.progress, 0s);
    EXPECT_LT(*taken.downtime, std::chrono::hours{24 * 366});
}

TEST(EvacuationMessagesTest, MoreMigrationsThanTheLimitAreNotKnown) {
    v1::EvacuationFacts facts;
    v1::EvacuationResult result;
    result.set_outcome(v1::EvacuationResult::DONE);
    for (std::size_t i = 0; i <= moves_limit; ++i) {
        facts.add_moves();
        result.add_moves();
    }
    facts.set_moves_known(true);
    EXPECT_FALSE(from_wire(facts).moves);
    EXPECT_EQ(from_wire(result).outcome, StepOutcome::unavailable);
}

TEST(EvacuationMessagesTest, AnIllGuestIsToldWithItsVmi) {
    v1::EvacuationResult result;
    result.set_outcome(v1::EvacuationResult::DONE);
    result.set_liveness_kill(true);
    EXPECT_FALSE(from_wire(result).liveness_kill);
    result.mutable_vmi()->set_uid("u");
    EXPECT_TRUE(from_wire(result).liveness_kill);
}

TEST(EvacuationMessagesTest, EveryOutcomeHasItsWord) {
    const std::vector<std::pair<int, StepOutcome>> all{
        {0, StepOutcome::unavailable}, {1, StepOutcome::done},    {2, StepOutcome::undone},
        {3, StepOutcome::would_evict}, {4, StepOutcome::refused}, {5, StepOutcome::unavailable},
        {77, StepOutcome::unavailable}};
    for (const auto& [word, outcome] : all) {
        v1::EvacuationResult result;
        result.set_id(3);
        result.set_outcome(static_cast<v1::EvacuationResult::Outcome>(word));
        result.set_text("so");
        EXPECT_EQ(from_wire(result).outcome, outcome) << word;
        EXPECT_EQ(from_wire(result).id, 3U);
        EXPECT_EQ(from_wire(result).text, "so");
        EXPECT_FALSE(from_wire(result).vmi);
    }
}

}  // namespace
}  // namespace scout::agent
