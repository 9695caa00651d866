// SPDX-License-Identifier: Apache-2.0
// A move that is let use more than its policy allows.
#include <gmock/gmock.h>

#include "tests/migration/evacuation_fixture.h"

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using State = EvacuationState;
using Step = EvacuationStep;
using testing::HasSubstr;

class EvacuationEscalationTest : public EvacuationFixture {
protected:
    /// It ends in ten seconds with more, and not at all without.
    static Outlook needing_more() {
        auto made = moved_in(std::nullopt);
        made.escalated = EscalatedMove{.duration = 10s, .completion_per_gib = 2s};
        return made;
    }
};

TEST_F(EvacuationEscalationTest, ItsPolicyIsThereBeforeTheMoveIsAskedFor) {
    mark(needing_more());
    expect_read(movable());
    expect_list({});
    expect(Step::escalate, StepOutcome::done, "2");
    expect(Step::dry_run, StepOutcome::done);
    expect(Step::evict, StepOutcome::done);
    EXPECT_EQ(machine.state(), State::held);
    EXPECT_TRUE(vetoes());
}

TEST_F(EvacuationEscalationTest, WhatFitsWithoutIsNotEscalated) {
    auto both = needing_more();
    both.duration = 5s;
    mark(both);
    expect_read(movable());
    expect_list({});
    expect(Step::dry_run, StepOutcome::done);
}

TEST_F(EvacuationEscalationTest, RefusedItIsGivenUp) {
    mark(needing_more());
    expect_read(movable());
    expect_list({});
    expect(Step::escalate, StepOutcome::refused, "2");
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_THAT(machine.reason(), HasSubstr("does not end"));
}

TEST_F(EvacuationEscalationTest, UnansweredItIsTriedAgainAndNothingElseMeanwhile) {
    mark(needing_more());
    expect_read(movable());
    expect_list({});
    expect(Step::escalate, StepOutcome::unavailable, "2");
    EXPECT_FALSE(next());
    pass(250ms);
    expect(Step::escalate, StepOutcome::done, "2");
}

TEST_F(EvacuationEscalationTest, OneThatSomebodyElseBeganIsEscalatedBeforeItIsHandedOff) {
    mark(needing_more());
    expect_read(movable());
    const auto list = next();
    ASSERT_TRUE(list);
    machine.saw_moves({{.name = "k-1", .phase = MovePhase::scheduling}}, now);
    ASSERT_EQ(machine.state(), State::moving);
    expect(Step::escalate, StepOutcome::done, "2");
    EXPECT_FALSE(next());
    EXPECT_EQ(machine.state(), State::moving);
}

/// KubeVirt looks for policies at the hand-off alone.
TEST_F(EvacuationEscalationTest, OneThatWasHandedOffIsNot) {
    mark(needing_more());
    expect_read(movable());
    expect_list({{.name = "k-1", .phase = MovePhase::prepared, .target_pod = "p-1"}});
    EXPECT_EQ(machine.state(), State::given_up);
    expect(Step::delete_target, StepOutcome::done, "p-1");
}

/// The watch of its VMI tells so before that of its migrations, or the other way round.
TEST_F(EvacuationEscalationTest, OneWhoseVmiWasHandedOffIsNot) {
    auto handed_off = movable();
    handed_off.handed_off = true;
    mark(needing_more());
    expect_read(movable());
    const auto list = next();
    ASSERT_TRUE(list);
    machine.saw_moves({{.name = "k-1", .phase = MovePhase::scheduling}}, now);
    machine.saw_vmi(handed_off, now);
    EXPECT_EQ(machine.state(), State::given_up);
    expect(Step::delete_move, StepOutcome::done, "k-1");
}

/// Its policy came after the hand-off: the numbers of the move are without it.
TEST_F(EvacuationEscalationTest, WhatCameTooLateIsNotCountedOn) {
    mark(needing_more());
    expect_read(movable());
    const auto list = next();
    ASSERT_TRUE(list);
    machine.saw_moves({{.name = "k-1", .phase = MovePhase::scheduling}}, now);
    expect(Step::escalate, StepOutcome::done, "2");
    moves({{.name = "k-1", .phase = MovePhase::prepared, .target_pod = "p-1"}});
    EXPECT_EQ(machine.state(), State::moving) << "it is not known yet";
    auto handed_off = movable();
    handed_off.handed_off = true;
    machine.saw_vmi(handed_off, now);
    EXPECT_EQ(machine.state(), State::given_up);
    EXPECT_THAT(machine.reason(), HasSubstr("does not end"));
}

TEST_F(EvacuationEscalationTest, WhoeverMovesAnExternalOneDecidesHow) {
    mark(needing_more());
    auto external = movable();
    external.strategy = EvictionStrategy::external;
    expect_read(external);
    expect_list({});
    expect(Step::dry_run, StepOutcome::done);
}

TEST_F(EvacuationEscalationTest, AfterOneThatFailedWithItThereIsNoOther) {
    mark(needing_more());
    expect_read(movable());
    expect_list({});
    expect(Step::escalate, StepOutcome::done, "2");
    expect(Step::dry_run, StepOutcome::done);
    expect(Step::evict, StepOutcome::done);
    kubevirt_marks();
    moves({{.name = "k-1", .phase = MovePhase::scheduling}});
    moves({{.name = "k-1", .phase = MovePhase::failed}});
    pass(1s);
    machine.saw_outlook(needing_more(), now);
    EXPECT_EQ(machine.state(), State::given_up);
}

}  // namespace
}  // namespace scout::migration
