// SPDX-License-Identifier: Apache-2.0
#include "cluster/drain_plan.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/scheduling_objects.h"
#include "tests/cluster/node_objects.h"
#include "tests/support/profiles.h"

namespace scout::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace scheduling = migration::scheduling;

constexpr std::int64_t gibi = std::int64_t{1} << 30;

kube::SharedText text(std::string_view value) {
    return kube::SharedText{value};
}

/// Nodes a, which is to be emptied, b and c, of 8 GiB each.
class DrainPlanTest : public testing::Test {
protected:
    DrainPlanTest() {
        for (const char* name : {"a", "b", "c"}) {
            auto labels = test::plain_labels();
            labels["kubernetes.io/hostname"] = name;
            objects.nodes.push_back(test::node_object(name, labels));
            NodeRoom room;
            room.meta.name = name;
            room.allocatable = scheduling::Resources{{"memory", 8 * gibi}, {"pods", 10}};
            told.rooms.push_back(room);
        }
        objects.kubevirts.push_back(test::kubevirt_object());
        objects.kubevirts.front().eviction_strategy = text("LiveMigrate");
    }
    /// On node a, with a launcher of that many GiB.
    kube::Vmi& add(const std::string& name, std::int64_t memory) {
        kube::Vmi vmi;
        vmi.meta = {.space = text("shop"), .name = name, .uid = "uid-" + name, .version = "1"};
        vmi.phase = text("Running");
        vmi.node = text("a");
        vmi.architecture = text("amd64");
        vmi.cpu_model = text("host-model");
        vmi.machine = text("q35");
        vmi.memory = kube::SharedText{std::to_string(memory) + "Gi"};
        kube::LauncherPod launcher;
        launcher.meta = {.space = text("shop"), .name = "l-" + name, .uid = {}, .version = "1"};
        launcher.node = text("a");
        launcher.phase = text("Running");
        launcher.vmi_name = name;
        launcher.vmi_uid = vmi.meta.uid;
        objects.launchers.push_back(launcher);
        ScheduledPod pod;
        pod.meta = launcher.meta;
        pod.launcher = true;
        pod.pod.space = "shop";
        pod.pod.name = pod.meta.name;
        pod.pod.node = "a";
        pod.pod.labels = {{"kubevirt.io/created-by", vmi.meta.uid}};
        pod.pod.requests = {{"memory", memory * gibi}};
        pod.when_new = pod.pod.requests;
        told.pods.push_back(pod);
        return objects.vmis.emplace_back(vmi);
    }
    [[nodiscard]] DrainPlan plan() {
        objects.scheduling = std::make_shared<const SchedulingObjects>(told);
        auto plan = drain_plan(objects, "a", {}, &map);
        EXPECT_TRUE(plan) << plan.error().message;
        return plan ? std::move(*plan) : DrainPlan{};
    }
    /// "shop/x > b", or "shop/x: can|cannot|unknown"
    [[nodiscard]] static std::vector<std::string> steps(const DrainPlan& plan) {
        std::vector<std::string> out;
        for (const auto& step : plan.steps) {
            out.push_back(step.vmi + (step.target.empty()
                                          ? ": " + std::string{to_string(step.verdict)}
                                          : " > " + step.target));
        }
        return out;
    }

    migration::CpuMap map = scout::test::small_map();
    Objects objects;
    SchedulingObjects told;
};

TEST_F(DrainPlanTest, OfANodeWithoutVmsThereIsNothingToDo) {
    EXPECT_THAT(plan().steps, IsEmpty());
    EXPECT_EQ(summary(plan()), "no VM runs on a");
    objects.scheduling = std::make_shared<const SchedulingObjects>(told);
    EXPECT_THAT(drain_plan(objects, "d", {}, &map).error().message, HasSubstr("'d'"));
    objects.scheduling = nullptr;
    EXPECT_FALSE(drain_plan(objects, "a", {}, &map));
}

TEST_F(DrainPlanTest, WhatLeavesTakesRoomOnItsTarget) {
    add("small", 3);
    add("large", 6);
    add("middle", 4);

    const auto answer = plan();

    // The large one first, where most is free, then the next: both nodes hold no third.
    EXPECT_THAT(steps(answer), ElementsAre("shop/large > b", "shop/middle > c", "shop/small > c"));
    EXPECT_EQ(answer.steps[0].candidates, 2U);

    add("more", 2);
    const auto full = plan();
    EXPECT_THAT(steps(full), ElementsAre("shop/large > b", "shop/middle > c", "shop/small > c",
                                         "shop/more > b"));
    add("last", 1);
    const auto over = plan();
    EXPECT_EQ(over.steps.size(), 5U);
    EXPECT_EQ(steps(over).back(), "shop/last > c");
    add("none", 1);
    const auto too_many = plan();
    EXPECT_EQ(steps(too_many).back(), "shop/none: cannot");
    EXPECT_THAT(too_many.steps.back().why,
                testing::AllOf(HasSubstr("VMs that go before it take its places"),
                               HasSubstr("memory: 1.0 GiB are asked for")));
}

