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

std::vector<std::string> names_of(const std::vector<PolicyMatch>& matches) {
    std::vector<std::string> found;
    for (const auto& match : matches) {
        found.push_back(match.policy->name);
    }
    return found;
}

std::vector<std::string> names(const std::vector<MigrationPolicy>& policies, const Labels& of_vmi,
                               const Labels& of_space) {
    return names_of(matching_policies(policies, of_vmi, of_space));
}

std::vector<std::string> proposed(const std::vector<MigrationPolicy>& policies,
                                  const Labels& of_vmi, const Labels& of_space) {
    return names_of(matching_policies_as_proposed(policies, of_vmi, of_space));
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

/// The proposal's table of seven, "Policies' Precedence", from the last to the first.
TEST(ProposedPoliciesTest, AreInTheOrderOfTheProposalsTable) {
    const Labels of_vmi{{"size", "small"}, {"os", "fedora"}, {"gpu", "nvidia"}};
    const Labels of_space{{"priority", "high"}, {"bandwidth", "medium"}, {"hpc-workload", "true"}};
    const std::vector<MigrationPolicy> table{
        policy("7", {.space = {{"priority", "high"}}, .vmi = {{"gpu", "intel"}}}),
        policy("6", {.space = {}, .vmi = {{"gpu", "nvidia"}}}),
        policy("5", {.space = {{"priority", "high"}}, .vmi = {{"gpu", "nvidia"}}}),
        policy("4", {.space = {{"priority", "high"}, {"hpc-workload", "true"}},
                     .vmi = {{"size", "small"}}}),
        policy("3",
               {.space = {{"priority", "high"}}, .vmi = {{"size", "small"}, {"gpu", "nvidia"}}}),
        policy("2", {.space = {{"priority", "high"}, {"hpc-workload", "true"}},
                     .vmi = {{"size", "small"}, {"gpu", "nvidia"}}}),
        policy("1", {.space = {{"priority", "high"}, {"bandwidth", "medium"}},
                     .vmi = {{"size", "small"}, {"gpu", "nvidia"}}})};
    EXPECT_THAT(proposed(table, of_vmi, of_space), ElementsAre("1", "2", "3", "4", "5", "6"));
    // Stock has the same labels count, then more of the VMI's, then the name.
    EXPECT_THAT(names(table, of_vmi, of_space), ElementsAre("1", "2", "3", "4", "5", "6"));
}

TEST(ProposedPoliciesTest, AnEmptyValueStandsForAnyButTheKeyMustBeThere) {
    const auto any = policy("any", {.space = {}, .vmi = {{"db", ""}}});
    EXPECT_THAT(proposed({any}, vmi, space), ElementsAre("any"));
    EXPECT_THAT(proposed({any}, {{"db", ""}}, space), ElementsAre("any"));
    EXPECT_THAT(proposed({any}, {{"other", "pg"}}, space), IsEmpty());
    EXPECT_THAT(proposed({{.name = "e", .selectors = std::nullopt, .overrides = {}}}, vmi, space),
                IsEmpty());
}

/// Where both rules give another answer though no value is empty.
TEST(ProposedPoliciesTest, LowerKeysGoFirstWhoseverTheyAre) {
    const std::vector<MigrationPolicy> policies{
        policy("vmi", {.space = {}, .vmi = {{"tier", "gold"}}}),
        policy("space", {.space = {{"env", "prod"}}, .vmi = {}})};
    const Labels of_vmi{{"tier", "gold"}};
    const Labels of_space{{"env", "prod"}};
    EXPECT_THAT(proposed(policies, of_vmi, of_space), ElementsAre("space", "vmi"));
    EXPECT_THAT(names(policies, of_vmi, of_space), ElementsAre("vmi", "space"));
}

TEST(ProposedPoliciesTest, OfEqualKeysTheVmisGoFirstThenTheLowerName) {
    const Labels both{{"a", "1"}, {"b", "1"}};
    const std::vector<MigrationPolicy> policies{
        policy("a-space", {.space = {{"a", "1"}, {"b", "1"}}, .vmi = {}}),
        policy("b-mixed", {.space = {{"b", "1"}}, .vmi = {{"a", "1"}}}),
        policy("d-vmi", {.space = {}, .vmi = {{"a", "1"}, {"b", "1"}}}),
        policy("c-vmi", {.space = {}, .vmi = {{"a", "1"}, {"b", "1"}}})};
    EXPECT_THAT(proposed(policies, both, both),
                ElementsAre("c-vmi", "d-vmi", "b-mixed", "a-space"));
}

}  // namespace
}  // namespace scout::migration
