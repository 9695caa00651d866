// SPDX-License-Identifier: Apache-2.0
#include "cluster/vm_placement.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/dump.h"
#include "documents/cpu_map_files.h"
#include "tests/cluster/node_objects.h"
#include "tests/support/profiles.h"
#include "tests/support/test_data.h"

namespace scout::cluster {
namespace {

using migration::Layer;
using migration::Placement;
using migration::Verdict;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

kube::SharedText text(std::string_view value) {
    return kube::SharedText{value};
}

const migration::Comparison& answer(const Placement& placement, std::string_view node) {
    const auto& nodes = placement.nodes;
    return std::find_if(nodes.begin(), nodes.end(),
                        [node](const auto& each) { return each.node == node; })
        ->comparison;
}

/// "code: key, key" of the stock layer.
std::vector<std::string> stock_reasons(const Placement& placement, std::string_view node) {
    std::vector<std::string> out;
    for (const auto& reason : answer(placement, node).reasons) {
        if (reason.layer == Layer::stock) {
            out.push_back(std::string{to_string(reason.code)} +
                          (reason.keys.empty() ? "" : ": " + migration::join(reason.keys)));
        }
    }
    return out;
}

kube::Vmi vmi_object(const std::string& name, const std::string& node) {
    kube::Vmi vmi;
    vmi.meta = {.space = text("shop"), .name = name, .uid = "uid-" + name, .version = "1"};
    vmi.phase = text("Running");
    vmi.node = text(node);
    vmi.architecture = text("amd64");
    vmi.cpu_model = text("host-model");
    vmi.machine = text("q35");
    return vmi;
}

kube::LauncherPod launcher_object(const kube::Vmi& vmi, const migration::Labels& selector = {}) {
    kube::LauncherPod pod;
    pod.meta = {.space = vmi.meta.space,
                .name = "virt-launcher-" + vmi.meta.name,
                .uid = {},
                .version = "1"};
    pod.node = vmi.node;
    pod.phase = text("Running");
    pod.vmi_name = vmi.meta.name;
    pod.vmi_uid = vmi.meta.uid;
    pod.node_selector = test::kube_labels(selector);
    return pod;
}

class VmPlacementTest : public testing::Test {
protected:
    VmPlacementTest() {
        for (const char* name : {"a", "b", "c"}) {
            objects.nodes.push_back(test::node_object(name));
        }
        objects.vmis.push_back(vmi_object("web", "a"));
        objects.launchers.push_back(launcher_object(vmi()));
        objects.kubevirts.push_back(test::kubevirt_object());
    }
    kube::Vmi& vmi() { return objects.vmis.front(); }
    kube::LauncherPod& launcher() { return objects.launchers.front(); }
    [[nodiscard]] Placement place() { return place_vmi(objects, vmi(), {}, &map); }

