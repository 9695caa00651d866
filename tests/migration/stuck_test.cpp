// SPDX-License-Identifier: Apache-2.0
#include "migration/stuck.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const WallTime noon{std::chrono::hours{24 * 365}};

StuckMoveFacts failed_at(WallTime at) {
    return {.name = "kubevirt-evacuation-" + std::to_string(at.time_since_epoch().count()),
            .phase = "Failed",
            .created = at - 3s,
            .since = at,
            .failed_at = at,
            .backs_off = true};
}

StuckMoveFacts evacuation(std::string phase, WallTime since) {
    return {.name = "kubevirt-evacuation-new",
            .phase = std::move(phase),
            .created = since,
            .since = since,
            .backs_off = true};
}

StuckVmFacts marked() {
    return {.vmi = "shop/web",
            .phase = "Running",
            .node = "n2",
            .mark = "n2",
            .strategy = EvictionStrategy::live_migrate,
            .migratable = true};
}

StuckAnswer asked(const StuckVmFacts& vm, const StuckSurroundings& around) {
    const auto answer = find_stuck(vm, around);
    EXPECT_TRUE(answer) << vm.vmi;
    return answer.value_or(StuckAnswer{});
}

TEST(StuckTest, MarkLeftBehindAfterThreeFailuresWaitsEightySeconds) {
    auto vm = marked();
    vm.moves = {failed_at(noon - 60s), failed_at(noon), failed_at(noon - 30s)};

    const auto answer = asked(vm, {.now = noon + 10s});

    EXPECT_EQ(answer.state, StuckState::stale_mark);
    EXPECT_EQ(answer.failed, 3U);
    EXPECT_EQ(answer.next_try, noon + 80s);
    EXPECT_TRUE(answer.cancel.possible);
    EXPECT_EQ(answer.cancel.reason, "");
    EXPECT_THAT(answer.waiting_for, HasSubstr("3 failed tries"));
}

TEST(StuckTest, TheLastFailureIsToldAndWhereToLook) {
    auto vm = marked();
    vm.moves = {failed_at(noon), failed_at(noon - 30s)};
    vm.moves[0].failure = "aborted after 60 seconds";
    vm.moves[1].failure = "an older one";

    auto answer = asked(vm, {.now = noon + 10s});

    EXPECT_EQ(answer.failure, "aborted after 60 seconds");
    EXPECT_THAT(answer.waiting_for,
                HasSubstr("2 failed tries, the last one for: aborted after 60 seconds"));
    EXPECT_THAT(answer.advice, HasSubstr("scoutctl where shop/web, scoutctl why shop/web"));
    EXPECT_THAT(answer.advice, HasSubstr("cancel the mark"));

    vm.moves.push_back(evacuation("Pending", noon + 1s));
    answer = asked(vm, {.now = noon + 10s});
    EXPECT_THAT(answer.waiting_for, HasSubstr("the last one for: aborted after 60 seconds"));
    EXPECT_THAT(answer.advice, HasSubstr("scoutctl why shop/web"));
}

TEST(StuckTest, WhereNoMigrationsWereReadNoneIsMissed) {
    auto answer = asked(marked(), {.now = noon});
    EXPECT_EQ(answer.waiting_for, "KubeVirt's first VMIM: there is none");

    answer = asked(marked(), {.moves_known = false, .now = noon});
    EXPECT_EQ(answer.state, StuckState::stale_mark);
    EXPECT_EQ(answer.waiting_for, "not known: no migrations were read");
    EXPECT_THAT(answer.advice, HasSubstr("kubectl get vmims"));
}

TEST(StuckTest, MoveInBackOffIsStillAMarkLeftBehind) {
    auto vm = marked();
    vm.moves = {failed_at(noon - 60s), failed_at(noon), evacuation("Pending", noon + 1s)};

    const auto during = asked(vm, {.now = noon + 39s});
    const auto later = asked(vm, {.now = noon + 400s});

    EXPECT_EQ(during.state, StuckState::stale_mark);
    EXPECT_EQ(during.next_try, noon + 40s);
    EXPECT_EQ(during.move, "kubevirt-evacuation-new");
    EXPECT_EQ(later.state, StuckState::stale_mark);
    EXPECT_THAT(later.waiting_for, HasSubstr("overdue"));
}

