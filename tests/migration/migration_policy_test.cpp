// SPDX-License-Identifier: Apache-2.0
#include "migration/migration_policy.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Labels vmi{{"db", "pg"}, {"kubevirt.io/nodeName", "n1"}};
const Labels space{{"stage", "live"}};

MigrationPolicy policy(std::string name, PolicySelectors selectors) {
    return {.name = std::move(name), .selectors = std::move(selectors), .overrides = {}};
}

std::vector<std::string> names(const std::vector<MigrationPolicy>& policies, const Labels& of_vmi,
                               const Labels& of_space) {
    std::vector<std::string> found;
    for (const auto& match : matching_policies(policies, of_vmi, of_space)) {
        found.push_back(match.policy->name);
    }
    return found;
}

/// Case 25, where each of the first ones is taken away in turn.
TEST(MatchingPoliciesTest, MoreLabelsGoFirstThenMoreOfTheVmi) {
    const std::vector<MigrationPolicy> policies{
        policy("P-b", {.space = {}, .vmi = {{"db", "pg"}}}),
        policy("P-a", {.space = {{"stage", "live"}}, .vmi = {}}),
        policy("P-c", {.space = {{"stage", "live"}}, .vmi = {{"db", "pg"}}}),
        policy("P-d", {}),
        {.name = "P-e", .selectors = std::nullopt, .overrides = {}},
    };
    EXPECT_THAT(names(policies, vmi, space), ElementsAre("P-c", "P-b", "P-a", "P-d"));
    const auto first = matching_policies(policies, vmi, space).front();
    EXPECT_EQ(first.labels, 2U);
    EXPECT_EQ(first.vmi_labels, 1U);
}

TEST(MatchingPoliciesTest, WithoutSelectorsNothingMatches) {
    EXPECT_THAT(names({{.name = "P-e", .selectors = std::nullopt, .overrides = {}}}, vmi, space),
                IsEmpty());
}

TEST(MatchingPoliciesTest, AmongEqualsTheLowerNameGoesFirstWhateverTheOrder) {
    std::vector<MigrationPolicy> policies{
        policy("b", {.space = {}, .vmi = {{"db", "pg"}}}),
        policy("a", {.space = {}, .vmi = {{"kubevirt.io/nodeName", "n1"}}}),
        policy("c", {.space = {}, .vmi = {{"db", "pg"}}})};
    do {
        EXPECT_THAT(names(policies, vmi, space), ElementsAre("a", "b", "c"));
    } while (std::next_permutation(
        policies.begin(), policies.end(),
        [](const auto& one, const auto& other) { return one.name < other.name; }));
}

TEST(MatchingPoliciesTest, EachKeyMustBeThereWithItsVeryValue) {
    EXPECT_THAT(names({policy("empty", {.space = {}, .vmi = {{"db", ""}}})}, vmi, space),
                IsEmpty());
    EXPECT_THAT(names({policy("empty", {.space = {}, .vmi = {{"db", ""}}})}, {{"db", ""}}, space),
                ElementsAre("empty"));
    EXPECT_THAT(names({policy("half", {.space = {{"stage", "live"}, {"zone", "a"}}, .vmi = {}})},
                      vmi, space),
                IsEmpty());
    EXPECT_THAT(names({policy("swapped", {.space = {{"db", "pg"}}, .vmi = {{"stage", "live"}}})},
                      vmi, space),
                IsEmpty());
}

}  // namespace
}  // namespace scout::migration
