// SPDX-License-Identifier: Apache-2.0
// How a move ends, and how what was begun is taken back.
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

class EvacuationEndTest : public EvacuationFixture {};

TEST_F(EvacuationEndTest, AfterAFailureKubeVirtTriesAgainIfThereIsTime) {
    on_its_way();
    pass(3s);
    moves({{.name = "k-1", .phase = MovePhase::failed, .target_pod = "p-1"}});
    EXPECT_EQ(machine.state(), State::held);
    EXPECT_FALSE(next());
    pass(20s);
    moves({{.name = "k-1", .phase = MovePhase::failed, .target_pod = "p-1"},
           {.name = "k-2", .phase = MovePhase::pending, .target_pod = {}}});
    EXPECT_EQ(machine.state(), State::moving);
}

TEST_F(EvacuationEndTest, AfterAFailureThatLeavesNoTimeForAnotherItIsGivenUp) {
    on_its_way();
    pass(28s);
    moves({{.name = "k-1", .phase = MovePhase::failed, .target_pod = "p-1"}});
    EXPECT_EQ(machine.state(), State::given_up);
    EXPECT_FALSE(vetoes());
    expect(Step::cancel_mark, StepOutcome::done);
    expect_list({});
    EXPECT_EQ(machine.state(), State::released);
}

/// KubeVirt answers each evacuate/cancel with an error then (dossier §16).
TEST_F(EvacuationEndTest, WithoutItsNodeObjectNoMarkIsTakenBack) {
    mark();
    expect_read(movable());
    expect_list({});
    expect(Step::dry_run, StepOutcome::done);
    expect(Step::evict, StepOutcome::done);
    auto forsaken = movable();
    forsaken.marked_node = "n1";
    forsaken.node_gone = true;
    machine.saw_vmi(forsaken, now);
    EXPECT_EQ(machine.state(), State::given_up);
    EXPECT_THAT(machine.reason(), HasSubstr("no Node object"));
    EXPECT_FALSE(vetoes());
    expect_list({});
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_FALSE(next());
}

TEST_F(EvacuationEndTest, WhatKubeVirtBeganBeforeItsNodeObjectWentGoesOnAndWhatWaitsDoesNot) {
    for (const auto phase : {MovePhase::pending, MovePhase::running}) {
        use(settings());
        on_its_way(phase);
        auto forsaken = movable();
        forsaken.marked_node = "n1";
        forsaken.node_gone = true;
        machine.saw_vmi(forsaken, now);
        if (phase == MovePhase::running) {
            EXPECT_EQ(machine.state(), State::moving);
            EXPECT_FALSE(next());
            continue;
        }
        EXPECT_EQ(machine.state(), State::given_up);
        expect(Step::delete_move, StepOutcome::done, "k-1");
        moves({});
        expect_list({});
        EXPECT_EQ(machine.state(), State::released);
    }
}

TEST_F(EvacuationEndTest, AMigrationThatAUserDeletesIsNotFollowedByAnother) {
    on_its_way();
    EXPECT_TRUE(vetoes());
    moves({});
    EXPECT_EQ(machine.state(), State::moving) << "a watch may be behind";
    expect_list({});
    EXPECT_EQ(machine.state(), State::given_up);
    EXPECT_THAT(machine.reason(), HasSubstr("k-1 was deleted"));
    expect(Step::cancel_mark, StepOutcome::done);
    // One that was born before the mark was cancelled.
    expect_list({{.name = "k-2", .phase = MovePhase::pending, .target_pod = {}}});
    expect(Step::delete_move, StepOutcome::done, "k-2");
    moves({});
    expect_list({});
    EXPECT_EQ(machine.state(), State::released);
    expect(Step::touch, StepOutcome::done);
    EXPECT_FALSE(next());
}