TEST(StuckTest, BackOffDoublesWithEachFailureInARow) {
    std::vector<StuckMoveFacts> moves;
    const std::vector<std::chrono::seconds> expected{20s, 40s, 80s, 160s, 320s};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        moves.push_back(failed_at(noon + std::chrono::minutes{10 * i}));
        const auto last = moves.back().failed_at;
        EXPECT_EQ(back_off(moves).next_try, last + expected[i]);
        EXPECT_EQ(back_off(moves).failed, i + 1);
    }
}

TEST(StuckTest, BackOffCountsWhatKubeVirtCounts) {
    auto succeeded = failed_at(noon);
    succeeded.phase = "Succeeded";
    succeeded.failed_at = {};
    auto by_hand = failed_at(noon + 100s);
    by_hand.backs_off = false;
    auto deleted = failed_at(noon + 50s);
    deleted.deleting = true;

    EXPECT_EQ(back_off({failed_at(noon - 60s), succeeded}).failed, 0U);
    EXPECT_EQ(back_off({failed_at(noon - 60s), succeeded, failed_at(noon + 9s)}).failed, 1U);
    EXPECT_EQ(back_off({by_hand}).failed, 0U);
    EXPECT_EQ(back_off({failed_at(noon), deleted}).failed, 1U);
    EXPECT_EQ(back_off({}).next_try, std::nullopt);
    std::vector<StuckMoveFacts> many;
    for (int i = 0; i < 5000; ++i) {
        many.push_back(failed_at(noon + std::chrono::seconds{i}));
    }
    EXPECT_EQ(back_off(many).failed, 5000U);
    EXPECT_GT(*back_off(many).next_try, noon);
}

struct MarkCase {
    std::string name;
    std::function<void(StuckVmFacts&, StuckSurroundings&)> change;
    StuckState state{};
    std::string waiting_for;
    bool cancel = true;
};

const std::vector<MarkCase> kept_marks{
    {"elsewhere", [](auto& vm, auto&) { vm.mark = "n1"; }, StuckState::already_moved,
     "it is on node n2, the mark names n1"},
    {"external", [](auto& vm, auto&) { vm.strategy = EvictionStrategy::external; },
     StuckState::external, "KubeVirt moves nothing"},
    {"none", [](auto& vm, auto&) { vm.strategy = EvictionStrategy::none; }, StuckState::unwanted,
     "None"},
    {"not migratable",
     [](auto& vm, auto&) {
         vm.migratable = false;
         vm.not_migratable = "DisksNotLiveMigratable";
     },
     StuckState::not_migratable, "DisksNotLiveMigratable"},
    {"node gone", [](auto&, auto& around) { around.node_there = around.mark_node_there = false; },
     StuckState::node_gone, "is gone", false},
    {"drain taint",
     [](auto&, auto& around) { around.drain_taint = "kubevirt.io/drain:NoSchedule"; },
     StuckState::stale_mark, "first VMIM", false},
    {"two pods", [](auto& vm, auto&) { vm.active_pods = {"a", "b"}; }, StuckState::two_active_pods,
     "2 launchers"},
    {"two pods of a move that runs",
     [](auto& vm, auto&) {
         vm.active_pods = {"a", "b"};
         vm.moving_to = "n7";
     },
     StuckState::being_moved, "its migration to n7"},
    {"under way", [](auto& vm, auto&) { vm.moves = {evacuation("PreparingTarget", noon)}; },
     StuckState::being_moved, "PreparingTarget"},
    {"just made", [](auto& vm, auto&) { vm.moves = {evacuation("", noon)}; },
     StuckState::being_moved, "just been made"},
    {"old KubeVirt", [](auto&, auto& around) { around.cancel_served = false; },
     StuckState::stale_mark, "first VMIM", false}};

