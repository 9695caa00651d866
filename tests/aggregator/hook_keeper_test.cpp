// SPDX-License-Identifier: Apache-2.0
// The Plugin object by which virt-handler asks agents, and what the status tells of it.
#include <chrono>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/mover_fixture.h"
#include "tests/support/scripted_transport.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr const char* running =
    R"(vmi.status.phase == "Running" && !has(vmi.metadata.deletionTimestamp))";

class HookKeeperTest : public MoverFixture {
protected:
    HookKeeperTest() {
        put_node("n1");
        put_node("n2");
        put_kubevirt({{"developerConfiguration", {{"featureGates", {"Plugins"}}}}});
        // What the server does with what it is sent.
        api.answer = [this](const kube::HttpRequest& request) { return serve(request); };
    }

    kube::HttpResponse serve(const kube::HttpRequest& request) {
        kube::HttpResponse response;
        response.head.status = 200;
        response.body = "{}";
        if (request.target.find("/clusterroles/") != std::string::npos) {
            response.body = R"({"metadata":{"name":"virt-scout-aggregator","uid":")" + role +
                            R"(","resourceVersion":"3"}})";
        } else if (request.target.find("/plugins/") != std::string::npos) {
            if (refusal != 0) {
                response.head.status = refusal;
                response.body = scout::test::status_json(refusal, "Invalid");
            } else if (request.method == "PATCH") {
                ++applied;
                api.put("plugins", json::parse(request.body).as_object());
            } else if (request.method == "DELETE") {
                ++removed;
                api.remove("plugins", "virt-scout");
            }
        }
        return response;
    }
    [[nodiscard]] std::string condition() const {
        const auto plugin = objects.plugins.find({}, "virt-scout");
        return plugin && !plugin->hooks.empty() ? plugin->hooks.front().condition : "none";
    }
    /// Leads for long enough to have heard of every agent that there is.
    void lead() {
        start();
        settle();
        clock.advance(25s);
    }
    /// Time passes while these agents are heard of.
    void pass(std::chrono::seconds time, const std::vector<SessionId>& agents) {
        for (; time > 0s; time -= 5s) {
            clock.advance(5s);
            for (const auto id : agents) {
                desk->heard(id);
            }
        }
    }
    [[nodiscard]] std::string told() const {
        std::string reason = "nothing";
        for (const auto& request : api.calls()) {
            if (request.target.find("/scoutconfigs/default/status") != std::string::npos) {
                const auto body = json::parse(request.body);
                reason =
                    std::string(body.at("status").at("conditions").at(1).at("reason").as_string());
            }
        }
        return reason;
    }
    [[nodiscard]] std::vector<std::string> touched() const {
        std::vector<std::string> out;
        for (const auto& request : api.calls()) {
            if (request.body.find("virt-scout.io/released") != std::string::npos) {
                out.push_back(request.target.substr(request.target.rfind('/') + 1));
            }
        }
        return out;
    }

    std::string role = "role-uid";
    unsigned refusal = 0;  ///< HTTP code
    int applied = 0;
    int removed = 0;
};

TEST_F(HookKeeperTest, ComesWithTheFirstAgentAndGoesWithTheMode) {
    lead();
    settle();
    EXPECT_EQ(condition(), "none");
    EXPECT_TRUE(run_until([this] { return told() == "NoAgent"; })) << told();

    open(1, "n1");
    open(2, "n2");
    ASSERT_TRUE(run_until([this] { return condition() == running; }));
    EXPECT_TRUE(run_until([this] { return told() == "NodeHook"; })) << told();
    const auto plugin = objects.plugins.find({}, "virt-scout");
    EXPECT_EQ(plugin->owners, std::vector{kube::SharedText{"role-uid"}});
    EXPECT_EQ(plugin->hooks.front().failure_strategy, "Fail");

    put_config({{"mode", "observe"}});
    EXPECT_TRUE(run_until([this] { return condition() == "none"; }));
    EXPECT_TRUE(run_until([this] { return told() == "NotActing"; })) << told();
    EXPECT_EQ(removed, 1);
}

TEST_F(HookKeeperTest, AnAgentThatCannotAnswerVirtHandlerCountsAsNone) {
    lead();
    open(1, "n1", false);
    settle();
    EXPECT_EQ(condition(), "none");
    EXPECT_TRUE(run_until([this] { return told() == "NoAgent"; })) << told();

    open(2, "n2");
    EXPECT_TRUE(run_until([this] { return condition() != "none"; }));
    EXPECT_THAT(condition(), HasSubstr(R"(!(vmi.status.nodeName in ["n1"]))"));
}

