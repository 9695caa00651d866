// SPDX-License-Identifier: Apache-2.0
// What agents are told of VMs that are to be moved, and when.
#include <chrono>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/mover_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

class EvacuationDeskTest : public MoverFixture {
protected:
    [[nodiscard]] std::vector<std::string> reasons() const {
        std::vector<std::string> out;
        for (const auto& record : recorded.records) {
            out.push_back(record.note.reason);
        }
        return out;
    }
};

TEST_F(EvacuationDeskTest, TellsTheRulesAfterHelloAndWhenTheyChangeOnly) {
    put_kubevirt({{"evictionStrategy", "LiveMigrate"}});
    start();
    open(1, "n1");
    ASSERT_TRUE(run_until([this] { return !rules(1).empty(); }));

    EXPECT_EQ(rules(1).back().mode(), v1::EvacuationRules::MODE_ACT);
    EXPECT_TRUE(rules(1).back().stamp());
    EXPECT_EQ(rules(1).back().eviction_strategy(), "LiveMigrate");
    EXPECT_EQ(rules(1).back().reserve_seconds(), 10U);
    EXPECT_EQ(rules(1).back().patience_seconds(), 60U);

    put_kubevirt({{"evictionStrategy", "LiveMigrate"}, {"cpuModel", "Haswell"}});
    settle();
    EXPECT_THAT(rules(1), SizeIs(1)) << "nothing of them changed";

    put_config({{"mode", "observe"}, {"reserveSeconds", 25}});
    ASSERT_TRUE(run_until([this] { return rules(1).size() == 2; }));
    EXPECT_EQ(rules(1).back().mode(), v1::EvacuationRules::MODE_OBSERVE);
    EXPECT_EQ(rules(1).back().reserve_seconds(), 25U);
}

TEST_F(EvacuationDeskTest, FactsTellWhatTheObjectsSay) {
    put_kubevirt({{"migrations", {{"bandwidthPerMigration", "64Mi"}}}});
    api.put("namespaces", {{"metadata", {{"name", "shop"}, {"labels", {{"team", "a"}}}}}});
    api.put("migrationpolicies",
            {{"metadata", {{"name", "p"}}},
             {"spec",
              {{"allowPostCopy", true}, {"selectors", {{"namespaceSelector", {{"team", "a"}}}}}}}});
    const boost::json::object disk{{"volumeName", "old"},
                                   {"sourcePVCInfo", {{"requests", {{"storage", "20Gi"}}}}}};
    put_vmi("web", "n1",
            {{"evacuationNodeName", "n1"}, {"migratedVolumes", boost::json::array{disk}}});
    put_move("m1", "web", "Failed");
    put_move("m2", "web", "Scheduling");
    put_move("other", "db", "Running");
    start();
    open(1, "n1");
    name(1);

    ASSERT_THAT(facts(1), SizeIs(1)) << "at once";
    const auto told = facts(1).back();
    EXPECT_EQ(told.vmi_uid(), "vmi web");
    EXPECT_EQ(told.vmi().node(), "n1");
    EXPECT_EQ(told.vmi().marked_node(), "n1");
    EXPECT_EQ(told.vmi().eviction_strategy(), "LiveMigrate");
    EXPECT_TRUE(told.vmi().migratable());
    EXPECT_EQ(told.vmi().grace_seconds(), 30) << "KubeVirt's default";
    EXPECT_EQ(told.pod().name(), "virt-launcher-web-a");
    EXPECT_EQ(told.pod().grace_seconds(), 60);
    EXPECT_TRUE(told.moves_known());
    ASSERT_EQ(told.moves_size(), 2);
    EXPECT_EQ(told.moves(0).name(), "m1");
    EXPECT_EQ(told.moves(0).phase(), "Failed");
    EXPECT_EQ(told.moves(1).phase(), "Scheduling");
    EXPECT_EQ(told.numbers().bandwidth(), 64ULL << 20U);
    EXPECT_TRUE(told.numbers().allow_post_copy());
    EXPECT_FALSE(told.numbers().has_max_downtime_ms()) << "without its gate";
    EXPECT_EQ(told.numbers().disk_bytes(), 20ULL << 30U);
    EXPECT_EQ(told.numbers().counted_disk_bytes(), 20ULL << 30U);
    EXPECT_EQ(told.slots(), 2U);
}

/// Each changes what is followed of the whole cluster.
TEST_F(EvacuationDeskTest, OfTooManyMessagesTheLastCountsALittleLater) {
    put_vmi("db", "n1");
    put_pod("virt-launcher-db-a", "db", "n1");
    start();
    open(1, "n1");
    for (int i = 0; i < 200; ++i) {
        name(1, "held", {i % 2 == 0 ? "web" : "db"});
    }
    EXPECT_TRUE(desk->names("vmi web"));
    EXPECT_FALSE(desk->names("vmi db"));
    order(1, 1, "dry-run", {}, "db");
    EXPECT_EQ(result(1, 1).outcome(), v1::EvacuationResult::UNAVAILABLE);
    EXPECT_THAT(result(1, 1).text(), HasSubstr("too many messages"));
    EXPECT_EQ(desk->counters().foreign, 0U);

    clock.advance(1s);
    ASSERT_TRUE(run_until([this] { return desk->names("vmi db"); }));
    EXPECT_FALSE(desk->names("vmi web"));
    EXPECT_EQ(facts(1).back().vmi_uid(), "vmi db");
    name(1, "held", {"web"});
    EXPECT_TRUE(desk->names("vmi web")) << "at once";
}