TEST(StuckTest, MarksAreToldByWhatKeepsThem) {
    for (const auto& each : kept_marks) {
        auto vm = marked();
        StuckSurroundings around{.now = noon + 5s};
        each.change(vm, around);

        const auto answer = asked(vm, around);

        EXPECT_EQ(answer.state, each.state) << each.name << to_string(answer.state);
        EXPECT_THAT(answer.waiting_for, HasSubstr(each.waiting_for)) << each.name;
        EXPECT_EQ(answer.cancel.possible, each.cancel) << each.name;
        EXPECT_EQ(answer.cancel.reason.empty(), each.cancel) << each.name;
        EXPECT_FALSE(answer.advice.empty()) << each.name;
        EXPECT_EQ(answer.next_try, std::nullopt) << each.name;
    }
}

TEST(StuckTest, CancelSaysWhatKubeVirtWouldAnswer) {
    const auto vm = marked();

    EXPECT_THAT(asked(vm, {.drain_taint = "k:NoSchedule", .now = noon}).cancel.reason,
                HasSubstr("400"));
    EXPECT_THAT(asked(vm, {.mark_node_there = false, .now = noon}).cancel.reason, HasSubstr("500"));
    const auto unknown = asked(vm, {.nodes_known = false, .now = noon}).cancel;
    EXPECT_TRUE(unknown.possible);
    EXPECT_THAT(unknown.reason, HasSubstr("not known"));
}

struct MoveCase {
    std::string name;
    std::function<void(StuckVmFacts&, StuckSurroundings&)> change;
    StuckState state{};
    std::string waiting_for;
};

const std::vector<MoveCase> waiting_moves{
    {"cluster", [](auto&, auto& around) { around.in_cluster = 5; }, StuckState::queued, "5 of 5"},
    {"node", [](auto&, auto& around) { around.outbound = 2; }, StuckState::queued,
     "2 of 2 migrations leave node n2"},
    {"selinux", [](auto& vm, auto&) { vm.selinux_context = false; }, StuckState::no_selinux,
     "selinuxContext"},
    {"pods", [](auto& vm, auto&) { vm.active_pods = {"a", "b"}; }, StuckState::two_active_pods,
     "2 launchers"},
    {"quota", [](auto& vm, auto&) { vm.moves[0].blocked = "migrationRejectedByResourceQuota"; },
     StuckState::blocked, "Quota"},
    {"node gone", [](auto&, auto& around) { around.node_there = false; }, StuckState::node_gone,
     "Pending for ever"},
    {"nothing", [](auto&, auto&) {}, StuckState::pending, "no reason"},
    {"launcher update",
     [](auto& vm, auto&) {
         vm.moves[0].backs_off = true;
         vm.moves.push_back(failed_at(noon + 95s));
         vm.moves[0].created = noon + 96s;
     },
     StuckState::backing_off, "1 failed try"},
    {"no node",
     [](auto& vm, auto&) {
         vm.moves[0].phase = "Scheduling";
         vm.moves[0].pod_unschedulable = true;
         vm.moves[0].scheduler = "0/4 nodes are available";
     },
     StuckState::unschedulable, "0/4 nodes"},
    {"no node, hotplugged volumes",
     [](auto& vm, auto& around) {
         around.outbound = 2;
         vm.active_pods = {"left", "a"};
         vm.moves[0].target_pod = "target";
         vm.moves[0].pod_unschedulable = true;
         vm.moves[0].scheduler = "0/4 nodes are available";
     },
     StuckState::unschedulable, "0/4 nodes"},
    {"hotplugged volumes",
     [](auto& vm, auto& around) {
         around.node_there = false;
         vm.moves[0].target_pod = "target";
     },
     StuckState::pending, "target pod target to be ready"},
    {"backup with a target",
     [](auto& vm, auto&) {
         vm.moves[0].target_pod = "target";
         vm.moves[0].blocked = "migrationBlockedByBackup";
     },
     StuckState::blocked, "Backup"},
    {"deleting",
     [](auto& vm, auto&) {
         vm.moves[0].phase = "TargetReady";
         vm.moves[0].deleting = true;
         vm.moves[0].deleting_since = noon;
     },
     StuckState::deleting, "not delivered before"}};

