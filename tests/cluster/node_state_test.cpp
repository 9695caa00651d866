// SPDX-License-Identifier: Apache-2.0
#include "cluster/node_state.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/node_objects.h"

namespace scout::cluster {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using test::cordon;
using test::node_object;
using test::plain_labels;
using test::set_ready;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const WallTime now{std::chrono::hours{500'000}};

TEST(NodeStateTest, ANodeWithoutConditionsIsNotTakenForNotReady) {
    const auto state = node_state(node_object("a"), now);

    EXPECT_TRUE(state.schedulable);
    EXPECT_EQ(state.ready, std::nullopt);
    EXPECT_EQ(state.not_counted, "");
    EXPECT_EQ(state.counts_until, std::nullopt);
}

struct Never {
    const char* name;
    std::function<void(migration::Labels&)> change;
    const char* why;
};

class NodeNeverCountedTest : public ::testing::TestWithParam<Never> {};

TEST_P(NodeNeverCountedTest, SaysWhy) {
    auto labels = plain_labels();
    GetParam().change(labels);

    const auto state = node_state(node_object("a", labels), now);

    EXPECT_EQ(state.not_counted, GetParam().why);
    EXPECT_EQ(state.counts_until, std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(
    Labels, NodeNeverCountedTest,
    testing::Values(
        Never{"NotForVms", [](auto& l) { l["kubevirt.io/schedulable"] = "false"; },
              "kubevirt.io/schedulable is not true"},
        Never{"NoHeartbeat", [](auto& l) { l.erase("kubevirt.io/schedulable"); },
              "kubevirt.io/schedulable is not true"},
        Never{"NoHostModel", [](auto& l) { l.erase("host-model-cpu.node.kubevirt.io/Large"); },
              "it has no host-model"},
        Never{"HostModelIsNotTrue",
              [](auto& l) { l["host-model-cpu.node.kubevirt.io/Large"] = "false"; },
              "it has no host-model"},
        Never{"TwoHostModels", [](auto& l) { l["host-model-cpu.node.kubevirt.io/B"] = "true"; },
              "its labels name several host-models"},
        Never{"Obsolete",
              [](auto& l) { l["node-labeller.kubevirt.io/obsolete-host-model"] = "true"; },
              "its host-model is obsolete"}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(NodeStateTest, ACordonedNodeCountsForTenMinutesAndTakesNoVms) {
    auto node = node_object("a");
    cordon(node, now);

    const auto before = node_state(node, now + minutes{10} - seconds{1});
    const auto after = node_state(node, now + minutes{10});

    EXPECT_FALSE(before.schedulable);
    EXPECT_EQ(before.not_counted, "");
    EXPECT_EQ(before.counts_until, now + minutes{10});
    EXPECT_EQ(after.not_counted, "it is cordoned");
    EXPECT_EQ(after.counts_until, std::nullopt);
}

TEST(NodeStateTest, ACordonWithoutATimeMayBeOldUnlessItWasSeen) {
    auto node = node_object("a");
    cordon(node, std::nullopt);

    EXPECT_EQ(node_state(node, now).not_counted, "it is cordoned, nobody knows since when");
    const auto seen = node_state(node, now + minutes{9}, {}, now);
    EXPECT_EQ(seen.not_counted, "");
    EXPECT_EQ(seen.counts_until, now + minutes{10});
    EXPECT_EQ(node_state(node, now + minutes{10}, {}, now).not_counted, "it is cordoned");
}

TEST(NodeStateTest, ATaintOfTheCordonBeforeDoesNotShortenTheNewOne) {
    auto node = node_object("a");
    cordon(node, now - minutes{30});

    EXPECT_EQ(node_state(node, now).not_counted, "it is cordoned");
    EXPECT_EQ(node_state(node, now, {}, now).not_counted, "");
}

TEST(NodeStateTest, OtherTaintsAreNoCordon) {
    auto node = node_object("a");
    cordon(node, now);
    node.taints.front().key = kube::SharedText{"node.kubernetes.io/disk-pressure"};
    node.unschedulable = false;

    EXPECT_TRUE(node_state(node, now + minutes{30}).schedulable);
    EXPECT_EQ(node_state(node, now + minutes{30}).not_counted, "");
}

class NodeNotReadyTest : public ::testing::TestWithParam<const char*> {};

TEST_P(NodeNotReadyTest, ItCountsForAGraceOfFiveMinutes) {
    auto node = node_object("a");
    set_ready(node, GetParam(), now);

    const auto before = node_state(node, now + minutes{5} - seconds{1});

    EXPECT_EQ(before.ready, false);
    EXPECT_FALSE(before.schedulable);
    EXPECT_EQ(before.not_counted, "");
    EXPECT_EQ(before.counts_until, now + minutes{5});
    EXPECT_EQ(before.still_counted, "it is not ready, and counts for 1 s more");
    const auto after = node_state(node, now + minutes{5});
    EXPECT_EQ(after.not_counted, "it is not ready");
    EXPECT_EQ(after.still_counted, "");
}

INSTANTIATE_TEST_SUITE_P(Statuses, NodeNotReadyTest, testing::Values("False", "Unknown"),
                         [](const auto& param_info) { return param_info.param; });

TEST(NodeStateTest, AReadyNodeCountsHoweverLongItIsSo) {
    auto node = node_object("a");
    set_ready(node, "True", now);

    const auto state = node_state(node, now + std::chrono::hours{1000});

    EXPECT_EQ(state.ready, true);
    EXPECT_TRUE(state.schedulable);
    EXPECT_EQ(state.counts_until, std::nullopt);
}

TEST(NodeStateTest, TheGraceThatEndsFirstDecides) {
    auto node = node_object("a");
    cordon(node, now);
    set_ready(node, "Unknown", now + minutes{2});
    EXPECT_EQ(node_state(node, now + minutes{3}).counts_until, now + minutes{7});
    set_ready(node, "Unknown", now + minutes{7});
    EXPECT_EQ(node_state(node, now + minutes{8}).counts_until, now + minutes{10});
    EXPECT_EQ(node_state(node, now + minutes{10}).not_counted, "it is cordoned");
}

TEST(NodeStateTest, TheRulesAreTheCallers) {
    auto node = node_object("a");
    cordon(node, now);
    const CountingRules rules{.cordoned_for = minutes{0}, .not_ready_for = minutes{1}};

    EXPECT_EQ(node_state(node, now, rules).not_counted, "it is cordoned");
    test::uncordon(node);
    set_ready(node, "False", now);
    EXPECT_EQ(node_state(node, now, rules).counts_until, now + minutes{1});
}

TEST(NodeStateTest, WhatClosesANodeNowIsToldWhetherItCountsOrNot) {
    auto node = node_object("a");
    EXPECT_THAT(why_closed(node_state(node, now)), IsEmpty());
    cordon(node, now);
    set_ready(node, "False", now);

    const auto reasons = why_closed(node_state(node, now));

    ASSERT_THAT(reasons, SizeIs(2));
    EXPECT_EQ(reasons[0].code, migration::ReasonCode::unschedulable);
    EXPECT_EQ(reasons[0].text, "the node is cordoned");
    EXPECT_EQ(reasons[1].text, "the node is not ready");
    EXPECT_THAT(reasons[1].keys, ElementsAre("node.kubernetes.io/not-ready"));
}

}  // namespace
}  // namespace scout::cluster
