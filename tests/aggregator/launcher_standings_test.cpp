// SPDX-License-Identifier: Apache-2.0
#include "aggregator/launcher_standings.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gmock/gmock.h>

#include "aggregator/agent_streams.h"
#include "aggregator/cluster_objects.h"
#include "aggregator/registry.h"
#include "tests/aggregator/fake_api.h"
#include "tests/aggregator/mover_fixture.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "wire/pressure_messages.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using migration::PodStandings;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

/// Launchers p1 and p2 on node n1, p3 on n2.
class LauncherStandingsTest : public testing::Test {
protected:
    LauncherStandingsTest() {
        objects.follow_vms();
        put("p1", "n1", "1Gi");
        put("p2", "n1", "2Gi");
        put("p3", "n2", "3Gi");
    }
    ~LauncherStandingsTest() override {
        if (scope) {
            test::run_until_done(loop, scope->close());
        }
    }
    LauncherStandingsTest(const LauncherStandingsTest&) = delete;
    LauncherStandingsTest& operator=(const LauncherStandingsTest&) = delete;
    LauncherStandingsTest(LauncherStandingsTest&&) = delete;
    LauncherStandingsTest& operator=(LauncherStandingsTest&&) = delete;

    void put(const std::string& uid, const std::string& node, const std::string& memory,
             const std::string& phase = "Running", const std::string& annotation = "") {
        json::object container{{"name", "compute"},
                               {"resources", {{"requests", {{"memory", memory}}}}}};
        api.put("pods", {{"metadata",
                          {{"name", "virt-launcher-" + uid},
                           {"namespace", "shop"},
                           {"uid", uid},
                           {"labels", {{"kubevirt.io", "virt-launcher"}}},
                           {"annotations", {{"kubevirt.io/domain", annotation}}}}},
                         {"spec",
                          {{"nodeName", node},
                           {"priority", 7},
                           {"containers", json::array{std::move(container)}}}},
                         {"status", {{"phase", phase}}}});
    }
    void start() {
        scope.emplace(loop.get_executor());
        objects.start(*scope);
        scope->spawn("standings", [this] { return standings.run(); });
        ASSERT_TRUE(run_until([this] { return objects.launchers.synced(); }));
        settle();
    }
    bool run_until(const std::function<bool()>& condition) {
        const auto end = std::chrono::steady_clock::now() + 10s;
        loop.restart();
        while (!condition() && std::chrono::steady_clock::now() < end) {
            loop.run_one_for(20ms);
        }
        return condition();
    }
    void settle() {
        loop.restart();
        while (loop.run_one_for(30ms) > 0) {
        }
    }
    /// All that a session was told.
    [[nodiscard]] std::vector<PodStandings> told(SessionId session) const {
        std::vector<PodStandings> all;
        if (const auto sent = sink.sent.find(session); sent != sink.sent.end()) {
            for (const auto& message : sent->second) {
                if (message.has_launcher_standings()) {
                    all.push_back(wire::from_wire(message.launcher_standings()));
                }
            }
        }
        return all;
    }

    static constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
    static migration::PodStanding of(std::uint64_t memory) {
        return {.priority = 7, .memory_request = memory, .storage_request = 0};
    }

    boost::asio::io_context loop{1};
    test::FakeClock clock;
    FakeApi api{loop.get_executor()};
    ClusterObjects objects{api, clock, [] { return kube::ReflectorSettings{}; }};
    ReadingSink sink;
    LauncherStandings standings{loop.get_executor(), objects.launchers, 5ms};
    std::optional<TaskScope> scope;
};

TEST_F(LauncherStandingsTest, AnAgentIsToldOfItsOwnNodeAlone) {
    standings.open(1, "n1", sink);
    settle();
    EXPECT_THAT(told(1), IsEmpty()) << "half a list would look like launchers that are gone";
    start();
    standings.open(2, "n2", sink);
    standings.open(3, "n3", sink);
    ASSERT_TRUE(run_until([this] { return !told(1).empty() && !told(3).empty(); }));

    EXPECT_EQ(told(1).back(), (PodStandings{{"p1", of(gib)}, {"p2", of(2 * gib)}}));
    EXPECT_EQ(told(2).back(), (PodStandings{{"p3", of(3 * gib)}}));
    EXPECT_EQ(told(3).back(), PodStandings{});
    EXPECT_EQ(standings.nodes(), 2U);
}

