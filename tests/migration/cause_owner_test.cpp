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
    off.vmi_deleting = true;
    off.vmi_deleted_at = noon;
    off.pod_deleting = true;
    off.pod_deleted_at = noon + 1s;
    off.ends = {{.name = "compute", .exit_code = 0, .reason = "Completed", .at = noon + 1s}};
    EXPECT_EQ(find_cause(off).cause, Cause::guest_shutdown);
    EXPECT_THAT(find_cause(off).evidence, Contains(HasSubstr("after the guest had ended")));

    auto evicted = launcher("Failed", "Evicted", "The node was low on resource: memory. ");
    evicted.disruption = "TerminationByKubelet";
    evicted.disruption_message = evicted.pod_message;
    evicted.disrupted_at = noon + 22s;  // dated anew when all containers had ended
    evicted.vmi_phase = "Succeeded";
    evicted.vmi_ended_at = noon + 20s;
    evicted.vmi_deleting = true;
    evicted.vmi_deleted_at = noon + 20s;
    EXPECT_EQ(find_cause(evicted).cause, Cause::node_pressure);
    EXPECT_EQ(find_cause(evicted).resource, "memory");
    EXPECT_TRUE(find_cause(evicted).certain);

    evicted.vmi_deleted_at = noon;  // its guest was asked to stop by that
    EXPECT_EQ(find_cause(evicted).cause, Cause::owner_delete);
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
    facts.vmi_deleting = true;
    facts.vmi_deleted_at = noon + 20s;
    EXPECT_EQ(find_cause(facts).cause, Cause::unknown);
    EXPECT_THAT(find_cause(facts).evidence, Contains(HasSubstr("deleted the pod itself")));
}

TEST(CauseOwnerTest, AGuestThatCrashedEndedByItself) {
    auto facts = with_event(launcher("Failed"), {.on = EventOn::vmi,
                                                 .reason = "Stopped",
                                                 .message = "The VirtualMachineInstance crashed."});
    facts.vmi_phase = "Failed";
    EXPECT_EQ(find_cause(facts).cause, Cause::guest_shutdown);
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
