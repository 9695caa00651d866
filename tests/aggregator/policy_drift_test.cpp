// SPDX-License-Identifier: Apache-2.0
#include "aggregator/policy_drift.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "tests/aggregator/mover_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

class PolicyDriftTest : public MoverFixture {
protected:
    PolicyDriftTest() {
        put_policy("a", {{"app", "web"}});
        put_policy("b", {{"app", "web"}, {"tier", "front"}});
        put_vmi("web", "n1", {}, {{"labels", labels}});
        start();
        scope->spawn("drift", [this] { return drift.run(); });
        clock.advance(1min);
        settle();
    }
    void put_policy(const std::string& name, json::object vmi) {
        api.put("migrationpolicies",
                {{"metadata", {{"name", name}}},
                 {"spec", {{"selectors", {{"virtualMachineInstanceSelector", std::move(vmi)}}}}}});
    }
    /// As virt-controller does it, in one patch.
    void hand_off(const std::string& migration, const std::string& policy) {
        json::object state{{"migrationUid", migration}};
        if (!policy.empty()) {
            state["migrationPolicyName"] = policy;
        }
        put_vmi("web", "n1", {{"migrationState", std::move(state)}}, {{"labels", labels}});
        settle();
    }
    void pass(std::chrono::seconds time) {
        clock.advance(time);
        static_cast<void>(run_until([this] {
            const auto& all = drift.counters();
            return all.same + all.differs + all.unclear == compared;
        }));
    }

    json::object labels{{"app", "web"}, {"tier", "front"}};
    std::uint64_t compared = 1;
    PolicyDrift drift{loop.get_executor(),
                      {.vmis = objects.vmis,
                       .policies = objects.policies,
                       .namespaces = objects.namespaces,
                       .elector = elector,
                       .events = events},
                      clock,
                      10ms};
};

TEST_F(PolicyDriftTest, WhatTheRuleGivesIsNotWorthAWord) {
    hand_off("m-1", "b");
    pass(5s);
    EXPECT_EQ(drift.counters().same, 1U);
    EXPECT_THAT(recorded.records, IsEmpty());

    hand_off("m-1", "a");
    compared = 2;
    hand_off("m-2", "b");
    pass(5s);
    EXPECT_EQ(drift.counters().same, 2U) << "each migration once, when it is handed off";
    EXPECT_EQ(drift.counters().differs, 0U);
}

TEST_F(PolicyDriftTest, AnotherChoiceIsToldAndCounted) {
    hand_off("m-1", "a");
    pass(5s);
    EXPECT_EQ(drift.counters().differs, 1U);
    ASSERT_TRUE(run_until([this] { return !recorded.records.empty(); }));
    ASSERT_THAT(recorded.records, SizeIs(1));
    const auto& note = recorded.records.front().note;
    EXPECT_EQ(note.reason, "MigrationPolicyDiffers");
    EXPECT_EQ(note.regarding.name, "web");
    EXPECT_TRUE(note.warning);
    EXPECT_THAT(note.note, HasSubstr("with policy a"));
    EXPECT_THAT(note.note, HasSubstr("it would be policy b"));

    compared = 2;
    hand_off("m-2", "");
    pass(5s);
    EXPECT_EQ(drift.counters().differs, 2U);
}

TEST_F(PolicyDriftTest, WherePoliciesChangeJustThenEitherMayBeRight) {
    put_policy("c", {{"app", "web"}, {"tier", "front"}, {"x", "y"}});
    labels["x"] = "y";
    hand_off("m-1", "b");
    pass(5s);
    EXPECT_EQ(drift.counters().same, 1U) << "by the labels of just before";

    compared = 2;
    put_policy("d", {{"z", "z"}});
    settle();
    hand_off("m-2", "a");
    pass(5s);
    EXPECT_EQ(drift.counters().unclear, 1U);
    EXPECT_THAT(recorded.records, IsEmpty());
}

TEST_F(PolicyDriftTest, OnlyTheLeaderCompares) {
    lose_leadership();
    hand_off("m-1", "a");
    clock.advance(5s);
    settle();
    EXPECT_EQ(drift.counters().same + drift.counters().differs + drift.counters().unclear, 0U);
}

}  // namespace
}  // namespace scout::aggregator