/// However long the watch is behind; its object may be there and its guest be moved.
TEST_F(EvacuationEndTest, AWatchThatDoesNotShowTheMigrationEndsNothing) {
    on_its_way();
    moves({});
    expect(Step::list_moves, StepOutcome::unavailable);
    EXPECT_FALSE(next());
    pass(1s);
    expect_list({{.name = "k-1", .phase = MovePhase::running, .target_pod = "p-1"}});
    EXPECT_EQ(machine.state(), State::moving);
    EXPECT_FALSE(next());
    moves({{.name = "k-2", .phase = MovePhase::pending, .target_pod = {}}});
    EXPECT_EQ(machine.state(), State::moving) << "of an older time, or a newer one";
    expect_list({{.name = "k-2", .phase = MovePhase::pending, .target_pod = {}}});
    EXPECT_EQ(machine.state(), State::given_up);
}

TEST_F(EvacuationEndTest, WhatCouldNotBeTakenBackDoesNotDelayTheTouch) {
    on_its_way();
    EXPECT_TRUE(vetoes());
    machine.saw_outlook(moved_in(60min), now);
    ASSERT_EQ(machine.state(), State::given_up);
    for (unsigned i = 0; i < 8; ++i) {
        expect(Step::cancel_mark, StepOutcome::unavailable);
        pass(4s);
    }
    expect(Step::cancel_mark, StepOutcome::unavailable);
    pass(3s);
    EXPECT_FALSE(vetoes());
    ASSERT_EQ(machine.state(), State::released);
    expect(Step::touch, StepOutcome::done);
}

/// What it does then is known only when the answer comes.
TEST_F(EvacuationEndTest, AnEvictionThatIsUnderWayWhenItIsGivenUpIsTakenBack) {
    for (const auto outcome : {StepOutcome::done, StepOutcome::unavailable}) {
        use(settings());
        mark();
        expect_read(movable());
        expect_list({});
        expect(Step::dry_run, StepOutcome::done);
        const auto evict = next();
        ASSERT_TRUE(evict);
        ASSERT_EQ(evict->step, Step::evict);
        auto large = outlook();
        large.duration = 60min;
        machine.saw_outlook(large, now);
        EXPECT_EQ(machine.state(), State::given_up);
        EXPECT_FALSE(vetoes());
        machine.answered(*evict, outcome, now);
        pass(250ms);
        expect(Step::cancel_mark, StepOutcome::done);
        expect_list({});
        EXPECT_EQ(machine.state(), State::released);
    }
}

class EvacuationLateTest : public EvacuationFixture {
protected:
    /// The eviction was not answered, and all was taken back and released.
    void release_unanswered() {
        mark();
        expect_read(movable());
        expect_list({});
        expect(Step::dry_run, StepOutcome::done);
        expect(Step::evict, StepOutcome::unavailable);
        machine.saw_outlook(moved_in(60min), now);
        ASSERT_EQ(machine.state(), State::given_up);
        pass(250ms);
        expect(Step::cancel_mark, StepOutcome::done);
        expect_list({});
        ASSERT_EQ(machine.state(), State::released);
        pass(1s);
        EXPECT_FALSE(next());
    }
    /// It was on its way from another node before, and is no evacuation of this one.
    static VmiFacts marked_elsewhere() {
        auto facts = movable();
        facts.marked_node = "n7";
        return facts;
    }
    void kubevirt_moves(const char* name, MovePhase phase) {
        moves({{.name = name, .phase = phase, .target_pod = "p-1", .backs_off = true}});
    }
};

/// The API server may carry out what it was asked for long after nobody waits for its answer. With
/// the mark set KubeVirt would make another migration for each that is deleted.
TEST_F(EvacuationLateTest, WhatComesOfAnUnansweredCallAfterAllWasTakenBackIsTakenBackToo) {
    release_unanswered();
    kubevirt_moves("k-1", MovePhase::running);
    EXPECT_EQ(machine.state(), State::released);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "k-1");
    moves({});
    expect_list({});
    EXPECT_FALSE(next());
}

