// SPDX-License-Identifier: Apache-2.0
#include "aggregator/pressure_relief.h"
#include "cluster/relief_facts.h"
#include "tests/aggregator/relief_fixture.h"

namespace scout::aggregator {
namespace {

using migration::ReliefHold;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

using ReliefRecallTest = ReliefFixture;

TEST_F(ReliefRecallTest, AMoveThatGetsNoPodIsTakenBackAndItsPlaceIsFree) {
    act({{"mode", "act"}, {"movesPerMinute", 1}});
    lead();
    press({"web", "db"});
    ASSERT_THAT(moved(), ElementsAre("web"));
    stored[0]["status"] = {
        {"phase", "Pending"},
        {"conditions", {{{"type", "migrationRejectedByResourceQuota"}, {"status", "True"}}}}};
    api.put(migrations_kind, stored[0]);
    pass(119s);
    press({"web", "db"});
    EXPECT_THAT(deletes, IsEmpty());
    pass(1s);
    ASSERT_THAT(deletes, SizeIs(1));
    EXPECT_THAT(deletes[0], AllOf(HasSubstr(uid_of(0)), HasSubstr("resourceVersion")))
        << "as it was seen";
    EXPECT_EQ(count(ReliefResult::taken_back), 1U);
    ASSERT_TRUE(run_until([this] { return recorded.records.size() >= 2; }));
    EXPECT_EQ(recorded.records[1].note.reason, "MoveAheadOfPressureTakenBack");
    EXPECT_THAT(recorded.records[1].note.note, HasSubstr("ResourceQuota"));

    press({"web", "db"});
    EXPECT_THAT(moved(), ElementsAre("web", "db")) << "the other one has its place at once";
    EXPECT_EQ(held(ReliefHold::backing_off), 1U);
}

TEST_F(ReliefRecallTest, AMoveThatIsNotNeededAnyMoreIsTakenBackUnlessItIsHandedOff) {
    lead();
    press({"web", "db"});
    ASSERT_THAT(moved(), ElementsAre("web", "db"));
    end(0, "Scheduling");
    end(1, "TargetReady");
    pass(10min);
    EXPECT_THAT(deletes, IsEmpty()) << "both have a pod, and are needed";
    tell("n1", false);
    pass(299s);
    EXPECT_THAT(deletes, IsEmpty()) << "an agent that began anew knows no trend";
    pass(1s);
    ASSERT_THAT(deletes, SizeIs(1));
    EXPECT_THAT(deletes[0], HasSubstr(uid_of(0)));
    EXPECT_EQ(count(ReliefResult::taken_back), 1U);
    end(1, "APhaseOfTomorrow");
    pass(1s);
    put_vmi("db", "n1", {{"migrationState", {{"migrationUid", uid_of(1)}}}});
    end(1, "Scheduling");
    pass(1s);
    EXPECT_THAT(deletes, SizeIs(1)) << "its VMI says that it is handed off";
}

/// The one before it may have been warned a moment ago.
TEST_F(ReliefRecallTest, ALeaderThatIsNewCallsNoNodeAtEase) {
    api.put(migrations_kind,
            {{"metadata",
              {{"namespace", "shop"},
               {"name", "virt-scout-forecast-1"},
               {"uid", "made by another"},
               {"annotations", {{std::string{cluster::relieved_node_annotation}, "n1"}}}}},
             {"spec", {{"vmiName", "web"}}},
             {"status", {{"phase", "Scheduling"}}}});
    lead();
    tell("n1", false);
    pass(239s);
    EXPECT_THAT(deletes, IsEmpty()) << "5 min since it leads are not over";
    pass(1s);
    EXPECT_THAT(deletes, SizeIs(1));
}

/// Machines' clocks are not the same.
TEST_F(ReliefRecallTest, HowLongAMoveWaitsIsCountedByTheLeadersOwnClock) {
    lead();
    press({"web"});
    stored[0]["metadata"].as_object()["creationTimestamp"] = rfc3339(clock.wall() - 1h);
    end(0, "Pending");
    pass(119s);
    press({"web"});
    EXPECT_THAT(deletes, IsEmpty());
    pass(1s);
    EXPECT_THAT(deletes, SizeIs(1));
}

/// With hotplugged volumes it stays Pending until they are attached.
TEST_F(ReliefRecallTest, AMoveThatIsPendingWithATargetPodIsNotInVain) {
    lead();
    press({"web"});
    put_pod("virt-launcher-web-b", "web", "n2", uid_of(0));
    put_vmi("web", "n1", {{"activePods", {{"pod of web", "n1"}, {"target of web", "n2"}}}});
    stored[0]["status"] = {
        {"phase", "Pending"},
        {"conditions", {{{"type", "migrationRejectedByResourceQuota"}, {"status", "True"}}}}};
    api.put(migrations_kind, stored[0]);
    pass(10min);
    EXPECT_THAT(deletes, IsEmpty());

    tell("n1", false);
    pass(5min);
    ASSERT_THAT(deletes, SizeIs(1));
    ASSERT_TRUE(run_until([this] { return recorded.records.size() >= 2; }));
    EXPECT_THAT(recorded.records[1].note.note, HasSubstr("not expected to run short"));
}

TEST_F(ReliefRecallTest, AMoveOnWhichAStoppingVmReliesIsNotTakenBack) {
    lead();
    press({"web"});
    end(0, "Pending");
    stopping = "vmi web";
    pass(10min);
    EXPECT_THAT(deletes, IsEmpty());
    stopping.clear();
    pass(1s);
    EXPECT_THAT(deletes, SizeIs(1));
}

TEST_F(ReliefRecallTest, AVmThatIsToldToStopWhileAnotherMoveIsTakenBackKeepsItsOwn) {
    lead();
    press({"web", "db"});
    ASSERT_THAT(moved(), SizeIs(2));
    end(0, "Pending");
    end(1, "Pending");
    api.hold([](const kube::HttpRequest& request) { return request.method == "DELETE"; });
    pass(10min);
    ASSERT_EQ(api.waiting(), 1U);
    stopping = "vmi db";
    api.release();
    settle();
    ASSERT_THAT(deletes, SizeIs(1));
    EXPECT_THAT(deletes[0], HasSubstr(uid_of(0)));
}

TEST_F(ReliefRecallTest, WhatOthersMadeIsNotTakenBack) {
    put_move("by-hand", "web", "Pending");
    lead();
    tell("n1", false);
    pass(10min);
    EXPECT_THAT(deletes, IsEmpty());
}

}  // namespace
}  // namespace scout::aggregator
