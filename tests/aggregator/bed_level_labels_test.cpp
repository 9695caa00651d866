// SPDX-License-Identifier: Apache-2.0
// The level labels of a cluster on a real API server.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "cluster/dump.h"
#include "cluster/levels.h"
#include "migration/labels.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/kube/bed_objects.h"
#include "tests/support/profiles.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Pair;

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

/// Against what the same objects are judged as by scoutctl, from a dump.
class BedJudgedNodesTest : public BedClusterTest {
protected:
    void TearDown() override {
        for (const auto& node : made) {
            done(client->remove(target(node), {}));
        }
    }

    void put(const std::string& name, json::object node) {
        create(kube::resources::nodes(), "", std::move(node));
        made.push_back(name);
    }
    /// Levels by node.
    [[nodiscard]] std::map<std::string, std::string> judge(const std::filesystem::path& dump) {
        const auto read = cluster::read_dump({dump}).value();
        EXPECT_TRUE(read.left_out.empty());
        std::map<std::string, std::string> levels;
        for (const auto& node : cluster::judge_levels(read.objects, clock.wall(), {}).nodes) {
            levels[node.name] = node.level ? std::to_string(*node.level) : "none";
        }
        return levels;
    }
    /// All nodes that the server has, as `kubectl get -o json` leaves them.
    [[nodiscard]] std::map<std::string, std::string> judge_served() {
        const auto nodes = done(client->get_path("/api/v1/nodes"));
        return judge(folder.write("nodes.json", json::serialize(nodes)));
    }
    [[nodiscard]] std::map<std::string, std::string> labels() {
        auto side = start(access, new_space());
        EXPECT_TRUE(settle(*side));
        stop(std::move(side));
        std::map<std::string, std::string> levels;
        for (const auto& node : made) {
            levels[node] = level(node);
        }
        return levels;
    }

    scout::test::TemporaryFolder folder;
    std::vector<std::string> made;
};

TEST_F(BedJudgedNodesTest, CapturedNodesGetTheLevelsOfTheirDump) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    for (const auto& [name, node] : scout::test::captured_nodes(data)) {
        put(name, node);
    }
    const auto carried = labels();

    EXPECT_THAT(judge_served(), IsSupersetOf(carried));
    EXPECT_EQ(judge(data / "kubernetes" / "nodes"), carried);
    EXPECT_THAT(carried, Contains(Pair("node01", "0"))) << "no node says which machines it has";
    for (const auto* node : {"node01", "node02", "node03"}) {
        label(node, "machine-type.node.kubevirt.io/q35", "true");
    }
    const auto with_machines = labels();
    EXPECT_THAT(judge_served(), IsSupersetOf(with_machines));
    EXPECT_THAT(with_machines, IsSupersetOf({Pair("node01", "100"), Pair("node02", "100"),
                                             Pair("node03", "100")}));
}

TEST_F(BedJudgedNodesTest, NodesOfProfilesGetTheLevelsOfTheirDump) {
    const auto map = scout::test::small_map();
    const std::map<std::string, scout::test::HostSpec> hosts{
        {"large", {.model = "Large", .usable = {"Large", "Small"}, .machines = {"q35"}}},
        {"small", {.model = "Small", .usable = {"Small"}, .machines = {"q35"}}},
        {"other", {.model = "Other", .vendor = "AMD", .usable = {"Other"}, .machines = {"q35"}}}};
    for (const auto& [model, spec] : hosts) {
        const auto name = "profiles-" + model;
        json::object written{{"kubernetes.io/arch", "profiles"},
                             {"kubevirt.io/schedulable", "true"}};
        for (const auto& [key, value] :
             migration::labeller_labels(scout::test::host(spec), {}, &map)) {
            written[key] = value;
        }
        put(name, {{"metadata", {{"name", name}, {"labels", std::move(written)}}}});
    }
    const auto carried = labels();

    EXPECT_THAT(judge_served(), IsSupersetOf(carried));
    EXPECT_THAT(carried, ElementsAre(Pair("profiles-large", "0"), Pair("profiles-other", "0"),
                                     Pair("profiles-small", "50")));
}

}  // namespace
}  // namespace scout::aggregator