    migration::CpuMap map = scout::test::small_map();
    Objects objects;
};

TEST_F(VmPlacementTest, GoesToNodesThatAreEqual) {
    const auto placement = place();

    EXPECT_EQ(placement.subject, "shop/web");
    EXPECT_EQ(placement.source, "a");
    ASSERT_EQ(placement.nodes.size(), 2U);
    EXPECT_EQ(answer(placement, "b").verdict, Verdict::can);
    EXPECT_EQ(answer(placement, "c").verdict, Verdict::can);
    EXPECT_THAT(placement.notes, Contains(HasSubstr("affinity, taints other than a cordon's, and "
                                                    "free resources are not judged")));
    EXPECT_THAT(placement.notes, Contains(HasSubstr("devices are not judged")));
    EXPECT_THAT(placement.notes, Contains(HasSubstr("CPU is taken to be Large")));
}

TEST_F(VmPlacementTest, NodesThatTakeNoVmsNowAreRefusedWithTheReason) {
    test::cordon(objects.nodes[1], std::nullopt);
    test::set_ready(objects.nodes[2], "False", {});
    objects.nodes.push_back(test::node_object("plain", {{"kubernetes.io/arch", "amd64"}}));

    const auto placement = place();

    EXPECT_THAT(stock_reasons(placement, "b"), ElementsAre("unschedulable"));
    EXPECT_THAT(stock_reasons(placement, "c"),
                ElementsAre("unschedulable: node.kubernetes.io/not-ready"));
    EXPECT_THAT(stock_reasons(placement, "plain"),
                ElementsAre("unschedulable: kubevirt.io/schedulable"))
        << "not every label that it lacks";
}

TEST_F(VmPlacementTest, VmiThatDoesNotRunGoesNowhere) {
    vmi().phase = text("Scheduling");
    vmi().node = {};

    const auto placement = place();

    ASSERT_EQ(placement.nodes.size(), 3U);
    for (const auto& node : placement.nodes) {
        EXPECT_EQ(node.comparison.verdict, Verdict::cannot);
        ASSERT_EQ(node.comparison.reasons.size(), 1U);
        EXPECT_THAT(node.comparison.reasons[0].text, HasSubstr("its phase is Scheduling"));
    }
}

TEST_F(VmPlacementTest, VmiThatIsBeingDeletedGoesNowhere) {
    vmi().deletion = WallTime{} + std::chrono::hours{1};

    EXPECT_THAT(stock_reasons(place(), "b"), ElementsAre("not-running"));
}

TEST_F(VmPlacementTest, VmiThatIsNotMigratableGoesNowhereAndNothingElseMatters) {
    vmi().conditions.push_back({.type = text("LiveMigratable"),
                                .status = text("False"),
                                .reason = text("DisksNotLiveMigratable"),
                                .message = text("PVC is not shared"),
                                .since = {}});
    test::cordon(objects.nodes[1], std::nullopt);

    const auto placement = place();

    EXPECT_THAT(stock_reasons(placement, "b"),
                ElementsAre("not-migratable: DisksNotLiveMigratable"));
    EXPECT_EQ(answer(placement, "b").verdict, Verdict::cannot);
    EXPECT_THAT(answer(placement, "b").reasons[0].text, HasSubstr("PVC is not shared"));
}

TEST_F(VmPlacementTest, WhatElseTheVmiAsksForIsLeftOpenAndNeverACan) {
    ASSERT_EQ(answer(place(), "b").gate, Verdict::can);
    vmi().other_demands = {"launchSecurity", "nodeAffinity"};

    const auto placement = place();

    EXPECT_EQ(answer(placement, "b").gate, Verdict::unknown);
    EXPECT_NE(answer(placement, "b").verdict, Verdict::can);
    EXPECT_THAT(answer(placement, "b").reasons.back().keys,
                ElementsAre("launchSecurity", "nodeAffinity"));
}

/// Case 11.
TEST_F(VmPlacementTest, StaleSelectorsFitNoNode) {
    launcher() = launcher_object(vmi(), {{"cpu-model-migration.node.kubevirt.io/Generic", "true"},
                                         {"cpu-feature.node.kubevirt.io/f1", "true"},
                                         {"cpu-feature.node.kubevirt.io/avx", "true"}});
    launcher().migration_uid = "m1";

    const auto placement = place();

    EXPECT_THAT(stock_reasons(placement, "b"),
                ElementsAre("stale-selector: cpu-feature.node.kubevirt.io/f1, "
                            "cpu-model-migration.node.kubevirt.io/Generic"));
    EXPECT_THAT(placement.notes, Contains(HasSubstr("no node fits: stale selectors Generic, f1")));
    const auto& reasons = answer(placement, "b").reasons;
    EXPECT_THAT(reasons.back().text, HasSubstr("the guest may have f1 since its start"))
        << "then dropping the selectors does not help";
}

TEST_F(VmPlacementTest, PodOfTheVmiIsTheOneThatRunsOnItsNode) {
    auto target = launcher_object(vmi(), {{"cpu-feature.node.kubevirt.io/f1", "true"}});
    target.node = text("b");
    auto ended = launcher_object(vmi(), {{"cpu-feature.node.kubevirt.io/f2", "true"}});
    ended.phase = text("Succeeded");
    auto leaving = launcher_object(vmi(), {{"cpu-feature.node.kubevirt.io/f3", "true"}});
    leaving.deletion = WallTime{} + std::chrono::hours{1};
    auto foreign = launcher_object(vmi(), {{"cpu-feature.node.kubevirt.io/f4", "true"}});
    foreign.vmi_uid = "other";
    objects.launchers = {target, ended, leaving, foreign, launcher()};

    EXPECT_EQ(answer(place(), "c").verdict, Verdict::can);
    objects.launchers.pop_back();
    EXPECT_THAT(stock_reasons(place(), "c"),
                ElementsAre("stale-selector: cpu-feature.node.kubevirt.io/f3"));
}

TEST_F(VmPlacementTest, WithoutItsPodOnlyAVmiThatNeverMovedIsCertain) {
    objects.launchers.clear();
    EXPECT_EQ(answer(place(), "b").verdict, Verdict::can);

    vmi().migration = kube::MigrationState{};
    EXPECT_EQ(answer(place(), "b").gate, Verdict::unknown);
}

TEST_F(VmPlacementTest, ModelThatIsNotSetIsTheOneOfTheCluster) {
    vmi().cpu_model = {};
    objects.kubevirts[0].cpu_model = text("Small");
    EXPECT_THAT(stock_reasons(place(), "b"),
                ElementsAre("model: cpu-model.node.kubevirt.io/Small"));

    objects.kubevirts[0].cpu_model = {};
    EXPECT_EQ(answer(place(), "b").gate, Verdict::can) << "host-model";
}

TEST_F(VmPlacementTest, SelectorsOfClusterAndVmAreAskedFor) {
    objects.kubevirts[0].node_selectors = test::kube_labels({{"pool", "vms"}, {"disk", "hdd"}});
    vmi().node_selector = test::kube_labels({{"disk", "ssd"}});

    EXPECT_THAT(stock_reasons(place(), "b"), ElementsAre("selector: disk=ssd, pool=vms"));
}

TEST_F(VmPlacementTest, PoliciesOfFeaturesAreKeptApart) {
    vmi().cpu_model = text("Small");
    objects.nodes[1] = test::node_object("b", [] {
        auto labels = test::plain_labels();
        labels["cpu-model.node.kubevirt.io/Small"] = "true";
        return labels;
    }());
    vmi().cpu_features = {{.name = text("f1"), .policy = {}},
                          {.name = text("f2"), .policy = text("require")},
                          {.name = text("aes"), .policy = text("forbid")},
                          {.name = text("sse"), .policy = text("disable")},
                          {.name = text("mmx"), .policy = text("optional")}};

    EXPECT_THAT(stock_reasons(place(), "b"),
                ElementsAre("feature: cpu-feature.node.kubevirt.io/f1, "
                            "cpu-feature.node.kubevirt.io/f2",
                            "selector: cpu-feature.node.kubevirt.io/aes"));
}

TEST_F(VmPlacementTest, MigrationThatIsUnderWayIsNoted) {
    kube::Migration migration;
    migration.meta = {.space = text("shop"), .name = "move", .uid = {}, .version = {}};
    migration.vmi_name = text("web");
    migration.phase = text("Scheduling");
    objects.migrations.push_back(migration);
    EXPECT_THAT(place().notes, Contains(HasSubstr("migration move is under way (Scheduling)")));

    objects.migrations[0].phase = text("Failed");
    EXPECT_THAT(place().notes, Not(Contains(HasSubstr("under way"))));
}

TEST_F(VmPlacementTest, VmisAreFoundByNameNamespaceUidAndNode) {
    auto other = vmi_object("web", "b");
    other.meta.space = text("test");
    other.meta.uid = "uid-2";
    objects.vmis.push_back(other);

    EXPECT_EQ(find_vmi(objects, "test/web").value()->node, "b");
    EXPECT_EQ(find_vmi(objects, "uid-web").value()->node, "a");
    EXPECT_EQ(find_vmi(objects, "web", "b").value()->node, "b");
    const auto both = find_vmi(objects, "web");
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().code, Errc::invalid);
    EXPECT_THAT(both.error().message, HasSubstr("shop/web, test/web"));
    const auto none = find_vmi(objects, "wep");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::not_found);
    EXPECT_THAT(none.error().message, HasSubstr("did you mean 'web'?"));
    EXPECT_EQ(find_vmi(objects, "web", "c").error().code, Errc::not_found);
    EXPECT_THAT(find_vmi(objects, "a").error().message, HasSubstr("'host-model@a'"));
}

