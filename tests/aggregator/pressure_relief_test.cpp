// SPDX-License-Identifier: Apache-2.0
#include "aggregator/pressure_relief.h"

#include "tests/aggregator/relief_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using migration::ReliefHold;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

using PressureReliefTest = ReliefFixture;

TEST_F(PressureReliefTest, VmsAreMovedByAMigrationThatLeavesPressedNodesOut) {
    lead();
    tell("n2", true);
    settle();
    tell("n2", false);
    settle();
    press();
    ASSERT_THAT(moved(), ElementsAre("web", "db"));
    EXPECT_EQ(count(ReliefResult::begun), 2U);

    const auto& metadata = stored[0].at("metadata").as_object();
    const auto& notes = metadata.at("annotations").as_object();
    EXPECT_EQ(metadata.at("generateName"), "virt-scout-forecast-");
    EXPECT_EQ(notes.at("virt-scout.io/migration-cause"), "forecast");
    EXPECT_EQ(notes.at("virt-scout.io/relieves-node"), "n1");
    // n2 was warned of a moment ago.
    EXPECT_EQ(json::parse(notes.at("virt-scout.io/added-node-selector-term").as_string()),
              json::parse(R"({"matchFields":[
                  {"key":"metadata.name","operator":"NotIn","values":["n1"]},
                  {"key":"metadata.name","operator":"NotIn","values":["n2"]}]})"));
    EXPECT_EQ(stored[0]
                  .at("spec")
                  .at("addedNodeSelector")
                  .at("virt-scout.io/target-term")
                  .as_string()
                  .size(),
              40U);
    for (const auto& call : calls()) {
        EXPECT_EQ(call.find("eviction"), std::string::npos);
    }

    ASSERT_TRUE(run_until([this] { return recorded.records.size() >= 2; }));
    const auto& note = recorded.records.front().note;
    EXPECT_EQ(note.reason, "MovedAheadOfPressure");
    EXPECT_EQ(note.regarding.name, "web");
    EXPECT_EQ(note.regarding.uid, "vmi web");
    EXPECT_FALSE(note.warning);
    EXPECT_THAT(note.note, AllOf(HasSubstr("memory.available of node n1"), HasSubstr("1000"),
                                 HasSubstr(rfc3339(clock.wall() + 5min))));
}

TEST_F(PressureReliefTest, WithoutTheModeNothingIsDone) {
    act({{"movesPerMinute", 60}});
    lead();
    press();
    EXPECT_EQ(posts(), 0U);
    EXPECT_EQ(relief.counters().pressed, 0U);

    act();
    settle();
    pass(1s);
    EXPECT_THAT(moved(), ElementsAre("web", "db"));
}

TEST_F(PressureReliefTest, OnlyTheLeaderActs) {
    lead();
    lose_leadership();
    press();
    EXPECT_EQ(posts(), 0U);
}

TEST_F(PressureReliefTest, ANodeIsRelievedAgainOnlyAfterItIsKnownWhatCameOfIt) {
    act({{"mode", "act"}, {"movesPerMinute", 1}});
    lead();
    press({"web", "db"});
    EXPECT_THAT(moved(), ElementsAre("web"));
    pass(90s);
    press({"web", "db"});
    EXPECT_THAT(moved(), SizeIs(1));
    EXPECT_EQ(held(ReliefHold::moving), 1U);

    end(0, "Failed");
    pass(10s);
    press({"web", "db"});
    EXPECT_EQ(held(ReliefHold::settling), 1U);
    pass(1min);
    press({"web", "db"});
    EXPECT_THAT(moved(), ElementsAre("web", "db")) << "the one that failed rests";
}

TEST_F(PressureReliefTest, AnotherLeaderReadsFromTheMigrationsWhatWasDone) {
    api.put(migrations_kind, {{"metadata",
                               {{"name", "virt-scout-forecast-x"},
                                {"namespace", "shop"},
                                {"uid", "x"},
                                {"creationTimestamp", rfc3339(clock.wall())},
                                {"annotations", {{"virt-scout.io/relieves-node", "n1"}}}}},
                              {"spec", {{"vmiName", "web"}}},
                              {"status", {{"phase", "Running"}}}});
    lead();
    press();
    EXPECT_EQ(posts(), 0U);
    EXPECT_EQ(held(ReliefHold::moving), 1U);
}

TEST_F(PressureReliefTest, AVmThatCameLatelyStays) {
    put_vmi(
        "web", "n1",
        {{"migrationState",
          {{"migrationUid", "m"}, {"completed", true}, {"endTimestamp", rfc3339(clock.wall())}}}});
    lead();
    press();
    EXPECT_THAT(moved(), ElementsAre("db"));
    EXPECT_EQ(held(ReliefHold::moved_lately), 1U);
}

