// SPDX-License-Identifier: Apache-2.0
// From the mark until the VM is asked to be moved, and what keeps that from being done.
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <gmock/gmock.h>

#include "tests/migration/evacuation_fixture.h"

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using State = EvacuationState;
using Step = EvacuationStep;
using testing::HasSubstr;

class EvacuationTest : public EvacuationFixture {};

TEST_F(EvacuationTest, WithoutAMarkNothingIsAskedAndNothingHeld) {
    machine.saw_launcher({.alive = true}, now);
    machine.saw_vmi(movable(), now);
    EXPECT_EQ(machine.state(), State::idle);
    EXPECT_FALSE(next());
    EXPECT_FALSE(machine.wake(now));
    EXPECT_FALSE(vetoes());
}

/// Case 33.
TEST_F(EvacuationTest, AMarkWithoutDeletionIsHeldAndMovedOnce) {
    mark();
    EXPECT_THAT(machine.answer(now).why, HasSubstr("deciding"));
    expect_read(movable());
    EXPECT_EQ(machine.state(), State::held);
    EXPECT_THAT(machine.answer(now).why, HasSubstr("may stop in 35.0 s at the latest"));
    expect_list({});
    expect(Step::dry_run, StepOutcome::done);
    expect(Step::evict, StepOutcome::done);
    EXPECT_FALSE(next());
    kubevirt_marks();
    moves({{.name = "k-1", .phase = MovePhase::running, .target_pod = "p-1"}});
    EXPECT_EQ(machine.state(), State::moving);
    EXPECT_TRUE(vetoes());
    auto there = movable();
    there.node = "n2";
    machine.saw_vmi(there, now);
    EXPECT_EQ(machine.state(), State::moved);
    EXPECT_EQ(machine.reason(), "it runs on n2");
    EXPECT_FALSE(vetoes());
    EXPECT_FALSE(next());
}

/// Case 33: the cached copy does not show it yet.
TEST_F(EvacuationTest, DeletedInTheApiItIsReleasedWhenTheReadHasAnswered) {
    mark();
    machine.saw_vmi(movable(), now);
    EXPECT_TRUE(vetoes());
    auto deleting = movable();
    deleting.deleting = true;
    expect_read(deleting);
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_FALSE(vetoes());
    expect(Step::touch, StepOutcome::done);
    EXPECT_FALSE(next());
}

TEST_F(EvacuationTest, AVmiOfTheSameNameIsAnotherOne) {
    mark();
    auto other = movable();
    other.uid = "another";
    machine.saw_vmi(other, now);
    EXPECT_EQ(machine.state(), State::suspected);
    expect_read(other);
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_THAT(machine.reason(), HasSubstr("gone"));
}

TEST_F(EvacuationTest, WithoutAnAnswerThePayloadDecidesAndNothingIsAskedForBeforeOne) {
    mark();
    machine.saw_vmi(movable(), now);
    expect(Step::read_vmi, StepOutcome::unavailable);
    EXPECT_EQ(machine.state(), State::held);
    EXPECT_FALSE(next());
    pass(250ms);
    expect(Step::read_vmi, StepOutcome::unavailable);
    EXPECT_EQ(machine.wake(now), now + 500ms);
    pass(500ms);
    expect_read(movable());
    expect_list({});
    expect(Step::dry_run, StepOutcome::done);
}

struct NotMoved {
    const char* name;
    EvictionStrategy strategy;
    bool migratable;
    const char* reason;
};
class NotMovedTest : public EvacuationTest, public testing::WithParamInterface<NotMoved> {};

TEST_P(NotMovedTest, IsReleasedAtOnce) {
    mark();
    auto facts = movable();
    facts.strategy = GetParam().strategy;
    facts.migratable = GetParam().migratable;
    facts.not_migratable = GetParam().migratable ? "" : "DisksNotLiveMigratable";
    expect_read(facts);
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_THAT(machine.reason(), HasSubstr(GetParam().reason));
    EXPECT_FALSE(vetoes());
    EXPECT_FALSE(next()) << "nothing was held, so nothing is to be hurried";
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, NotMovedTest,
    testing::Values(NotMoved{"None", EvictionStrategy::none, true, "strategy is None"},
                    NotMoved{"LiveMigrate", EvictionStrategy::live_migrate, false,
                             "DisksNotLiveMigratable"},
                    NotMoved{"IfPossible", EvictionStrategy::live_migrate_if_possible, false,
                             "DisksNotLiveMigratable"}),
    [](const auto& row) { return row.param.name; });

