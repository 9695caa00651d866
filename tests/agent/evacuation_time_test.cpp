// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "agent/evacuations.h"
#include "tests/agent/evacuations_fixture.h"

/// How much time a launcher that was told to stop has, and what fits into it.
namespace scout::agent {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class EvacuationTimeTest : public EvacuationsFixture {};

TEST_F(EvacuationTimeTest, MoveThatDoesNotEndInTimeIsTakenBackBeforeTheReserve) {
    hear_rules();
    auto& one = vm("a");
    say("p1", marked("a"));
    settle();
    tell("a");
    settle();
    ASSERT_EQ(state_of("p1"), "moving");
    ASSERT_EQ(allowed("a"), false);
    live(29s);
    ASSERT_EQ(state_of("p1"), "moving");
    live(4s);
    EXPECT_EQ(allowed("a"), true);
    EXPECT_THAT(one.moves, IsEmpty());
    EXPECT_EQ(one.vmi.facts.marked_node, "");
    tell("a");
    settle();
    const std::vector<std::string> rest(steps.begin() + 4, steps.end());
    EXPECT_THAT(rest, ElementsAre("cancel-mark", "delete-move", "list-moves", "touch"));
}

/// Of a launcher with a migration under way virt-handler asks nobody: its mark is found by a look.
TEST_F(EvacuationTimeTest, MarkThatIsFoundByALookIsAsOldAsItMayBe) {
    hear_rules();
    vm("a");
    say("p1", domain_of("a"));
    turn();
    pass(9s);
    say("p1", marked("a"));
    settle();
    tell("a");
    settle();
    live(20s);
    ASSERT_EQ(state_of("p1"), "moving");
    live(4s);
    EXPECT_EQ(allowed("a"), true) << "9 s earlier than of a mark that is found at once";
}

/// The launcher counts from its SIGTERM on, whether its guest is there yet or not.
TEST_F(EvacuationTimeTest, MarkOfATargetIsAsOldAsItIsWhenTheGuestArrives) {
    hear_rules();
    vm("a");
    auto coming = marked("a");
    coming.status = "Paused";
    coming.reason = "Migration";
    ASSERT_TRUE(launcher::is_not_yet_here(coming));
    say("p1", coming);
    turn();
    live(25s);
    EXPECT_EQ(state_of("p1"), "none");
    say("p1", marked("a"));
    settle();
    EXPECT_EQ(allowed("a"), false) << "20 s are left, of which 10 s are the guest's";
    live(8s);
    EXPECT_EQ(allowed("a"), true);
}

/// It was told to stop by somebody else before, and its 45 s count no more.
TEST_F(EvacuationTimeTest, NodeThatShutsDownLeavesNobodyMoreTimeThanItsPods) {
    hear_rules();
    vm("a");
    say("p1", marked("a"));
    settle();
    tell("a");
    settle();
    ASSERT_EQ(state_of("p1"), "moving");
    live(5s);
    evacuations->node_shuts_down(20s);
    live(5s);
    ASSERT_EQ(allowed("a"), false);
    live(5s);
    EXPECT_EQ(allowed("a"), true);
}

TEST_F(EvacuationTimeTest, WhereVirtHandlerStopsWithTheNodeNobodyIsHeldNorMoved) {
    hear_rules();
    vm("a");
    vm("b");
    evacuations->node_shuts_down(300s, true);
    say("pa", marked("a"));
    settle();
    EXPECT_EQ(allowed("a"), true);
    EXPECT_THAT(reason_of("pa"), HasSubstr("virt-handler with it"));
    EXPECT_THAT(steps, ElementsAre("read-vmi"));
    evacuations->node_stays();
    say("pb", marked("b"));
    settle();
    EXPECT_EQ(allowed("b"), false);
}

TEST_F(EvacuationTimeTest, WhereNobodyWaitsForPodsNobodyIsHeldNorMoved) {
    hear_rules();
    vm("a");
    evacuations->node_shuts_down(std::nullopt);
    say("pa", marked("a"));
    settle();
    EXPECT_EQ(allowed("a"), true);
    EXPECT_THAT(reason_of("pa"), HasSubstr("virt-handler with it"));
    EXPECT_THAT(steps, ElementsAre("read-vmi"));
}

/// Of an API server that takes seconds for everything.
TEST_F(EvacuationTimeTest, WhatIsHeldWaitsLongerForItsVmiThanTheDecision) {
    hear_rules();
    vm("a");
    say("p1", marked("a"));
    turn();
    EXPECT_EQ(allowed("a"), false);
    listen();
    ASSERT_THAT(steps, ElementsAre("read-vmi"));
    orders.clear();
    pass(1s);
    turn();
    ASSERT_EQ(state_of("p1"), "held") << "by what virt-handler said of it";
    pass(1s);
    turn();
    listen();
    ASSERT_THAT(steps, ElementsAre("read-vmi", "read-vmi"));
    pass(4s);
    turn();
    obey();
    settle();
    EXPECT_THAT(steps, ElementsAre("read-vmi", "read-vmi", "list-moves", "dry-run", "evict"));
}

TEST_F(EvacuationTimeTest, LauncherThatIsToldToStopDuringAShutdownHasWhatIsLeftOfIt) {
    hear_rules();
    vm("a");
    vm("b");
    say("pa", domain_of("a"));
    say("pb", domain_of("b"));
    evacuations->node_shuts_down(11s);
    say("pa", marked("a"));
    settle();
    EXPECT_EQ(allowed("a"), true);
    EXPECT_THAT(reason_of("pa"), HasSubstr("killed in 11.0 s"));
    evacuations->node_stays();
    say("pb", marked("b"));
    settle();
    EXPECT_EQ(allowed("b"), false);
}

TEST_F(EvacuationTimeTest, NothingIsAskedForBeforeALauncherHasToldHowMuchThereIsToCopy) {
    for (const bool fits : {true, false}) {
        start_agent();
        steps.clear();
        hear_rules();
        cluster.clear();
        vm("a");
        auto domain = marked("a");
        domain.memory_kib = std::uint64_t{100} << 20U;
        say("p1", domain);
        lead();
        EXPECT_EQ(allowed("a"), false);
        EXPECT_THAT(steps, ElementsAre("read-vmi", "list-moves"));
        numbers.rss_kib = fits ? 1024 : domain.memory_kib;
        tell_numbers();
        lead();
        if (fits) {
            EXPECT_THAT(steps, ElementsAre("read-vmi", "list-moves", "dry-run", "evict"));
        } else {
            EXPECT_THAT(steps, ElementsAre("read-vmi", "list-moves", "touch"));
        }
    }
}

TEST_F(EvacuationTimeTest, LauncherThatTellsNothingIsNotWaitedForLong) {
    hear_rules();
    vm("a");
    say("p1", marked("a"));
    lead();
    ASSERT_THAT(steps, ElementsAre("read-vmi", "list-moves"));
    EXPECT_LE(evacuations->wake(), clock.steady() + 150ms);
    clock.advance(150ms);
    lead();
    EXPECT_THAT(steps, ElementsAre("read-vmi", "list-moves", "dry-run", "evict"));
}

TEST_F(EvacuationTimeTest, NumbersOfALauncherTellWhatFits) {
    hear_rules();
    vm("a");
    auto domain = marked("a");
    domain.memory_kib = std::uint64_t{100} << 20U;
    say("p1", domain);
    turn();
    EXPECT_THAT(evacuations->to_measure(), ElementsAre("p1"));
    EXPECT_THAT(evacuations->to_measure(), IsEmpty());
    numbers.rss_kib = std::uint64_t{100} << 20U;
    evacuations->measured("p1", numbers);
    settle();
    EXPECT_EQ(allowed("a"), true);
    EXPECT_THAT(reason_of("p1"), HasSubstr("needs 87"));
    EXPECT_THAT(steps, testing::Not(Contains("evict")));
}

TEST_F(EvacuationTimeTest, DisksInThePodAreCopiedTooAndMayBeTooMuch) {
    hear_rules();
    vm("a");
    say("p1", marked("a"));
    numbers.rss_kib = 1024;
    numbers.pod_disks.bytes = 10'000'000'000;
    settle();
    EXPECT_EQ(allowed("a"), false) << "8 s over 10 Gbit/s";
    vm("b");
    say("p2", marked("b"));
    numbers.pod_disks.bytes = 100'000'000'000;
    settle();
    EXPECT_EQ(allowed("b"), true) << "80 s";
}

TEST_F(EvacuationTimeTest, GuestThatWritesTooFastIsMovedByAPolicyOfItsOwnWhereThatIsWanted) {
    for (const auto escalation : {migration::Escalation::none, migration::Escalation::pause}) {
        const bool wanted = escalation == migration::Escalation::pause;
        start_agent();
        steps.clear();
        hear_rules(EvacuationMode::act, escalation);
        cluster.clear();
        vm("a");
        say("p1", marked("a"));
        turn();
        numbers = {};
        numbers.rss_kib = std::uint64_t{1} << 20U;
        numbers.dirty_mib_s = 100'000;
        evacuations->measured("p1", numbers);
        settle();
        EXPECT_EQ(allowed("a"), !wanted);
        if (wanted) {
            EXPECT_THAT(steps,
                        ElementsAre("read-vmi", "list-moves", "escalate", "dry-run", "evict"));
        } else {
            EXPECT_THAT(reason_of("p1"), HasSubstr("does not end"));
            EXPECT_THAT(steps, testing::Not(Contains("evict")));
        }
    }
}

/// Nobody else has it measured in stock KubeVirt.
TEST_F(EvacuationTimeTest, HowFastAGuestWritesIsMeasuredAndStaysKnownForAWhile) {
    hear_rules();
    vm("a");
    say("p1", marked("a"));
    EXPECT_FALSE(evacuations->wants_dirty_rate("p1"));
    turn();
    numbers.rss_kib = std::uint64_t{1} << 20U;
    evacuations->measured("p1", numbers);
    EXPECT_TRUE(evacuations->wants_dirty_rate("p1"));
    evacuations->measured_dirty_rate("p1", 100'000);
    EXPECT_FALSE(evacuations->wants_dirty_rate("p1"));
    evacuations->measured("p1", numbers);
    EXPECT_FALSE(evacuations->wants_dirty_rate("p1"));
    pass(10s);
    EXPECT_TRUE(evacuations->wants_dirty_rate("p1"));
    settle();
    EXPECT_EQ(allowed("a"), true);
    EXPECT_THAT(reason_of("p1"), HasSubstr("does not end"));
    EXPECT_FALSE(evacuations->wants_dirty_rate("p1")) << "it is over";
}

TEST_F(EvacuationTimeTest, OddNumbersOfALauncherOverflowNothing) {
    hear_rules();
    vm("a");
    auto domain = marked("a");
    domain.memory_kib = ~std::uint64_t{0};
    say("p1", domain);
    settle();
    numbers.rss_kib = numbers.dirty_mib_s = ~std::uint64_t{0};
    numbers.job.data_remaining = numbers.job.dirty_rate = ~std::uint64_t{0};
    evacuations->measured("p1", numbers);
    settle();
    EXPECT_EQ(allowed("a"), true);
}

/// virt-handler asks nobody meanwhile, and the launcher's time passes all the same.
TEST_F(EvacuationTimeTest, MarkThatNoAgentSawCountsFromWhenOneWasThere) {
    const auto left = [this](const std::string& pod) {
        return std::chrono::duration_cast<std::chrono::seconds>(
            evacuations->followed().at(pod).machine().stop_by() - clock.steady());
    };
    for (const auto& [alive, seconds] :
         {std::pair{std::optional{12s}, 35s - 12s}, std::pair{std::optional{600s}, 35s - 30s},
          std::pair{std::optional<std::chrono::seconds>{}, 35s - 30s}}) {
        start_agent();
        evacuations->remember(
            {.marks = {}, .alive = alive ? std::optional{clock.steady() - *alive} : std::nullopt});
        hear_rules();
        vm("a");
        vm("b");
        say("p1", marked("a"));
        say("p2", domain_of("b"));
        turn();
        EXPECT_EQ(left("p1"), seconds);
        say("p2", marked("b"));
        turn();
        EXPECT_EQ(left("p2"), 35s) << "it was seen before it was marked";
        domains.clear();
        cluster.clear();
    }
    start_agent();
    evacuations->remember({});
    hear_rules();
    turn();
    pass(20s);
    vm("a");
    say("p1", marked("a"));
    turn();
    EXPECT_EQ(left("p1"), 35s) << "a launcher that came since";
}

/// A kubelet that evicts gives no more because the pod is deleted, too.
TEST_F(EvacuationTimeTest, ADeletionAfterAnEvictionGivesNoMoreTime) {
    for (const bool with_mark : {false, true}) {
        start_agent();
        evacuations = std::make_unique<Evacuations>(
            Evacuations::Options{.node = "n1", .kubelet_grace = [](auto) { return 25s; }}, clock,
            *metrics, [] {});
        hear_rules();
        vm("a");
        say("p1", marked("a"));
        turn();
        const auto marked_at = clock.steady();
        const auto tell_pod = [this](std::optional<std::chrono::seconds> deletion) {
            evacuations->take(EvacuationFacts{
                .vmi_uid = "uid-a",
                .pod = ToldPod{.name = "p", .phase = "Running", .deletion_grace = deletion}});
        };
        tell_pod(std::nullopt);
        pass(with_mark ? 1s : 5s);
        tell_pod(60s);
        EXPECT_EQ(evacuations->followed().at("p1").machine().stop_by(),
                  marked_at + (with_mark ? 35s : 15s));
    }
}

/// The kubelet and the agent do not look in the same moment.
TEST_F(EvacuationTimeTest, WhatTheKubeletGivesCountsThoughItIsSeenALittleLater) {
    std::optional<std::chrono::seconds> gives;
    evacuations = std::make_unique<Evacuations>(
        Evacuations::Options{.node = "n1", .kubelet_grace = [&gives](auto) { return gives; }},
        clock, *metrics, [] {});
    hear_rules();
    vm("a");
    say("p1", marked("a"));
    turn();
    const auto& machine = evacuations->followed().at("p1").machine();
    const auto marked_at = clock.steady();
    EXPECT_EQ(machine.stop_by(), marked_at + 35s);

    pass(5s);
    gives = 25s;
    turn();
    EXPECT_EQ(machine.stop_by(), marked_at + 15s);
    gives = std::nullopt;
    turn();
    EXPECT_EQ(machine.stop_by(), marked_at + 15s) << "what it began it goes on with";

    pass(20s);
    say("p2", marked("b"));
    vm("b");
    turn();
    pass(20s);
    gives = 5s;
    turn();
    EXPECT_EQ(evacuations->followed().at("p2").machine().stop_by(), marked_at + 25s + 35s)
        << "what began long ago is no eviction of now";
}

/// After evacuations that failed KubeVirt begins the next one when it may be too late; not so what
/// somebody makes himself (dossier §6.5).
TEST_F(EvacuationTimeTest, WhereKubeVirtWouldWaitTooLongAMigrationOfOursIsMade) {
    struct Row {
        const char* what;
        std::optional<std::chrono::seconds> next_evacuation;  ///< from now on
        migration::EvictionStrategy strategy;
        const char* asked;
        const char* not_asked;
    };
    using migration::EvictionStrategy;
    const std::vector<Row> rows{
        {"nothing failed", std::nullopt, EvictionStrategy::live_migrate, "evict", "create-move"},
        {"the wait is over", -5s, EvictionStrategy::live_migrate, "evict", "create-move"},
        {"it ends in time", 5s, EvictionStrategy::live_migrate, "evict", "create-move"},
        {"it does not", 150s, EvictionStrategy::live_migrate, "create-move", "evict"},
        {"its owner moves it himself", 150s, EvictionStrategy::external, "evict", "create-move"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.what);
        cluster.clear();
        domains.clear();
        steps.clear();
        start_agent();
        hear_rules();
        vm("a").vmi.facts.strategy = row.strategy;
        say("p1", marked("a"));
        turn();
        EvacuationFacts facts{.vmi_uid = "uid-a", .slots = 2};
        if (row.next_evacuation) {
            facts.next_evacuation = clock.wall() + *row.next_evacuation;
        }
        evacuations->take(facts);
        settle();
        EXPECT_THAT(steps, Contains(row.asked));
        EXPECT_THAT(steps, Not(Contains(row.not_asked)));
    }
}

/// The mark of the one that failed is still there, and the next one waits in Pending.
TEST_F(EvacuationTimeTest, WhereTheEvacuationThatIsThereWaitsTooLongOneOfOursTakesItsPlace) {
    for (const bool in_time : {true, false}) {
        SCOPED_TRACE(in_time);
        cluster.clear();
        domains.clear();
        steps.clear();
        start_agent();
        hear_rules();
        auto& one = vm("a");
        one.vmi.facts.marked_node = "n1";
        one.moves = {{.name = "failed", .phase = migration::MovePhase::failed, .backs_off = true},
                     {.name = "next", .phase = migration::MovePhase::pending, .backs_off = true}};
        say("p1", marked("a"));
        turn();
        const auto next = clock.wall() + (in_time ? 5s : 80s);
        for (int i = 0; i < 4; ++i) {
            evacuations->heard_leader();
            evacuations->take(EvacuationFacts{.vmi_uid = "uid-a",
                                              .vmi = one.vmi,
                                              .moves = one.moves,
                                              .slots = 2,
                                              .next_evacuation = next});
            settle();
        }
        EXPECT_EQ(allowed("a"), false);
        EXPECT_EQ(state_of("p1"), "moving") << reason_of("p1");
        if (in_time) {
            EXPECT_THAT(steps, ElementsAre("read-vmi"));
            EXPECT_EQ(one.vmi.facts.marked_node, "n1");
        } else {
            EXPECT_THAT(steps,
                        ElementsAre("read-vmi", "cancel-mark", "delete-move", "create-move"));
            EXPECT_THAT(reason_of("p1"), HasSubstr("migration ours-2 is under way"));
        }
    }
}

/// What the assumed link would do in time the real one does not.
TEST_F(EvacuationTimeTest, OneThatRunsIsJudgedByTheSpeedThatItHas) {
    constexpr std::uint64_t megabyte = 1'000'000;
    for (const bool fast : {true, false}) {
        SCOPED_TRACE(fast);
        numbers = {};
        cluster.clear();
        domains.clear();
        start_agent();
        hear_rules();
        vm("a").moves = {{.name = "m", .phase = migration::MovePhase::running}};
        auto domain = marked("a");
        domain.memory_kib = std::uint64_t{8} << 20U;
        say("p1", domain);
        settle();
        tell("a");
        settle();
        numbers.rss_kib = domain.memory_kib;
        numbers.job.memory_bps = (fast ? 900 : 100) * megabyte;
        for (std::uint64_t remaining = 8000 * megabyte; remaining > 7600 * megabyte;
             remaining -= 100 * megabyte) {
            EXPECT_EQ(state_of("p1"), "moving");
            numbers.job.data_remaining = remaining;
            evacuations->measured("p1", numbers);
            live(2s);
        }
        EXPECT_EQ(state_of("p1") == "moving", fast) << reason_of("p1");
    }
}

}  // namespace
}  // namespace scout::agent
