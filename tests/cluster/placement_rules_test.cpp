// SPDX-License-Identifier: Apache-2.0
#include "cluster/placement_rules.h"

#include <gmock/gmock.h>

namespace scout::cluster {
namespace {

using kube::LevelDemands;
using kube::PreferredLevel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto from_kubevirt = DemandSource::kubevirt;
constexpr auto from_config = DemandSource::scout_config;

LevelDemands requiring(std::int64_t level) {
    LevelDemands demands;
    demands.required = level;
    return demands;
}

LevelDemands preferring(std::optional<std::int64_t> level, std::optional<std::int64_t> weight) {
    LevelDemands demands;
    demands.prefered = PreferredLevel{.level = level, .weight = weight};
    return demands;
}

TEST(PlacementRulesTest, NobodyDemandsAnything) {
    const auto rules = placement_rules(nullptr, nullptr);

    EXPECT_FALSE(rules.required);
    EXPECT_FALSE(rules.preferred);
    EXPECT_THAT(rules.faults, IsEmpty());
}

TEST(PlacementRulesTest, EitherObjectMayDemand) {
    const auto required = requiring(50);
    const auto preferred = preferring(80, 9);

    const auto rules = placement_rules(&required, &preferred);

    EXPECT_EQ(rules.required, (LevelRequirement{.level = 50, .source = from_kubevirt}));
    EXPECT_EQ(rules.preferred, (LevelPreference{.level = 80, .weight = 9, .source = from_config}));
    EXPECT_THAT(rules.faults, IsEmpty());
    EXPECT_EQ(placement_rules(nullptr, &required).required,
              (LevelRequirement{.level = 50, .source = from_config}));
}

TEST(PlacementRulesTest, TheWeightIsTheLowestUnlessGiven) {
    const auto demands = preferring(80, std::nullopt);

    EXPECT_EQ(placement_rules(&demands, nullptr).preferred->weight, 1U);
}

TEST(PlacementRulesTest, BothSpellingsAreRead) {
    LevelDemands proper;
    proper.preferred = PreferredLevel{.level = 80, .weight = 2};
    const auto proposed = preferring(80, 2);

    EXPECT_EQ(placement_rules(&proper, nullptr).preferred,
              placement_rules(&proposed, nullptr).preferred);
    EXPECT_THAT(placement_rules(&proper, &proposed).faults, IsEmpty());
}

TEST(PlacementRulesTest, BothSpellingsAtOnceAreAnErrorAndNoPreferenceIsApplied) {
    auto both = preferring(80, 2);
    both.preferred = both.prefered;
    both.required = 50;
    const auto config = preferring(80, 2);

    const auto rules = placement_rules(&both, &config);

    EXPECT_FALSE(rules.preferred);
    EXPECT_EQ(rules.required->level, 50U);
    EXPECT_THAT(rules.faults, ElementsAre(HasSubstr("found both"), HasSubstr("differs")));
}

TEST(PlacementRulesTest, RangesAreChecked) {
    for (const std::int64_t level : {std::int64_t{-1}, std::int64_t{101}, INT64_MAX, INT64_MIN}) {
        const auto required = requiring(level);
        const auto preferred = preferring(level, 1);
        EXPECT_FALSE(placement_rules(&required, nullptr).required) << level;
        EXPECT_FALSE(placement_rules(nullptr, &preferred).preferred) << level;
    }
    for (const std::int64_t weight : {0, 101, -5}) {
        const auto preferred = preferring(50, weight);
        EXPECT_FALSE(placement_rules(&preferred, nullptr).preferred) << weight;
    }
    for (const std::int64_t edge : {0, 100}) {
        const auto required = requiring(edge);
        EXPECT_EQ(placement_rules(&required, nullptr).required->level, edge);
    }
}

TEST(PlacementRulesTest, FaultsNameFieldAndObject) {
    const auto required = requiring(500);
    const auto preferred = preferring(std::nullopt, 5);

    EXPECT_THAT(placement_rules(&required, &preferred).faults,
                ElementsAre("requireHostModelMigratabilityLevel of the KubeVirt object: expected 0 "
                            "to 100, found 500; it is not applied",
                            "preferedHostModelMigratabilityLevel.level of ScoutConfig: expected 0 "
                            "to 100, found nothing; it is not applied"));
}

TEST(PlacementRulesTest, TheKubeVirtObjectOutdoesScoutConfigAndThatIsSaid) {
    const auto kubevirt = requiring(50);
    const auto config = requiring(60);

    const auto rules = placement_rules(&kubevirt, &config);

    EXPECT_EQ(rules.required, (LevelRequirement{.level = 50, .source = from_kubevirt}));
    EXPECT_THAT(rules.faults, ElementsAre(HasSubstr("requireHostModelMigratabilityLevel differs")));
    EXPECT_THAT(placement_rules(&kubevirt, &kubevirt).faults, IsEmpty());
}

TEST(PlacementRulesTest, AFaultyDemandOfTheKubeVirtObjectHidesTheOther) {
    const auto kubevirt = requiring(500);
    const auto config = requiring(60);

    EXPECT_FALSE(placement_rules(&kubevirt, &config).required);
}

}  // namespace
}  // namespace scout::cluster