TEST_F(DrainPlanTest, TheHardestToPlaceGoesFirst) {
    add("easy", 6);
    add("tied", 5);
    VmiWishes wishes;
    wishes.meta = objects.vmis.back().meta;
    wishes.pod.node_terms = {
        {.expressions = {{"kubernetes.io/hostname", "In", {"b"}}}, .fields = {}}};
    told.wishes.push_back(wishes);

    EXPECT_THAT(steps(plan()), ElementsAre("shop/tied > b", "shop/easy > c"));
}

TEST_F(DrainPlanTest, SoManyMoveAtOnce) {
    for (const char* name : {"x", "y", "z"}) {
        add(name, 2);
    }
    const auto answer = plan();

    ASSERT_EQ(answer.at_once, 2U);
    ASSERT_EQ(answer.steps.size(), 3U);
    for (const auto& step : answer.steps) {
        ASSERT_TRUE(step.takes) << step.why;
        EXPECT_GT(step.takes->count(), 0);
    }
    EXPECT_EQ(answer.steps[0].begins, std::chrono::seconds{0});
    EXPECT_EQ(answer.steps[1].begins, std::chrono::seconds{0});
    EXPECT_EQ(answer.steps[2].begins, std::min(answer.steps[0].takes, answer.steps[1].takes));
    EXPECT_EQ(answer.takes, *answer.steps[2].begins + *answer.steps[2].takes);
    EXPECT_THAT(summary(answer), HasSubstr("a drain moves 3 of 3 VMs, in about "));
}

TEST_F(DrainPlanTest, WhatStaysComesLastWithTheReason) {
    add("stays", 2)
        .conditions.push_back({.type = text("LiveMigratable"),
                               .status = text("False"),
                               .reason = text("DisksNotLiveMigratable"),
                               .message = {},
                               .since = {}});
    add("goes", 2).eviction_strategy = text("None");

    const auto answer = plan();

    EXPECT_EQ(steps(answer).back(), "shop/stays: cannot");
    EXPECT_THAT(answer.steps.back().why, HasSubstr("DisksNotLiveMigratable"));
    EXPECT_FALSE(answer.steps.back().shut_down) << "a drain waits for it";
    EXPECT_THAT(summary(answer),
                HasSubstr("a drain moves 0 of 2 VMs; 1 would be shut down by a drain; "
                          "1 stays"));
}

TEST_F(DrainPlanTest, WhatADrainShutsDownIsCountedApartAndGoesAfterTheOthers) {
    add("none", 3).eviction_strategy = text("None");
    add("moved", 2);

    const auto answer = plan();

    EXPECT_THAT(steps(answer), ElementsAre("shop/moved > b", "shop/none > c"));
    EXPECT_FALSE(answer.steps[0].shut_down);
    EXPECT_TRUE(answer.steps[1].shut_down);
    EXPECT_THAT(answer.steps[1].why, HasSubstr("its eviction strategy is None"));
    EXPECT_THAT(summary(answer), testing::StartsWith("a drain moves 1 of 2 VMs, in about "));
    EXPECT_THAT(summary(answer), testing::EndsWith("at once; 1 would be shut down by a drain"));

    objects.kubevirts.front().eviction_strategy = {};
    EXPECT_EQ(summary(plan()), "a drain moves 0 of 2 VMs; 2 would be shut down by a drain");
}

TEST_F(DrainPlanTest, WhatMayBeMovedIfPossibleIsShutDownUnlessItIsMigratable) {
    auto& vmi = add("maybe", 2);
    vmi.eviction_strategy = text("LiveMigrateIfPossible");
    EXPECT_TRUE(plan().steps[0].shut_down);
    vmi.conditions.push_back({.type = text("LiveMigratable"),
                              .status = text("True"),
                              .reason = {},
                              .message = {},
                              .since = {}});
    EXPECT_FALSE(plan().steps[0].shut_down);
    vmi.conditions.front().status = text("False");
    EXPECT_THAT(plan().steps[0].why, testing::EndsWith("; a drain shuts it down"));
}

