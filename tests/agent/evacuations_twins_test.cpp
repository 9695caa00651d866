// SPDX-License-Identifier: Apache-2.0
// Several launchers that say that they are of one VMI.
#include <gmock/gmock.h>

#include "tests/agent/evacuations_fixture.h"

namespace scout::agent {
namespace {

using namespace std::chrono_literals;
using testing::Contains;

class EvacuationsTwinsTest : public EvacuationsFixture {
protected:
    EvacuationsTwinsTest() {
        hear_rules();
        vm("a");
    }
};

TEST_F(EvacuationsTwinsTest, OneThatSpeaksForTheVmiOfAnotherDoesNotKeepThatOneFromBeingMoved) {
    // It is first in order, and its VMI never turns out to be on this node.
    say("p0", marked("a"));
    turn();
    ASSERT_EQ(state_of("p0"), "suspected");
    say("p1", marked("a"));
    turn();

    EXPECT_EQ(allowed("a", {"p1"}), false);
    EXPECT_EQ(state_of("p0"), "none");
    listen();
    orders.clear();
    live(2s);
    EXPECT_EQ(state_of("p0"), "none") << "not again";
    EXPECT_EQ(state_of("p1"), "held");
    EXPECT_THAT(steps, Contains("evict"));
    EXPECT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines.front().pod_uid, "p1");
}

TEST_F(EvacuationsTwinsTest, OneThatIsLetGoIsNoAnswerForTheLauncherThatIsMeant) {
    cluster.at("uid-a").there = false;
    say("p0", marked("a"));
    say("p1", domain_of("a"));
    settle();
    ASSERT_EQ(state_of("p0"), "released");
    cluster.at("uid-a").there = true;

    EXPECT_EQ(allowed("a", {"p1"}), std::nullopt) << "p1 has not said yet that it is to stop";
    say("p1", marked("a"));
    EXPECT_EQ(allowed("a", {"p1"}), false);
}

TEST_F(EvacuationsTwinsTest, OneThatIsOverDoesNotAnswerForTheNextOneOfItsVmi) {
    say("p0", marked("a"));
    settle();
    ASSERT_EQ(state_of("p0"), "held");
    cluster.at("uid-a").vmi.facts.node = "n2";
    tell("a");
    settle();
    ASSERT_EQ(state_of("p0"), "moved");

    // It comes back, and the folder of the pod before is still there.
    vm("a");
    cluster.at("uid-a").moves.clear();
    say("p1", domain_of("a"));
    settle();
    EXPECT_EQ(allowed("a", {"p0", "p1"}), std::nullopt);
    EXPECT_EQ(allowed("a", {"p1"}), std::nullopt);
    say("p1", marked("a"));
    EXPECT_EQ(allowed("a", {"p0", "p1"}), false);
}

TEST_F(EvacuationsTwinsTest, WhereVirtHandlerNamesNoPodThatIsHereTheLauncherIsBelieved) {
    say("p1", marked("a"));
    settle();
    EXPECT_EQ(allowed("a", {"elsewhere"}), false);
    EXPECT_EQ(allowed("a"), false);
    EXPECT_THAT(steps, Contains("evict"));
}

}  // namespace
}  // namespace scout::agent