TEST_F(HookKeeperTest, ANodeWhoseAgentIsSilentIsLeftOutWithinThirtySeconds) {
    lead();
    open(1, "n1");
    open(2, "n2");
    ASSERT_TRUE(run_until([this] { return condition() == running; }));

    pass(25s, {1});
    ASSERT_TRUE(run_until([this] { return condition() != running; }));
    EXPECT_THAT(condition(), HasSubstr(R"(!(vmi.status.nodeName in ["n2"]))"));
    EXPECT_EQ(applied, 2);

    pass(30s, {1, 2});
    settle();
    EXPECT_EQ(applied, 2) << "one that comes and goes changes nothing";
    pass(35s, {1, 2});
    EXPECT_TRUE(run_until([this] { return condition() == running; }));
}

TEST_F(HookKeeperTest, WhatIsHeldOnANodeWithoutAgentIsLetGoOnce) {
    put_vmi("web", "n1");
    put_vmi("db", "n2",
            {{"conditions",
              {{{"type", "Synchronized"},
                {"status", "False"},
                {"message", "node hook PreVMStop from plugin virt-scout failed: dialing"}}}}});
    put_vmi("idle", "n1");
    lead();
    open(1, "n1");
    open(2, "n2");
    open(3, "n3");
    name(1, "held");
    ASSERT_TRUE(run_until([this] { return condition() == running; }));
    desk->close(1);
    pass(25s, {3});
    ASSERT_TRUE(run_until([this] { return condition() != running; }));
    EXPECT_THAT(touched(), IsEmpty()) << "virt-handler would ask once more";

    pass(5s, {3});
    ASSERT_TRUE(run_until([this] { return touched().size() == 2; }));
    EXPECT_THAT(touched(), testing::UnorderedElementsAre(HasSubstr("web"), HasSubstr("db")));
    pass(60s, {3});
    settle();
    EXPECT_THAT(touched(), SizeIs(2));
    EXPECT_EQ(hook->counters().released, 2U);
}

/// Of a server that takes seconds for each of them, as under load.
TEST_F(HookKeeperTest, WhatIsLetGoWaitsForNoOtherNorDoTheNodes) {
    lead();
    const auto vmis = put_two_hundred();
    settle();
    open(1, "n1");
    open(2, "n2");
    open(3, "n3");
    name(1, "held", vmis);
    ASSERT_TRUE(run_until([this] { return condition() == running; }));
    desk->close(1);
    pass(25s, {2, 3});
    ASSERT_TRUE(run_until([this] { return condition() != running; }));
    api.hold([](const kube::HttpRequest& request) {
        return request.body.find("virt-scout.io/released") != std::string::npos;
    });
    pass(5s, {3});
    ASSERT_TRUE(run_until([this] { return api.waiting() == 16; }));
    EXPECT_THAT(touched(), SizeIs(16));

    desk->close(2);
    pass(20s, {3});
    ASSERT_TRUE(run_until([this] { return condition().find("n2") != std::string::npos; }))
        << "the next node is left out";
    api.release();
    pass(5s, {3});
    EXPECT_TRUE(run_until([this] { return hook->counters().released == 200; }));
    EXPECT_THAT(touched(), SizeIs(200));
}

/// Each second counts of a node whose agent is gone.
TEST_F(HookKeeperTest, WhatMayPassIsTriedAgainSoon) {
    lead();
    open(1, "n1");
    open(2, "n2");
    ASSERT_TRUE(run_until([this] { return condition() == running; }));
    refusal = 503;
    pass(25s, {1});
    ASSERT_TRUE(run_until([this] { return hook->counters().failed == 1; }));
    refusal = 0;
    clock.advance(3s);
    EXPECT_TRUE(run_until([this] { return condition() != running; }));
}

TEST_F(HookKeeperTest, ASuccessorBelievesWhatWasWrittenUntilItHasHeard) {
    api.put("plugins", json::parse(R"json({"metadata":{"name":"virt-scout","ownerReferences":[
        {"uid":"role-uid"}]},"spec":{"nodeHooks":[{
        "socket":"/var/run/kubevirt/plugins/virt-scout.sock","permittedHooks":["PreVMStop"],
        "condition":"vmi.status.phase == \"Running\" && !has(vmi.metadata.deletionTimestamp) && !(vmi.status.nodeName in [\"n2\"])",
        "failureStrategy":"Fail","timeout":"5s"}]
}
})json")
                           .as_object());
    start();
    open(1, "n1");
    pass(20s, {1});
    settle();
    EXPECT_EQ(applied, 0);
    EXPECT_EQ(removed, 0);
    EXPECT_EQ(hook->counters().left_out, 1U);
}

TEST_F(HookKeeperTest, BeyondTwoHundredNodesItIsTakenAway) {
    lead();
    open(1, "n1");
    open(2, "n2");
    ASSERT_TRUE(run_until([this] { return condition() == running; }));
    for (int i = 0; i < 201; ++i) {
        put_node("bare" + std::to_string(i));
    }
    settle();
    pass(5s, {1, 2});
    EXPECT_TRUE(run_until([this] { return told() == "TooFewAgents"; })) << told();
    EXPECT_TRUE(run_until([this] { return condition() == "none"; }));
}