TEST_F(DrainPlanTest, LimitOfNoneLetsNoneLeave) {
    add("one", 2);
    add("two", 2);
    auto& limits = objects.kubevirts.front().migrations;
    limits.outbound_per_node = 0;

    const auto answer = plan();

    EXPECT_EQ(answer.at_once, 0U);
    EXPECT_THAT(steps(answer), ElementsAre("shop/one: cannot", "shop/two: cannot"));
    EXPECT_EQ(answer.steps[0].candidates, 2U);
    EXPECT_FALSE(answer.steps[0].begins);
    EXPECT_EQ(answer.takes.count(), 0);
    EXPECT_EQ(summary(answer),
              "a drain moves 0 of 2 VMs; 2 stay; parallelOutboundMigrationsPerNode of the KubeVirt "
              "object is 0: KubeVirt begins no migration");
    limits.outbound_per_node = 2;
    limits.per_cluster = 0;
    EXPECT_THAT(summary(plan()), HasSubstr("; parallelMigrationsPerCluster of "));
}

/// The first one goes to the other zone, and does not count in its old one any more.
TEST_F(DrainPlanTest, WhatHasLeftIsNotCountedWhereItWas) {
    for (const char* name : {"x", "y"}) {
        add(name, 5);
        told.pods.back().pod.labels["app"] = "pair";
        VmiWishes wishes;
        wishes.meta = objects.vmis.back().meta;
        wishes.pod.labels = {{"app", "pair"}};
        scheduling::SpreadConstraint spread;
        spread.topology = "zone";
        spread.pods.emplace().labels = {{"app", "pair"}};
        wishes.pod.spread = {spread};
        told.wishes.push_back(wishes);
    }
    for (auto& node : objects.nodes) {
        auto labels = test::plain_labels();
        labels["kubernetes.io/hostname"] = node.meta.name;
        labels["zone"] = node.meta.name == "c" ? "2" : "1";
        node = test::node_object(node.meta.name, labels);
    }

    // On c both of them have no room.
    EXPECT_THAT(steps(plan()), ElementsAre("shop/x > c", "shop/y > b"));
}

TEST_F(DrainPlanTest, NodesAreFullHoweverMuchIsAskedFor) {
    add("tiny", 0);
    for (int i = 0; i < 2; ++i) {
        ScheduledPod pod;
        pod.meta = {.space = text("shop"), .name = "p", .uid = {}, .version = "1"};
        pod.pod.node = "b";
        pod.pod.requests = {{"memory", INT64_MAX}};
        told.pods.push_back(pod);
    }
    EXPECT_THAT(steps(plan()), ElementsAre("shop/tiny > c"));

    told.rooms.clear();
    told.pods.resize(1);
    EXPECT_THAT(steps(plan()), ElementsAre("shop/tiny > b")) << "what nodes have is not told";
}

TEST_F(DrainPlanTest, WhatMovesAlreadyGoesWhereItGoes) {
    auto& vmi = add("moving", 2);
    kube::MigrationState move;
    move.target_node = text("c");
    vmi.migration = move;
    auto target = told.pods.back();
    target.meta.name = target.pod.name = "l-target";
    target.pod.node = "c";
    told.pods.push_back(target);

    const auto answer = plan();

    EXPECT_THAT(steps(answer), ElementsAre("shop/moving > c"));
    EXPECT_EQ(answer.steps.front().why, "it moves there already");
}

/// Its migration has a target pod, and its VMI does not tell of it yet.
TEST_F(DrainPlanTest, WhatBeginsToMoveTakesRoomOnce) {
    add("moving", 5);
    auto target = told.pods.back();
    target.meta.name = target.pod.name = "l-target";
    target.pod.node = "b";
    target.pod.labels["kubevirt.io/migrationJobUID"] = "m";
    kube::Migration move;
    move.meta = {.space = text("shop"), .name = "move", .uid = "m", .version = "1"};
    move.vmi_name = text("moving");
    move.phase = text("Scheduled");
    objects.migrations.push_back(move);
    told.pods.push_back(target);
    add("other", 3);
    add("third", 3);

    EXPECT_THAT(steps(plan()), ElementsAre("shop/moving > c", "shop/other > b", "shop/third > b"))
        << "its target on b is none any more";
}

TEST_F(DrainPlanTest, WithoutAnyVmiItIsSaidThatNoneIsKnown) {
    EXPECT_THAT(plan().notes, testing::Contains(HasSubstr("no VMIs at all are known")));
}

TEST_F(DrainPlanTest, OtherVmsAreNoneOfIt) {
    add("other", 2).node = text("b");
    objects.launchers.back().node = text("b");
    told.pods.back().pod.node = "b";
    add("ended", 2).phase = text("Succeeded");

    EXPECT_THAT(plan().steps, IsEmpty());
}

}  // namespace
}  // namespace scout::cluster
