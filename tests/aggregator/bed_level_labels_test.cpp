// SPDX-License-Identifier: Apache-2.0
// The level labels of a cluster on a real API server.
#include <memory>
#include <optional>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "aggregator/cluster_side.h"
#include "cluster/levels.h"
#include "kube/resource.h"
#include "tests/kube/bed_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;

class BedLevelLabelsTest : public scout::test::BedTest {
protected:
    /// Levels count among the nodes of one architecture: each test has its own.
    void make_node(const std::string& arch, const std::string& name, const std::string& feature) {
        create_node(arch + "-" + name,
                    {{"kubernetes.io/arch", arch},
                     {"kubevirt.io/schedulable", "true"},
                     {"host-model-cpu.node.kubevirt.io/M", "true"},
                     {"host-model-required-features.node.kubevirt.io/" + feature, "true"},
                     {"cpu-feature.node.kubevirt.io/" + feature, "true"},
                     {"cpu-model-migration.node.kubevirt.io/M", "true"},
                     {"cpu-vendor.node.kubevirt.io/V", "true"},
                     {"machine-type.node.kubevirt.io/q35", "true"}});
    }

    void label(const std::string& node, const std::string& key, const json::value& value) {
        const json::object patch{{"metadata", {{"labels", {{key, value}}}}}};
        done(client->merge_patch(target(node), json::serialize(patch)));
    }

    [[nodiscard]] std::string level(const std::string& node) {
        const auto object = done(client->get(target(node)));
        const auto* found =
            object.at("metadata").at("labels").as_object().if_contains(cluster::level_label);
        return found == nullptr ? "none" : std::string(found->as_string());
    }

    [[nodiscard]] static kube::Target target(const std::string& node) {
        return {.resource = kube::resources::nodes(), .object = {.space = {}, .name = node}};
    }

    [[nodiscard]] std::unique_ptr<ClusterSide> start(const kube::ClusterAccess& who,
                                                     const std::string& space) {
        auto side = std::make_unique<ClusterSide>(
            loop.get_executor(),
            ClusterSettings{
                .access = who, .space = space, .identity = lease_identity(), .levels = {}},
            clock);
        side->start();
        return side;
    }

    /// All labels are as they should be, and were read again.
    [[nodiscard]] bool settle(const ClusterSide& side) {
        return run_until([&side] {
            const auto facts = side.facts();
            return facts.leads && facts.synced && facts.labels_out_of_step == 0;
        });
    }

    void stop(std::unique_ptr<ClusterSide> side) { call(side->stop()); }
};

TEST_F(BedLevelLabelsTest, LabelsFollowTheNodes) {
    make_node("follow", "a", "x");
    make_node("follow", "b", "x");
    make_node("follow", "c", "y");
    auto side = start(access, new_space());

    ASSERT_TRUE(run_until([&side] { return side->facts().labels_written >= 3; }));
    ASSERT_TRUE(settle(*side));
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
