// SPDX-License-Identifier: Apache-2.0
// What agents order: carried out for VMs on their nodes, refused for all others.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/mover_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using namespace std::chrono_literals;
using Result = v1::EvacuationResult;

constexpr const char* eviction_path = "/api/v1/namespaces/shop/pods/virt-launcher-web-a/eviction";

kube::HttpResponse respond(unsigned status, std::string body) {
    kube::HttpResponse response;
    response.head.status = status;
    response.body = std::move(body);
    return response;
}

std::string denial(const std::string& text) {
    return json::serialize(json::object{{"kind", "Status"}, {"code", 429}, {"message", text}});
}

class EvacuationOrdersTest : public MoverFixture {
protected:
    void begin() {
        start();
        open(1, "n1");
        name(1);
        api.forget_calls();
    }
    /// KubeVirt's webhook marks what is evicted.
    void evictions_mark() {
        api.answer = [](const kube::HttpRequest& request) {
            return request.target.find("/eviction") != std::string::npos
                       ? respond(429, denial("Eviction triggered evacuation of VMI \"shop/web\""))
                       : respond(200, "{}");
        };
    }
    /// A held launcher whose names need not belong together.
    void name_as(const std::string& vmi, const std::string& vmi_uid, const std::string& pod_uid) {
        v1::Evacuations message;
        auto& named = *message.add_evacuations();
        named.set_namespace_("shop");
        named.set_vmi(vmi);
        named.set_vmi_uid(vmi_uid);
        named.set_pod_uid(pod_uid);
        named.set_state("held");
        ASSERT_TRUE(desk->take(1, message));
    }
    void expect_refused(const std::string& words) {
        const auto answer = result(1, 1);
        EXPECT_EQ(answer.outcome(), Result::REFUSED);
        EXPECT_THAT(answer.text(), HasSubstr(words));
        EXPECT_THAT(calls(), IsEmpty());
        EXPECT_EQ(desk->counters().foreign, 1U);
    }
};

TEST_F(EvacuationOrdersTest, AnEvictionFollowsItsDryRun) {
    begin();
    evictions_mark();
    order(1, 1, "dry-run");
    EXPECT_EQ(result(1, 1).outcome(), Result::DONE);
    order(1, 2, "evict");
    EXPECT_EQ(result(1, 2).outcome(), Result::DONE);
    ASSERT_THAT(calls(), SizeIs(2));
    EXPECT_THAT(calls()[0], HasSubstr("dryRun=All"));
    EXPECT_THAT(calls()[1],
                AllOf(StartsWith(std::string{"POST "} + eviction_path), Not(HasSubstr("dryRun"))));
}

TEST_F(EvacuationOrdersTest, AnEvictionWithoutADryRunGetsOne) {
    begin();
    api.answer = [](const auto& /*request*/) { return respond(201, "{}"); };
    order(1, 1, "evict");
    EXPECT_EQ(result(1, 1).outcome(), Result::REFUSED) << "it would really be evicted";
    ASSERT_THAT(calls(), SizeIs(1));
    EXPECT_THAT(calls()[0], HasSubstr("dryRun=All"));
}

TEST_F(EvacuationOrdersTest, ReadsAreAnsweredWithWhatIsThere) {
    begin();
    api.answer = [](const kube::HttpRequest& request) {
        if (request.target.find("migrations") != std::string::npos) {
            return respond(200, R"({"kind":"List","metadata":{"resourceVersion":"9"},"items":[)"
                                R"({"metadata":{"name":"m","namespace":"shop","uid":"u",)"
                                R"("resourceVersion":"7"},"spec":{"vmiName":"web"},)"
                                R"("status":{"phase":"Scheduling"}}]})");
        }
        return respond(200, R"({"metadata":{"name":"web","namespace":"shop","uid":"vmi web",)"
                            R"("resourceVersion":"7"},"spec":{"terminationGracePeriodSeconds":99},)"
                            R"("status":{"phase":"Running","nodeName":"n1"}})");
    };
    order(1, 1, "read-vmi");
    EXPECT_EQ(result(1, 1).vmi().grace_seconds(), 99);
    EXPECT_EQ(result(1, 1).vmi().node(), "n1");
    order(1, 2, "list-moves");
    ASSERT_EQ(result(1, 2).moves_size(), 1);
    EXPECT_EQ(result(1, 2).moves(0).phase(), "Scheduling");

    // What the list told is its own, though no watch has.
    order(1, 3, "delete-move", "m");
    EXPECT_EQ(result(1, 3).outcome(), Result::DONE);
}

