// SPDX-License-Identifier: Apache-2.0
#include "cluster/migration_numbers.h"

#include <gtest/gtest.h>

#include "cluster/move_policy.h"

namespace scout::cluster {
namespace {

using kube::SharedText;
using namespace std::chrono_literals;

TEST(MigrationNumbersTest, PoliciesLieOverTheKubeVirtObjectAndThatOverItsDefaults) {
    kube::KubeVirt kubevirt;
    kubevirt.migrations.bandwidth = SharedText{"1Gi"};
    kubevirt.migrations.progress_seconds = 30;
    kube::MigrationPolicy policy;
    policy.meta.name = "p";
    policy.selectors = {.space = {}, .vmi = {{"app", "db"}}};
    policy.settings.bandwidth = SharedText{"64Mi"};
    policy.settings.allow_post_copy = true;
    kube::Vmi vmi;
    vmi.labels = {{"app", "db"}, {"x", "y"}};

    const std::vector policies{plain_policy(policy)};
    const auto numbers = migration_numbers(vmi, {}, policies, &kubevirt).settings;
    EXPECT_EQ(numbers.bandwidth, migration::Quantity{64ULL << 20U});
    EXPECT_EQ(numbers.progress, 30s);
    EXPECT_EQ(numbers.completion_per_gib, 150s);
    EXPECT_TRUE(numbers.allow_post_copy);

    vmi.labels = {};
    EXPECT_EQ(migration_numbers(vmi, {}, policies, &kubevirt).settings.bandwidth,
              migration::Quantity{1ULL << 30U});
}

TEST(MigrationNumbersTest, DisksThatAreCopiedCountByTheirSizes) {
    kube::Vmi vmi;
    EXPECT_EQ(copied_disks_text(vmi), "");
    vmi.copied_disks = {{.name = SharedText{"data"}, .size = SharedText{"100Gi"}},
                        {.name = SharedText{"moved"}, .size = SharedText{"20Gi"}, .claimed = true},
                        {.name = SharedText{"image"}, .size = SharedText{}}};
    const auto disks = migration_numbers(vmi, {}, {}, nullptr).disks;
    EXPECT_EQ(disks.bytes,
              (migration::Range{.least = 0, .likely = 120ULL << 30U, .most = 120ULL << 30U}))
        << "of what is in use nothing is told";
    EXPECT_EQ(disks.counted, 20ULL << 30U) << "KubeVirt counts no empty disks";
    const auto text = copied_disks_text(vmi);
    EXPECT_NE(text.find("data (100Gi), moved (20Gi)"), std::string::npos) << text;
    EXPECT_NE(text.find("image, which no forecast counts"), std::string::npos) << text;

    vmi.copied_disks = {{.name = SharedText{"odd"}, .size = SharedText{"99999999999Ei"}}};
    EXPECT_LE(copied_disks(vmi).bytes.most, 1ULL << 50U);
    vmi.copied_disks.clear();
    vmi.copies_unnamed = true;
    EXPECT_NE(copied_disks_text(vmi).find("cannot be forecast"), std::string::npos);
}

TEST(MigrationNumbersTest, APolicyOfThisMoveIsToldFromOthers) {
    kube::Vmi vmi;
    vmi.meta.uid = "u-1";
    vmi.labels = {{"app", "db"}};
    kube::MigrationPolicy policy;
    policy.selectors = {.space = {}, .vmi = {{"app", "db"}}};
    for (const auto* name : {"p", "virt-scout-move-u-1", "virt-scout-move-u-2"}) {
        policy.meta.name = name;
        EXPECT_EQ(migration_numbers(vmi, {}, {plain_policy(policy)}, nullptr).escalated,
                  name == move_policy_name("u-1"));
    }
    EXPECT_FALSE(migration_numbers(vmi, {}, {}, nullptr).escalated);
}

/// One that came after the hand-off changes nothing of the move that is under way.
TEST(MigrationNumbersTest, AMoveKeepsToThePolicyThatItWasHandedOffWith) {
    kube::Vmi vmi;
    vmi.meta.uid = "u-1";
    vmi.labels = {{"app", "db"}};
    kube::MigrationPolicy late;
    late.meta.name = move_policy_name("u-1");
    late.selectors = {.space = {}, .vmi = {{"app", "db"}}};
    late.settings.allow_post_copy = true;
    const std::vector policies{plain_policy(late)};
    const auto is_escalated = [&vmi, &policies] {
        const auto numbers = migration_numbers(vmi, {}, policies, nullptr);
        EXPECT_EQ(numbers.settings.allow_post_copy, numbers.escalated);
        return numbers.escalated;
    };
    EXPECT_TRUE(is_escalated());

    vmi.migration = kube::MigrationState{};
    EXPECT_TRUE(is_escalated()) << "nothing is handed off yet";
    vmi.migration->uid = "m-1";
    EXPECT_FALSE(is_escalated());
    vmi.migration->policy = SharedText{late.meta.name};
    EXPECT_TRUE(is_escalated());
    vmi.labels = {};
    EXPECT_TRUE(is_escalated()) << "labels that changed since do not matter either";
    vmi.migration->completed = true;
    EXPECT_FALSE(is_escalated());
}

/// Neither a policy that was edited or removed since, nor another KubeVirt object.
TEST(MigrationNumbersTest, AMoveKeepsToTheNumbersThatItWasHandedOffWith) {
    kube::KubeVirt kubevirt;
    kubevirt.migrations.progress_seconds = 30;
    kube::MigrationPolicy edited;
    edited.meta.name = move_policy_name("u-1");
    edited.settings.allow_post_copy = false;
    kube::Vmi vmi;
    vmi.meta.uid = "u-1";
    auto& move = vmi.migration.emplace();
    move.uid = "m-1";
    move.policy = SharedText{edited.meta.name};
    auto& recorded = move.settings.emplace();
    recorded.allow_post_copy = true;
    recorded.completion_seconds_per_gib = 2;
    recorded.progress_seconds = 77;
    recorded.bandwidth = SharedText{"64Mi"};
    for (const auto& policies :
         {std::vector<migration::MigrationPolicy>{}, std::vector{plain_policy(edited)}}) {
        const auto numbers = migration_numbers(vmi, {}, policies, &kubevirt);
        EXPECT_TRUE(numbers.settings.allow_post_copy);
        EXPECT_EQ(numbers.settings.completion_per_gib, 2s);
        EXPECT_EQ(numbers.settings.progress, 77s);
        EXPECT_EQ(numbers.settings.bandwidth, migration::Quantity{64ULL << 20U});
        EXPECT_TRUE(numbers.escalated);
    }
    move.policy = SharedText{"theirs"};
    EXPECT_FALSE(migration_numbers(vmi, {}, {}, &kubevirt).escalated);

    move.completed = true;
    EXPECT_EQ(migration_numbers(vmi, {}, {}, &kubevirt).settings.progress, 30s) << "the next one";
}

TEST(MigrationNumbersTest, WhatCannotBeReadIsNotSaid) {
    kube::KubeVirt kubevirt;
    kubevirt.migrations.bandwidth = SharedText{"fast"};
    kubevirt.migrations.completion_seconds_per_gib = -5;
    const auto numbers = migration_numbers({}, {}, {}, &kubevirt).settings;
    EXPECT_TRUE(numbers.bandwidth.is_zero());
    EXPECT_EQ(numbers.completion_per_gib, 0s);
}

TEST(MigrationNumbersTest, DowntimeIsObeyedWithItsGateOnly) {
    kube::KubeVirt kubevirt;
    EXPECT_FALSE(migration_numbers({}, {}, {}, &kubevirt).downtime_obeyed);
    kubevirt.feature_gates = {SharedText{"MigrationStallDetection"}};
    EXPECT_TRUE(migration_numbers({}, {}, {}, &kubevirt).downtime_obeyed);
    EXPECT_FALSE(migration_numbers({}, {}, {}, nullptr).downtime_obeyed);
}

TEST(MigrationNumbersTest, SlotsAreAtLeastOne) {
    EXPECT_EQ(slots(nullptr, 0), 2U);
    EXPECT_EQ(slots(nullptr, 3), 2U);
    EXPECT_EQ(slots(nullptr, 4), 1U);
    EXPECT_EQ(slots(nullptr, 100), 1U);
    kube::KubeVirt kubevirt;
    kubevirt.migrations.outbound_per_node = 10;
    kubevirt.migrations.per_cluster = 12;
    EXPECT_EQ(slots(&kubevirt, 5), 7U);
    kubevirt.migrations.per_cluster = -3;
    EXPECT_EQ(slots(&kubevirt, 0), 1U);
}

TEST(MigrationNumbersTest, PlacesAreTakenFromTheTargetPodOn) {
    for (const auto* phase : {"Scheduling", "Scheduled", "PreparingTarget", "Running"}) {
        EXPECT_TRUE(takes_place(phase)) << phase;
    }
    for (const auto* phase : {"", "Pending", "Succeeded", "Failed"}) {
        EXPECT_FALSE(takes_place(phase)) << phase;
    }
}

}  // namespace
}  // namespace scout::cluster