/// The server keeps it until somebody's finalizer is gone.
TEST_F(HookKeeperTest, OneThatIsBeingDeletedIsNotDeletedAgain) {
    lead();
    open(1, "n1");
    open(2, "n2");
    ASSERT_TRUE(run_until([this] { return condition() == running; }));
    auto plugin = json::parse(R"({"metadata":{"name":"virt-scout","uid":"p",
        "deletionTimestamp":"2026-03-01T10:00:00Z","finalizers":["example.org/x"]},
        "spec":{"nodeHooks":[]}})");
    api.put("plugins", plugin.as_object());
    for (int i = 0; i < 201; ++i) {
        put_node("bare" + std::to_string(i));
    }
    settle();
    pass(20s, {1, 2});
    ASSERT_TRUE(run_until([this] { return told() == "TooFewAgents"; })) << told();
    EXPECT_EQ(removed, 0);
}

TEST_F(HookKeeperTest, WhatWasRemovedByHandComesBackWithItsOwnerOfNow) {
    lead();
    open(1, "n1");
    open(2, "n2");
    ASSERT_TRUE(run_until([this] { return condition() == running; }));
    role = "another-role";
    api.remove("plugins", "virt-scout");
    settle();
    pass(5s, {1, 2});
    ASSERT_TRUE(run_until([this] { return condition() == running; }));
    EXPECT_EQ(objects.plugins.find({}, "virt-scout")->owners.front(), "another-role");
}

TEST_F(HookKeeperTest, ARefusalIsToldAndTriedAgainSlowly) {
    refusal = 422;
    lead();
    open(1, "n1");
    EXPECT_TRUE(run_until([this] { return told() == "NotWritten"; })) << told();
    const auto tried = hook->counters().failed;
    settle();
    EXPECT_EQ(hook->counters().failed, tried);
    refusal = 0;
    clock.advance(25s);
    settle();
    EXPECT_EQ(condition(), "none");
    pass(5s, {1});
    EXPECT_TRUE(run_until([this] { return condition() != "none"; }));
}

TEST_F(HookKeeperTest, WithoutNodeHooksTheStatusSaysSo) {
    api.leave_out("plugins");
    lead();
    open(1, "n1");
    EXPECT_TRUE(run_until([this] { return told() == "NoNodeHooks"; })) << told();
    EXPECT_EQ(applied, 0);
}

/// KubeVirt is upgraded while we lead.
TEST_F(HookKeeperTest, NodeHooksThatComeLaterAreUsed) {
    api.leave_out("plugins");
    lead();
    open(1, "n1");
    open(2, "n2");
    ASSERT_TRUE(run_until([this] { return told() == "NoNodeHooks"; })) << told();
    pass(60s, {1, 2});

    api.bring_back("plugins");

    EXPECT_TRUE(run_until([this] { return condition() == running; }));
    EXPECT_TRUE(run_until([this] { return told() == "NodeHook"; })) << told();
    EXPECT_EQ(applied, 1);
}

/// The object stays: whether the gate is listed is no more than what one object says.
TEST_F(HookKeeperTest, AGateThatIsTakenOffAndListedAgainIsTold) {
    const auto list_gates = [this](json::array gates) {
        put_kubevirt({{"developerConfiguration", {{"featureGates", std::move(gates)}}}});
    };
    lead();
    open(1, "n1");
    open(2, "n2");
    ASSERT_TRUE(run_until([this] { return told() == "NodeHook"; })) << told();

    list_gates({"Snapshot"});
    EXPECT_TRUE(run_until([this] { return told() == "GateNotListed"; })) << told();
    EXPECT_EQ(condition(), running);
    list_gates({"Snapshot", "Plugins"});
    EXPECT_TRUE(run_until([this] { return told() == "NodeHook"; })) << told();
    EXPECT_EQ(applied, 1);
    EXPECT_EQ(removed, 0);
}

/// As of a replica that lags, or a proxy's own answer: after two of them the object is not there.
TEST_F(HookKeeperTest, OneAnswerThatThereAreNoHooksTakesNoneAway) {
    lead();
    open(1, "n1");
    open(2, "n2");
    ASSERT_TRUE(run_until([this] { return condition() == running; }));
    api.leave_out("plugins");
    ASSERT_TRUE(run_until(
        [this] { return objects.plugins.reflector().state() == kube::ReflectorState::absent; }));
    settle();
    pass(5s, {1, 2});
    EXPECT_EQ(removed, 0);
    EXPECT_EQ(condition(), running);
}

TEST_F(HookKeeperTest, WhoDoesNotLeadWritesNothing) {
    lead();
    lose_leadership();
    open(1, "n1");
    settle();
    EXPECT_EQ(applied, 0);
}

}  // namespace
}  // namespace scout::aggregator
