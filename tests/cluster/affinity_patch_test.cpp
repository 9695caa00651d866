// SPDX-License-Identifier: Apache-2.0
#include "cluster/affinity_patch.h"

#include <random>
#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "tests/cluster/json_patch.h"
#include "tests/cluster/node_affinity.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using test::affinity_allows;
using test::patched;
using ::testing::HasSubstr;

constexpr const char* level_key = "kubevirt/host-model-migratability-level";

NodeRequirement above(unsigned level) {
    return {.key = level_key, .op = "Gt", .values = {std::to_string(level)}};
}

migration::NodeSelectorTerm requiring(unsigned level) {
    return {.expressions = {above(level)}, .fields = {}};
}

json::value pod_of(json::value affinity) {
    return {{"spec", {{"affinity", std::move(affinity)}}}};
}

/// What the affinity becomes.
json::value added(const std::string& affinity, const NodeDemands& demands) {
    const auto patch = affinity_patch(affinity, demands);
    if (!patch) {
        throw std::runtime_error(patch.error().message);
    }
    const json::object bare{{"spec", json::object{}}};
    return patched(affinity.empty() ? json::value(bare) : pod_of(json::parse(affinity)), *patch)
        .at("spec")
        .at("affinity");
}

std::string selecting(const std::string& terms) {
    return R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{)"
           R"("nodeSelectorTerms":[)" +
           terms + "]}}}";
}

std::string preferring(const std::string& terms) {
    return R"({"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[)" + terms +
           "]}}";
}

constexpr const char* above_4 =
    R"({"key":"kubevirt/host-model-migratability-level","operator":"Gt","values":["4"]})";

TEST(AffinityPatchTest, RequirementGoesIntoEveryTerm) {
    const std::string a = R"({"key":"a","operator":"Exists"})";
    const std::string name = R"({"key":"metadata.name","operator":"In","values":["n"]})";
    const auto got =
        added(selecting(R"({"matchExpressions":[)" + a + R"(]},{"matchFields":[)" + name +
                        R"(]},{"matchExpressions":null,"matchFields":[)" + name + "]}"),
              {.required = requiring(4)});

    EXPECT_EQ(got,
              json::parse(selecting(R"({"matchExpressions":[)" + a + "," + above_4 +
                                    R"(]},{"matchFields":[)" + name + R"(],"matchExpressions":[)" +
                                    above_4 + R"(]},{"matchExpressions":[)" + above_4 +
                                    R"(],"matchFields":[)" + name + "]}")));
}

TEST(AffinityPatchTest, ATermIsMadeWhereNothingIsRequired) {
    const auto expected =
        json::parse(selecting(std::string{R"({"matchExpressions":[)"} + above_4 + "]}"));
    for (const char* none :
         {"", "null", "{}", R"({"nodeAffinity":null})", R"({"nodeAffinity":{}})",
          R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":null}})"}) {
        EXPECT_EQ(added(none, {.required = requiring(4)}), expected) << none;
    }
}

TEST(AffinityPatchTest, WhatMatchesNoNodeIsLeftAlone) {
    for (const std::string& none :
         {selecting(""), selecting("{}"), selecting("null"),
          selecting(R"({"matchExpressions":[],"matchFields":null})"),
          std::string{
              R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{}}})"}}) {
        const auto patch = affinity_patch(none, {.required = requiring(4)});
        ASSERT_TRUE(patch) << none;
        EXPECT_EQ(*patch, "") << none;
    }
}

TEST(AffinityPatchTest, APreferenceIsAppended) {
    const std::string theirs =
        R"({"weight":7,"preference":{"matchExpressions":[{"key":"a","operator":"Exists"}]}})";
    const auto ours =
        std::string{R"({"weight":3,"preference":{"matchExpressions":[)"} + above_4 + "]}}";
    const NodeDemands demands{.required = {},
                              .preferred = {{.weight = 3, .requirement = above(4)}}};

    EXPECT_EQ(added(preferring(theirs), demands), json::parse(preferring(theirs + "," + ours)));
    EXPECT_EQ(added(preferring(""), demands), json::parse(preferring(ours)));
    EXPECT_EQ(added("", demands), json::parse(preferring(ours)));
}

TEST(AffinityPatchTest, OtherAffinityStays) {
    const auto got =
        added(R"({"podAntiAffinity":{"x":1},"nodeAffinity":{"y":2}})", {.required = requiring(4)});

    EXPECT_EQ(got.at("podAntiAffinity"), json::parse(R"({"x":1})"));
    EXPECT_EQ(got.at("nodeAffinity").at("y"), json::value(2));
}

TEST(AffinityPatchTest, NothingIsDemandedNothingIsChanged) {
    for (const char* any : {"", "null", "{}", R"({"nodeAffinity":{}})"}) {
        const auto patch = affinity_patch(any, {});
        ASSERT_TRUE(patch);
        EXPECT_EQ(*patch, "");
    }
}

