// SPDX-License-Identifier: Apache-2.0
#include "cluster/relief_facts.h"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/move_object.h"
#include "cluster/target_term.h"

namespace scout::cluster {
namespace {

using kube::SharedText;
using migration::ReliefHold;
using testing::IsEmpty;

kube::Vmi movable() {
    kube::Vmi vmi;
    vmi.phase = SharedText{"Running"};
    vmi.node = SharedText{"n1"};
    vmi.conditions = {{.type = SharedText{"LiveMigratable"},
                       .status = SharedText{"True"},
                       .reason = {},
                       .message = {},
                       .since = {}}};
    return vmi;
}

TEST(ReliefHoldTest, IsByTheOwnersWishAndTheClusters) {
    auto vmi = movable();
    EXPECT_EQ(relief_hold(vmi, ""), ReliefHold::owner) << "nobody asked for a live migration";
    EXPECT_EQ(relief_hold(vmi, "LiveMigrate"), std::nullopt);
    for (const auto* strategy : {"None", "External"}) {
        vmi.eviction_strategy = SharedText{strategy};
        EXPECT_EQ(relief_hold(vmi, "LiveMigrate"), ReliefHold::owner);
    }
    vmi.eviction_strategy = SharedText{"LiveMigrateIfPossible"};
    EXPECT_EQ(relief_hold(vmi, ""), std::nullopt);
    vmi.evacuation_node = SharedText{"n1"};
    EXPECT_EQ(relief_hold(vmi, ""), ReliefHold::marked);
    vmi.evacuation_node = {};
    vmi.conditions[0].status = SharedText{"False"};
    EXPECT_EQ(relief_hold(vmi, ""), ReliefHold::not_migratable);
    vmi.phase = SharedText{"Scheduled"};
    EXPECT_EQ(relief_hold(vmi, ""), ReliefHold::stopping);
}

TEST(ArrivalTest, IsTheEndOfAMigrationThatWentWell) {
    auto vmi = movable();
    EXPECT_FALSE(arrival_of(vmi));
    const WallTime end{std::chrono::hours{7}};
    vmi.migration = kube::MigrationState{};
    vmi.migration->end = end;
    EXPECT_FALSE(arrival_of(vmi));
    vmi.migration->completed = true;
    EXPECT_EQ(arrival_of(vmi), end);
    vmi.migration->failed = true;
    EXPECT_FALSE(arrival_of(vmi));
}

TEST(ReliefObjectTest, IsAMoveWhoseTermTheWebhooksTakeAndNoPressedNodeMatches) {
    const migration::ReliefMove move{.node = "n1", .vmi = "shop/web"};
    const auto body = relief_object(move, {"n1", "n2"});
    const auto carried = read_carried_move(body);
    ASSERT_TRUE(carried);
    EXPECT_THAT(carried->request.faults, IsEmpty());
    EXPECT_THAT(plan_sentinel(*carried).faults, IsEmpty());
    EXPECT_EQ(carried->request.space, "shop");
    EXPECT_EQ(carried->request.vmi, "web");
    kube::Node node;
    for (const auto* name : {"n1", "n2", "n3"}) {
        node.meta.name = name;
        EXPECT_EQ(is_asked_for(asked_of_nodes(*carried), node), node.meta.name == "n3");
    }
    const auto aimed = read_carried_move(with_sentinel(body));
    ASSERT_TRUE(aimed);
    const auto& term = aimed->request.wish.term;
    ASSERT_TRUE(term);
    EXPECT_EQ(aimed->sentinel(), sentinel_of(*term));
    EXPECT_THAT(plan_sentinel(*aimed).patch, IsEmpty());
}

TEST(ReliefNodeTest, OneThatKubeVirtMayUseTakesVms) {
    kube::Node node;
    EXPECT_FALSE(takes_vms(node));
    EXPECT_FALSE(is_strained(node));
    node.conditions = {{.type = SharedText{"DiskPressure"},
                        .status = SharedText{"True"},
                        .reason = {},
                        .message = {},
                        .since = {}}};
    EXPECT_TRUE(is_strained(node));
    node.conditions[0].status = SharedText{"False"};
    EXPECT_FALSE(is_strained(node));
}

}  // namespace
}  // namespace scout::cluster