TEST_F(EvacuationDeskTest, FactsTellOfANodeWithoutNodeObject) {
    start();
    open(1, "n1");
    name(1);
    ASSERT_THAT(facts(1), SizeIs(1));
    EXPECT_FALSE(facts(1).back().vmi().node_gone());

    api.remove("nodes", "n2");
    api.remove("nodes", "n1");
    ASSERT_TRUE(run_until([this] { return facts(1).back().vmi().node_gone(); }));
    put_node("n1");
    ASSERT_TRUE(run_until([this] { return !facts(1).back().vmi().node_gone(); }));
    EXPECT_THAT(facts(1), SizeIs(3));
}

TEST_F(EvacuationDeskTest, FactsComeOnChangeAndEveryTenSecondsOnly) {
    start();
    open(1, "n1");
    name(1);
    settle();
    ASSERT_THAT(facts(1), SizeIs(1));

    put_vmi("web", "n1", {}, {{"annotations", {{"some", "annotation"}}}});
    put_vmi("db", "n1");
    put_pod("virt-launcher-db-a", "db", "n1");
    settle();
    EXPECT_THAT(facts(1), SizeIs(1)) << "nothing of the message changed";

    put_vmi("web", "n1", {{"evacuationNodeName", "n1"}});
    ASSERT_TRUE(run_until([this] { return facts(1).size() == 2; }));
    put_move("m", "web", "Pending");
    ASSERT_TRUE(run_until([this] { return facts(1).size() == 3; }));
    EXPECT_EQ(facts(1).back().moves_size(), 1);
    api.remove("virtualmachineinstancemigrations", "m");
    ASSERT_TRUE(run_until([this] { return facts(1).size() == 4; }));
    EXPECT_EQ(facts(1).back().moves_size(), 0);
    put_kubevirt({{"migrations", {{"completionTimeoutPerGiB", 77}}}});
    ASSERT_TRUE(run_until([this] { return facts(1).size() == 5; }));
    EXPECT_EQ(facts(1).back().numbers().completion_seconds_per_gib(), 77);

    clock.advance(10s);
    EXPECT_TRUE(run_until([this] { return facts(1).size() == 6; }));
}

TEST_F(EvacuationDeskTest, TellsUntilWhenKubeVirtWaitsAfterEvacuationsThatFailed) {
    start();
    open(1, "n1");
    name(1);
    settle();
    EXPECT_EQ(facts(1).back().next_evacuation_unix_ms(), 0);
    const auto put = [this](const char* name, const char* annotation, const char* failed) {
        api.put("virtualmachineinstancemigrations",
                {{"metadata",
                  {{"name", name},
                   {"namespace", "shop"},
                   {"creationTimestamp", "2026-11-27T21:39:00Z"},
                   {"annotations", {{annotation, "n1"}}}}},
                 {"spec", {{"vmiName", "web"}}},
                 {"status",
                  {{"phase", "Failed"},
                   {"phaseTransitionTimestamps",
                    json::array{{{"phase", "Failed"}, {"phaseTransitionTimestamp", failed}}}}}}});
    };
    put("users", "some", "2026-11-27T21:39:40Z");
    ASSERT_TRUE(run_until([this] { return facts(1).back().moves_size() == 1; }));
    EXPECT_EQ(facts(1).back().next_evacuation_unix_ms(), 0);
    put("drained", "kubevirt.io/evacuationMigration", "2026-11-27T21:39:46Z");
    ASSERT_TRUE(run_until([this] { return facts(1).back().moves_size() == 2; }));
    EXPECT_EQ(facts(1).back().next_evacuation_unix_ms(), 1'795'815'606'000) << "20 s after";
}

TEST_F(EvacuationDeskTest, SlotsAreWhatOthersLeave) {
    for (const auto* vmi : {"a", "b", "c", "d"}) {
        put_vmi(vmi, "n2");
    }
    start();
    open(1, "n1");
    name(1);
    EXPECT_EQ(facts(1).back().slots(), 2U);

    for (const auto* vmi : {"a", "b", "c", "d"}) {
        put_move(std::string{"m"} + vmi, vmi, "Running");
    }
    EXPECT_TRUE(run_until([this] { return facts(1).back().slots() == 1; })) << "five in all";
    put_move("ma", "a", "Succeeded");
    EXPECT_TRUE(run_until([this] { return facts(1).back().slots() == 2; }));
}