TEST(StuckTest, WaitingMigrationsAreToldByWhatTheyWaitFor) {
    for (const auto& each : waiting_moves) {
        auto vm = marked();
        vm.mark = "";
        vm.moves = {{.name = "by-hand", .phase = "Pending", .created = noon, .since = noon}};
        StuckSurroundings around{.now = noon + 100s};
        each.change(vm, around);

        const auto answer = asked(vm, around);

        EXPECT_EQ(answer.state, each.state) << each.name << ": " << to_string(answer.state);
        EXPECT_THAT(answer.waiting_for, HasSubstr(each.waiting_for)) << each.name;
        EXPECT_FALSE(answer.cancel.possible) << each.name;
        EXPECT_EQ(answer.move, "by-hand") << each.name;
    }
}

/// No time-out of KubeVirt ends it (dossier §16), marked or not.
TEST(StuckTest, WhatWasHandedOffAndDoesNotStartIsTold) {
    for (const bool is_marked : {true, false}) {
        auto vm = marked();
        vm.mark = is_marked ? vm.node : "";
        vm.moving_to = "n9";
        vm.moves = {{.name = "k-1",
                     .phase = "PreparingTarget",
                     .created = noon,
                     .since = noon,
                     .target_pod = "target"}};
        const auto before = find_stuck(vm, {.now = noon + 119s});
        EXPECT_EQ(before.has_value(), is_marked) << "one that is marked is being moved";

        const auto preparing = asked(vm, {.now = noon + 120s});
        EXPECT_EQ(preparing.state, StuckState::handed_off);
        EXPECT_THAT(preparing.waiting_for, HasSubstr("virt-handler of node n9 to make the target"));
        EXPECT_THAT(preparing.advice, HasSubstr("deletion of its target pod target"));

        vm.moves[0].phase = "TargetReady";
        EXPECT_THAT(asked(vm, {.now = noon + 120s}).waiting_for,
                    HasSubstr("virt-handler of node " + vm.node + " to start VMIM k-1"));
        vm.moves[0].phase = "Running";
        EXPECT_EQ(find_stuck(vm, {.now = noon + 60min}).has_value(), is_marked);
    }
}

TEST(StuckTest, WhatStandsStillIsEndedBeforeLimitsAreRaised) {
    auto vm = marked();
    vm.mark = "";
    vm.moves = {{.name = "by-hand", .phase = "Pending", .created = noon, .since = noon}};
    const auto fine = asked(vm, {.in_cluster = 5, .now = noon + 100s});
    EXPECT_EQ(fine.advice, "wait, or raise parallelMigrationsPerCluster");
    const auto hung = asked(vm, {.in_cluster = 5, .standing = 3, .now = noon + 100s});
    EXPECT_EQ(hung.state, StuckState::queued);
    EXPECT_THAT(hung.waiting_for, HasSubstr("3 stand still"));
    EXPECT_THAT(hung.advice, HasSubstr("end those that are handed-off first"));
}

TEST(StuckTest, AMarkedVmWhoseTargetIsMadeIsBeingMoved) {
    auto vm = marked();
    vm.moves = {failed_at(noon - 60s), evacuation("Pending", noon)};
    vm.moves[1].target_pod = "target";

    EXPECT_EQ(asked(vm, {.now = noon + 1s}).state, StuckState::being_moved);
}

TEST(StuckTest, LauncherToDeleteIsNoneOfAMoveThatGoesOn) {
    auto vm = marked();
    vm.active_pods = {"a", "b"};
    const auto of_mark = asked(vm, {.now = noon}).advice;
    vm.moves = {{.name = "by-hand", .phase = "Pending", .created = noon, .since = noon}};
    const auto of_move = asked(vm, {.now = noon}).advice;

    EXPECT_THAT(of_mark, HasSubstr("never the one on node n2, nor one whose label "
                                   "kubevirt.io/migrationJobUID"));
    EXPECT_EQ(of_mark, of_move);
}