/// The table of the dump's own description, and what follows from it for the rest.
class LivePlacementTest : public testing::Test {
protected:
    void SetUp() override {
        SCOUT_TEST_DATA_OR_SKIP(data);
        dump = read_dump({data / "kubevirt" / "live"}).value();
        map = documents::load_cpu_map(data / "libvirt" / "cpu_map").value();
    }
    [[nodiscard]] Placement place(const std::string& name) const {
        return place_vmi(dump.objects, *find_vmi(dump.objects, name).value(), dump.moment, &map);
    }

    Dump dump;
    migration::CpuMap map;
};

const std::string closed_label = "unschedulable: kubevirt.io/schedulable";

TEST_F(LivePlacementTest, VmThatMovedOnceIsAskedForByItsFrozenSelectors) {
    const auto placement = place("web-2");

    EXPECT_EQ(placement.source, "node-c");
    EXPECT_EQ(answer(placement, "node-a").verdict, Verdict::can);
    EXPECT_THAT(stock_reasons(placement, "node-b"), ElementsAre("unschedulable"));
    EXPECT_THAT(stock_reasons(placement, "node-h"),
                ElementsAre("feature: cpu-feature.node.kubevirt.io/pcid, "
                            "cpu-feature.node.kubevirt.io/ssbd",
                            closed_label, "unschedulable"));
}

