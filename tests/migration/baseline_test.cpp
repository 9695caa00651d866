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
    EXPECT_THAT(baseline.losses.at("a").features.value(), ElementsAre("aes", "avx", "invtsc"));
    EXPECT_THAT(baseline.losses.at("b").features.value(), ElementsAre("avx", "invtsc"));
    EXPECT_THAT(baseline.custom_features.value(), ElementsAre("avx"));
    EXPECT_EQ(baseline.map, "test map");
    EXPECT_FALSE(baseline.assumed);
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

TEST(BaselineTest, HasNoneWhereAVendorIsNotKnown) {
    const auto map = test::small_map();
    const auto intel = host({.usable = {"Generic"}});
    auto nameless = host({.model = "Generic", .vendor = "", .usable = {"Generic"}});

    EXPECT_THAT(find_baseline({{"i", intel}, {"n", nameless}}, &map).reason,
                HasSubstr("i is of Intel, n of unstated"));
    EXPECT_EQ(find_baseline({{"n", nameless}, {"m", nameless}}, &map).model, std::nullopt);
    nameless.host_model->name = "Small";
    EXPECT_EQ(find_baseline({{"i", intel}, {"n", nameless}}, &map).model, "Generic")
        << "the map names the vendor of its model";
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
    EXPECT_THAT(baseline.common, IsEmpty()) << "what emulation calls usable counts for nothing";
    EXPECT_EQ(baseline.custom_features, std::nullopt);
    EXPECT_THAT(baseline.reason, HasSubstr("tcg cannot be compared"));
}

TEST(BaselineTest, ListsHostsWhoseLossIsNotKnown) {
    const auto map = test::small_map();
    const auto known = host({.model = "Large", .usable = {"Small"}});
    const auto unknown = host({.model = "Newest", .usable = {"Small"}});

    const auto baseline = find_baseline({{"a", known}, {"b", unknown}}, &map);

    EXPECT_EQ(baseline.model, "Small");
    ASSERT_EQ(baseline.losses.size(), 2U);
    EXPECT_THAT(baseline.losses.at("a").features.value(), ElementsAre("aes", "avx"));
    EXPECT_EQ(baseline.losses.at("b").features, std::nullopt);
    EXPECT_THAT(baseline.losses.at("b").why, HasSubstr("does not know model Newest"));
    EXPECT_EQ(baseline.custom_features, std::nullopt);
}

TEST(BaselineTest, SaysWhichModelsItDidNotRank) {
    const auto map = test::small_map();
    const auto mixed = host({.usable = {"Generic", "Newest", "Small"}});
    const auto unknown = host({.usable = {"Newest"}});

    EXPECT_EQ(find_baseline({{"a", mixed}}, &map).reason,
              "the largest of 2 models that are usable on every host; not ranked, for the cpu_map "
              "does not know them: Newest");
    const auto unranked = find_baseline({{"a", unknown}}, &map);
    EXPECT_THAT(unranked.reason, HasSubstr("the cpu_map knows no model that they share"));
    EXPECT_THAT(unranked.losses.at("a").why, HasSubstr("does not know Newest"));
    EXPECT_THAT(find_baseline({{"a", mixed}}, nullptr).reason, HasSubstr("there is no cpu_map"));
}

TEST(BaselineTest, SaysWhereABareCpuStandsForItsHost) {
    const auto map = test::small_map();
    auto bare = host({.model = "Small"});
    bare.origin = ProfileOrigin::bare_cpu;

    const auto baseline = find_baseline({{"a", bare}}, &map);

    EXPECT_TRUE(baseline.assumed);
    EXPECT_EQ(baseline.model, "Small");
}

TEST(BaselineTest, TakesABareCpuForOneOfX86) {
    const auto map = test::small_map();
    const auto full = host({.usable = {"Small"}});
    auto bare = host({.usable = {}});
    bare.origin = ProfileOrigin::bare_cpu;
    bare.arch.clear();

    EXPECT_EQ(find_baseline({{"bare", bare}, {"full", full}}, &map).model, "Small");
}

TEST(BaselineTest, SaysSoWhenNothingIsCommonOrNothingWasGiven) {
    const auto map = test::small_map();

    const auto nothing_common = find_baseline(
        {{"a", host({.usable = {"Small"}})}, {"b", host({.usable = {"Large"}})}}, &map);
    EXPECT_EQ(nothing_common.model, std::nullopt);
    EXPECT_THAT(nothing_common.common, IsEmpty());
    EXPECT_THAT(find_baseline({}, &map).reason, HasSubstr("no hosts"));
}

TEST(BaselineTest, NeverRecommendsAModelThatDiffersFromHostToHost) {
    const auto map = test::small_map();
    const auto only_max = host({.usable = {"host", "max", "qemu"}});
    const auto with_small = host({.usable = {"Small", "max"}});

    const auto none = find_baseline({{"a", only_max}, {"b", only_max}}, &map);
    const auto small = find_baseline({{"a", with_small}, {"b", with_small}}, &map);

    EXPECT_EQ(none.model, std::nullopt);
    EXPECT_THAT(none.common, IsEmpty());
    EXPECT_EQ(none.reason, "no named model is usable on every host");
    EXPECT_EQ(small.model, "Small");
    EXPECT_EQ(small.reason, "the only ranked model that is usable on every host");
}

}  // namespace
}  // namespace scout::migration