TEST_F(EvacuationLateTest, AMarkThatComesOfItIsCancelledOnce) {
    release_unanswered();
    kubevirt_marks();
    expect(Step::cancel_mark, StepOutcome::done);
    kubevirt_moves("k-1", MovePhase::pending);
    expect(Step::delete_move, StepOutcome::done, "k-1");
    moves({});
    expect_list({});
    EXPECT_FALSE(next());
    machine.saw_vmi(movable(), now);
    kubevirt_marks();
    EXPECT_FALSE(next()) << "that is not of ours";
}

/// A stamp of ours that nobody answered would show as our own mark.
TEST_F(EvacuationLateTest, AMarkOfAnotherNodeIsNotCancelledForAStampEither) {
    auto stamping = settings();
    stamping.stamp = true;
    use(stamping);
    mark();
    expect_read(marked_elsewhere());
    expect_list({});
    expect(Step::stamp, StepOutcome::unavailable);
    machine.saw_outlook(moved_in(60min), now);
    ASSERT_EQ(machine.state(), State::given_up);
    pass(250ms);
    expect_list({});
    EXPECT_EQ(machine.state(), State::released);
}

/// KubeVirt answers that each time with an error.
TEST_F(EvacuationLateTest, AMarkOfAnotherNodeIsNotCancelled) {
    mark();
    expect_read(marked_elsewhere());
    expect_list({});
    expect(Step::create_move, StepOutcome::unavailable);
    machine.saw_outlook(moved_in(60min), now);
    ASSERT_EQ(machine.state(), State::given_up);
    pass(250ms);
    expect_list({{.name = "ours", .phase = MovePhase::pending, .target_pod = {}}});
    expect(Step::delete_move, StepOutcome::done, "ours");
    moves({});
    expect_list({});
    EXPECT_EQ(machine.state(), State::released);
}

TEST_F(EvacuationLateTest, WhereNoMarkCanBeCancelledItIsNotTriedAgain) {
    release_unanswered();
    kubevirt_marks();
    expect(Step::cancel_mark, StepOutcome::refused);
    expect_list({});
    kubevirt_moves("k-1", MovePhase::pending);
    kubevirt_marks();
    EXPECT_FALSE(next());
}

/// KubeVirt shows it as failed, with a deletionTimestamp, before it is gone.
TEST_F(EvacuationEndTest, AMigrationThatIsBeingDeletedIsNotTakenForOneThatFailed) {
    for (const auto phase : {MovePhase::running, MovePhase::failed}) {
        use(settings());
        on_its_way();
        moves({{.name = "k-1", .phase = phase, .target_pod = "p-1", .deleting = true}});
        EXPECT_EQ(machine.state(), State::given_up);
        EXPECT_THAT(machine.reason(), HasSubstr("k-1 was deleted"));
        expect(Step::cancel_mark, StepOutcome::done);
    }
}

/// Dossier §16, cancel by phase: the mark first, and between hand-off and start the target pod.
TEST_F(EvacuationEndTest, InTimeForTheGuestWhatDoesNotEndIsTakenBack) {
    for (const auto& [phase, step, object] :
         {std::tuple{MovePhase::pending, Step::delete_move, "k-1"},
          std::tuple{MovePhase::scheduling, Step::delete_move, "k-1"},
          std::tuple{MovePhase::prepared, Step::delete_target, "p-1"},
          std::tuple{MovePhase::running, Step::delete_move, "k-1"}}) {
        use(settings());
        on_its_way(phase);
        EXPECT_TRUE(vetoes());
        pass(32s);
        EXPECT_FALSE(vetoes()) << static_cast<int>(phase);
        expect(Step::cancel_mark, StepOutcome::done);
        expect(step, StepOutcome::done, object);
        EXPECT_FALSE(next());
        EXPECT_EQ(machine.state(), State::given_up);
        moves({{.name = "k-1", .phase = MovePhase::failed, .target_pod = "p-1"}});
        expect_list({{.name = "k-1", .phase = MovePhase::failed, .target_pod = "p-1"}});
        EXPECT_EQ(machine.state(), State::released);
        expect(Step::touch, StepOutcome::done);
    }
}

