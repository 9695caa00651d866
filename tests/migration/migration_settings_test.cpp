// SPDX-License-Identifier: Apache-2.0
#include "migration/migration_settings.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;

struct Bandwidth {
    std::string text;
    std::optional<std::uint64_t> limit;
};
std::ostream& operator<<(std::ostream& out, const Bandwidth& row) {
    return out << row.text;
}

class BandwidthTest : public testing::TestWithParam<Bandwidth> {};

/// Case 26.
TEST_P(BandwidthTest, IsToldToLibvirtInWholeMebibytes) {
    const auto asked = Quantity::parse(GetParam().text);
    ASSERT_TRUE(asked);
    EXPECT_EQ(bandwidth_limit(*asked), GetParam().limit);
}

INSTANTIATE_TEST_SUITE_P(Case26, BandwidthTest,
                         testing::Values(Bandwidth{"0", std::nullopt}, Bandwidth{"217Ki", 1},
                                         Bandwidth{"1.4Mi", 1}, Bandwidth{"1.5Mi", 2},
                                         Bandwidth{"5.9999Mi", 6}, Bandwidth{"64M", 61},
                                         Bandwidth{"64Mi", 64}, Bandwidth{"500m", std::nullopt},
                                         Bandwidth{"1", 1}, Bandwidth{"9E", 8'583'068'847'656}));

TEST(CompletionLimitTest, IsPerStartedBillionOfBytes) {
    constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;
    const MigrationSettings stock;
    EXPECT_EQ(completion_limit(stock, 128 * mebibyte), 150s);
    EXPECT_EQ(completion_limit(stock, 8192 * mebibyte), 1350s);
    EXPECT_EQ(completion_limit(stock, 65536 * mebibyte), 10350s);
    EXPECT_EQ(completion_limit(stock, 2'000'000'000), 300s);
    EXPECT_EQ(completion_limit(stock, 0), 0s);
}

TEST(CompletionLimitTest, IsNeverNegativeAndNeverTurnsAround) {
    MigrationSettings odd;
    odd.completion_per_gib = std::chrono::seconds::max();
    EXPECT_EQ(completion_limit(odd, std::numeric_limits<std::uint64_t>::max()),
              std::chrono::seconds::max());
    odd.completion_per_gib = -5s;
    EXPECT_EQ(completion_limit(odd, 5'000'000'000), 0s);
}

TEST(SettingsInForceTest, AreKubeVirtsDefaultsWhereNobodySaysAnything) {
    EXPECT_EQ(settings_in_force({}, nullptr), MigrationSettings{});
}

TEST(SettingsInForceTest, ThePolicyGoesOverTheKubeVirtObject) {
    MigrationOverrides kubevirt;
    kubevirt.completion_per_gib = 33s;
    kubevirt.bandwidth = Quantity{64};
    kubevirt.progress = 60s;
    MigrationOverrides policy;
    policy.completion_per_gib = 800s;
    policy.allow_auto_converge = true;
    policy.max_downtime = 100ms;

    const auto settings = settings_in_force(kubevirt, &policy);

    EXPECT_EQ(settings.completion_per_gib, 800s);
    EXPECT_EQ(settings.bandwidth, Quantity{64});
    EXPECT_EQ(settings.progress, 60s);
    EXPECT_EQ(settings.max_downtime, 100ms);
    EXPECT_TRUE(settings.allow_auto_converge);
    EXPECT_FALSE(settings.allow_post_copy);
}

TEST(SettingsInForceTest, DisruptionFollowsPostCopyWhereOneObjectSetsOnlyThat) {
    MigrationOverrides kubevirt;
    kubevirt.allow_post_copy = true;
    EXPECT_TRUE(settings_in_force(kubevirt, nullptr).allow_workload_disruption);

    MigrationOverrides policy;
    policy.allow_post_copy = false;
    EXPECT_FALSE(settings_in_force(kubevirt, &policy).allow_workload_disruption);

    policy.allow_workload_disruption = true;
    const auto paused = settings_in_force(kubevirt, &policy);
    EXPECT_FALSE(paused.allow_post_copy);
    EXPECT_TRUE(paused.allow_workload_disruption);
}

TEST(SettingOriginsTest, AreThoseOfTheNumbersInForce) {
    MigrationOverrides kubevirt;
    kubevirt.allow_post_copy = false;
    kubevirt.bandwidth = Quantity{1};
    kubevirt.progress = 10s;
    MigrationOverrides policy;
    policy.allow_post_copy = true;
    policy.bandwidth = Quantity{2};

    EXPECT_EQ(setting_origins({}, nullptr), SettingOrigins{});
    const auto without = setting_origins(kubevirt, nullptr);
    EXPECT_EQ(without.allow_post_copy, SettingOrigin::kubevirt);
    EXPECT_EQ(without.allow_workload_disruption, SettingOrigin::kubevirt);
    EXPECT_EQ(without.max_downtime, SettingOrigin::built_in);
    const auto with = setting_origins(kubevirt, &policy);
    EXPECT_EQ(with.bandwidth, SettingOrigin::policy);
    EXPECT_EQ(with.allow_workload_disruption, SettingOrigin::policy);
    EXPECT_EQ(with.progress, SettingOrigin::kubevirt);
    EXPECT_EQ(with.completion_per_gib, SettingOrigin::built_in);
}

}  // namespace
}  // namespace scout::migration
