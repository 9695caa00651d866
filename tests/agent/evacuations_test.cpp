// SPDX-License-Identifier: Apache-2.0
#include "agent/evacuations.h"

#include <gmock/gmock.h>

#include "tests/agent/evacuations_fixture.h"

namespace scout::agent {
namespace {

using namespace std::chrono_literals;
using migration::MovePhase;
using testing::AnyOf, testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EvacuationsTest : public EvacuationsFixture {};

TEST_F(EvacuationsTest, MarkedLauncherIsHeldAndItsVmMoved) {
    hear_rules();
    auto& one = vm("a");
    say("p1", domain_of("a"));
    settle();
    EXPECT_EQ(allowed("a"), std::nullopt);

    say("p1", marked("a"));
    EXPECT_EQ(allowed("a"), false);
    EXPECT_THAT(why, HasSubstr("deciding"));
    settle();
    EXPECT_THAT(steps, ElementsAre("read-vmi", "list-moves", "dry-run", "evict"));
    EXPECT_EQ(state_of("p1"), "held");
    tell("a");
    settle();
    EXPECT_EQ(state_of("p1"), "moving");
    EXPECT_EQ(allowed("a"), false);

    one.moves.front().phase = MovePhase::succeeded;
    one.vmi.facts.node = "n2";
    one.vmi.facts.marked_node.clear();
    auto gone = marked("a");
    gone.status = "Shutoff";
    gone.reason = "Migrated";
    say("p1", gone);
    settle();
    EXPECT_EQ(state_of("p1"), "moved");
    EXPECT_EQ(allowed("a"), true);

    domains.clear();
    live(2s);
    EXPECT_THAT(lines, IsEmpty());
    EXPECT_EQ(state_of("p1"), "none");
    EXPECT_EQ(steps.size(), 4U);
}

/// Rows of the dossier's decision table (§3.5) that the agent's memory answers.
TEST_F(EvacuationsTest, LetsGoWhatNobodyShallMove) {
    struct Row {
        const char* what;
        std::function<void(FakeVm&, launcher::Domain&)> change;
        const char* reason;
    };
    const std::vector<Row> rows{
        {"deleted", [](auto& one, auto&) { one.vmi.facts.deleting = true; }, "being deleted"},
        {"gone", [](auto& one, auto&) { one.there = false; }, "the VMI is gone"},
        {"not running", [](auto& one, auto&) { one.vmi.facts.phase = "Succeeded"; },
         "phase Succeeded"},
        {"strategy None",
         [](auto& one, auto&) { one.vmi.facts.strategy = migration::EvictionStrategy::none; },
         "eviction strategy is None"},
        {"not migratable",
         [](auto& one, auto&) {
             one.vmi.facts.migratable = false;
             one.vmi.facts.not_migratable = "DisksNotLiveMigratable";
         },
         "DisksNotLiveMigratable"},
        {"ill", [](auto& one, auto&) { one.ill = true; }, "its liveness probe had it killed"},
        {"without Node", [](auto& one, auto&) { one.vmi.facts.node_gone = true; },
         "no Node object"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.what);
        start_agent();
        hear_rules();
        cluster.clear();
        steps.clear();
        auto domain = marked("a");
        row.change(vm("a"), domain);
        say("p1", domain);
        settle();
        EXPECT_EQ(allowed("a"), true);
        EXPECT_THAT(reason_of("p1"), HasSubstr(row.reason));
        EXPECT_THAT(steps, testing::Not(AnyOf(Contains("evict"), Contains("create-move"))));
    }
}

TEST_F(EvacuationsTest, FailedPostCopyAndDeadDomainsAreNotHeld) {
    hear_rules();
    vm("a");
    auto domain = marked("a");
    domain.status = "Paused";
    domain.reason = "PostcopyFailed";
    say("p1", domain);
    EXPECT_EQ(allowed("a"), true);

    domain.status = "Shutoff";
    domain.reason = "Shutdown";
    say("p2", domain);
    domains.erase("p1");
    settle();
    EXPECT_EQ(state_of("p2"), "none");
    EXPECT_EQ(allowed("a"), std::nullopt);
}

TEST_F(EvacuationsTest, NothingIsHeldWithoutRulesOrInAnotherMode) {
    vm("a");
    say("p1", marked("a"));
    settle();
    EXPECT_EQ(allowed("a"), true);
    EXPECT_EQ(state_of("p1"), "none");

    hear_rules(EvacuationMode::off);
    settle();
    EXPECT_EQ(allowed("a"), true);
    EXPECT_EQ(state_of("p1"), "none");
    EXPECT_THAT(steps, IsEmpty());

    hear_rules(EvacuationMode::observe);
    settle();
    tell("a");
    settle();
    EXPECT_EQ(allowed("a"), true);
    EXPECT_THAT(reason_of("p1"), HasSubstr("it would be held and moved"));
    EXPECT_EQ(state_of("p1"), "released");
    EXPECT_THAT(steps, IsEmpty());

    hear_rules();
    EXPECT_EQ(allowed("a"), false);
    settle();
    EXPECT_THAT(steps, Contains("evict"));

    hear_rules(EvacuationMode::off);
    settle();
    EXPECT_EQ(allowed("a"), true);
}

TEST_F(EvacuationsTest, ObservedVmThatWouldNotBeMovedSaysWhy) {
    hear_rules(EvacuationMode::observe);
    vm("a").vmi.facts.strategy = migration::EvictionStrategy::none;
    say("p1", marked("a"));
    settle();
    tell("a");
    settle();
    EXPECT_THAT(reason_of("p1"), HasSubstr("would not be held: its eviction strategy is None"));
}

TEST_F(EvacuationsTest, LeaderThatDoesNotAnswerIsWaitedForNoLongerThanASecond) {
    hear_rules();
    say("p1", marked("a"));
    EXPECT_EQ(allowed("a"), false);
    turn();
    tell_numbers();
    turn();
    listen();
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(evacuations->wake(), clock.steady() + 1s);
    EXPECT_EQ(state_of("p1"), "suspected");
    pass(1s);
    turn();
    EXPECT_EQ(state_of("p1"), "held");
    EXPECT_EQ(allowed("a"), false);
    EXPECT_THAT(why, HasSubstr("held"));
}

TEST_F(EvacuationsTest, LeaderThatIsLostReleasesAfterItsPatience) {
    hear_rules();
    vm("a");
    auto domain = marked("a");
    domain.grace = 600s;
    say("p1", domain);
    settle();
    ASSERT_EQ(state_of("p1"), "held");

    evacuations->lost_leader();
    live(59s);
    EXPECT_EQ(allowed("a"), false);
    live(2s);
    EXPECT_EQ(allowed("a"), true);
    EXPECT_THAT(evacuations->text(), HasSubstr("no leader"));
}

TEST_F(EvacuationsTest, OrdersOfALostStreamAreGivenAnewAndOldAnswersPassedOver) {
    hear_rules();
    vm("a");
    say("p1", marked("a"));
    turn();
    listen();
    ASSERT_EQ(orders.size(), 1U);
    const auto lost = std::exchange(orders, {}).front();

    evacuations->lost_leader();
    turn();
    EXPECT_EQ(evacuations->next(), std::nullopt);
    evacuations->heard_leader();
    pass(1s);
    turn();
    evacuations->take(EvacuationResult{.id = lost.id, .outcome = migration::StepOutcome::done});
    lines.clear();
    listen();
    ASSERT_EQ(lines.size(), 1U);
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_GT(orders.front().id, lost.id);
    EXPECT_EQ(orders.front().order, lost.order);
    EXPECT_EQ(state_of("p1"), "suspected");
    settle();
    obey();
    settle();
    EXPECT_THAT(steps, Contains("evict").Times(1));
}

TEST_F(EvacuationsTest, RestartInAnyStateComesToTheSameDecisionAndOrdersNothingTwice) {
    for (unsigned answers = 0; answers < 6; ++answers) {
        SCOPED_TRACE(answers);
        start_agent();
        cluster.clear();
        steps.clear();
        orders.clear();
        hear_rules();
        auto& one = vm("a");
        say("p1", marked("a"));
        for (unsigned i = 0; i < answers; ++i) {
            turn();
            listen();
            obey();
        }
        start_agent();
        orders.clear();
        hear_rules();
        EXPECT_EQ(allowed("a"), false);
        settle();
        tell("a");
        settle();
        EXPECT_EQ(allowed("a"), false);
        EXPECT_EQ(state_of("p1"), "moving");
        EXPECT_EQ(one.moves.size(), 1U);
        EXPECT_THAT(steps, Contains("evict").Times(1));
    }
}

TEST_F(EvacuationsTest, RestartDoesNotGiveAGuestsLastSecondsAway) {
    hear_rules();
    vm("a");
    say("p1", marked("a"));
    settle();
    pass(30s);
    const auto kept = evacuations->marks();
    start_agent();
    evacuations->remember({.marks = kept});
    hear_rules();
    settle();
    live(3s);
    EXPECT_EQ(allowed("a"), true);
    tell("a");
    settle();
    EXPECT_EQ(state_of("p1"), "released");
    EXPECT_THAT(reason_of("p1"), HasSubstr("needs 2.0 s at best"));
    EXPECT_THAT(steps, Contains("touch")) << "virt-handler waits since the last veto";

    domains.erase("p1");
    say("p2", domain_of("b"));
    settle();
    EXPECT_THAT(evacuations->marks(), IsEmpty());
}

TEST_F(EvacuationsTest, GuestThatWasAskedToShutDownIsLeftInPeace) {
    hear_rules();
    vm("a");
    auto domain = marked("a");
    domain.first_shutdown_request = clock.wall();
    say("p1", domain);
    settle();
    EXPECT_EQ(state_of("p1"), "none");
    EXPECT_EQ(allowed("a"), std::nullopt);

    say("p1", marked("a"));
    settle();
    ASSERT_EQ(state_of("p1"), "held");
    say("p1", domain);
    settle();
    EXPECT_EQ(allowed("a"), true);
    EXPECT_THAT(reason_of("p1"), HasSubstr("asked to shut down already"));
    EXPECT_THAT(steps, Contains("cancel-mark"));
}

TEST_F(EvacuationsTest, TwoHundredMarksAtOnceAreAllAnsweredAndThoseThatFitAreMoved) {
    hear_rules();
    for (int i = 0; i < 200; ++i) {
        const auto name = std::to_string(i);
        vm(name);
        say("p" + name, marked(name));
    }
    const auto launchers = table();
    unsigned vetoes = 0;
    for (int i = 0; i < 200; ++i) {
        StopQuestion question{.vmi = cluster.at("uid-" + std::to_string(i)).vmi.facts,
                              .strategy_set = true};
        const auto answer = evacuations->answer(question, launchers);
        ASSERT_TRUE(answer);
        vetoes += answer->allow ? 0 : 1;
    }
    EXPECT_EQ(vetoes, 200U);
    settle();
    unsigned held = 0;
    for (const auto& [pod, each] : evacuations->followed()) {
        const auto state = each.state();
        held += state == migration::EvacuationState::held ? 1 : 0;
        EXPECT_TRUE(state == migration::EvacuationState::held ||
                    state == migration::EvacuationState::released);
    }
    // 32 s, two at a time, two seconds each.
    EXPECT_GE(held, 25U);
    EXPECT_LE(held, 33U);
    EXPECT_EQ(std::count(steps.begin(), steps.end(), "evict"), held);
    // Who was held and let go is told by a touch, once.
    EXPECT_EQ(std::count(steps.begin(), steps.end(), "touch"), 200 - held);
    EXPECT_EQ(lines.size(), 200U);
}

TEST_F(EvacuationsTest, JumpOfTheWallClockChangesNothing) {
    hear_rules();
    vm("a");
    say("p1", marked("a"));
    settle();
    clock.jump_wall(-72h);
    live(5s);
    EXPECT_EQ(allowed("a"), false);
    EXPECT_EQ(lines.front().stop_by - clock.wall(), 30s);
    clock.jump_wall(144h);
    live(5s);
    EXPECT_EQ(allowed("a"), false);
}

TEST_F(EvacuationsTest, NewVmiOfTheSameNameIsAnotherOne) {
    hear_rules();
    vm("a");
    say("p1", marked("a"));
    settle();
    ASSERT_EQ(allowed("a"), false);

    auto successor = domain_of("a");
    successor.vmi_uid = "uid-b";
    say("p2", successor);
    cluster.at("uid-a").there = false;
    domains.erase("p1");
    settle();
    EXPECT_EQ(allowed("b"), std::nullopt);
    EXPECT_EQ(state_of("p2"), "none");
}

TEST_F(EvacuationsTest, TargetOfAnIncomingMigrationIsNoEvacuation) {
    hear_rules();
    auto domain = marked("a");
    domain.status = "Paused";
    domain.reason = "Migration";
    say("p1", domain);
    settle();
    EXPECT_EQ(state_of("p1"), "none");
    EXPECT_EQ(allowed("a"), std::nullopt);
}

TEST_F(EvacuationsTest, OfTwoLaunchersOfOneVmiOneIsFollowed) {
    hear_rules();
    vm("a");
    say("p1", marked("a"));
    say("p2", marked("a"));
    settle();
    EXPECT_EQ(evacuations->followed().size(), 1U);
    EXPECT_THAT(steps, Contains("evict").Times(1));

    domains.erase("p1");
    settle();
    EXPECT_EQ(state_of("p1"), "none");
    EXPECT_EQ(state_of("p2"), "moving");
    EXPECT_THAT(steps, Contains("evict").Times(1));
}

TEST_F(EvacuationsTest, WatchThatIsBehindALiveListDoesNotEndAMove) {
    hear_rules();
    auto& one = vm("a");
    one.moves.push_back({.name = "theirs", .phase = MovePhase::scheduling});
    say("p1", marked("a"));
    settle();
    ASSERT_EQ(state_of("p1"), "moving");

    evacuations->take(
        EvacuationFacts{.vmi_uid = "uid-a", .moves = std::vector<migration::MoveFacts>{}});
    settle();
    EXPECT_EQ(state_of("p1"), "moving");
    EXPECT_THAT(steps, testing::Not(Contains("evict")));

    // However long it is behind: what is there is asked for live.
    pass(2s);
    steps.clear();
    evacuations->take(
        EvacuationFacts{.vmi_uid = "uid-a", .moves = std::vector<migration::MoveFacts>{}});
    settle();
    EXPECT_EQ(state_of("p1"), "moving");
    EXPECT_THAT(steps, testing::ElementsAre("list-moves"));

    cluster.at("uid-a").moves.clear();
    pass(2s);
    evacuations->take(
        EvacuationFacts{.vmi_uid = "uid-a", .moves = std::vector<migration::MoveFacts>{}});
    settle();
    EXPECT_EQ(state_of("p1"), "released");
    EXPECT_THAT(reason_of("p1"), HasSubstr("was deleted"));
}

TEST_F(EvacuationsTest, HostileLeaderChangesNothingThatItShallNot) {
    hear_rules();
    vm("a");
    say("p1", marked("a"));
    turn();
    listen();
    const auto order = orders.front();
    evacuations->take(EvacuationResult{.id = 999, .outcome = migration::StepOutcome::done});
    evacuations->take(EvacuationFacts{.vmi_uid = "uid-z"});
    // Another VMI under the same order.
    EvacuationResult forged{.id = order.id, .outcome = migration::StepOutcome::done};
    forged.vmi = ToldVmi{.facts = {.uid = "uid-z", .phase = "Running", .node = "n1"}};
    evacuations->take(std::move(forged));
    turn();
    EXPECT_EQ(state_of("p1"), "released");
    EXPECT_THAT(reason_of("p1"), HasSubstr("gone"));
    // The same answer once more.
    evacuations->take(EvacuationResult{.id = order.id, .outcome = migration::StepOutcome::done});
    settle();
    EXPECT_EQ(evacuations->followed().size(), 1U);
}

TEST_F(EvacuationsTest, LinesAreNotToldAtEachChange) {
    hear_rules();
    for (const auto* name : {"a", "b", "c"}) {
        vm(name);
        say(std::string{"p"} + name, marked(name));
    }
    turn();
    unsigned told = 0;
    for (int round = 0; round < 8; ++round) {
        while (auto message = evacuations->next()) {
            told += std::holds_alternative<EvacuationsMessage>(*message) ? 1 : 0;
            if (auto* order = std::get_if<EvacuationOrderMessage>(&*message)) {
                evacuations->take(carry_out(*order));
            }
        }
        turn();
    }
    EXPECT_EQ(told, 1U);
    pass(500ms);
    EXPECT_TRUE(evacuations->has_next());
}

}  // namespace
}  // namespace scout::agent
