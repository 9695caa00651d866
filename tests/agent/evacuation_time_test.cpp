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
    evacuations->node_shuts_down(std::nullopt);
    say("pb", marked("b"));
    settle();
    EXPECT_EQ(allowed("b"), false);
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
    launcher::DomainStats stats;
    stats.rss_kib = std::uint64_t{100} << 20U;
    evacuations->measured("p1", stats);
    settle();
    EXPECT_EQ(allowed("a"), true);
    EXPECT_THAT(reason_of("p1"), HasSubstr("needs 87"));
    EXPECT_THAT(steps, testing::Not(Contains("evict")));
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
        launcher::DomainStats stats;
        stats.rss_kib = std::uint64_t{1} << 20U;
        stats.dirty_mib_s = 100'000;
        evacuations->measured("p1", stats);
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

TEST_F(EvacuationTimeTest, OddNumbersOfALauncherOverflowNothing) {
    hear_rules();
    vm("a");
    auto domain = marked("a");
    domain.memory_kib = ~std::uint64_t{0};
    say("p1", domain);
    settle();
    launcher::DomainStats stats;
    stats.rss_kib = stats.dirty_mib_s = ~std::uint64_t{0};
    stats.job.data_remaining = stats.job.dirty_pages = ~std::uint64_t{0};
    evacuations->measured("p1", stats);
    settle();
    EXPECT_EQ(allowed("a"), true);
}

}  // namespace
}  // namespace scout::agent
