// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/migration/evacuation_fixture.h"

/// After evacuations that failed KubeVirt begins the next one later (dossier §6.5): where that is
/// too late one of ours, which waits for nothing, takes its place.
namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using State = EvacuationState;
using Step = EvacuationStep;

class EvacuationReplacingTest : public EvacuationFixture {
protected:
    static MoveFacts waiting(const char* name = "k-2") {
        return {.name = name, .phase = MovePhase::pending, .backs_off = true};
    }
    [[nodiscard]] Outlook outlook_with_back_off(std::chrono::seconds until) const {
        auto made = outlook();
        made.next_evacuation = now + until;
        return made;
    }
    /// Marked by KubeVirt, whose next migration of it would begin in 60 s: 28 s too late.
    void wait_too_long(EvictionStrategy strategy = EvictionStrategy::live_migrate) {
        mark(outlook_with_back_off(60s));
        auto facts = movable();
        facts.marked_node = "n1";
        facts.strategy = strategy;
        expect_read(facts);
        expect_list({waiting()});
    }
    void kubevirt_unmarks() { machine.saw_vmi(movable(), now); }
    /// Cancelled and deleted, and both are seen.
    void make_room() {
        expect(Step::cancel_mark, StepOutcome::done);
        kubevirt_unmarks();
        expect(Step::delete_move, StepOutcome::done, "k-2");
        moves({});
    }
};

TEST_F(EvacuationReplacingTest, MarkIsCancelledTheMigrationDeletedAndOneOfOursMade) {
    wait_too_long();
    EXPECT_EQ(machine.state(), State::held);
    EXPECT_THAT(machine.reason(), HasSubstr("virt-scout's own takes its place"));
    EXPECT_TRUE(vetoes());
    expect(Step::cancel_mark, StepOutcome::done);
    EXPECT_FALSE(next()) << "the mark is still seen: KubeVirt would make another one";
    kubevirt_unmarks();
    expect(Step::delete_move, StepOutcome::done, "k-2");
    EXPECT_FALSE(next()) << "it is still there: a second one would be refused";
    moves({});
    expect(Step::create_move, StepOutcome::done);
    EXPECT_FALSE(next());
    moves({{.name = "ours", .phase = MovePhase::running}});
    EXPECT_EQ(machine.state(), State::moving);
    auto moved = movable();
    moved.node = "n2";
    machine.saw_vmi(moved, now);
    EXPECT_EQ(machine.state(), State::moved);
}

TEST_F(EvacuationReplacingTest, WhatWasTakenBackForItIsTakenBackAnewWhenOursDoesNotEnd) {
    wait_too_long();
    make_room();
    expect(Step::create_move, StepOutcome::done);
    moves({{.name = "ours", .phase = MovePhase::running}});
    kubevirt_marks();
    pass(32s);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "ours");
    EXPECT_EQ(machine.state(), State::given_up);
}

/// By what it took before the next ones of the node are planned.
TEST_F(EvacuationReplacingTest, WhatWasDeletedForItIsNoAbort) {
    wait_too_long();
    make_room();
    expect(Step::create_move, StepOutcome::done);
    moves({{.name = "ours", .phase = MovePhase::running}});
    migrating();
    pass(10s);
    moves({{.name = "ours", .phase = MovePhase::failed}});
    migrating(false);
    EXPECT_EQ(machine.abort_took(), std::nullopt) << "it failed by itself";
    EXPECT_EQ(machine.state(), State::held);
    pass(5s);
    expect(Step::create_move, StepOutcome::done);
    moves({{.name = "ours-2", .phase = MovePhase::running}});
    migrating();
    pass(17s);
    expect(Step::delete_move, StepOutcome::done, "ours-2");
    pass(2s);
    migrating(false);
    EXPECT_EQ(machine.abort_took(), 2s);
}

/// KubeVirt needs no mark on a node with its drain taint, and makes another one at once.
TEST_F(EvacuationReplacingTest, WhereKubeVirtNeedsNoMarkTheStopGoesOnAtTheSecondOne) {
    mark(outlook_with_back_off(60s));
    expect_read(movable());
    expect_list({waiting()});
    expect(Step::delete_move, StepOutcome::done, "k-2");
    moves({waiting("k-3")});
    expect(Step::delete_move, StepOutcome::done, "k-3");
    moves({waiting("k-4")});
    EXPECT_FALSE(vetoes());
    expect_list({waiting("k-4")});
    EXPECT_EQ(machine.state(), State::released) << "what waits in Pending is in nobody's way";
}