TEST_F(LauncherStandingsTest, WhatChangesIsToldWholeAndOnlyToWhomItConcerns) {
    standings.open(1, "n1", sink);
    standings.open(2, "n2", sink);
    start();
    ASSERT_TRUE(run_until([this] { return told(1).size() == 1 && told(2).size() == 1; }));

    put("p1", "n1", "1Gi", "Running", "another");
    settle();
    EXPECT_THAT(told(1), SizeIs(1)) << "nothing of it counts";

    put("p1", "n1", "5Gi");
    put("p4", "n1", "1Ki");
    ASSERT_TRUE(run_until([this] { return told(1).size() == 2; }));
    settle();
    EXPECT_THAT(told(1), SizeIs(2)) << "both in one message";
    EXPECT_EQ(told(1).back(),
              (PodStandings{{"p1", of(5 * gib)}, {"p2", of(2 * gib)}, {"p4", of(1024)}}));

    put("p1", "n1", "5Gi", "Succeeded");
    api.remove("pods", "virt-launcher-p2");
    ASSERT_TRUE(run_until([this] { return told(1).size() >= 3; }));
    settle();
    EXPECT_EQ(told(1).back(), (PodStandings{{"p4", of(1024)}}));
    EXPECT_THAT(told(2), SizeIs(1));

    api.remove("pods", "virt-launcher-p4");
    ASSERT_TRUE(run_until([this] { return told(1).back().empty(); }));
    EXPECT_EQ(standings.nodes(), 1U) << "nothing is kept of a node without launchers";
}

TEST_F(LauncherStandingsTest, APodIsToldOnceItHasANodeAndCanBeRead) {
    put("p5", "", "1Gi");
    put("p6", "n1", "lots");
    standings.open(1, "n1", sink);
    start();
    ASSERT_TRUE(run_until([this] { return !told(1).empty(); }));
    EXPECT_EQ(told(1).back().count("p6"), 0U);
    put("p5", "n1", "1Gi");
    ASSERT_TRUE(run_until([this] { return told(1).back().contains("p5"); }));
}

TEST_F(LauncherStandingsTest, WhoDoesNotReadIsToldTheLatestLater) {
    sink.room = 1;
    standings.open(1, "n1", sink);
    start();
    ASSERT_TRUE(run_until([this] { return told(1).size() == 1; }));
    put("p1", "n1", "5Gi");
    settle();
    put("p1", "n1", "6Gi");
    settle();
    EXPECT_THAT(told(1), SizeIs(1));
    sink.unread.clear();
    standings.drained(1);
    ASSERT_TRUE(run_until([this] { return told(1).size() == 2; }));
    EXPECT_EQ(told(1).back().at("p1"), of(6 * gib));
}

TEST_F(LauncherStandingsTest, OnlyAgentsThatSaySoAndAreThatNodesAreTold) {
    Registry registry({}, clock);
    AgentStreams streams(registry, sink, nullptr, nullptr, &standings);
    start();
    const auto hello = [&](SessionId id, const std::string& node, bool ranks) {
        streams.open(id, {.proof = Proof::token, .names = {"n1"}}, clock.steady());
        v1::AgentMessage message;
        message.mutable_hello()->set_node(node);
        message.mutable_hello()->set_host_identity("i");
        message.mutable_hello()->set_ranks_launchers(ranks);
        streams.receive(id, message, clock.steady());
    };
    hello(1, "n1", false);
    hello(2, "n2", true);
    settle();
    EXPECT_THAT(told(1), IsEmpty()) << "an old one's stream would end";
    EXPECT_TRUE(sink.ended.contains(2)) << "its token is another node's";
    EXPECT_THAT(told(2), IsEmpty());

    hello(3, "n1", true);
    ASSERT_TRUE(run_until([this] { return told(3).size() == 1; }));
    EXPECT_TRUE(sink.sent[3].front().has_welcome());

    // After its end nobody sends to it.
    streams.close(3, clock.steady());
    put("p1", "n1", "5Gi");
    settle();
    EXPECT_THAT(told(3), SizeIs(1));
}

}  // namespace
}  // namespace scout::aggregator