/// KubeVirt would mark the VMI, move nothing, and not take the mark back.
TEST_F(EvacuationOrdersTest, NothingIsBegunWithoutItsNodeObject) {
    begin();
    api.remove("nodes", "n1");
    settle();
    std::uint64_t id = 0;
    for (const auto* step : {"stamp", "evict", "create-move", "escalate"}) {
        order(1, ++id, step);
        EXPECT_EQ(result(1, id).outcome(), Result::UNAVAILABLE) << step;
        EXPECT_THAT(result(1, id).text(), HasSubstr("no Node object n1"));
    }
    EXPECT_THAT(calls(), IsEmpty());

    api.answer = [](const auto& /*request*/) {
        return respond(200, R"({"metadata":{"name":"web","namespace":"shop","uid":"vmi web",)"
                            R"("resourceVersion":"7"},"status":{"nodeName":"n1"}})");
    };
    order(1, ++id, "read-vmi");
    EXPECT_TRUE(result(1, id).vmi().node_gone());
    put_node("n1");
    settle();
    order(1, ++id, "read-vmi");
    EXPECT_FALSE(result(1, id).vmi().node_gone());
}

/// What was proven was proven of the names that it had.
TEST_F(EvacuationOrdersTest, ALauncherThatIsNamedAnewIsProvenAnew) {
    put_vmi("db", "n2");
    begin();
    name_as("db", "vmi web", "pod of web");
    order(1, 1, "read-vmi");
    expect_refused("no launcher of VMI");
}

TEST_F(EvacuationOrdersTest, AVmOfAnotherNodeIsRefused) {
    put_vmi("db", "n2");
    put_pod("virt-launcher-db-a", "db", "n2");
    begin();
    name(1, "held", {"db"});
    order(1, 1, "evict", {}, "db");
    expect_refused("no launcher of VMI");
}

TEST_F(EvacuationOrdersTest, AVmThatRunsElsewhereByNowIsRefused) {
    begin();
    put_vmi("web", "n2");
    settle();
    order(1, 1, "evict");
    expect_refused("runs on node n2");
}

TEST_F(EvacuationOrdersTest, AVmThatWasNotNamedIsRefused) {
    put_vmi("db", "n1");
    put_pod("virt-launcher-db-a", "db", "n1");
    begin();
    order(1, 1, "create-move", {}, "db");
    expect_refused("not among the evacuations of node n1");
}

TEST_F(EvacuationOrdersTest, TheLauncherOfAnotherVmIsRefused) {
    put_vmi("db", "n1");
    put_pod("virt-launcher-db-a", "db", "n1");
    begin();
    name_as("web", "vmi web", "pod of db");
    order(1, 1, "evict");
    expect_refused("no launcher of VMI");
}

TEST_F(EvacuationOrdersTest, OnlyItsOwnMigrationsAreDeleted) {
    put_vmi("db", "n1");
    put_move("of-db", "db", "Running");
    put_move("of-web", "web", "Running");
    begin();
    order(1, 1, "delete-move", "of-db");
    expect_refused("migration of-db is of VMI db");
    order(1, 2, "delete-move", "none");
    EXPECT_EQ(result(1, 2).outcome(), Result::UNAVAILABLE);
    order(1, 3, "delete-move", "of-web");
    EXPECT_EQ(result(1, 3).outcome(), Result::DONE);
    EXPECT_THAT(calls(), ElementsAre(HasSubstr("DELETE")));
}

