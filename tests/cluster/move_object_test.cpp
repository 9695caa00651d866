// SPDX-License-Identifier: Apache-2.0
#include "cluster/move_object.h"

#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/move_progress.h"
#include "cluster/target_term.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using kube::SharedText;
using migration::Labels;
using migration::MoveWish;
using migration::NodeRequirement;
using testing::HasSubstr;

kube::Node node(const std::string& name, const std::string& hostname) {
    kube::Node out;
    out.meta.name = name;
    if (!hostname.empty()) {
        out.labels = kube::Labels{{migration::hostname_label, hostname}};
    }
    return out;
}

const std::vector<kube::Node> nodes{node("n1", "host-1"), node("n2", "host-2"), node("n3", ""),
                                    node("twin-a", "twin"), node("twin-b", "twin")};

MoveWish of_term(std::vector<NodeRequirement> expressions,
                 std::vector<NodeRequirement> fields = {}) {
    return {.added = {},
            .term = migration::NodeSelectorTerm{.expressions = std::move(expressions),
                                                .fields = std::move(fields)}};
}

TEST(AddedSelectorTest, IsWhatLabelsCanSay) {
    EXPECT_EQ(as_added_selector({}, nodes).value(), Labels{});
    EXPECT_EQ(as_added_selector({.added = {{"disk", "ssd"}}}, nodes).value(),
              (Labels{{"disk", "ssd"}}));
    EXPECT_EQ(
        as_added_selector(of_term({{"disk", "In", {"ssd"}}, {"zone", "In", {"a"}}}), nodes).value(),
        (Labels{{"disk", "ssd"}, {"zone", "a"}}));
    EXPECT_EQ(as_added_selector(of_term({}, {{"metadata.name", "In", {"n2"}}}), nodes).value(),
              (Labels{{"kubernetes.io/hostname", "host-2"}}));
}

TEST(AddedSelectorTest, WhatLabelsCannotSayIsRefusedAndNamed) {
    const auto why = [](const MoveWish& wish) {
        const auto labels = as_added_selector(wish, nodes);
        return labels ? std::string{"taken"} : labels.error().message;
    };
    EXPECT_THAT(why(of_term({{"zone", "In", {"a", "b"}}})), HasSubstr("'zone In (a, b)'"));
    EXPECT_THAT(why(of_term({{"disk", "Exists", {}}})), HasSubstr("'disk Exists'"));
    EXPECT_THAT(why(of_term({{"disk", "In", {"ssd"}}, {"disk", "In", {"hdd"}}})),
                HasSubstr("two values of the label disk"));
    const auto named = [&why](const char* name) {
        return why(of_term({}, {{"metadata.name", "In", {name}}}));
    };
    EXPECT_THAT(named("n3"), HasSubstr("node n3 has no label kubernetes.io/hostname"));
    EXPECT_THAT(named("n9"), HasSubstr("node n9 has no label"));
    EXPECT_THAT(named("twin-a"), HasSubstr("nodes twin-a and twin-b have the same label"));
}

TEST(MoveObjectTest, IsAMigrationThatKubeVirtTakes) {
    const auto object = json::parse(
        move_object({.space = "shop", .vmi = "web", .wish = {.added = {{"disk", "ssd"}}}}));
    EXPECT_EQ(object.at("apiVersion"), "kubevirt.io/v1");
    EXPECT_EQ(object.at("metadata").at("namespace"), "shop");
    EXPECT_EQ(object.at("metadata").at("generateName"), "scoutctl-");
    EXPECT_EQ(object.at("spec").at("vmiName"), "web");
    EXPECT_EQ(object.at("spec").at("addedNodeSelector").at("disk"), "ssd");
    EXPECT_FALSE(json::parse(move_object({.space = "shop", .vmi = "web"}))
                     .at("spec")
                     .as_object()
                     .contains("addedNodeSelector"));
}