TEST_F(EvacuationTest, ExternalIsMarkedAndHeldAndMovedBySomebodyElse) {
    mark(moved_in(std::nullopt));
    auto facts = movable();
    facts.strategy = EvictionStrategy::external;
    facts.migratable = false;
    expect_read(facts);
    expect_list({});
    expect(Step::dry_run, StepOutcome::done);
    expect(Step::evict, StepOutcome::done);
    EXPECT_FALSE(next());
    EXPECT_TRUE(vetoes());
    pass(32s);
    EXPECT_FALSE(vetoes());
    // The mark is for who moves it; it goes with the VMI.
    expect_list({});
    expect(Step::touch, StepOutcome::done);
}

TEST_F(EvacuationTest, ExternalThatNobodyCanMarkIsLetGo) {
    mark();
    auto facts = movable();
    facts.strategy = EvictionStrategy::external;
    expect_read(facts);
    expect_list({});
    expect(Step::dry_run, StepOutcome::would_evict);
    EXPECT_EQ(machine.state(), State::released);
}

TEST_F(EvacuationTest, ItIsOnlyLookedAtWhereNothingIsToBeDone) {
    auto observing = settings();
    observing.act = false;
    use(observing);
    mark();
    expect_read(movable());
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_FALSE(vetoes());
}

TEST_F(EvacuationTest, AnIllGuestIsNotMoved) {
    auto ill = outlook();
    ill.liveness_kill = true;
    mark(ill);
    expect_read(movable());
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_THAT(machine.reason(), HasSubstr("liveness"));
}

TEST_F(EvacuationTest, NothingIsTriedOnANodeWithoutNodeObject) {
    auto forsaken = movable();
    forsaken.node_gone = true;
    mark();
    EXPECT_TRUE(vetoes());
    expect_read(forsaken);
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_THAT(machine.reason(), HasSubstr("no Node object"));
    expect(Step::touch, StepOutcome::done);
    EXPECT_FALSE(next());
}

/// virt-handler asks once, and ends.
TEST_F(EvacuationTest, WhereVirtHandlerStopsWithItsNodeNothingIsHeld) {
    auto shuts_down = outlook();
    shuts_down.handler_stops = true;
    mark(shuts_down);
    expect_read(movable());
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_THAT(machine.reason(), HasSubstr("virt-handler with it"));
    EXPECT_FALSE(vetoes());
}

TEST_F(EvacuationTest, WhatHasNotBegunWhenVirtHandlerStopsIsTakenBack) {
    on_its_way();
    auto shuts_down = outlook();
    shuts_down.handler_stops = true;
    machine.saw_outlook(shuts_down, now);
    EXPECT_EQ(machine.state(), State::given_up);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "k-1");
}

TEST_F(EvacuationTest, WhatRunsWhenVirtHandlerStopsGoesOn) {
    on_its_way(MovePhase::running);
    migrating();
    auto shuts_down = outlook();
    shuts_down.handler_stops = true;
    machine.saw_outlook(shuts_down, now);
    EXPECT_EQ(machine.state(), State::moving);
}

/// By a mark of another node KubeVirt says "in progress" to every eviction, and moves nothing.
TEST_F(EvacuationTest, AMarkOfAnotherNodeLeavesAMigrationOfOurs) {
    auto elsewhere = movable();
    elsewhere.marked_node = "n7";
    mark();
    expect_read(elsewhere);
    expect_list({});
    expect(Step::create_move, StepOutcome::done);
    moves({{.name = "virt-scout-1", .phase = MovePhase::scheduling}});
    EXPECT_EQ(machine.state(), State::moving);
}

/// On a node with KubeVirt's drain taint it takes no mark back, and makes another migration for
/// each that is deleted.
TEST_F(EvacuationTest, WhereTheMarkStaysWhatHasNotBegunIsLeftAndTheStopGoesOn) {
    on_its_way();
    machine.saw_outlook(moved_in(100s), now);
    ASSERT_EQ(machine.state(), State::given_up);
    expect(Step::cancel_mark, StepOutcome::refused);
    expect_list({{.name = "k-1", .phase = MovePhase::pending}});
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_FALSE(vetoes());
    EXPECT_FALSE(next()) << "nobody was refused a stop, so nobody need be touched";
}

/// While it runs virt-handler asks no guest to shut down.
TEST_F(EvacuationTest, WhatWasLeftAloneAndBeginsAllTheSameIsTakenBack) {
    on_its_way();
    machine.saw_outlook(moved_in(100s), now);
    expect(Step::cancel_mark, StepOutcome::refused);
    expect_list({{.name = "k-1", .phase = MovePhase::pending}});
    ASSERT_EQ(machine.state(), State::released);
    moves({{.name = "k-1", .phase = MovePhase::prepared, .target_pod = "p-1"}});
    expect(Step::delete_target, StepOutcome::done, "p-1");
    EXPECT_FALSE(next());
    moves({{.name = "k-2", .phase = MovePhase::running, .target_pod = "p-2"}});
    machine.saw_launcher({.alive = true, .marked = true, .post_copy = true, .migrating = true},
                         now);
    EXPECT_FALSE(next()) << "its guest would be lost";
    migrating();
    expect(Step::delete_move, StepOutcome::done, "k-2");
    EXPECT_FALSE(next());
}