TEST_F(LivePlacementTest, NamedModelIsAskedForByName) {
    const auto placement = place("db-1");

    EXPECT_EQ(placement.source, "node-a");
    EXPECT_THAT(stock_reasons(placement, "node-b"), ElementsAre("unschedulable"));
    EXPECT_EQ(answer(placement, "node-c").verdict, Verdict::can);
    EXPECT_THAT(stock_reasons(placement, "node-h"), ElementsAre(closed_label, "unschedulable"));
}

TEST_F(LivePlacementTest, WhatIsNotMigratableIsSaidOfEveryNode) {
    const auto placement = place("nomig-1");

    EXPECT_EQ(placement.source, "node-a");
    for (const char* node : {"node-b", "node-c", "node-h"}) {
        EXPECT_THAT(stock_reasons(placement, node),
                    ElementsAre("not-migratable: DisksNotLiveMigratable"));
    }
}

TEST_F(LivePlacementTest, ExplicitFeatureIsAllThatIsAskedFor) {
    const auto placement = place("feat-1");

    EXPECT_THAT(stock_reasons(placement, "node-b"), ElementsAre("unschedulable"));
    EXPECT_THAT(stock_reasons(placement, "node-c"),
                ElementsAre("feature: cpu-feature.node.kubevirt.io/avx2"));
    EXPECT_THAT(placement.notes, Contains(HasSubstr("asks for CPU features itself")));
}

TEST_F(LivePlacementTest, NewerHostModelFindsNoNodeThatKnowsIt) {
    const auto placement = place("web-1");

    EXPECT_EQ(placement.source, "node-b");
    for (const char* node : {"node-a", "node-c"}) {
        EXPECT_THAT(stock_reasons(placement, node),
                    ElementsAre("model: cpu-model-migration.node.kubevirt.io/Cascadelake-Server"));
    }
}

TEST_F(LivePlacementTest, VmOnItsWayIsSaidToBe) {
    EXPECT_THAT(place("evac-1").notes, Contains(HasSubstr("(PreparingTarget, to node-a)")));
    EXPECT_THAT(place("stuck-1").notes, Contains(HasSubstr("is under way (Pending)")));
    EXPECT_THAT(place("web-2").notes, Not(Contains(HasSubstr("under way"))));
}

}  // namespace
}  // namespace scout::cluster
