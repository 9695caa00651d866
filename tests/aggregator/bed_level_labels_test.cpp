// SPDX-License-Identifier: Apache-2.0
// The level labels of a cluster on a real API server.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "cluster/levels.h"
#include "tests/aggregator/bed_cluster_fixture.h"

namespace scout::aggregator {
namespace {

class BedLevelLabelsTest : public BedClusterTest {};

TEST_F(BedLevelLabelsTest, LabelsFollowTheNodes) {
    make_node("follow", "a", "x");
    make_node("follow", "b", "x");
    make_node("follow", "c", "y");
    auto side = start(access, new_space());

    ASSERT_TRUE(settle(*side));
    // A node may be seen with its label before the write has been answered.
    EXPECT_TRUE(run_until([&side] { return side->facts().labels_written >= 3; }));
    EXPECT_EQ(level("follow-a"), "50");
    EXPECT_EQ(level("follow-b"), "50");
    EXPECT_EQ(level("follow-c"), "0");

    // A fourth node comes, one leaves, and somebody writes over a label.
    make_node("follow", "d", "y");
    label("follow-b", "kubevirt.io/schedulable", "false");
    label("follow-a", std::string(cluster::level_label), "77");
    ASSERT_TRUE(run_until([&side] { return side->facts().labels_written >= 7; }));
    ASSERT_TRUE(settle(*side));

    EXPECT_EQ(level("follow-a"), "0");
    EXPECT_EQ(level("follow-b"), "none");
    EXPECT_EQ(level("follow-c"), "50");
    EXPECT_EQ(level("follow-d"), "50");
    stop(std::move(side));
}

TEST_F(BedLevelLabelsTest, AStandbyLeadsAtOnceWhenTheLeaderStops) {
    make_node("takeover", "a", "x");
    const auto space = new_space();
    auto first = start(access, space);
    ASSERT_TRUE(settle(*first));
    auto second = start(access, space);
    ASSERT_TRUE(run_until([&second] { return second->facts().synced; }));
    EXPECT_FALSE(second->facts().leads);

    stop(std::move(first));
    make_node("takeover", "b", "x");
    ASSERT_TRUE(run_until([&second] { return second->facts().labels_written >= 2; }));
    ASSERT_TRUE(settle(*second));

    EXPECT_EQ(level("takeover-a"), "100");
    EXPECT_EQ(level("takeover-b"), "100");
    stop(std::move(second));
}

TEST_F(BedLevelLabelsTest, AMissingRightCostsTheWritesAndNothingElse) {
    make_node("rights", "a", "x");
    const auto space = new_space();
    grant(space, "default", "", "nodes", {"get", "list", "watch"});
    grant(space, "default", "kubevirt.io", "kubevirts", {"get", "list", "watch"});
    grant(space, "default", "virt-scout.io", "scoutconfigs", {"list", "watch"});
    grant(space, "default", "virt-scout.io", "cpuprofiles", {"list", "watch"});
    grant(space, "default", "coordination.k8s.io", "leases", {"get", "create", "update"});
    const auto account = scout::test::with_token(access, token_of(space, "default", {}));

    auto side = start(account, space);
    ASSERT_TRUE(run_until([&side] { return side->facts().labels_failed > 0; }));

    EXPECT_EQ(level("rights-a"), "none");
    EXPECT_TRUE(side->facts().leads);
    EXPECT_GT(side->facts().labels_out_of_step, 0U);
    stop(std::move(side));
}

}  // namespace
}  // namespace scout::aggregator
