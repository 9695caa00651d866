// SPDX-License-Identifier: Apache-2.0
// Whose deletion it was, and whose end.
#include <gmock/gmock.h>

#include "migration/cause.h"
#include "tests/migration/cause_fixture.h"

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

/// KubeVirt deletes the VMI of a VM that shall run as soon as it is final, before its launcher
/// ends.
TEST(CauseOwnerTest, DeletionOfAVmiThatIsFinalIsNotItsOwners) {
    auto off = launcher("Succeeded");
    off.vmi_phase = "Succeeded";
    off.vmi_ended_at = noon;
    off.vmi_controlled = true;
    off.vmi_deleting = true;
    off.vmi_deleted_at = noon;
    off.pod_deleting = true;
    off.pod_deleted_at = noon + 1s;
    off.ends = {{.name = "compute", .exit_code = 0, .reason = "Completed", .at = noon + 1s}};
    EXPECT_EQ(find_cause(off).cause, Cause::guest_shutdown);
    EXPECT_FALSE(find_cause(off).certain) << "its owner may have asked for no grace";
    off.vmi_deleted_at = noon + 6s;
    EXPECT_THAT(find_cause(off).evidence, Contains(HasSubstr("after the guest had ended")));

    auto evicted = launcher("Failed", "Evicted", "The node was low on resource: memory. ");
    evicted.disruption = "TerminationByKubelet";
    evicted.disruption_message = evicted.pod_message;
    evicted.disrupted_at = noon + 22s;  // dated anew when all containers had ended
    evicted.vmi_phase = "Succeeded";
    evicted.vmi_ended_at = noon + 20s;
    evicted.vmi_controlled = true;
    evicted.vmi_deleting = true;
    evicted.vmi_deleted_at = noon + 20s;
    EXPECT_EQ(find_cause(evicted).cause, Cause::node_pressure);
    EXPECT_EQ(find_cause(evicted).resource, "memory");
    EXPECT_TRUE(find_cause(evicted).certain);

    evicted.vmi_deleted_at = noon;  // its guest was asked to stop by that
    EXPECT_EQ(find_cause(evicted).cause, Cause::owner_delete);
}

/// Its VMI was deleted at noon, and its pod with it.
CauseFacts deleted_at_noon(WallTime ended, std::string phase = "Succeeded") {
    auto facts = launcher(phase);
    facts.vmi_phase = std::move(phase);
    facts.vmi_ended_at = ended;
    facts.vmi_deleting = facts.pod_deleting = true;
    facts.vmi_deleted_at = facts.pod_deleted_at = noon;
    return facts;
}

/// The end is dated by another clock than the deletion.
TEST(CauseOwnerTest, WithinSecondsTheOrderProvesNothing) {
    struct Case {
        std::chrono::seconds after;
        Cause controlled{};
        bool certain = false;
        Cause alone{};
        bool alone_certain = false;
    };
    for (const auto& each : {Case{-6s, Cause::guest_shutdown, true, Cause::guest_shutdown, true},
                             Case{-5s, Cause::guest_shutdown, false, Cause::guest_shutdown, false},
                             Case{0s, Cause::guest_shutdown, false, Cause::owner_delete, true},
                             Case{2s, Cause::owner_delete, false, Cause::owner_delete, true},
                             Case{5s, Cause::owner_delete, false, Cause::owner_delete, true},
                             Case{6s, Cause::owner_delete, true, Cause::owner_delete, true}}) {
        auto facts = deleted_at_noon(noon + each.after);
        EXPECT_EQ(find_cause(facts).cause, each.alone) << each.after.count();
        EXPECT_EQ(find_cause(facts).certain, each.alone_certain) << each.after.count();
        facts.vmi_controlled = true;
        EXPECT_EQ(find_cause(facts).cause, each.controlled) << each.after.count();
        EXPECT_EQ(find_cause(facts).certain, each.certain) << each.after.count();
        facts.node_pressures = {"MemoryPressure"};
        EXPECT_EQ(find_cause(facts).cause, each.controlled) << each.after.count();
    }
}

/// KubeVirt deletes the VMI of what its node killed in the same second, too.
TEST(CauseOwnerTest, ADeletionWithTheEndOfWhatCrashedIsNoCause) {
    auto facts = deleted_at_noon(noon, "Failed");
    EXPECT_EQ(find_cause(facts).cause, Cause::owner_delete);
    EXPECT_TRUE(find_cause(facts).certain) << "nobody else deletes it";

    facts.vmi_controlled = true;
    EXPECT_EQ(find_cause(facts).cause, Cause::unknown);
    facts.vmi_ended_at = noon + 2s;
    EXPECT_EQ(find_cause(facts).cause, Cause::owner_delete);
    EXPECT_FALSE(find_cause(facts).certain);
}