TEST(MoveObjectTest, AManifestGoesAsItIs) {
    const auto object = json::parse(move_object(
        std::string_view{"kind: VirtualMachineInstanceMigration\nmetadata: {labels: {a: b}}\n"}));
    EXPECT_EQ(object.at("metadata").at("labels").at("a"), "b");
}

TEST(MoveObjectTest, ATermIsInTheAnnotation) {
    const auto wish = of_term({{"disk", "Exists", {}}}, {{"metadata.name", "NotIn", {"n1"}}});
    const auto text = move_object({.space = "shop", .vmi = "web", .wish = wish});
    EXPECT_EQ(read_carried_move(text).value().request.wish.term, wish.term);

    const auto object = json::parse(move_object(std::string_view{
        "kind: VirtualMachineInstanceMigration\n"
        "metadata: {annotations: {a: b}}\n"
        "spec: {vmiName: web, addedNodeSelectorTerm: [{matchExpressions: [{key: disk, operator: "
        "Exists}]}]}\n"}));
    EXPECT_FALSE(object.at("spec").as_object().contains("addedNodeSelectorTerm"));
    EXPECT_EQ(object.at("metadata").at("annotations").at("a"), "b");
    EXPECT_EQ(read_carried_move(json::serialize(object)).value().request.wish.term,
              of_term({{"disk", "Exists", {}}}).term);
}

TEST(MoveObjectTest, WhatStandsForATermIsWhatTheWebhookWouldPutThere) {
    const auto wish = of_term({{"disk", "Exists", {}}});
    const auto move = read_carried_move(
        with_sentinel(move_object({.space = "shop", .vmi = "web", .wish = wish})));
    ASSERT_TRUE(move);
    EXPECT_EQ(move->sentinel(), sentinel_of(*wish.term));
    const auto plan = plan_sentinel(*move);
    EXPECT_TRUE(plan.faults.empty());
    EXPECT_EQ(plan.patch, "");
}

TEST(MoveProgressTest, AMigrationHasNotEndedUntilItsVmiAgrees) {
    kube::Migration move;
    move.meta.uid = "m";
    EXPECT_EQ(move_progress(move, nullptr).phase, "Pending");
    EXPECT_FALSE(move_progress(move, nullptr).ended);

    move.phase = SharedText{"Succeeded"};
    EXPECT_FALSE(move_progress(move, nullptr).ended);
    kube::Vmi vmi;
    vmi.node = SharedText{"n1"};
    EXPECT_FALSE(move_progress(move, &vmi).ended);
    vmi.migration = kube::MigrationState{};
    vmi.migration->uid = "m";
    vmi.migration->target_node = SharedText{"n2"};
    vmi.migration->mode = SharedText{"PreCopy"};
    EXPECT_FALSE(move_progress(move, &vmi).ended);

    vmi.node = SharedText{"n2"};
    vmi.migration->completed = true;
    EXPECT_EQ(move_progress(move, &vmi), (MoveProgress{.phase = "Succeeded",
                                                       .target = "n2",
                                                       .mode = "PreCopy",
                                                       .ended = true,
                                                       .moved = true,
                                                       .node = "n2",
                                                       .trouble = {}}));
}

TEST(MoveProgressTest, WhatTheVmiSaysOfAnotherMigrationDoesNotCount) {
    kube::Migration move;
    move.meta.uid = "m";
    move.phase = SharedText{"Failed"};
    kube::Condition condition;
    condition.status = SharedText{"True"};
    condition.message = SharedText{"exceeded quota"};
    move.conditions = {condition};
    kube::Vmi vmi;
    vmi.migration = kube::MigrationState{};
    vmi.migration->uid = "an earlier one";
    vmi.migration->target_node = SharedText{"n7"};
    vmi.migration->failure = SharedText{"of that one"};

    const auto progress = move_progress(move, &vmi);

    EXPECT_TRUE(progress.ended);
    EXPECT_FALSE(progress.moved);
    EXPECT_EQ(progress.target, "");
    EXPECT_EQ(progress.trouble, "exceeded quota");
}

}  // namespace
}  // namespace scout::cluster
