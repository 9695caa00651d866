// SPDX-License-Identifier: Apache-2.0
#include "migration/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profiles.h"

namespace scout::migration {
namespace {

using test::host;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(BaselineTest, ChoosesTheLargestModelUsableOnAll) {
    const auto map = test::small_map();
    const auto a =
        host({.model = "Large", .require = {"invtsc"}, .usable = {"Generic", "Large", "Small"}});
    const auto b = host({.model = "Small",
                         .require = {"avx", "invtsc"},
                         .usable = {"Generic", "Small"},
                         .not_usable = {"Large"}});

    const auto baseline = find_baseline({{"a", a}, {"b", b}}, &map);

    EXPECT_EQ(baseline.model, "Small");
    EXPECT_EQ(baseline.vendor, "Intel");
    EXPECT_THAT(baseline.common, ElementsAre("Generic", "Small"));
    EXPECT_THAT(baseline.losses.at("a"), ElementsAre("aes", "avx", "invtsc"));
    EXPECT_THAT(baseline.losses.at("b"), ElementsAre("avx", "invtsc"));
    EXPECT_THAT(baseline.custom_features, ElementsAre("avx"));
}

TEST(BaselineTest, HasNoneBetweenVendorsEvenWhereANameIsCommon) {
    const auto map = test::small_map();
    const auto intel = host({.usable = {"Generic"}});
    const auto amd = host({.model = "Other", .vendor = "AMD", .usable = {"Generic"}});

    const auto baseline = find_baseline({{"i", intel}, {"a", amd}}, &map);

    EXPECT_EQ(baseline.model, std::nullopt);
    EXPECT_THAT(baseline.common, ElementsAre("Generic"));
    EXPECT_THAT(baseline.reason, HasSubstr("vendors differ"));
}

TEST(BaselineTest, RanksModelsUnknownToTheMapLast) {
    const auto map = test::small_map();
    const auto known = host({.usable = {"Generic", "Newest"}});
    const auto unknown = host({.usable = {"Newest"}});

    EXPECT_EQ(find_baseline({{"a", known}}, &map).model, "Generic");
    EXPECT_EQ(find_baseline({{"a", known}, {"b", unknown}}, &map).model, "Newest");
}

TEST(BaselineTest, SaysWhichHostCannotBeCompared) {
    const auto map = test::small_map();
    auto emulated = host({.usable = {"Small"}});
    emulated.virt_type = "qemu";

    const auto baseline =
        find_baseline({{"real", host({.usable = {"Small"}})}, {"tcg", emulated}}, &map);

    EXPECT_EQ(baseline.model, std::nullopt);
    EXPECT_THAT(baseline.reason, HasSubstr("tcg cannot be compared"));
}

TEST(BaselineTest, SaysSoWhenNothingIsCommonOrNothingWasGiven) {
    const auto map = test::small_map();

    const auto nothing_common = find_baseline(
        {{"a", host({.usable = {"Small"}})}, {"b", host({.usable = {"Large"}})}}, &map);
    EXPECT_EQ(nothing_common.model, std::nullopt);
    EXPECT_THAT(nothing_common.common, IsEmpty());
    EXPECT_THAT(find_baseline({}, &map).reason, HasSubstr("no hosts"));
}

}  // namespace
}  // namespace scout::migration