TEST(CauseOwnerTest, TheEarliestWordOfWhoEndedItCounts) {
    auto facts = launcher("Failed", "Evicted", "The node was low on resource: memory. ");
    facts.disruption = "TerminationByKubelet";
    facts.disruption_message = facts.pod_message;
    facts.disrupted_at = noon + 20s;
    facts.vmi_deleting = true;
    facts.vmi_deleted_at = noon + 10s;
    facts.vmi_ended_at = noon + 19s;
    EXPECT_EQ(find_cause(facts).cause, Cause::owner_delete);

    facts = with_event(
        std::move(facts),
        {.reason = "Evicted", .message = "The node was low on resource: memory. ", .at = noon});
    EXPECT_EQ(find_cause(facts).cause, Cause::node_pressure);
    EXPECT_FALSE(find_cause(facts).certain);
}

TEST(CauseOwnerTest, APodThatSomebodyDeletedIsNotItsVmsEnd) {
    auto facts = launcher("Succeeded");
    facts.vmi_phase = "Succeeded";
    facts.pod_deleting = true;
    facts.pod_deleted_at = noon;
    facts.vmi_ended_at = noon + 20s;
    facts.vmi_controlled = true;
    facts.vmi_deleting = true;
    facts.vmi_deleted_at = noon + 20s;
    EXPECT_EQ(find_cause(facts).cause, Cause::unknown);
    EXPECT_THAT(find_cause(facts).evidence, Contains(HasSubstr("deleted the pod itself")));
}

/// As after a power-off, but for the word.
CauseFacts crashed(std::string pod_phase, std::int64_t exit_code) {
    auto facts = with_event(launcher(std::move(pod_phase)),
                            {.on = EventOn::vmi,
                             .reason = "Stopped",
                             .message = "The VirtualMachineInstance crashed."});
    facts.vmi_phase = "Failed";
    facts.ends = {{.name = "compute", .exit_code = exit_code, .reason = "Error", .at = noon}};
    return facts;
}

TEST(CauseOwnerTest, AGuestThatCrashedEndedByItselfIfItsLauncherEndedWell) {
    const auto answer = find_cause(crashed("Succeeded", 0));
    EXPECT_EQ(answer.cause, Cause::guest_shutdown);
    EXPECT_FALSE(answer.certain);
    EXPECT_EQ(find_cause(crashed("Failed", 0)).cause, Cause::guest_shutdown) << "a side container";

    auto silent = crashed("Succeeded", 0);
    silent.events.clear();
    EXPECT_EQ(find_cause(silent).cause, Cause::guest_shutdown);
    EXPECT_FALSE(find_cause(silent).certain) << "its VMI is Failed";
}

/// As by a node that was reset: the kubelet finds the container dead.
TEST(CauseOwnerTest, WhatKubeVirtCallsACrashMayBeTheEndOfItsLauncher) {
    auto facts = crashed("Failed", 255);
    facts.events.push_back({.on = EventOn::node,
                            .reason = "Rebooted",
                            .message = "Node n1 has been rebooted, boot id: 4d2c"});
    const auto answer = find_cause(facts);
    EXPECT_EQ(answer.cause, Cause::unknown);
    EXPECT_FALSE(answer.certain);
    EXPECT_THAT(answer.evidence, Contains(HasSubstr("said of a launcher that was lost")));
    EXPECT_THAT(answer.evidence, Contains(HasSubstr("node event Rebooted")));

    auto gone = crashed("", 0);
    gone.pod_there = gone.vmi_there = false;
    gone.ends.clear();
    EXPECT_EQ(find_cause(gone).cause, Cause::unknown);
}

TEST(CauseOwnerTest, ACrashIsNoMoreThanWhatElseMayHaveEndedIt) {
    const CauseEvent probe{.reason = "Unhealthy", .message = "Liveness probe failed: timeout"};
    EXPECT_EQ(find_cause(with_event(crashed("Failed", 137), probe)).cause, Cause::liveness);
    EXPECT_EQ(find_cause(with_event(crashed("Succeeded", 0), probe)).cause, Cause::liveness);

    auto killed = crashed("Failed", 137);
    killed.ends[0].reason = "OOMKilled";
    EXPECT_EQ(find_cause(killed).cause, Cause::node_pressure);
    EXPECT_EQ(find_cause(killed).resource, "memory");
}

/// The pod runs on without it.
TEST(CauseOwnerTest, AContainerBesideTheLauncherEndsNone) {
    const ContainerEnd killed{.name = "volumedisk0",
                              .exit_code = 137,
                              .reason = "OOMKilled",
                              .memory_limit = true,
                              .at = noon - 60min};
    auto running = launcher("Running");
    running.ends = {killed};
    EXPECT_EQ(find_cause(running).cause, std::nullopt);

    auto stopped = launcher("Failed");
    stopped.ends = {killed};
    stopped.vmi_deleting = true;
    stopped.vmi_deleted_at = noon;
    EXPECT_EQ(find_cause(stopped).cause, Cause::owner_delete);
    EXPECT_TRUE(find_cause(stopped).certain);
}

}  // namespace
}  // namespace scout::migration