TEST(StuckTest, WhatIsFineIsNotTold) {
    auto vm = marked();
    vm.mark = "";
    EXPECT_FALSE(find_stuck(vm, {.now = noon}));
    for (const auto* phase : {"Scheduling", "Running", "Succeeded", "Failed"}) {
        vm.moves = {{.name = "m", .phase = phase, .created = noon, .since = noon}};
        EXPECT_FALSE(find_stuck(vm, {.now = noon + 1h})) << phase;
    }
    vm.moves = {{.name = "m", .phase = "Pending", .created = noon, .since = noon}};
    EXPECT_FALSE(find_stuck(vm, {.now = noon + 3s}));
    vm.moves[0].target_pod = "target";
    EXPECT_FALSE(find_stuck(vm, {.now = noon + 3s}));
    vm = marked();
    vm.deleting = true;
    EXPECT_FALSE(find_stuck(vm, {.now = noon}));
    vm = marked();
    vm.phase = "Succeeded";
    EXPECT_FALSE(find_stuck(vm, {.now = noon}));
}

TEST(StuckTest, SynchronizingForTenMinutesNamesTheMissingFieldAndTheHandler) {
    auto vm = marked();
    vm.mark = "";
    vm.moves = {{.name = "out",
                 .phase = "Synchronizing",
                 .created = noon,
                 .since = noon,
                 .crosses = true,
                 .missing = "sourceNode"}};

    const auto silent = asked(vm, {.now = noon + 600s});
    const auto ill =
        asked(vm, {.handler_trouble = "virt-handler on node n2 is not ready", .now = noon + 600s});

    EXPECT_EQ(silent.state, StuckState::synchronizing);
    EXPECT_THAT(silent.waiting_for, HasSubstr("migrationState.sourceNode"));
    EXPECT_THAT(silent.advice, HasSubstr("from the target to the address of the source"));
    EXPECT_THAT(ill.waiting_for, HasSubstr("virt-handler on node n2 is not ready"));
    EXPECT_EQ(silent.since, noon);
    EXPECT_FALSE(find_stuck(vm, {.now = noon + 30s}));
}

/// One of the two virt-handlers is in the other cluster, and the target pod on its side.
TEST(StuckTest, WhatWasHandedOffBetweenClustersNamesTheClusterThatIsWaitedFor) {
    auto vm = marked();
    vm.mark = "";
    vm.moving_to = "far";
    vm.moves = {{.name = "out",
                 .phase = "PreparingTarget",
                 .created = noon,
                 .since = noon,
                 .crosses = true}};
    const auto far_target = asked(vm, {.now = noon + 120s});
    EXPECT_EQ(far_target.state, StuckState::handed_off);
    EXPECT_EQ(far_target.waiting_for,
              "virt-handler of node far in the other cluster to make the target of VMIM out ready");
    EXPECT_THAT(far_target.advice,
                HasSubstr("deletion of its target pod, which is in the other cluster"));
    vm.moves[0].phase = "TargetReady";
    const auto own_source = asked(vm, {.now = noon + 120s});
    EXPECT_EQ(own_source.waiting_for, "virt-handler of node n2 to start VMIM out");
    EXPECT_THAT(own_source.advice, HasSubstr("which is in the other cluster"));

    vm.node.clear();
    vm.phase = "WaitingForSync";
    vm.moving_to = "n3";
    vm.moves[0].receives = true;
    vm.moves[0].target_pod = "target";
    const auto far_source = asked(vm, {.now = noon + 120s});
    EXPECT_EQ(far_source.waiting_for,
              "virt-handler of the source node in the other cluster to start VMIM out");
    EXPECT_THAT(far_source.advice, HasSubstr("deletion of its target pod target; see there"));
    vm.moves[0].phase = "PreparingTarget";
    EXPECT_EQ(asked(vm, {.now = noon + 120s}).waiting_for,
              "virt-handler of node n3 to make the target of VMIM out ready");
}

TEST(StuckTest, SourceThatNeverHearsOfItsTargetIsTold) {
    auto vm = marked();
    vm.mark = "";
    vm.moves = {
        {.name = "out", .phase = "Scheduling", .created = noon, .since = noon, .crosses = true}};

    EXPECT_EQ(asked(vm, {.now = noon + 901s}).state, StuckState::synchronizing);
    EXPECT_FALSE(find_stuck(vm, {.now = noon + 899s}));
    vm.moves[0].receives = true;
    EXPECT_FALSE(find_stuck(vm, {.now = noon + 901s}));
}

}  // namespace
}  // namespace scout::migration
