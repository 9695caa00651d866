// SPDX-License-Identifier: Apache-2.0
#include "cluster/target_term.h"

#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/json_patch.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::NodeSelectorTerm;
using test::patched;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

constexpr const char* annotation = "virt-scout.io/added-node-selector-term";
constexpr const char* sentinel = "virt-scout.io/target-term";
const NodeSelectorTerm on_ssd{.expressions = {{"disk", "In", {"ssd"}}}, .fields = {}};
constexpr const char* on_ssd_text = "matchExpressions: [{key: disk, operator: In, values: [ssd]}]";

/// A migration as the API server has it.
json::object move_with(const std::string& term, json::object added = {}) {
    json::object metadata{{"name", "move"}, {"namespace", "ns"}, {"uid", "m1"}};
    if (!term.empty()) {
        metadata["annotations"] = {{annotation, term}};
    }
    json::object spec{{"vmiName", "vm"}};
    if (!added.empty()) {
        spec["addedNodeSelector"] = std::move(added);
    }
    return {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

CarriedMove carried(const json::object& object) {
    return read_carried_move(json::serialize(object)).value();
}

std::vector<std::string> refusals(const json::object& object) {
    std::vector<std::string> out;
    for (const auto& fault : plan_sentinel(carried(object)).faults) {
        out.push_back(fault.text);
    }
    return out;
}

TEST(TargetTermTest, IsReadFromEitherCarrier) {
    EXPECT_EQ(carried(move_with(on_ssd_text)).request.wish.term, on_ssd);

    auto by_field = move_with("");
    by_field["spec"].as_object()["addedNodeSelectorTerm"] =
        json::parse(R"([{"matchExpressions":[{"key":"disk","operator":"In","values":["ssd"]}]}])");
    EXPECT_EQ(carried(by_field).request.wish.term, on_ssd);

    auto by_both = by_field;
    by_both["metadata"].as_object()["annotations"] = {{annotation, on_ssd_text}};
    EXPECT_THAT(refusals(by_both), IsEmpty());
    by_both["metadata"].as_object()["annotations"] = {
        {annotation, "matchExpressions: [{key: disk, operator: Exists}]"}};
    EXPECT_THAT(refusals(by_both), ElementsAre(HasSubstr("differ")));

    EXPECT_EQ(carried(move_with("")).request.wish.term, std::nullopt);
    EXPECT_FALSE(read_carried_move("[]"));
    EXPECT_FALSE(read_carried_move("{"));
}

TEST(TargetTermTest, WhatStandsForATermIsAValueOfALabelAndOfThatTermAlone) {
    const auto value = sentinel_of(on_ssd);
    EXPECT_THAT(value, MatchesRegex("[0-9a-f]{40}"));
    const std::vector<NodeSelectorTerm> others{
        {.expressions = {{"disk", "In", {"hdd"}}}, .fields = {}},
        {.expressions = {{"disk", "NotIn", {"ssd"}}}, .fields = {}},
        {.expressions = {{"disk", "In", {"ssd", "ssd"}}}, .fields = {}},
        {.expressions = {{"disk", "In", {"ssd"}}, {"disk", "In", {"ssd"}}}, .fields = {}},
        {.expressions = {}, .fields = {{"disk", "In", {"ssd"}}}},
        {.expressions = {{"disk", "In", {"s", "sd"}}}, .fields = {}},
        {.expressions = {{"diskIn", "", {"ssd"}}}, .fields = {}}};
    for (const auto& other : others) {
        EXPECT_NE(sentinel_of(other), value) << migration::to_text(other);
    }
}

/// A map of KubeVirt's or of the user's is added to, never written anew.
TEST(TargetTermTest, AMigrationThatIsMadeGetsASingleKey) {
    const auto value = sentinel_of(on_ssd);
    const auto expect_sentinel = [&value](const json::object& move, std::size_t keys) {
        const auto plan = plan_sentinel(carried(move));
        EXPECT_THAT(plan.faults, IsEmpty());
        const auto added = patched(move, plan.patch).at("spec").at("addedNodeSelector");
        EXPECT_EQ(std::string{added.at(sentinel).as_string()}, value);
        EXPECT_EQ(added.as_object().size(), keys);
    };
    expect_sentinel(move_with(on_ssd_text), 1);
    expect_sentinel(move_with(on_ssd_text, {{"zone", "a"}}), 2);
    expect_sentinel(move_with(on_ssd_text, {{sentinel, "of-another"}}), 1);

    EXPECT_EQ(plan_sentinel(carried(move_with(on_ssd_text, {{sentinel, value}}))).patch, "");
    EXPECT_EQ(plan_sentinel(carried(move_with("", {{"zone", "a"}}))).patch, "");
}

TEST(TargetTermTest, GrammarIsRefusedInTheWordsOfTheApiServer) {
    EXPECT_THAT(refusals(move_with("{}")), ElementsAre(HasSubstr("matches no node at all")));
    EXPECT_THAT(refusals(move_with("matchExpressions: [{key: disk, operator: In}]")),
                ElementsAre(HasSubstr("must be specified when `operator` is 'In' or 'NotIn'")));
    EXPECT_THAT(refusals(move_with("matchExpressions: [{key: disk, operator: Maybe}]")),
                ElementsAre(HasSubstr("not a valid selector operator")));
    EXPECT_THAT(refusals(move_with("matchFields: [{key: spec.x, operator: In, values: [a]}]")),
                ElementsAre(HasSubstr("not a valid field selector key")));
    EXPECT_THAT(refusals(move_with("[{}, {}]")), ElementsAre(HasSubstr("one term")));
    EXPECT_THAT(refusals(move_with("any: thing")), ElementsAre(HasSubstr("unknown field")));
    EXPECT_THAT(refusals(move_with("", {{sentinel, "x"}})),
                ElementsAre(HasSubstr("stands for a term, and the migration has none")));
    EXPECT_THAT(refusals(move_with(on_ssd_text, {{"zone", "no/value"}})),
                ElementsAre(HasSubstr("spec.addedNodeSelector: value")));
}

TEST(TargetTermTest, NodesAreAskedForByBothSelectors) {
    const auto asks = [](const json::object& move, kube::Labels labels) {
        kube::Node node;
        node.meta.name = "n1";
        node.labels = std::move(labels);
        return is_asked_for(asked_of_nodes(carried(move)), node);
    };
    const auto move = move_with(on_ssd_text, {{"zone", "a"}, {sentinel, sentinel_of(on_ssd)}});
    EXPECT_TRUE(asks(move, kube::Labels{{"disk", "ssd"}, {"zone", "a"}}));
    EXPECT_FALSE(asks(move, kube::Labels{{"disk", "ssd"}}));
    EXPECT_FALSE(asks(move, kube::Labels{{"zone", "a"}}));
    EXPECT_TRUE(
        asks(move_with("matchFields: [{key: metadata.name, operator: In, values: [n1]}]"), {}));
    EXPECT_FALSE(
        asks(move_with("matchFields: [{key: metadata.name, operator: In, values: [n2]}]"), {}));
}

/// A target pod of that migration.
kube::NewPod target_pod(const std::string& stands) {
    kube::NewPod pod;
    pod.role = "virt-launcher";
    pod.migration = "move";
    pod.migration_uid = "m1";
    pod.target_term = stands;
    return pod;
}

TEST(TargetTermTest, ATargetPodGetsTheTermInThePlaceOfWhatStoodForIt) {
    const json::value made{{"spec", {{"nodeSelector", {{"zone", "a"}, {sentinel, "x"}}}}}};
    const auto patch = aim_pod(target_pod(sentinel_of(on_ssd)), carried(move_with(on_ssd_text)));
    ASSERT_TRUE(patch) << patch.error().message;
    EXPECT_EQ(patched(made, *patch), json::parse(R"({"spec":{"nodeSelector":{"zone":"a"},
        "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{
        "nodeSelectorTerms":[{"matchExpressions":[
            {"key":"disk","operator":"In","values":["ssd"]}]}]}}}}})"));
}