TEST_F(EvacuationOrdersTest, OnlyTheTargetOfItsMigrationIsDeletedWhileItStays) {
    put_vmi(
        "web", "n1",
        {{"migrationState", {{"migrationUid", "move m"}, {"targetPod", "virt-launcher-web-b"}}}});
    put_pod("virt-launcher-web-b", "web", "n2", "move m");
    put_move("m", "web", "TargetReady");
    begin();
    for (const auto* pod : {"virt-launcher-web-a", "virt-launcher-db-a", "etcd-0"}) {
        order(1, 1, "delete-target", pod);
        EXPECT_EQ(result(1, 1).outcome(), Result::REFUSED) << pod;
        sink.sent.clear();
    }
    EXPECT_THAT(calls(), IsEmpty());

    std::string node = "n2";
    std::string start = R"("startTimestamp":"2026-11-27T10:00:00Z",)";
    api.answer = [&node, &start](const auto& /*request*/) {
        return respond(200, R"({"metadata":{"name":"web","namespace":"shop","uid":"vmi web",)"
                            R"("resourceVersion":"7"},"status":{"migrationState":{)" +
                                start + R"("targetPod":"virt-launcher-web-b"},"nodeName":")" +
                                node + R"("}})");
    };
    order(1, 2, "delete-target", "virt-launcher-web-b");
    EXPECT_EQ(result(1, 2).outcome(), Result::UNAVAILABLE) << "the move ended: it is the VM by now";
    node = "n1";
    order(1, 3, "delete-target", "virt-launcher-web-b");
    EXPECT_EQ(result(1, 3).outcome(), Result::UNAVAILABLE) << "it runs: the guest may be there";
    EXPECT_THAT(calls(), Each(HasSubstr("GET")));
    start.clear();
    order(1, 4, "delete-target", "virt-launcher-web-b");
    EXPECT_EQ(result(1, 4).outcome(), Result::DONE);
    EXPECT_THAT(calls().back(),
                HasSubstr("DELETE /api/v1/namespaces/shop/pods/virt-launcher-web-b"));
}

TEST_F(EvacuationOrdersTest, AWordThatIsNoStepIsRefused) {
    begin();
    order(1, 1, "format-disk");
    EXPECT_EQ(result(1, 1).outcome(), Result::REFUSED);
    EXPECT_THAT(result(1, 1).text(), HasSubstr("format-disk"));
}

TEST_F(EvacuationOrdersTest, InModeObserveNothingIsBegunAndAllIsTakenBack) {
    put_config({{"mode", "observe"}});
    put_move("of-web", "web", "Running");
    begin();
    std::uint64_t id = 0;
    for (const auto* step : {"stamp", "evict", "create-move"}) {
        order(1, ++id, step);
        EXPECT_EQ(result(1, id).outcome(), Result::UNAVAILABLE) << step;
    }
    EXPECT_THAT(calls(), IsEmpty());
    order(1, ++id, "cancel-mark");
    EXPECT_EQ(result(1, id).outcome(), Result::DONE);
    order(1, ++id, "delete-move", "of-web");
    EXPECT_EQ(result(1, id).outcome(), Result::DONE);
    order(1, ++id, "touch");
    EXPECT_EQ(result(1, id).outcome(), Result::DONE);
}