TEST_F(EvacuationTest, WhereTheMarkIsSetAgainNewcomersAreNotDeletedForEver) {
    on_its_way();
    ASSERT_TRUE(vetoes());
    machine.saw_outlook(moved_in(100s), now);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "k-1");
    moves({{.name = "k-2", .phase = MovePhase::pending}});
    expect(Step::delete_move, StepOutcome::done, "k-2");
    moves({{.name = "k-3", .phase = MovePhase::pending}});
    expect_list({{.name = "k-3", .phase = MovePhase::scheduling}});
    EXPECT_EQ(machine.state(), State::released);
    expect(Step::touch, StepOutcome::done);
}

/// KubeVirt waits after its own evacuations alone (dossier §6.5).
TEST_F(EvacuationTest, AfterSomebodysMigrationThatFailedTheNextOneFollowsAtOnce) {
    mark();
    expect_read(movable());
    expect_list({{.name = "by-hand", .phase = MovePhase::running, .target_pod = "p-0"}});
    ASSERT_EQ(machine.state(), State::moving);
    pass(15s);
    moves({{.name = "by-hand", .phase = MovePhase::failed, .target_pod = "p-0"}});
    EXPECT_EQ(machine.state(), State::held);
    expect(Step::dry_run, StepOutcome::done);
    expect(Step::evict, StepOutcome::done);
    kubevirt_marks();
    moves({{.name = "k-1", .phase = MovePhase::scheduling}});
    EXPECT_EQ(machine.state(), State::moving);
}

TEST_F(EvacuationTest, OneThatDoesNotFitIsReleasedAtOnceSoThatItsGuestHasAllTheTime) {
    mark(moved_in(33s));
    expect_read(movable());
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_THAT(machine.reason(), HasSubstr("needs 33.0 s at best, and there are 32.0 s"));
}

TEST_F(EvacuationTest, AHardThresholdLeavesNoTime) {
    mark({.budget = {.ends = 1s, .limit = StopLimit::kubelet}, .duration = 1s});
    EXPECT_FALSE(vetoes());
    EXPECT_EQ(machine.state(), State::released);
}

TEST_F(EvacuationTest, WhatKubeVirtsQueueDoesNotServeIsReleased) {
    auto crowded = outlook();
    crowded.queued_in_time = false;
    mark(crowded);
    expect_read(movable());
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_THAT(machine.reason(), HasSubstr("too many"));
}

TEST_F(EvacuationTest, TheProposalsOwnWayIsFirstAndIsForgottenWhereItIsUndone) {
    auto stamping = settings();
    stamping.stamp = true;
    use(stamping);
    mark();
    expect_read(movable());
    expect_list({});
    expect(Step::stamp, StepOutcome::undone);
    expect(Step::dry_run, StepOutcome::done);
}

TEST_F(EvacuationTest, WhereTheMarkStaysNothingElseIsAskedFor) {
    auto stamping = settings();
    stamping.stamp = true;
    use(stamping);
    mark();
    expect_read(movable());
    expect_list({});
    expect(Step::stamp, StepOutcome::done);
    EXPECT_FALSE(next());
    EXPECT_TRUE(vetoes());
}

TEST_F(EvacuationTest, AnEvictionThatWouldBeOneIsNeverSent) {
    mark();
    expect_read(movable());
    expect_list({});
    expect(Step::dry_run, StepOutcome::would_evict);
    expect(Step::create_move, StepOutcome::done);
    EXPECT_FALSE(next());
}

TEST_F(EvacuationTest, APodThatHasFailedIsNotEvicted) {
    auto failed = outlook();
    failed.pod_failed = true;
    mark(failed);
    expect_read(movable());
    expect_list({});
    expect(Step::create_move, StepOutcome::done);
}

/// What a dry run says holds for that moment.
TEST_F(EvacuationTest, AfterALostAnswerTheDryRunIsMadeAgain) {
    mark();
    expect_read(movable());
    expect_list({});
    expect(Step::dry_run, StepOutcome::done);
    expect(Step::evict, StepOutcome::unavailable);
    pass(250ms);
    expect(Step::dry_run, StepOutcome::done);
    expect(Step::evict, StepOutcome::done);
}

TEST_F(EvacuationTest, AfterALostAnswerNoSecondMigrationIsMade) {
    mark();
    expect_read(movable());
    expect_list({});
    expect(Step::dry_run, StepOutcome::refused);
    expect(Step::create_move, StepOutcome::unavailable);
    pass(250ms);
    expect_list({{.name = "ours-1", .phase = MovePhase::pending, .target_pod = {}}});
    EXPECT_EQ(machine.state(), State::moving);
    EXPECT_FALSE(next());
}

