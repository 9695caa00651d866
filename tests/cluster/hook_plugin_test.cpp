// SPDX-License-Identifier: Apache-2.0
#include "cluster/hook_plugin.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace std::chrono_literals;

const SteadyTime start{std::chrono::hours{100}};

TEST(HookPluginTest, TheConditionNamesWhoIsLeftOutAndIsReadBack) {
    EXPECT_THAT(hook_condition({}), Not(HasSubstr("nodeName")));
    const NodeNames names{"b.example", "a-1"};
    const auto condition = hook_condition(names);
    EXPECT_THAT(condition, HasSubstr(R"( && !(vmi.status.nodeName in ["a-1", "b.example"]))"));
    EXPECT_EQ(left_out_by(condition), names);
    EXPECT_THAT(left_out_by(hook_condition({})), IsEmpty());
}

TEST(HookPluginTest, WhatNoNodeCanBeCalledIsNotInIt) {
    EXPECT_EQ(hook_condition({R"(x"] || true || ["y)"}), hook_condition({}));
    EXPECT_THAT(left_out_by(R"(a && !(vmi.status.nodeName in ["ok", "\"", "no)"),
                ElementsAre("ok"));
}

/// Whether others may have hooks in it is KubeVirt's to say.
TEST(HookPluginTest, OurHookIsFoundAmongThoseOfOthers) {
    kube::Plugin plugin;
    plugin.hooks.resize(2);
    plugin.hooks[0].socket = kube::SharedText{"/var/run/kubevirt/plugins/another.sock"};
    plugin.hooks[0].condition = hook_condition({"n1"});
    EXPECT_EQ(own_hook(&plugin), nullptr);
    EXPECT_THAT(left_out_by(&plugin), IsEmpty());
    plugin.hooks[1].socket = kube::SharedText{hook_socket};
    plugin.hooks[1].condition = hook_condition({"n2"});
    EXPECT_EQ(own_hook(&plugin), &plugin.hooks[1]);
    EXPECT_THAT(left_out_by(&plugin), ElementsAre("n2"));
    EXPECT_THAT(left_out_by(static_cast<const kube::Plugin*>(nullptr)), IsEmpty());
}

TEST(HookPluginTest, TheObjectHasAnOwnerAndOneHook) {
    const auto body =
        boost::json::parse(hook_plugin_body({.api_version = "rbac.authorization.k8s.io/v1",
                                             .kind = "ClusterRole",
                                             .name = "r",
                                             .uid = "u"},
                                            "true"));
    EXPECT_EQ(body.at("metadata").at("ownerReferences").at(0).at("uid"), "u");
    const auto& hook = body.at("spec").at("nodeHooks").at(0);
    EXPECT_EQ(hook.at("permittedHooks"), boost::json::value(boost::json::array{"PreVMStop"}));
    EXPECT_EQ(hook.at("condition"), "true");
    EXPECT_EQ(hook.at("failureStrategy"), "Fail");
}

class HookCoverTest : public testing::Test {
protected:
    /// Looks each second for so long, while these agents are heard of every five.
    void pass(std::chrono::seconds time, const std::vector<std::string>& agents) {
        for (; time > 0s; time -= 1s) {
            now += 1s;
            if (++ticks % 5 == 0) {
                for (const auto& agent : agents) {
                    cover.heard(agent, now);
                }
            }
            cover.look({"a", "b"}, now);
        }
    }

    HookCover cover;
    SteadyTime now = start;
    int ticks = 0;
};

TEST_F(HookCoverTest, WhoBeganToLeadGivesAllTimeToBeHeard) {
    cover.begin({}, now);
    pass(24s, {});
    EXPECT_THAT(cover.left_out(), IsEmpty());
    pass(1s, {});
    EXPECT_THAT(cover.left_out(), ElementsAre("a", "b"));
}

TEST_F(HookCoverTest, SilenceLeavesOutWithinThirtySeconds) {
    cover.begin({}, now);
    pass(60s, {"a", "b"});
    EXPECT_THAT(cover.left_out(), IsEmpty());
    EXPECT_EQ(cover.agents(now), 2U);
    pass(30s, {"a"});
    EXPECT_THAT(cover.left_out(), ElementsAre("b"));
    EXPECT_EQ(cover.agents(now), 1U);
}

TEST_F(HookCoverTest, OneThatComesAndGoesStaysLeftOut) {
    cover.begin({}, now);
    pass(30s, {"a"});
    ASSERT_THAT(cover.left_out(), ElementsAre("b"));
    for (int round = 0; round < 5; ++round) {
        pass(40s, {"a", "b"});
        pass(30s, {"a"});
        EXPECT_THAT(cover.left_out(), ElementsAre("b"));
    }
    pass(70s, {"a", "b"});
    EXPECT_THAT(cover.left_out(), IsEmpty());
}

TEST_F(HookCoverTest, WhatAPredecessorWroteHoldsUntilTheAgentHasBeenThere) {
    cover.begin({"b", "gone"}, now);
    pass(20s, {"a", "b"});
    EXPECT_THAT(cover.left_out(), ElementsAre("b")) << "and a node that is gone is not named";
    pass(50s, {"a", "b"});
    EXPECT_THAT(cover.left_out(), IsEmpty());
}

}  // namespace
}  // namespace scout::cluster