TEST_F(EvacuationReplacingTest, OneThatBeginsWhileItIsDeletedIsNotFollowed) {
    wait_too_long();
    expect(Step::cancel_mark, StepOutcome::done);
    kubevirt_unmarks();
    expect(Step::delete_move, StepOutcome::done, "k-2");
    moves({{.name = "k-2", .phase = MovePhase::scheduling, .backs_off = true}});
    EXPECT_EQ(machine.state(), State::held);
    moves({{.name = "k-2", .phase = MovePhase::failed, .deleting = true, .backs_off = true}});
    EXPECT_EQ(machine.state(), State::held) << "that is our doing, and nobody's wish";
    expect(Step::create_move, StepOutcome::done);
}

TEST_F(EvacuationReplacingTest, WhereTheMarkCannotBeCancelledTheStopGoesOn) {
    wait_too_long();
    expect(Step::cancel_mark, StepOutcome::refused);
    EXPECT_THAT(machine.reason(), HasSubstr("KubeVirt begins its next evacuation too late"));
    EXPECT_FALSE(vetoes());
    expect_list({waiting()});
    EXPECT_EQ(machine.state(), State::released) << "what waits in Pending is in nobody's way";
}

TEST_F(EvacuationReplacingTest, WhereItIsMarkedAgainAndAgainTheStopGoesOnSoon) {
    wait_too_long();
    make_room();
    moves({waiting("k-3")});
    kubevirt_marks();
    EXPECT_EQ(machine.wake(now), now + 5s);
    EXPECT_FALSE(next());
    pass(5s);
    EXPECT_FALSE(vetoes());
    EXPECT_THAT(machine.reason(), HasSubstr("KubeVirt begins its next evacuation too late"));
}

TEST_F(EvacuationReplacingTest, OneThatKubeVirtBeginsAllTheSameIsFollowed) {
    wait_too_long();
    moves({{.name = "k-2", .phase = MovePhase::scheduling, .backs_off = true}});
    EXPECT_EQ(machine.state(), State::moving);
    EXPECT_THAT(machine.reason(), HasSubstr("k-2"));
    EXPECT_FALSE(next());
}

TEST_F(EvacuationReplacingTest, NothingIsReplacedThatOursWouldNotDoInTime) {
    auto made = outlook_with_back_off(60s);
    made.duration = 33s;
    mark(made);
    auto facts = movable();
    facts.marked_node = "n1";
    expect_read(facts);
    EXPECT_NE(machine.state(), State::held);
    EXPECT_THAT(machine.reason(), HasSubstr("needs 33.0 s"));
}

TEST_F(EvacuationReplacingTest, AnOwnersMarkAndMigrationAreHisOwn) {
    wait_too_long(EvictionStrategy::external);
    EXPECT_EQ(machine.state(), State::moving);
    EXPECT_FALSE(next());
}

/// KubeVirt's next one would follow after twenty seconds.
TEST_F(EvacuationReplacingTest, AfterAFailureOneOfOursFollowsWhereKubeVirtsWouldBeTooLate) {
    on_its_way(MovePhase::running);
    pass(15s);
    machine.saw_outlook(outlook_with_back_off(20s), now);
    moves({{.name = "k-1", .phase = MovePhase::failed, .backs_off = true}});
    EXPECT_EQ(machine.state(), State::held);
    expect(Step::cancel_mark, StepOutcome::done);
    moves({{.name = "k-1", .phase = MovePhase::failed, .backs_off = true}, waiting()});
    kubevirt_unmarks();
    expect(Step::delete_move, StepOutcome::done, "k-2");
    moves({{.name = "k-1", .phase = MovePhase::failed, .backs_off = true}});
    expect(Step::create_move, StepOutcome::done);
    moves({{.name = "ours", .phase = MovePhase::running}});
    moves({{.name = "ours", .phase = MovePhase::failed}});
    EXPECT_EQ(machine.state(), State::held) << "and after that another one, as long as it fits";
    pass(5s);
    expect(Step::create_move, StepOutcome::done);
}

}  // namespace
}  // namespace scout::migration