TEST_F(EvacuationTest, AMigrationThatSomebodyElseBeganIsFollowed) {
    mark();
    expect_read(movable());
    expect_list({{.name = "theirs", .phase = MovePhase::pending, .target_pod = {}}});
    EXPECT_EQ(machine.state(), State::moving);
    EXPECT_FALSE(next());
    EXPECT_TRUE(vetoes());
}

TEST_F(EvacuationTest, ARefusedMigrationIsAskedForOnceMoreForSomebodyMayHaveBeenFaster) {
    mark();
    expect_read(movable());
    expect_list({});
    expect(Step::dry_run, StepOutcome::refused);
    expect(Step::create_move, StepOutcome::refused);
    expect_list({});
    expect(Step::create_move, StepOutcome::refused);
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_THAT(machine.reason(), HasSubstr("refuses"));
}

/// Before it has read who may what, an API server refuses everything.
TEST_F(EvacuationTest, WhatMayNotBeReadIsAskedForAgainForSomeSeconds) {
    mark();
    machine.saw_vmi(movable(), now);
    expect(Step::read_vmi, StepOutcome::refused);
    EXPECT_TRUE(vetoes());
    pass(4s);
    expect_read(movable());
    expect(Step::list_moves, StepOutcome::refused);
    EXPECT_TRUE(vetoes());
    pass(4s);
    expect(Step::list_moves, StepOutcome::refused);
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_THAT(machine.reason(), HasSubstr("may not be read"));
}

TEST_F(EvacuationTest, AMarkThatIsThereAlreadyIsEnough) {
    mark();
    auto marked = movable();
    marked.marked_node = "n1";
    expect_read(marked);
    expect_list({});
    EXPECT_FALSE(next());
    EXPECT_TRUE(vetoes());
}

TEST_F(EvacuationTest, WithoutALeaderNothingIsHeldForLong) {
    mark(killed_after(315s));
    machine.saw_vmi(movable(), now);
    expect(Step::read_vmi, StepOutcome::unavailable);
    pass(59s);
    EXPECT_TRUE(vetoes());
    pass(1s);
    EXPECT_FALSE(vetoes());
    EXPECT_THAT(machine.reason(), HasSubstr("leader"));
}

/// virt-handler asks after 20 s, and then after 41 s: nobody but a leader can have it ask sooner.
TEST_F(EvacuationTest, WithoutALeaderTheLastQuestionInTimeIsNotRefused) {
    mark();
    pass(10s);
    EXPECT_TRUE(vetoes());
    machine.lost_leader();
    EXPECT_TRUE(vetoes()) << "it asks again at 20 s";
    pass(10s);
    machine.heard_leader(now);
    EXPECT_TRUE(vetoes()) << "who is there has it ask again";
    machine.lost_leader();
    EXPECT_FALSE(vetoes());
    EXPECT_EQ(machine.state(), EvacuationState::released);
    EXPECT_THAT(machine.reason(), HasSubstr("would ask again too late"));
}

TEST_F(EvacuationTest, WhoWasHandedOffIsNotLetGoForWantOfALeader) {
    on_its_way(MovePhase::prepared);
    pass(20s);
    machine.lost_leader();
    EXPECT_TRUE(vetoes());
    moves({{.name = "k-1", .phase = MovePhase::scheduling, .target_pod = "p-1"}});
    EXPECT_FALSE(vetoes()) << "nobody may be there who hands it off";
}

TEST_F(EvacuationTest, AMoveThatIsOnItsWayNeedsNoLeader) {
    mark(killed_after(315s));
    expect_read(movable());
    expect_list({{.name = "k-1", .phase = MovePhase::running, .target_pod = "p-1"}});
    pass(2min);
    EXPECT_TRUE(vetoes());
}

/// An agent that starts in the middle knows how long it is marked from elsewhere.
TEST_F(EvacuationTest, AfterARestartTheTimeThatPassedCounts) {
    machine.saw_outlook(outlook(), now);
    machine.saw_launcher({.alive = true, .marked = true}, now, 30s);
    expect_read(movable());
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_EQ(machine.stop_by(), now + 5s);
}

TEST_F(EvacuationTest, AGuestThatEndsByItselfIsLetGo) {
    on_its_way();
    machine.saw_launcher({.alive = false, .marked = true}, now);
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_FALSE(next());
}

/// A migration that just brought it here: what lags still names the node before.
TEST_F(EvacuationTest, WhatLagsDoesNotMakeItMoved) {
    mark();
    auto before = movable();
    before.node = "n0";
    machine.saw_vmi(before, now);
    EXPECT_EQ(machine.state(), State::suspected);
    expect_read(movable());
    EXPECT_EQ(machine.state(), State::held);
}

}  // namespace
}  // namespace scout::migration