TEST_F(EvacuationEndTest, WhatCannotBeTakenBackInTimeDoesNotKeepTheGuestFromStopping) {
    on_its_way(MovePhase::running);
    EXPECT_TRUE(vetoes());
    pass(32s);
    expect(Step::cancel_mark, StepOutcome::unavailable);
    pass(3s);
    EXPECT_FALSE(vetoes());
    EXPECT_EQ(machine.state(), State::released);
    expect(Step::touch, StepOutcome::done);
}

TEST_F(EvacuationEndTest, PostCopyIsNeverAborted) {
    on_its_way(MovePhase::running);
    machine.saw_launcher({.alive = true, .marked = true, .post_copy = true}, now);
    pass(40s);
    EXPECT_EQ(machine.state(), State::moving);
    EXPECT_FALSE(next());
    pass(5s);
    EXPECT_FALSE(next());
    EXPECT_EQ(machine.state(), State::released);
}

TEST_F(EvacuationEndTest, AMoveThatTurnsOutNotToEndIsTakenBackAtOnce) {
    on_its_way(MovePhase::running);
    pass(5s);
    machine.saw_outlook(moved_in(28s), now);
    EXPECT_EQ(machine.state(), State::given_up);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "k-1");
}

/// Then how long it took from the order on says nothing of how long an abort takes.
TEST_F(EvacuationEndTest, WhatBeganOnlyAfterItWasCancelledIsNoAbort) {
    on_its_way();
    pass(32s);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "k-1");
    pass(1s);
    migrating();
    pass(9s);
    migrating(false);
    EXPECT_FALSE(machine.abort_took());
}

/// Virt-handler sends no ACPI before the launcher is through.
TEST_F(EvacuationEndTest, ItIsReleasedWhenTheLauncherHasAbortedAndNotBefore) {
    on_its_way(MovePhase::running);
    EXPECT_TRUE(vetoes());
    migrating();
    pass(32s);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "k-1");
    // Its object is gone already.
    moves({});
    expect_list({});
    pass(2s);
    migrating();
    EXPECT_EQ(machine.state(), State::given_up);
    EXPECT_FALSE(vetoes());
    EXPECT_FALSE(next());
    EXPECT_FALSE(machine.abort_took());
    pass(500ms);
    migrating(false);
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_EQ(machine.why(), EvacuationWhy::too_late);
    EXPECT_EQ(machine.abort_took(), 2500ms);
    expect(Step::touch, StepOutcome::done);
}

TEST_F(EvacuationEndTest, AnAbortThatTakesOfTheReserveIsNamed) {
    on_its_way(MovePhase::running);
    migrating();
    pass(32s);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "k-1");
    moves({});
    expect_list({});
    pass(3s);
    migrating();
    EXPECT_EQ(machine.state(), State::given_up);
    EXPECT_EQ(machine.why(), EvacuationWhy::slow_abort);
    EXPECT_THAT(machine.reason(), HasSubstr("cancelled 3.0 s ago and is still being aborted"));
    pass(4s);
    migrating(false);
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_EQ(machine.why(), EvacuationWhy::slow_abort);
    EXPECT_THAT(machine.reason(), HasSubstr("took 7.0 s, 3.0 s were planned: its guest has 6.0 s"));
}

TEST_F(EvacuationEndTest, AnAbortThatNeverEndsIsWaitedForUntilTheGuestIsKilled) {
    on_its_way(MovePhase::running);
    migrating();
    pass(32s);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "k-1");
    pass(12999ms);
    migrating();
    EXPECT_EQ(machine.state(), State::given_up);
    pass(1ms);
    migrating();
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_EQ(machine.why(), EvacuationWhy::slow_abort);
    EXPECT_FALSE(machine.abort_took());
}