TEST_F(EvacuationOrdersTest, WithoutLeadershipNothingIsDone) {
    begin();
    lose_leadership();
    ASSERT_FALSE(elector.leads());
    order(1, 1, "evict");
    EXPECT_EQ(result(1, 1).outcome(), Result::UNAVAILABLE);
    EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(EvacuationOrdersTest, OfEachVmOneOrderIsOpen) {
    begin();
    api.hold();
    order(1, 1, "dry-run");
    order(1, 2, "evict");
    EXPECT_EQ(result(1, 2).outcome(), Result::UNAVAILABLE);
    EXPECT_FALSE(results(1).contains(1));
    api.release();
    static_cast<void>(result(1, 1));
    EXPECT_THAT(calls(), SizeIs(1));
}

TEST_F(EvacuationOrdersTest, AStampThatWasUndoneIsRememberedUntilKubeVirtIsAnotherOne) {
    begin();
    open(2, "n2");
    ASSERT_TRUE(run_until([this] { return !rules(2).empty() && rules(2).back().stamp(); }));
    api.answer = [](const auto& /*request*/) {
        return respond(200, R"({"metadata":{"name":"web","namespace":"shop","uid":"vmi web",)"
                            R"("resourceVersion":"7"},"status":{"nodeName":"n1"}})");
    };
    order(1, 1, "stamp");
    EXPECT_EQ(result(1, 1).outcome(), Result::UNDONE);
    EXPECT_TRUE(run_until([this] { return !rules(2).back().stamp() && !rules(1).back().stamp(); }));

    api.put("kubevirts", {{"metadata", {{"name", "kubevirt"}, {"namespace", "kubevirt"}}},
                          {"status", {{"phase", "Deployed"}, {"observedKubeVirtVersion", "v2"}}}});
    EXPECT_TRUE(run_until([this] { return rules(2).back().stamp(); }));
}

/// All VMs of a node are told to stop at once, and the API server is slow.
TEST_F(EvacuationOrdersTest, TwoHundredOrdersAtOnceAreAllAnsweredAFewAtATime) {
    const auto many = put_two_hundred();
    begin();
    sink.room = 8;
    name(1, "suspected", many);
    api.hold();
    for (std::uint64_t id = 1; id <= 200; ++id) {
        order(1, id, "touch", {}, many[id - 1]);
    }
    settle();
    EXPECT_EQ(api.waiting(), 16U) << "of one node";
    api.release();
    EXPECT_TRUE(run_until([this] {
        while (sink.unread[1] > 0) {
            --sink.unread[1];
            desk->drained(1);
        }
        return results(1).size() == 200;
    }));
    EXPECT_THAT(calls(), SizeIs(200));
    EXPECT_THAT(sink.ended, IsEmpty());
}

/// Leadership is lost, say, while thousands wait.
TEST_F(EvacuationOrdersTest, WhatIsRefusedAtOnceDoesNotPileUpOnTheStack) {
    cluster::EvacuationActs acts(client, clock);
    std::uintptr_t lowest = ~std::uintptr_t{0};
    std::uintptr_t highest = 0;
    std::size_t done = 0;
    EvacuationOrders many(
        loop.get_executor(), acts,
        [&lowest, &highest](const OrderTicket&) {
            // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): only the distance counts
            const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
            lowest = std::min(lowest, here);
            highest = std::max(highest, here);
            return OrderLeave{.outcome = migration::StepOutcome::refused};
        },
        [&done](const auto&, auto, const auto&) { ++done; }, {.at_once = 1});
    for (std::uint64_t id = 0; id < 4000; ++id) {
        ASSERT_TRUE(many.push({.session = 1, .id = id, .node = "n1"}));
    }
    ASSERT_TRUE(run_until([&done] { return done == 4000; }));
    EXPECT_LT(highest - lowest, 16U << 10U);
    EXPECT_EQ(many.open(), 0U);
}

TEST_F(EvacuationOrdersTest, AnAgentThatOrdersWithoutEndIsSlowedDownAndThatReadsNothingIsEnded) {
    begin();
    sink.room = 1;
    std::uint64_t id = 0;
    Status last;
    while (last && id < 10'000) {
        v1::EvacuationOrder message;
        message.set_id(++id);
        message.set_vmi_uid("vmi none");
        message.set_step("evict");
        last = desk->order(1, message);
    }
    EXPECT_FALSE(last);
    EXPECT_LE(id, 2100U);
    EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(EvacuationOrdersTest, ANewStreamOfTheAgentGoesOnWhereTheOldOneEnded) {
    begin();
    evictions_mark();
    api.hold();
    order(1, 1, "dry-run");
    desk->close(1);
    open(2, "n1");
    name(2);
    order(2, 1, "dry-run");
    api.release();
    EXPECT_EQ(result(2, 1).outcome(), Result::DONE);
    EXPECT_THAT(results(1), IsEmpty()) << "that stream is gone";
}

}  // namespace
}  // namespace scout::aggregator
