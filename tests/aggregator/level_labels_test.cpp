// SPDX-License-Identifier: Apache-2.0
// The level labels of a cluster, against a server that answers as a script says.
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "aggregator/cluster_side.h"
#include "tests/aggregator/host_model_objects.h"
#include "tests/kube/transport_fixture.h"
#include "tests/support/scripted_transport.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using scout::test::FakeServer;
using scout::test::Peer;
using scout::test::SeenRequest;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;

/// In one line, as a watch tells it.
std::string node(const std::string& name, const std::string& feature,
                 std::optional<std::string> level = std::nullopt) {
    auto labels = node_labels("amd64", feature);
    if (level) {
        labels["kubevirt/host-model-migratability-level"] = *level;
    }
    const json::object metadata{{"name", name},
                                {"uid", "uid of " + name},
                                {"resourceVersion", "5"},
                                {"labels", std::move(labels)}};
    return json::serialize(
        json::object{{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", metadata}});
}

/// An API server of three nodes, without KubeVirt, whose lease is free.
class SmallCluster {
public:
    /// False: the connection is closed.
    bool answer(Peer& peer, const SeenRequest& request) {
        const auto& target = request.target;
        if (target.find("/leases") != std::string::npos) {
            return lease(peer, request);
        }
        if (request.method == "PATCH") {
            take(request);
            peer.say(scout::test::answer(200, "{}"));
            return true;
        }
        if (target.find("/kubevirts") != std::string::npos ||
            target.find("/cpuprofiles") != std::string::npos ||
            target.find("/scoutconfigs") != std::string::npos) {
            const unsigned status =
                target.find("/cpuprofiles") == std::string::npos ? settings : profiles;
            peer.say(scout::test::answer(
                status,
                scout::test::status_json(status, status == 404 ? "NotFound" : "Forbidden")));
            return true;
        }
        peer.say(scout::test::chunked_head());
        for (const auto& each : {node("a", "x"), node("b", "x"), node("c", "y", "0")}) {
            peer.say(scout::test::chunk(scout::test::watch_line("ADDED", each) + "\n"));
        }
        peer.say(scout::test::chunk(scout::test::bookmark_line("9", true) + "\n"));
        peer.stay_silent();
        return false;
    }

    /// What is answered to who would read CPUProfiles, and ScoutConfigs and KubeVirts.
    std::atomic<unsigned> profiles = 404;
    std::atomic<unsigned> settings = 404;

    [[nodiscard]] std::map<std::string, std::string> written() const {
        const std::lock_guard lock(lock_);
        return written_;
    }
    [[nodiscard]] std::string holder() const {
        const std::lock_guard lock(lock_);
        return holder_;
    }

private:
    bool lease(Peer& peer, const SeenRequest& request) {
        const std::lock_guard lock(lock_);
        if (request.method == "GET") {
            peer.say(scout::test::answer(404, scout::test::status_json(404, "NotFound")));
            return true;
        }
        auto stored = json::parse(request.body).as_object();
        holder_ = std::string(stored["spec"].at("holderIdentity").as_string());
        stored["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
        peer.say(
            scout::test::answer(request.method == "POST" ? 201 : 200, json::serialize(stored)));
        return true;
    }

    void take(const SeenRequest& request) {
        const auto body = json::parse(request.body);
        const auto slash = request.target.rfind('/');
        auto name = request.target.substr(slash + 1);
        name.resize(std::min(name.find('?'), name.size()));
        const auto* labels = body.at("metadata").as_object().if_contains("labels");
        const auto* level =
            labels == nullptr
                ? nullptr
                : labels->as_object().if_contains("kubevirt/host-model-migratability-level");
        const std::lock_guard lock(lock_);
        written_[name] = level == nullptr ? "none" : std::string(level->as_string());
    }

    mutable std::mutex lock_;
    std::map<std::string, std::string> written_;
    std::string holder_;
    int version_ = 10;
};

class LevelLabelsTest : public kube::TransportFixture {
protected:
    LevelLabelsTest()
        : server([this](Peer& peer, const SeenRequest& request) {
              return cluster.answer(peer, request);
          }) {}

    [[nodiscard]] ClusterSettings settings() const {
        return {
            .access = access_to(server.port()), .space = "scout", .identity = "me", .levels = {}};
    }

    /// False if that did not come true in time.
    bool run_until(const std::function<bool()>& condition) {
        const auto end = clock.steady() + long_enough;
        while (!condition() && clock.steady() < end) {
            loop.restart();
            loop.run_for(5ms);
        }
        return condition();
    }

    SmallCluster cluster;
    FakeServer server;
};

TEST_F(LevelLabelsTest, TheLeaderWritesWhatDiffers) {
    ClusterSide side(loop.get_executor(), settings(), clock);
    ASSERT_TRUE(side.start());

    EXPECT_TRUE(run_until([this] { return cluster.written().size() == 2; }));
    const auto facts = side.facts();
    scout::test::run_until_done(loop, side.stop());

    // a and b can go to each other only; c carries its 0 already.
    EXPECT_THAT(cluster.written(), UnorderedElementsAre(Pair("a", "50"), Pair("b", "50")));
    EXPECT_TRUE(facts.leads);
    EXPECT_TRUE(facts.synced);
    EXPECT_EQ(facts.nodes, 3U);
    for (const auto& request : server.requests()) {
        if (request.method == "PATCH") {
            EXPECT_THAT(request.target, HasSubstr("fieldManager=virt-scout"));
            EXPECT_THAT(request.headers.at("content-type"), HasSubstr("apply-patch"));
        }
    }
}

TEST_F(LevelLabelsTest, WithoutTheRightToReadProfilesLabelsOfTheStockLayerGoOn) {
    cluster.profiles = 403;
    ClusterSide side(loop.get_executor(), settings(), clock);
    ASSERT_TRUE(side.start());

    EXPECT_TRUE(run_until([this] { return cluster.written().size() == 2; }));
    const auto facts = side.facts();
    scout::test::run_until_done(loop, side.stop());

    EXPECT_TRUE(facts.synced);
    EXPECT_THAT(facts.trouble, HasSubstr("list cpuprofiles.virt-scout.io: HTTP 403"));
}

TEST_F(LevelLabelsTest, WithoutTheRightToReadProfilesTheTruthLayerWaits) {
    cluster.profiles = 403;
    auto truth = settings();
    truth.levels.layer = migration::Layer::truth;
    truth.following.slow_retry = 100ms;
    ClusterSide side(loop.get_executor(), std::move(truth), clock);
    ASSERT_TRUE(side.start());

    EXPECT_TRUE(run_until([&side] {
        const auto facts = side.facts();
        return facts.leads && facts.nodes == 3 &&
               facts.trouble.find("cpuprofiles") != std::string::npos;
    }));
    EXPECT_FALSE(side.facts().synced);
    // The refusal is noticed within a second, and the first write would come a second later.
    asio::steady_timer later(loop, 3s);
    bool passed = false;
    later.async_wait([&passed](const auto& /*error*/) { passed = true; });
    EXPECT_TRUE(run_until([&passed] { return passed; }));
    EXPECT_TRUE(cluster.written().empty());
    EXPECT_FALSE(side.facts().synced);
    cluster.profiles = 404;
    EXPECT_TRUE(run_until([this] { return cluster.written().size() == 2; }));
    scout::test::run_until_done(loop, side.stop());
}

TEST_F(LevelLabelsTest, WhatMayNotBeReadAnyMoreIsWaitedForInPeace) {
    auto patient = settings();
    patient.following.slow_retry = 100ms;
    ClusterSide side(loop.get_executor(), std::move(patient), clock);
    ASSERT_TRUE(side.start());
    ASSERT_TRUE(run_until([&side] { return side.facts().leads && side.facts().synced; }));
    cluster.settings = 403;
    ASSERT_TRUE(run_until([&side] {
        const auto trouble = side.facts().trouble;
        return trouble.find("scoutconfigs") != std::string::npos &&
               trouble.find("kubevirts") != std::string::npos;
    }));
    ASSERT_TRUE(cluster.written().empty());

    // Two writes are due a second after it leads, and stay so.
    std::size_t turns = 0;
    for (const auto end = clock.steady() + 3s; clock.steady() < end;) {
        loop.restart();
        turns += loop.run_for(100ms);
    }

    EXPECT_LT(turns, 3'000U) << "the loop has nothing to do";
    EXPECT_TRUE(cluster.written().empty());
    cluster.settings = 404;
    EXPECT_TRUE(run_until([this] { return cluster.written().size() == 2; }));
    scout::test::run_until_done(loop, side.stop());
}

TEST_F(LevelLabelsTest, WhoIsSyncedHasJudgedTheNodes) {
    ClusterSide side(loop.get_executor(), settings(), clock);
    ASSERT_TRUE(side.start());

    std::size_t out_of_step = 0;
    const auto end = clock.steady() + long_enough;
    while (!side.facts().synced && clock.steady() < end) {
        loop.restart();
        loop.run_one_for(5ms);
        out_of_step = side.facts().labels_out_of_step;
    }
    scout::test::run_until_done(loop, side.stop());

    EXPECT_EQ(out_of_step, 2U);
}

TEST_F(LevelLabelsTest, AStopGivesTheLeaseBack) {
    ClusterSide side(loop.get_executor(), settings(), clock);
    ASSERT_TRUE(side.start());

    EXPECT_TRUE(run_until([&side] { return side.facts().leads; }));
    EXPECT_EQ(cluster.holder(), "me");
    scout::test::run_until_done(loop, side.stop());

    EXPECT_EQ(cluster.holder(), "");
    EXPECT_FALSE(side.facts().leads);
}

}  // namespace
}  // namespace scout::aggregator