TEST_F(PressureReliefTest, WhoIsStoppingOrMustStayIsPassedOver) {
    stopping = "vmi web";
    api.put("virtualmachineinstances",
            {{"metadata", {{"name", "db"}, {"namespace", "shop"}, {"uid", "vmi db"}}},
             {"spec", {{"evictionStrategy", "External"}}},
             {"status", {{"phase", "Running"}, {"nodeName", "n1"}}}});
    lead();
    press({"web", "db", "nobody"});
    EXPECT_EQ(posts(), 0U);
    EXPECT_EQ(held(ReliefHold::stopping), 1U);
    EXPECT_EQ(held(ReliefHold::owner), 1U);
    EXPECT_EQ(held(ReliefHold::not_seen), 1U);
}

TEST_F(PressureReliefTest, WithoutTheWebhooksNothingIsMade) {
    webhook = false;
    lead();
    press();
    EXPECT_THAT(stored, IsEmpty());
    EXPECT_EQ(count(ReliefResult::no_webhook), 2U);
    ASSERT_TRUE(run_until([this] { return !recorded.records.empty(); }));
    EXPECT_EQ(recorded.records.front().note.reason, "NotMovedAheadOfPressure");
    EXPECT_THAT(recorded.records.front().note.note, HasSubstr("virt-scout-target"));
}

TEST_F(PressureReliefTest, WhatWasRefusedIsTriedAgainAfterAWhileAndThenLater) {
    status_of_move = 403;
    lead();
    press({"web"});
    EXPECT_EQ(count(ReliefResult::refused), 1U);
    const auto first = posts();
    pass(30s);
    press({"web"});
    EXPECT_EQ(posts(), first);
    EXPECT_EQ(held(ReliefHold::backing_off), 1U);
    pass(31s);
    press({"web"});
    EXPECT_EQ(count(ReliefResult::refused), 2U);
    pass(61s);
    press({"web"});
    EXPECT_EQ(count(ReliefResult::refused), 2U) << "twice as long";
    status_of_move = 200;
    pass(60s);
    press({"web"});
    EXPECT_THAT(moved(), ElementsAre("web"));
}

TEST_F(PressureReliefTest, ARefusedRehearsalAndAConflictMakeNothing) {
    rehearsal_status = 409;
    lead();
    press({"web"});
    EXPECT_EQ(count(ReliefResult::refused), 1U);
    EXPECT_THAT(stored, IsEmpty());
}

TEST_F(PressureReliefTest, WhatMayHaveBeenMadeCountsAsMade) {
    status_of_move = 500;
    lead();
    press({"web", "db"});
    EXPECT_EQ(count(ReliefResult::unanswered), 2U);
    pass(10s);
    press({"web", "db"});
    EXPECT_EQ(held(ReliefHold::moving), 1U);
    EXPECT_EQ(count(ReliefResult::unanswered), 2U);
}

TEST_F(PressureReliefTest, WhatIsNotSeenYetCountsAsWell) {
    stores = false;
    act({{"mode", "act"}, {"movesPerMinute", 1}});
    lead();
    press({"web"});
    ASSERT_THAT(moved(), ElementsAre("web"));
    pass(20s);
    press({"db"});
    EXPECT_EQ(held(ReliefHold::moving), 1U);
    pass(20s);
    press({"db"});
    EXPECT_EQ(held(ReliefHold::rate), 1U);
    pass(21s);
    press({"web", "db"});
    EXPECT_THAT(moved(), ElementsAre("web", "db")) << "web was to be moved, whatever became of it";
}

TEST_F(PressureReliefTest, AVmThatWentBetweenRehearsalAndMigrationIsLeftAlone) {
    lead();
    api.hold([](const kube::HttpRequest& request) {
        return request.target.find("dryRun=All") != std::string::npos;
    });
    press({"web"});
    api.remove("virtualmachineinstances", "web");
    settle();
    api.release();
    settle();
    EXPECT_THAT(stored, IsEmpty());
    EXPECT_EQ(count(ReliefResult::gone), 1U);
}

TEST_F(PressureReliefTest, ASilentAgentIsNotBelieved) {
    lead();
    press({"web"});
    end(0, "Succeeded");
    clock.advance(40min);
    registry.touch("n2", clock.steady());
    ring();
    settle();
    EXPECT_THAT(moved(), SizeIs(1));
    EXPECT_EQ(relief.counters().pressed, 0U) << "nobody is near who is heard";
}

}  // namespace
}  // namespace scout::aggregator