/// What it waits for is then what no node has.
TEST(TargetTermTest, APodIsNotAimedByATermThatItWasNotMadeFor) {
    const auto why = [](const kube::NewPod& pod, const json::object& move) {
        const auto patch = aim_pod(pod, carried(move));
        return patch ? "aimed: " + *patch : patch.error().message;
    };
    const auto value = sentinel_of(on_ssd);
    EXPECT_THAT(
        why(target_pod(value), move_with("matchExpressions: [{key: disk, operator: Exists}]")),
        HasSubstr("was changed after it was made"));
    EXPECT_THAT(why(target_pod(value), move_with("")), HasSubstr("was changed after it was made"));
    EXPECT_THAT(why(target_pod(value), move_with("[")), HasSubstr("migration move: "));
    auto of_another = target_pod(value);
    of_another.migration_uid = "m2";
    EXPECT_THAT(why(of_another, move_with(on_ssd_text)), HasSubstr("not of migration move"));
    auto of_none = target_pod(value);
    of_none.migration_uid = std::nullopt;
    EXPECT_THAT(why(of_none, move_with(on_ssd_text)), Not(HasSubstr("aimed")));
    auto odd = target_pod(value);
    odd.affinity = R"({"nodeAffinity":7})";
    EXPECT_THAT(why(odd, move_with(on_ssd_text)), HasSubstr("expected an object"));
}

}  // namespace
}  // namespace scout::cluster
