// SPDX-License-Identifier: Apache-2.0
#include "migration/cheapest_change.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace scout::migration {
namespace {

NodeAnswer refused(std::string node, const std::vector<ReasonCode>& codes,
                   Verdict truth = Verdict::can) {
    NodeAnswer answer{.node = std::move(node), .comparison = {}};
    answer.comparison.truth = truth;
    answer.comparison.gate = Verdict::can;
    answer.comparison.verdict = truth;
    for (const auto code : codes) {
        refuse(answer.comparison, {.code = code, .layer = Layer::stock, .text = "x", .keys = {}});
    }
    return answer;
}

std::string change(std::vector<NodeAnswer> nodes) {
    Placement placement;
    placement.nodes = std::move(nodes);
    return cheapest_change(placement).value_or("none");
}

TEST(CheapestChangeTest, TheNodeWithTheLeastInItsWay) {
    EXPECT_EQ(change({refused("a", {ReasonCode::resources}),
                      refused("b", {ReasonCode::taint, ReasonCode::unschedulable}),
                      refused("c", {ReasonCode::stale_selector})}),
              "on b: take the taint away, or let the VM tolerate it, and uncordon it");
    EXPECT_EQ(change({refused("a", {ReasonCode::stale_selector}),
                      refused("b", {ReasonCode::resources, ReasonCode::resources})}),
              "on b: move other pods away");
}

TEST(CheapestChangeTest, OnlyACordonIsTakenAway) {
    const auto closed = [](std::vector<std::string> keys) {
        auto answer = refused("a", {});
        refuse(answer.comparison, {.code = ReasonCode::unschedulable,
                                   .layer = Layer::stock,
                                   .text = "x",
                                   .keys = std::move(keys)});
        return change({answer, refused("b", {ReasonCode::stale_selector})});
    };
    EXPECT_EQ(closed({}), "on a: uncordon it");
    EXPECT_EQ(closed({"node.kubernetes.io/not-ready"}),
              "on a: mend what keeps it from being ready");
    EXPECT_EQ(closed({"kubevirt.io/schedulable"}), "on a: see why virt-handler does not run there");
    const auto* const asked =
        "on a: change what the KubeVirt object asks of nodes, or the node's labels";
    EXPECT_EQ(closed({"zone"}), asked);
    EXPECT_EQ(closed({"node.kubernetes.io/instance-type"}), asked) << "no state of the node";
}

/// It says what is wrong with the node: a VM that tolerated it would go there all the same.
TEST(CheapestChangeTest, ATaintOfANodesStateIsMendedAndNotTakenAway) {
    const auto tainted = [](std::string key) {
        auto answer = refused("a", {});
        refuse(answer.comparison, {.code = ReasonCode::taint,
                                   .layer = Layer::stock,
                                   .text = "x",
                                   .keys = {std::move(key)}});
        return answer;
    };
    EXPECT_EQ(change({tainted("node.kubernetes.io/memory-pressure")}),
              "on a: mend what the node's own taint says of it");
    EXPECT_EQ(change({tainted("example.org/gpu"), refused("b", {ReasonCode::resources})}),
              "on a: take the taint away, or let the VM tolerate it");
    EXPECT_EQ(
        change({tainted("node.kubernetes.io/not-ready"), refused("b", {ReasonCode::resources})}),
        "on b: move other pods away");
}

/// A node that is not ready has the taint that says so, too.
TEST(CheapestChangeTest, ANodeThatIsNotReadyIsCheaperThanARestart) {
    auto answer = refused("a", {});
    for (const auto code : {ReasonCode::taint, ReasonCode::unschedulable}) {
        refuse(answer.comparison, {.code = code,
                                   .layer = Layer::stock,
                                   .text = "x",
                                   .keys = {"node.kubernetes.io/not-ready"}});
    }
    EXPECT_EQ(change({refused("b", {ReasonCode::stale_selector}), answer}).substr(0, 5), "on a:");
}

TEST(CheapestChangeTest, WhatNoChangeMendsIsNoWay) {
    EXPECT_EQ(change({refused("a", {ReasonCode::unschedulable, ReasonCode::vendor}),
                      refused("b", {ReasonCode::unschedulable}, Verdict::cannot),
                      refused("c", {ReasonCode::not_migratable})}),
              "none");
    EXPECT_EQ(change({}), "none");
}

TEST(CheapestChangeTest, AVmThatCanMoveNeedsNone) {
    EXPECT_EQ(change({refused("a", {ReasonCode::unschedulable}), refused("b", {})}), "none");
}

}  // namespace
}  // namespace scout::migration
