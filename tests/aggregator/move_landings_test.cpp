// SPDX-License-Identifier: Apache-2.0
#include "aggregator/move_landings.h"

#include <string>
#include <utility>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/mover_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

class MoveLandingsTest : public MoverFixture {
protected:
    MoveLandingsTest() {
        put_labelled_node("n2", {{"disk", "hdd"}, {"zone", "a"}});
        api.answer = [this](const kube::HttpRequest& request) {
            const bool asks =
                request.target.find("virtualmachineinstancemigrations/") != std::string::npos;
            if (asks) {
                ++reads;
            }
            kube::HttpResponse response;
            response.head.status = asks ? status : 200;
            response.body = asks ? json::serialize(move) : "{}";
            return response;
        };
        put({});
        start();
        scope->spawn("landings", [this] { return landings.run(); });
        clock.advance(1min);
        settle();
    }
    void put_labelled_node(const std::string& name, json::object labels) {
        api.put("nodes", {{"metadata", {{"name", name}, {"labels", std::move(labels)}}}});
    }
    void put(json::object migration_state) {
        json::object told{{"phase", "Running"}, {"nodeName", "n1"}};
        if (!migration_state.empty()) {
            told["migrationState"] = std::move(migration_state);
        }
        api.put("virtualmachineinstances",
                {{"metadata", {{"name", "web"}, {"namespace", "shop"}, {"uid", "u1"}}},
                 {"spec", {{"nodeSelector", own}}},
                 {"status", std::move(told)}});
        settle();
    }
    /// Migration m1, from its hand-off to its end on n2.
    void move_with(json::object spec, json::object annotations = {}) {
        spec["vmiName"] = "web";
        move = {{"metadata",
                 {{"name", "m1"},
                  {"namespace", "shop"},
                  {"uid", "move m1"},
                  {"annotations", std::move(annotations)}}},
                {"spec", std::move(spec)},
                {"status", {{"phase", "Running"}}}};
        api.put("virtualmachineinstancemigrations", move);
        put({{"migrationUid", "move m1"}, {"targetNode", "n2"}});
        put({{"migrationUid", "move m1"},
             {"targetNode", "n2"},
             {"completed", true},
             {"failed", failed}});
    }
    [[nodiscard]] std::uint64_t judged() const {
        const auto& all = landings.counters();
        return all.as_asked + all.elsewhere + all.unclear;
    }
    void pass(std::chrono::seconds time) {
        clock.advance(time);
        static_cast<void>(run_until([this] { return judged() == 1; }));
    }

    json::object own;  ///< the VM's own node selector
    json::object move;
    unsigned status = 200;
    int reads = 0;
    bool failed = false;
    kube::Client once{api, clock, {.attempts = 1}};
    MoveLandings landings{loop.get_executor(),
                          {.nodes = objects.nodes,
                           .vmis = objects.vmis,
                           .migrations = objects.migrations,
                           .elector = elector,
                           .events = events},
                          once,
                          clock,
                          10ms};
};

TEST_F(MoveLandingsTest, WhereItWasToGoIsNotWorthAWord) {
    move_with({{"addedNodeSelector", {{"zone", "a"}}}});
    pass(5s);
    EXPECT_EQ(landings.counters().as_asked, 1U);
    EXPECT_THAT(recorded.records, IsEmpty());
    put({{"migrationUid", "move m1"}, {"targetNode", "n2"}, {"completed", true}, {"x", "y"}});
    clock.advance(5s);
    settle();
    EXPECT_EQ(judged(), 1U) << "each migration once";
}

TEST_F(MoveLandingsTest, AnotherNodeIsToldWithWhatItLacksAndWhy) {
    own = {{"disk", "hdd"}};
    put({});
    move_with({{"addedNodeSelector", {{"disk", "ssd"}, {"zone", "a"}}}});
    pass(5s);
    EXPECT_EQ(landings.counters().elsewhere, 1U);
    ASSERT_TRUE(run_until([this] { return !recorded.records.empty(); }));
    ASSERT_THAT(recorded.records, SizeIs(1));
    const auto& note = recorded.records.front().note;
    EXPECT_EQ(note.reason, "MigrationLandedElsewhere");
    EXPECT_EQ(note.regarding.name, "web");
    EXPECT_TRUE(note.warning);
    EXPECT_THAT(note.note, AllOf(HasSubstr("m1 brought it to node n2"),
                                 HasSubstr("disk=ssd (it has disk=hdd)"), Not(HasSubstr("zone")),
                                 HasSubstr("what the VM asks for itself wins: disk")));
}

TEST_F(MoveLandingsTest, TermsCountWhicheverCarrierTheyAreIn) {
    const json::object term{
        {"matchExpressions", json::array{{{"key", "rack"}, {"operator", "Exists"}}}}};
    move_with({{"addedNodeSelectorTerm", term},
               {"addedNodeSelector", {{"virt-scout.io/target-term", "digest"}}}});
    pass(5s);
    EXPECT_EQ(landings.counters().elsewhere, 1U);
    ASSERT_TRUE(run_until([this] { return !recorded.records.empty(); }));
    EXPECT_THAT(recorded.records.front().note.note,
                AllOf(HasSubstr("rack Exists"), Not(HasSubstr("digest"))));
}

TEST_F(MoveLandingsTest, WhatAsksForNothingOrFailedIsNotRead) {
    move_with({});
    clock.advance(5s);
    settle();
    failed = true;
    move_with({{"addedNodeSelector", {{"disk", "ssd"}}}});
    clock.advance(5s);
    settle();
    EXPECT_EQ(reads, 0);
    EXPECT_EQ(judged(), 0U);
}

TEST_F(MoveLandingsTest, AServerThatIsAwayIsAskedAgainButNotForEver) {
    status = 503;
    move_with({{"addedNodeSelector", {{"disk", "ssd"}}}});
    for (int i = 0; i < 5; ++i) {
        clock.advance(5s);
        settle();
    }
    EXPECT_EQ(landings.counters().unclear, 1U);
    EXPECT_EQ(reads, 3);
    EXPECT_THAT(recorded.records, IsEmpty());
}

TEST_F(MoveLandingsTest, WhatIsGoneByThenIsUnclear) {
    status = 404;
    move_with({{"addedNodeSelector", {{"disk", "ssd"}}}});
    pass(5s);
    EXPECT_EQ(landings.counters().unclear, 1U);
    EXPECT_EQ(reads, 1);
}

TEST_F(MoveLandingsTest, AnotherMigrationOfThatNameDoesNotCount) {
    move_with({{"addedNodeSelector", {{"disk", "ssd"}}}});
    move["metadata"].as_object()["uid"] = "another";
    pass(5s);
    EXPECT_EQ(landings.counters().unclear, 1U);
}

TEST_F(MoveLandingsTest, OnlyTheLeaderLooks) {
    lose_leadership();
    move_with({{"addedNodeSelector", {{"disk", "ssd"}}}});
    clock.advance(5s);
    settle();
    EXPECT_EQ(reads, 0);
}

}  // namespace
}  // namespace scout::aggregator