TEST_F(EvacuationDeskTest, OfAnotherNodesVmNothingIsTold) {
    put_vmi("db", "n2");
    put_pod("virt-launcher-db-a", "db", "n2");
    start();
    open(1, "n1");
    name(1, "held", {"db"});

    ASSERT_THAT(facts(1), SizeIs(1));
    EXPECT_FALSE(facts(1).back().has_vmi());
    EXPECT_FALSE(facts(1).back().has_pod());
    EXPECT_FALSE(facts(1).back().moves_known());

    put_pod("virt-launcher-db-a", "db", "n1");  // seen late
    put_vmi("db", "n1");
    ASSERT_TRUE(run_until([this] { return facts(1).back().has_vmi(); }));
}

TEST_F(EvacuationDeskTest, WhereTheVmWentIsStillTold) {
    start();
    open(1, "n1");
    name(1, "moving");
    put_vmi("web", "n2");
    api.remove("pods", "virt-launcher-web-a");

    EXPECT_TRUE(run_until(
        [this] { return facts(1).back().vmi().node() == "n2" && !facts(1).back().has_pod(); }));
}

TEST_F(EvacuationDeskTest, WhatAnAgentDoesNotReadIsNotKept) {
    start();
    open(1, "n1");
    sink.room = 4;
    const auto many = put_two_hundred();
    settle();
    name(1, "held", many);
    for (int round = 0; round < 3; ++round) {
        put_move("m" + std::to_string(round), "vm0", "Pending");
        settle();
    }
    EXPECT_THAT(sink.sent[1], SizeIs(4)) << "the stream has room for no more";

    while (sink.unread[1] > 0) {
        --sink.unread[1];
        desk->drained(1);
        if (facts(1).size() > 500) {
            break;
        }
    }
    EXPECT_THAT(facts(1), SizeIs(AllOf(testing::Ge(200U), testing::Le(206U))));
    EXPECT_THAT(sink.ended, IsEmpty());
}

TEST_F(EvacuationDeskTest, MalformedAndTooManyNamesAreRefused) {
    start();
    open(1, "n1");
    v1::Evacuations many;
    for (int i = 0; i < 1001; ++i) {
        many.add_evacuations()->set_vmi_uid(std::to_string(i));
    }
    const auto refused = desk->take(1, many);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::invalid);

    v1::Evacuations half;
    half.add_evacuations()->set_vmi_uid("vmi web");
    EXPECT_TRUE(desk->take(1, half)) << "of which launcher is not said: it is left out";
    EXPECT_THAT(facts(1), IsEmpty());

    half.mutable_evacuations(0)->set_vmi(std::string(300, 'x'));
    EXPECT_FALSE(desk->take(1, half));
}

TEST_F(EvacuationDeskTest, PeopleAreToldWhenAVmIsMovedAndWhenItIsGivenUp) {
    start();
    open(1, "n1");
    name(1, "suspected");
    name(1, "held");
    settle();
    EXPECT_THAT(reasons(), IsEmpty());

    name(1, "moving");
    ASSERT_TRUE(run_until([this] { return reasons().size() == 1; }));
    EXPECT_EQ(reasons().back(), "EvacuationBegan");
    EXPECT_EQ(recorded.records.back().note.regarding.uid, "vmi web");
    name(1, "given-up");
    ASSERT_TRUE(run_until([this] { return reasons().size() == 2; }));
    EXPECT_EQ(reasons().back(), "EvacuationGivenUp");
    EXPECT_TRUE(recorded.records.back().note.warning);
    EXPECT_THAT(recorded.records.back().note.note, HasSubstr("because of a test"));
    name(1, "given-up");
    settle();
    EXPECT_THAT(reasons(), SizeIs(2));
    name(1, "given-up", {"web"}, "its migration is still being aborted");
    ASSERT_TRUE(run_until([this] { return reasons().size() == 3; }));
    EXPECT_THAT(recorded.records.back().note.note, HasSubstr("still being aborted"));
    name(1, "released");
    settle();
    EXPECT_THAT(reasons(), SizeIs(3));
}

TEST_F(EvacuationDeskTest, OfWhatItsOwnerStoppedNobodyIsTold) {
    start();
    open(1, "n1");
    name(1, "held");
    put_vmi("web", "n1", {}, {{"deletionTimestamp", "2026-11-28T10:00:00Z"}});
    settle();
    name(1, "released");
    settle();
    EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(EvacuationDeskTest, CountsStatesOfWhatIsOnTheNodes) {
    put_vmi("db", "n2");
    put_pod("virt-launcher-db-a", "db", "n2");
    start();
    open(1, "n1");
    name(1, "moving", {"web", "db"});

    const auto counters = desk->counters();
    EXPECT_EQ(counters.agents, 1U);
    EXPECT_EQ(counters.states.at(static_cast<std::size_t>(migration::EvacuationState::moving)), 1U);
    desk->close(1);
    EXPECT_EQ(desk->counters().agents, 0U);
    EXPECT_THAT(desk->held_on("n1"), SizeIs(1)) << "its agent is gone, its VM is held";
    open(2, "n1");
    EXPECT_THAT(desk->held_on("n1"), IsEmpty());
}

}  // namespace
}  // namespace scout::aggregator
