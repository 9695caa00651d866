// SPDX-License-Identifier: Apache-2.0
#include "cluster/first_placement.h"

#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "tests/cluster/json_patch.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// As KubeVirt makes them.
constexpr const char* host_model_affinity =
    R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
        {"matchExpressions":[{"key":"node-labeller.kubevirt.io/obsolete-host-model",
                              "operator":"DoesNotExist"}]}]}}})";

kube::NewPod first_pod() {
    return {.role = "virt-launcher",
            .migration_uid = {},
            .vmi_name = "vm",
            .vmi_uid = "u",
            .arch = "amd64",
            .affinity = host_model_affinity};
}

PlacementRules requiring(unsigned level) {
    return {.required = {{.level = level, .source = DemandSource::kubevirt}},
            .preferred = {},
            .faults = {}};
}

PlacementRules preferring(unsigned level, unsigned weight) {
    return {.required = {},
            .preferred = {{.level = level, .weight = weight, .source = DemandSource::kubevirt}},
            .faults = {}};
}

const LevelStanding good{.counted = 3, .best = 100, .with_best = 1};

FirstPlacement placed(const PlacementRules& rules, const LevelStanding& standing) {
    auto placement = first_placement(first_pod(), rules, standing);
    if (!placement) {
        throw std::runtime_error(placement.error().message);
    }
    return std::move(*placement);
}

TEST(FirstPlacementTest, FirstPodsOfHostModelGuestsAreKnownByTheirSpec) {
    EXPECT_EQ(is_first_of_host_model(first_pod()), true);

    auto named_model = first_pod();
    named_model.affinity.clear();
    EXPECT_EQ(is_first_of_host_model(named_model), false);

    auto target = first_pod();
    target.migration_uid = "";
    EXPECT_EQ(is_first_of_host_model(target), false);

    auto disk = first_pod();
    disk.role = "hotplug-disk";
    EXPECT_EQ(is_first_of_host_model(disk), false);

    auto broken = first_pod();
    broken.affinity = "[";
    EXPECT_FALSE(is_first_of_host_model(broken));
}

TEST(FirstPlacementTest, AtLeastIsMoreThanOneLess) {
    const auto got = placed(requiring(50), good);

    EXPECT_EQ(json::parse(got.patch), json::parse(R"([{"op":"add",
        "path":"/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/-",
        "value":{"key":"kubevirt/host-model-migratability-level","operator":"Gt","values":["49"]}}])"));
    EXPECT_THAT(got.warnings, IsEmpty());
    EXPECT_FALSE(got.unmet);
}

TEST(FirstPlacementTest, APreferenceIsWeighed) {
    const auto got = placed(preferring(1, 100), good);

    EXPECT_EQ(json::parse(got.patch), json::parse(R"([{"op":"add",
        "path":"/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution",
        "value":[{"weight":100,"preference":{"matchExpressions":[
          {"key":"kubevirt/host-model-migratability-level","operator":"Gt","values":["0"]}]}}]}])"));
}

TEST(FirstPlacementTest, LevelZeroAsksForNothing) {
    EXPECT_EQ(placed(requiring(0), good).patch, "");
    EXPECT_EQ(placed(preferring(0, 5), good).patch, "");
    EXPECT_EQ(placed({}, good).patch, "");
}

TEST(FirstPlacementTest, InTinyFleetsNothingIsRequiredAndThatIsSaid) {
    const auto lone = placed(requiring(50), {.counted = 1, .best = 0});
    EXPECT_EQ(lone.patch, "");
    EXPECT_THAT(lone.warnings, ElementsAre(HasSubstr("only one node counts")));
    EXPECT_FALSE(lone.unmet);

    const auto empty = placed(requiring(50), {});
    EXPECT_EQ(empty.patch, "");
    EXPECT_THAT(empty.warnings, ElementsAre(HasSubstr("no node counts")));

    EXPECT_THAT(placed(requiring(0), {}).warnings, IsEmpty());
    EXPECT_NE(placed(preferring(50, 1), {}).patch, "");
}

TEST(FirstPlacementTest, ALevelThatNoNodeHasIsRequiredAllTheSame) {
    const LevelStanding low{.counted = 3, .best = 49, .with_best = 1};

    const auto got = placed(requiring(50), low);

    EXPECT_NE(got.patch, "");
    ASSERT_TRUE(got.unmet);
    EXPECT_EQ(got.unmet->level, 50U);
    EXPECT_FALSE(placed(requiring(49), low).unmet);
}

TEST(FirstPlacementTest, FaultsOfTheRulesAreWarnings) {
    auto rules = requiring(50);
    rules.faults = {"wrong"};

    EXPECT_THAT(placed(rules, good).warnings, ElementsAre("wrong"));
}

TEST(FirstPlacementTest, ASecondTimeChangesNothing) {
    auto rules = requiring(50);
    rules.preferred = {.level = 70, .weight = 3, .source = DemandSource::scout_config};
    auto pod = first_pod();
    const auto once = first_placement(pod, rules, good).value();
    const json::value whole{{"spec", {{"affinity", json::parse(pod.affinity)}}}};
    const auto after = test::patched(whole, once.patch);
    pod.affinity = json::serialize(after.at("spec").at("affinity"));

    EXPECT_EQ(first_placement(pod, rules, good).value().patch, "");
    EXPECT_EQ(is_first_of_host_model(pod), true);
}

}  // namespace
}  // namespace scout::cluster