/// Its deadline may come nearer: who deletes the pod says how long it has.
TEST_F(EvacuationEndTest, AMoveThatRunsIntoTheReserveIsStillTakenBack) {
    on_its_way(MovePhase::running);
    migrating();
    pass(5s);
    machine.saw_outlook(killed_after(14s), now);
    EXPECT_EQ(machine.state(), State::given_up);
    EXPECT_FALSE(vetoes());
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "k-1");
}

/// What was begun is taken back in every mode.
TEST_F(EvacuationEndTest, AMoveThatRunsIntoTheReserveIsTakenBackAlsoWhenNothingIsHeldAnyMore) {
    on_its_way(MovePhase::running);
    migrating();
    auto observing = settings();
    observing.act = false;
    machine.use(observing, now);
    EXPECT_EQ(machine.state(), State::moving);
    pass(32s);
    expect(Step::cancel_mark, StepOutcome::unavailable);
    pass(4s);
    migrating();
    EXPECT_EQ(machine.state(), State::given_up);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "k-1");
}

/// What has not begun may do so while the guest shuts down.
TEST_F(EvacuationEndTest, WhatTimeWasTooShortForIsTakenBackAfterTheTouch) {
    on_its_way(MovePhase::scheduling);
    EXPECT_TRUE(vetoes());
    pass(5s);
    machine.saw_outlook(killed_after(14s), now);
    EXPECT_EQ(machine.state(), State::released);
    EXPECT_FALSE(vetoes());
    expect(Step::touch, StepOutcome::done);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "k-1");
    moves({});
    expect_list({});
    EXPECT_FALSE(next());
    EXPECT_EQ(machine.state(), State::released);
}

TEST_F(EvacuationEndTest, AnEvictionThatIsUnderWayWhenTimeIsOverIsTakenBackToo) {
    mark();
    expect_read(movable());
    expect_list({});
    expect(Step::dry_run, StepOutcome::done);
    const auto evict = next();
    ASSERT_TRUE(evict);
    machine.saw_outlook(killed_after(10s), now);
    EXPECT_EQ(machine.state(), State::released);
    machine.answered(*evict, StepOutcome::done, now);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::list_moves, StepOutcome::refused);
    pass(8500ms);
    expect(Step::list_moves, StepOutcome::refused);
    EXPECT_FALSE(next());
    EXPECT_EQ(machine.state(), State::released);
}

TEST_F(EvacuationEndTest, TheLongerAnAbortTakesTheEarlierItIsCancelled) {
    auto slow = outlook();
    slow.abort_time = 15s;
    slow.duration = 0s;
    on_its_way(MovePhase::running);
    machine.saw_outlook(slow, now);
    pass(19999ms);
    EXPECT_FALSE(next());
    pass(1ms);
    expect(Step::cancel_mark, StepOutcome::done);
}

/// What is deleted between hand-off and start hears of it only when it has started.
TEST_F(EvacuationEndTest, OneThatWasHandedOffWhileItWasDeletedLosesItsTargetToo) {
    on_its_way(MovePhase::scheduling);
    pass(32s);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_move, StepOutcome::done, "k-1");
    moves({{.name = "k-1", .phase = MovePhase::prepared, .target_pod = "p-1", .deleting = true}});
    expect(Step::delete_target, StepOutcome::done, "p-1");
    EXPECT_FALSE(next());
}

/// It runs into a target that ends some time, and its guest is asked to shut down only then.
TEST_F(EvacuationEndTest, OneThatHadStartedWhenItsTargetWasRemovedIsDeletedToo) {
    on_its_way(MovePhase::prepared);
    pass(32s);
    expect(Step::cancel_mark, StepOutcome::done);
    expect(Step::delete_target, StepOutcome::done, "p-1");
    EXPECT_FALSE(next());
    moves({{.name = "k-1", .phase = MovePhase::running, .target_pod = "p-1"}});
    expect(Step::delete_move, StepOutcome::done, "k-1");
    EXPECT_FALSE(next()) << "once";
}

}  // namespace
}  // namespace scout::migration