TEST(AffinityPatchTest, WrongTypesAreNamed) {
    const auto message = [](const std::string& affinity) {
        const auto patch = affinity_patch(affinity, {.required = requiring(4)});
        return patch ? std::string{"taken"} : patch.error().message;
    };

    EXPECT_EQ(message("7"), "/spec/affinity: expected an object");
    EXPECT_EQ(message(R"({"nodeAffinity":[]})"), "/spec/affinity/nodeAffinity: expected an object");
    EXPECT_THAT(message(selecting("7")), HasSubstr("/nodeSelectorTerms/0: expected an object"));
    EXPECT_THAT(message(selecting(R"({"matchExpressions":{}})")),
                HasSubstr("/nodeSelectorTerms/0/matchExpressions: expected an array"));
    EXPECT_THAT(message(selecting(R"({},{"matchFields":"x"})")),
                HasSubstr("/nodeSelectorTerms/1/matchFields: expected an array"));
    EXPECT_THAT(
        message(R"({"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":1}})"),
        HasSubstr("/preferredDuringSchedulingIgnoredDuringExecution: expected an array"));
    EXPECT_THAT(message("{"), HasSubstr("expected JSON"));
    EXPECT_THAT(message(std::string(100'000, '[')), HasSubstr("expected JSON"));
}

/// Each term gets a piece of the patch, so a pod of 8 MiB would get one of 130.
TEST(AffinityPatchTest, WhatIsLargerThanPeopleWriteGetsNoPatch) {
    const auto terms = [](std::size_t count) {
        std::string list;
        for (std::size_t i = 0; i < count; ++i) {
            list += (i > 0 ? "," : "") + std::string{R"({"matchFields":[0]})"};
        }
        return affinity_patch(selecting(list), {.required = requiring(4)});
    };
    ASSERT_TRUE(terms(1'000));
    EXPECT_LT(terms(1'000)->size(), 300'000U);
    ASSERT_FALSE(terms(1'001));
    EXPECT_THAT(terms(1'001).error().message, HasSubstr("at most 1000 terms, found 1001"));
    const auto large = affinity_patch(R"({"x":")" + std::string(300'000, 'x') + R"("})",
                                      {.required = requiring(4)});
    ASSERT_FALSE(large);
    EXPECT_THAT(large.error().message, HasSubstr("at most 262144 bytes"));
}

TEST(AffinityPatchTest, ARequirementIsFoundInAnyTermAndNowhereElse) {
    const auto found = [](const std::string& affinity) {
        return requires_of_node(affinity, "a", "DoesNotExist").value();
    };
    const std::string a = R"({"key":"a","operator":"DoesNotExist"})";

    EXPECT_TRUE(found(selecting(R"({"matchExpressions":[)" + a + "]}")));
    EXPECT_TRUE(found(selecting(R"({},{"matchExpressions":[7,{},)" + a + "]}")));
    EXPECT_FALSE(found(""));
    EXPECT_FALSE(found(selecting("")));
    EXPECT_FALSE(found(selecting(R"({"matchFields":[)" + a + "]}")));
    EXPECT_FALSE(found(selecting(R"({"matchExpressions":[{"key":"a","operator":"Exists"}]})")));
    EXPECT_FALSE(found(selecting(R"({"matchExpressions":[{"key":7,"operator":"DoesNotExist"}]})")));
    EXPECT_FALSE(
        found(preferring(R"({"weight":1,"preference":{"matchExpressions":[)" + a + "]}}")));
}

/// Pods and nodes of few keys and values, so that they often meet.
class Pods {
public:
    explicit Pods(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] json::value pod() {
        switch (below(8)) {
            case 0:
                return {{"spec", json::object{}}};
            case 1:
                return pod_of(nullptr);
            case 2:
                return pod_of(json::object{{"nodeAffinity", nullptr}});
            default:
                return pod_of(json::object{{"nodeAffinity", node_affinity()}});
        }
    }

    [[nodiscard]] test::PlacedNode node() {
        test::PlacedNode node{.name = "n" + std::to_string(below(3)), .labels = {}};
        for (const char* key : {"a", "b"}) {
            if (below(3) > 0) {
                node.labels[key] = std::to_string(below(4));
            }
        }
        switch (below(6)) {
            case 0:
                break;
            case 1:
                node.labels[level_key] = "many";
                break;
            case 2:
                node.labels[level_key] = "-1";
                break;
            default:
                node.labels[level_key] = std::to_string(below(101));
        }
        return node;
    }

    [[nodiscard]] migration::NodeSelectorTerm wish() {
        migration::NodeSelectorTerm wish;
        for (unsigned i = below(3); i > 0; --i) {
            wish.expressions.push_back(requirement(expression()));
        }
        if (wish.empty() || below(3) == 0) {
            wish.fields.push_back({.key = "metadata.name",
                                   .op = below(2) == 0 ? "In" : "NotIn",
                                   .values = {"n" + std::to_string(below(3))}});
        }
        return wish;
    }

    [[nodiscard]] unsigned below(unsigned limit) {
        return std::uniform_int_distribution<unsigned>{0, limit - 1}(random_);
    }

private:
    json::value node_affinity() {
        json::object affinity;
        if (below(4) > 0) {
            json::array terms;
            for (unsigned i = below(4); i > 0; --i) {
                terms.push_back(term());
            }
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] =
                json::object{{"nodeSelectorTerms", std::move(terms)}};
        }
        if (below(2) == 0) {
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] =
                below(3) == 0 ? json::value{} : json::value(json::array{});
        }
        return affinity;
    }

    json::value term() {
        json::object term;
        if (below(3) > 0) {
            json::array expressions;
            for (unsigned i = below(3); i > 0; --i) {
                expressions.push_back(expression());
            }
            term["matchExpressions"] = std::move(expressions);
        }
        if (below(3) == 0) {
            term["matchFields"] =
                json::array{json::object{{"key", "metadata.name"},
                                         {"operator", "In"},
                                         {"values", json::array{"n" + std::to_string(below(3))}}}};
        }
        return term;
    }

    json::value expression() {
        constexpr std::array ops{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
        const std::string op = ops.at(below(ops.size()));
        const char* key = below(4) == 0 ? level_key : below(2) == 0 ? "a" : "b";
        json::object expression{{"key", key}, {"operator", op}};
        if (!op.ends_with("xists") && !op.ends_with("xist")) {
            expression["values"] = json::array{std::to_string(below(4))};
        }
        return expression;
    }

    static NodeRequirement requirement(const json::value& expression) {
        NodeRequirement out{.key = std::string{expression.at("key").as_string()},
                            .op = std::string{expression.at("operator").as_string()},
                            .values = {}};
        if (const auto* values = test::listed(expression, "values")) {
            out.values.emplace_back(values->at(0).as_string());
        }
        return out;
    }

    std::mt19937_64 random_;
};

std::string affinity_text(const json::value& pod) {
    const auto* affinity = pod.at("spec").as_object().if_contains("affinity");
    return affinity == nullptr ? std::string{} : json::serialize(*affinity);
}

TEST(AffinityPatchPropertyTest, NewPodsGoWhereOldOnesMayAndTheLevelIsHighEnough) {
    Pods pods{7};
    unsigned allowed = 0;
    for (unsigned round = 0; round < 20'000; ++round) {
        const auto before = pods.pod();
        const auto least = 1 + pods.below(100);
        NodeDemands demands{.required = requiring(least - 1), .preferred = {}};
        if (pods.below(2) == 0) {
            demands.preferred = {.weight = 5, .requirement = above(pods.below(100))};
        }

        const auto patch = affinity_patch(affinity_text(before), demands);
        ASSERT_TRUE(patch) << before;
        const auto after = patched(before, *patch);
        const auto again = affinity_patch(affinity_text(after), demands);

        ASSERT_TRUE(again) << after;
        EXPECT_EQ(*again, "") << before;
        for (unsigned i = 0; i < 8; ++i) {
            const auto node = pods.node();
            const auto carried = node.labels.find(level_key);
            const auto level =
                carried == node.labels.end() ? std::nullopt : test::label_integer(carried->second);
            const bool expected = affinity_allows(before, node) && level && *level >= least;
            ASSERT_EQ(affinity_allows(after, node), expected) << before << *patch;
            allowed += expected ? 1 : 0;
        }
    }
    EXPECT_GT(allowed, 1000U);
}

TEST(AffinityPatchPropertyTest, AWholeTermIsAskedForBesideWhatThePodAsksFor) {
    Pods pods{11};
    unsigned allowed = 0;
    for (unsigned round = 0; round < 20'000; ++round) {
        const auto before = pods.pod();
        const NodeDemands demands{.required = pods.wish(), .preferred = {}};

        const auto patch = affinity_patch(affinity_text(before), demands);
        ASSERT_TRUE(patch) << before;
        const auto after = patched(before, *patch);
        const auto again = affinity_patch(affinity_text(after), demands);

        ASSERT_TRUE(again) << after;
        EXPECT_EQ(*again, "") << before;
        for (unsigned i = 0; i < 8; ++i) {
            const auto node = pods.node();
            const bool expected = affinity_allows(before, node) &&
                                  migration::matches(demands.required, node.labels, node.name);
            ASSERT_EQ(affinity_allows(after, node), expected) << before << *patch;
            allowed += expected ? 1 : 0;
        }
    }
    EXPECT_GT(allowed, 1000U);
}

}  // namespace
}  // namespace scout::cluster
