// SPDX-License-Identifier: Apache-2.0
#include "migration/upgrade_impact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profiles.h"

namespace scout::migration {
namespace {

using test::host;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(UpgradeImpactTest, AdvisesARestartWhereFeaturesWentAway) {
    const auto map = test::small_map();

    const auto impact =
        upgrade_impact(host({.model = "Small", .not_usable = {"Small"}}),
                       host({.model = "Small", .require = {"ssbd"}, .disable = {"sse"}}), &map);

    EXPECT_TRUE(impact.comparable);
    EXPECT_EQ(impact.map, "test map");
    EXPECT_FALSE(impact.assumed);
    EXPECT_FALSE(impact.model_changed());
    EXPECT_THAT(impact.missing_after, ElementsAre("sse"));
    EXPECT_THAT(impact.missing_before, ElementsAre("ssbd"));
    EXPECT_EQ(impact.named_usable_before, Usable::no);
    EXPECT_EQ(impact.named_usable_after, std::nullopt);
    EXPECT_THAT(impact.advice, StartsWith("restart"));
}

TEST(UpgradeImpactTest, AdvisesNothingWhereFeaturesWereOnlyAdded) {
    const auto map = test::small_map();

    const auto impact = upgrade_impact(host({.model = "Small"}), host({.model = "Large"}), &map);

    EXPECT_TRUE(impact.model_changed());
    EXPECT_THAT(impact.missing_after, IsEmpty());
    EXPECT_THAT(impact.missing_before, ElementsAre("aes", "avx"));
    EXPECT_THAT(impact.advice, StartsWith("none needed"));
}

TEST(UpgradeImpactTest, ClaimsNothingOfWhatItDoesNotLookAt) {
    const auto map = test::small_map();

    const auto impact = upgrade_impact(host({.machines = {"pc-q35-7.2", "q35"}}),
                                       host({.machines = {"q35"}}), &map);

    EXPECT_THAT(impact.advice, StartsWith("none needed for CPU features"));
    EXPECT_THAT(impact.advice, HasSubstr("machine types, TSC and address width are not looked at"));
}

TEST(UpgradeImpactTest, SaysWhyTwoSidesCannotBeCompared) {
    const auto map = test::small_map();

    const auto unknown = upgrade_impact(host({.model = "Newest"}), host({}), &map);
    const auto other_machine =
        upgrade_impact(host({}), host({.model = "Other", .vendor = "AMD"}), &map);

    auto arm = host({});
    arm.arch = "aarch64";
    arm.host_model.reset();
    const auto other_arch = upgrade_impact(host({.model = "Newest"}), arm, &map);

    EXPECT_THAT(other_arch.advice,
                HasSubstr("the architecture changed from x86_64 to aarch64: this is another"));
    EXPECT_THAT(upgrade_impact(host({.model = "Newest"}), host({.vendor = "AMD"}), &map).advice,
                HasSubstr("vendor changed"))
        << "not the map's fault";
    EXPECT_FALSE(unknown.comparable);
    EXPECT_THAT(unknown.advice, HasSubstr("Newest"));
    EXPECT_FALSE(other_machine.comparable);
    EXPECT_THAT(other_machine.advice, HasSubstr("vendor changed"));
}

}  // namespace
}  // namespace scout::migration
