// SPDX-License-Identifier: Apache-2.0
#include "migration/eviction.h"

#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using Strategy = EvictionStrategy;
using Outcome = EvictionOutcome;

/// Case 18, and the table of dossier §4.1.
TEST(EvictionTest, WhatTheWebhookAnswers) {
    EXPECT_EQ(eviction_outcome(Strategy::none, true), Outcome::evicted);
    EXPECT_EQ(eviction_outcome(Strategy::none, false), Outcome::evicted);
    EXPECT_EQ(eviction_outcome(Strategy::live_migrate, true), Outcome::marked);
    EXPECT_EQ(eviction_outcome(Strategy::live_migrate, false), Outcome::refused);
    EXPECT_EQ(eviction_outcome(Strategy::live_migrate_if_possible, true), Outcome::marked);
    EXPECT_EQ(eviction_outcome(Strategy::live_migrate_if_possible, false), Outcome::evicted);
    EXPECT_EQ(eviction_outcome(Strategy::external, true), Outcome::marked);
    EXPECT_EQ(eviction_outcome(Strategy::external, false), Outcome::marked);
}

TEST(EvictionTest, WhatIsToBecomeOfAMarkedLaunchersVm) {
    EXPECT_EQ(wanted_move(Strategy::none, true), WantedMove::none);
    EXPECT_EQ(wanted_move(Strategy::live_migrate, true), WantedMove::move);
    EXPECT_EQ(wanted_move(Strategy::live_migrate, false), WantedMove::none);
    EXPECT_EQ(wanted_move(Strategy::live_migrate_if_possible, true), WantedMove::move);
    EXPECT_EQ(wanted_move(Strategy::live_migrate_if_possible, false), WantedMove::none);
    EXPECT_EQ(wanted_move(Strategy::external, false), WantedMove::announce);
    EXPECT_EQ(wanted_move(Strategy::external, true), WantedMove::announce);
}

TEST(EvictionTest, TheVmisStrategyGoesBeforeTheClusters) {
    EXPECT_EQ(effective_strategy("None", "LiveMigrate"), Strategy::none);
    EXPECT_EQ(effective_strategy("External", ""), Strategy::external);
    EXPECT_EQ(effective_strategy("", "LiveMigrateIfPossible"), Strategy::live_migrate_if_possible);
    EXPECT_EQ(effective_strategy("", ""), Strategy::none);
    EXPECT_EQ(effective_strategy("livemigrate", "LiveMigrate"), Strategy::none);
    for (const auto strategy : {Strategy::none, Strategy::live_migrate,
                                Strategy::live_migrate_if_possible, Strategy::external}) {
        EXPECT_EQ(strategy_named(to_string(strategy)), strategy);
    }
}

TEST(EvictionTest, KubeVirtWaitsTwiceAsLongAfterEachFurtherFailure) {
    EXPECT_EQ(evacuation_back_off(1), 20s);
    EXPECT_EQ(evacuation_back_off(2), 40s);
    EXPECT_EQ(evacuation_back_off(5), 320s);
    EXPECT_GT(evacuation_back_off(~0U), evacuation_back_off(20));
}

TEST(StopBudgetTest, TheLauncherKillsFirstWhereNobodyHurries) {
    EXPECT_EQ(stop_budget({}), (StopBudget{.ends = 45s, .limit = StopLimit::launcher}));
    EXPECT_EQ(stop_budget({.vmi_grace = 300s}).ends, 315s);
    EXPECT_EQ(stop_budget({.vmi_grace = 0s}).ends, 15s);
}

TEST(StopBudgetTest, WhatThePodWasMadeWithCountsNotWhatTheVmiSaysNow) {
    EXPECT_EQ(stop_budget({.vmi_grace = 600s, .launcher_grace = 45s, .pod_grace = 60s}),
              (StopBudget{.ends = 45s, .limit = StopLimit::launcher}));
    // Its pod's grace was raised, and the launcher's flag was not.
    EXPECT_EQ(stop_budget({.vmi_grace = 30s, .launcher_grace = 45s, .pod_grace = 600s}).ends, 45s);
    EXPECT_EQ(stop_budget({.vmi_grace = 30s, .launcher_grace = 615s, .pod_grace = 60s}),
              (StopBudget{.ends = 60s, .limit = StopLimit::pod}));
}

TEST(StopBudgetTest, AHardThresholdGivesASecond) {
    EXPECT_EQ(stop_budget({.kubelet_grace = 1s}),
              (StopBudget{.ends = 1s, .limit = StopLimit::kubelet}));
}

/// Dossier §12.1: threshold with 300 s, default VM: the launcher is first after all.
TEST(StopBudgetTest, ASoftThresholdGivesNoMoreThanTheLauncher) {
    EXPECT_EQ(stop_budget({.kubelet_grace = 60s}),
              (StopBudget{.ends = 45s, .limit = StopLimit::launcher}));
    EXPECT_EQ(stop_budget({.vmi_grace = 285s, .kubelet_grace = 300s}).ends, 300s);
}

TEST(StopBudgetTest, ADeletionBringsItsOwnGrace) {
    EXPECT_EQ(stop_budget({.deletion_grace = 10s}),
              (StopBudget{.ends = 10s, .limit = StopLimit::deletion}));
    // Longer than the pod's own: kubectl delete --grace-period.
    EXPECT_EQ(stop_budget({.launcher_grace = 615s, .pod_grace = 60s, .deletion_grace = 500s}),
              (StopBudget{.ends = 500s, .limit = StopLimit::deletion}));
    EXPECT_EQ(stop_budget({.deletion_grace = -1s}).ends, 0s);
}

}  // namespace
}  // namespace scout::migration
