// SPDX-License-Identifier: Apache-2.0
#include "migration/cause.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "migration/cause_words.h"
#include "tests/migration/cause_fixture.h"

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

CauseFacts disrupted(std::string reason, std::string message = {}) {
    auto facts = launcher("Failed");
    facts.disruption = std::move(reason);
    facts.disruption_message = std::move(message);
    return facts;
}

struct CauseCase {
    std::string name;
    CauseFacts facts;
    Cause cause{};
    std::string resource;
    bool certain = true;
};

const std::vector<CauseCase> told_by_the_pod{
    {"case 15",
     launcher("Failed", "Evicted",
              "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, "
              "available: 900Mi. "),
     Cause::node_pressure, "ephemeral-storage"},
    {"older kubelet",
     launcher("Failed", "Evicted",
              "The node was low on resource: memory. Container compute was using 2Gi, which "
              "exceeds its request of 1Gi. "),
     Cause::node_pressure, "memory"},
    {"refused under pressure",
     launcher("Failed", "Evicted", "The node had condition: [DiskPressure]. "),
     Cause::node_pressure, "ephemeral-storage"},
    {"emptyDir",
     launcher("Failed", "Evicted",
              "Usage of EmptyDir volume \"container-disks\" exceeds the limit \"10Mi\". "),
     Cause::own_limit, "emptyDir container-disks"},
    {"container",
     launcher("Failed", "Evicted",
              "Container compute exceeded its local ephemeral storage limit \"50M\". "),
     Cause::own_limit, "ephemeral-storage"},
    {"pod",
     launcher("Failed", "Evicted",
              "Pod ephemeral local storage usage exceeds the total limit of containers 60M. "),
     Cause::own_limit, "ephemeral-storage"},
    {"words of nobody", launcher("Failed", "Evicted", "because"), Cause::node_pressure, "", false},
    {"critical pod", launcher("Failed", "Preempting", "Preempted in order to admit critical pod"),
     Cause::preemption, ""},
    {"shutdown",
     launcher("Failed", "Terminated", "Pod was terminated in response to imminent node shutdown."),
     Cause::node_shutdown, ""},
    {"refused in shutdown",
     launcher("Failed", "NodeShutdown", "Pod was rejected as the node is shutting down."),
     Cause::node_shutdown, ""},
    {"case 17", launcher("Failed", "NodeAffinity", "Pod was rejected: Predicate NodeAffinity"),
     Cause::kubelet_readmission, ""},
    {"no room left", launcher("Failed", "OutOfcpu", "Node didn't have enough resource: cpu"),
     Cause::kubelet_readmission, ""},
    {"deadline", launcher("Failed", "DeadlineExceeded", "Pod was active too long"), Cause::unknown,
     "", false}};

std::vector<CauseCase> told_by_the_api() {
    auto drain = disrupted("EvictionByEvictionAPI", "Eviction API: evicting");
    drain.pod_phase = "Running";
    drain.pod_deleting = true;
    auto removed = disrupted("DeletionByPodGC", "PodGC: node no longer exists");
    removed.node_there = false;
    auto made_anew = removed;
    made_anew.node_there = true;
    auto deleted = launcher("Running");
    deleted.pod_deleting = deleted.vmi_deleting = true;
    deleted.vmi_deleted_at = noon;
    auto vmi_gone = launcher("Running");
    vmi_gone.pod_deleting = true;
    vmi_gone.vmi_there = false;
    auto pod_only = launcher("Running");
    pod_only.pod_deleting = true;
    return {{"drain", drain, Cause::api_eviction, ""},
            {"scheduler", disrupted("PreemptionByScheduler"), Cause::preemption, ""},
            {"taint", disrupted("DeletionByTaintManager"), Cause::taint, ""},
            {"taint of a device",
             disrupted("DeletionByDeviceTaintManager",
                       "Device Taint manager: deleting due to NoExecute taint"),
             Cause::taint, ""},
            {"critical pod",
             disrupted("TerminationByKubelet",
                       "Pod was preempted by Kubelet to accommodate a critical pod."),
             Cause::preemption, ""},
            {"shutdown",
             disrupted("TerminationByKubelet",
                       "Pod was terminated in response to imminent node shutdown."),
             Cause::node_shutdown, ""},
            {"garbage", disrupted("DeletionByPodGC", "PodGC: unscheduled"),
             Cause::garbage_collection, ""},
            {"node removed", removed, Cause::node_removed, ""},
            {"node made anew", made_anew, Cause::node_removed, "", false},
            {"kubelet", disrupted("TerminationByKubelet", "The node was low on resource: pids. "),
             Cause::node_pressure, "pids"},
            {"owner", deleted, Cause::owner_delete, ""},
            {"owner, VMI gone", vmi_gone, Cause::owner_delete, "", false},
            {"pod deleted by hand", pod_only, Cause::unknown, "", false}};
}

std::vector<CauseCase> told_by_events() {
    const auto failed = launcher("Failed");
    return {
        {"evicted, still in its grace",
         with_event(launcher("Running"), {.reason = "Evicted",
                                          .message = "The node was low on resource: memory. ",
                                          .starved = "memory"}),
         Cause::node_pressure, "memory"},
        {"preempted", with_event(failed, {.reason = "Preempted", .message = "by pod x"}),
         Cause::preemption, ""},
        {"taint",
         with_event(failed, {.reason = "TaintManagerEviction",
                             .message = "Marking for deletion Pod shop/p"}),
         Cause::taint, ""},
        {"taint of a device",
         with_event(failed,
                    {.reason = "DeviceTaintManagerEviction", .message = "Marking for deletion"}),
         Cause::taint, ""},
        {"taint that was taken off",
         with_event(failed, {.reason = "TaintManagerEviction",
                             .message = "Cancelling deletion of Pod shop/p"}),
         Cause::unknown, "", false},
        {"critical pod",
         with_event(launcher("Running"), {.reason = "Preempting",
                                          .message = "Preempted in order to admit critical pod"}),
         Cause::preemption, ""}};
}

std::vector<CauseCase> told_by_probes_and_nodes() {
    const auto failed = launcher("Failed");
    return {{"probe that is final",
             with_event(failed, {.reason = "Killing",
                                 .message = "Container compute failed liveness probe"}),
             Cause::liveness, ""},
            {"probe",
             with_event(failed, {.reason = "Killing",
                                 .message = "Container compute failed liveness probe, will be "
                                            "restarted"}),
             Cause::liveness, ""},
            {"probe that failed",
             with_event(failed, {.reason = "Unhealthy", .message = "Liveness probe failed: x"}),
             Cause::liveness, "", false},
            {"threshold",
             with_event(failed, {.on = EventOn::node,
                                 .reason = "EvictionThresholdMet",
                                 .message = "Attempting to reclaim memory"}),
             Cause::node_pressure, "memory", false},
            {"node shuts down", with_event(failed, {.on = EventOn::node, .reason = "NodeShutdown"}),
             Cause::node_shutdown, "", false}};
}

std::vector<CauseCase> told_by_containers() {
    auto limited = launcher("Failed");
    limited.ends = {{.name = "compute",
                     .exit_code = 137,
                     .reason = "OOMKilled",
                     .memory_limit = true,
                     .at = noon}};
    auto unlimited = limited;
    unlimited.ends[0].memory_limit = false;
    auto quiet = launcher("Succeeded");
    quiet.vmi_phase = "Succeeded";
    quiet.ends = {{.name = "compute", .exit_code = 0, .reason = "Completed", .at = noon}};
    auto no_events = quiet;
    no_events.events_known = false;
    auto pressed = quiet;
    pressed.node_pressures = {"MemoryPressure"};
    auto crashed = launcher("Failed");
    crashed.vmi_phase = "Failed";
    crashed.ends = {{.name = "compute", .exit_code = 1, .reason = "Error", .at = noon}};
    auto restarted = crashed;
    restarted.pod_reason = "Evicted";
    restarted.pod_message = "The node was low on resource: memory. ";
    restarted.vmi_deleting = true;
    restarted.vmi_deleted_at = noon + 2s;
    auto lost = launcher("Running");
    lost.pod_deleting = true;
    lost.node_there = false;
    return {{"own memory", limited, Cause::own_limit, "memory"},
            {"the node's memory", unlimited, Cause::node_pressure, "memory", false},
            {"guest", quiet, Cause::guest_shutdown, ""},
            {"guest, no events", no_events, Cause::guest_shutdown, "", false},
            {"guest on a pressed node", pressed, Cause::guest_shutdown, "", false},
            {"crashed", crashed, Cause::unknown, "", false},
            {"VMI deleted after the end", restarted, Cause::node_pressure, "memory"},
            {"no node", lost, Cause::node_removed, "", false}};
}

void expect_causes(const std::vector<CauseCase>& cases) {
    for (const auto& each : cases) {
        const auto answer = find_cause(each.facts);

        ASSERT_TRUE(answer.cause) << each.name;
        EXPECT_EQ(to_string(*answer.cause), to_string(each.cause)) << each.name;
        EXPECT_EQ(answer.resource, each.resource) << each.name;
        EXPECT_EQ(answer.certain, each.certain)
            << each.name << testing::PrintToString(answer.evidence);
        EXPECT_FALSE(answer.evidence.empty()) << each.name;
    }
}

TEST(CauseTest, PodSaysWhatTheKubeletDid) {
    expect_causes(told_by_the_pod);
}

TEST(CauseTest, DisruptionAndDeletionSayWhatTheApiDid) {
    expect_causes(told_by_the_api());
}

TEST(CauseTest, EventsSayItWhileThePodDoesNotYet) {
    expect_causes(told_by_events());
    expect_causes(told_by_probes_and_nodes());
}

TEST(CauseTest, ContainersAndTheVmiSayTheRest) {
    expect_causes(told_by_containers());
}

TEST(CauseTest, KubeletThatWasRestartedIsSeenByItsLabelToo) {
    auto facts = launcher("Failed", "NodeAffinity");
    facts.node_closed = true;

    EXPECT_THAT(find_cause(facts).evidence, Contains(HasSubstr("kubevirt.io/schedulable")));
}

/// Of kubelets 1.30 to 1.36.
TEST(CauseTest, EveryRefusalOfAKubeletIsReadmission) {
    for (const auto* reason : {"NodeAffinity",
                               "NodeName",
                               "NodePorts",
                               "TaintToleration",
                               "OutOfcpu",
                               "OutOfmemory",
                               "OutOfephemeral-storage",
                               "OutOfpods",
                               "OutOfdevices.kubevirt.io/kvm",
                               "UnexpectedAdmissionError",
                               "UnexpectedPredicateFailureType",
                               "UnknownReason",
                               "TopologyAffinityError",
                               "SMTAlignmentError",
                               "InvalidNodeInfo",
                               "AppArmor",
                               "SysctlForbidden",
                               "PodOSSelectorNodeLabelDoesNotMatch",
                               "PodOSNotSupported",
                               "InitContainerRestartPolicyForbidden",
                               "SupplementalGroupsPolicyNotSupported",
                               "PodLevelResourcesNotSupported",
                               "PodFeatureUnsupported",
                               "VolumeAttachmentLimitExceeded"}) {
        const auto answer = find_cause(launcher("Failed", reason, "Pod was rejected"));
        EXPECT_EQ(answer.cause, Cause::kubelet_readmission) << reason;
        EXPECT_TRUE(answer.certain) << reason;
    }
    EXPECT_EQ(find_cause(launcher("Failed", "DeadlineExceeded")).cause, Cause::unknown);
}

TEST(CauseTest, AShutdownThatWasCancelledIsNone) {
    auto facts =
        with_event(launcher("Failed"), {.on = EventOn::node,
                                        .reason = "NodeShutdown",
                                        .message = "Shutdown manager detected shutdown event"});
    EXPECT_EQ(find_cause(facts).cause, Cause::node_shutdown);

    facts = with_event(std::move(facts),
                       {.on = EventOn::node,
                        .reason = "NodeShutdown",
                        .message = "Shutdown manager detected shutdown cancellation"});
    EXPECT_EQ(find_cause(facts).cause, Cause::unknown);
}

TEST(CauseTest, WhatContradictsIsSaidAndNotCertain) {
    auto facts = launcher("Failed", "Evicted", "The node was low on resource: memory. ");
    facts.disruption = "EvictionByEvictionAPI";

    const auto answer = find_cause(facts);

    EXPECT_EQ(answer.cause, Cause::node_pressure);
    EXPECT_FALSE(answer.certain);
    EXPECT_THAT(answer.evidence, Contains(HasSubstr("contradiction")));
}

/// A probe fails before the kubelet kills for it, a threshold is met before it evicts.
TEST(CauseTest, WhatDecidesIsToldFirst) {
    auto facts = with_event(launcher("Failed"), {.on = EventOn::node,
                                                 .reason = "EvictionThresholdMet",
                                                 .message = "Attempting to reclaim memory"});
    facts.events.push_back(
        {.reason = "Evicted", .message = "The node was low on resource: memory. "});
    EXPECT_THAT(find_cause(facts).evidence.front(), HasSubstr("pod event Evicted"));

    auto stopped = launcher("Failed", "DeadlineExceeded", "Pod was active too long");
    stopped.node_pressures = {"DiskPressure"};
    EXPECT_THAT(find_cause(stopped).evidence.front(), HasSubstr("has DiskPressure"));
}

TEST(CauseTest, OwnersDeletionComesBeforeWhatFollowed) {
    auto facts = disrupted("EvictionByEvictionAPI");
    facts.disrupted_at = noon + 5s;
    facts.vmi_deleting = true;
    facts.vmi_deleted_at = noon;
    EXPECT_EQ(find_cause(facts).cause, Cause::owner_delete);

    facts.vmi_deleted_at = noon + 9s;
    EXPECT_EQ(find_cause(facts).cause, Cause::api_eviction);
    EXPECT_FALSE(find_cause(facts).certain);
}

TEST(CauseTest, NothingEndsWhatRunsOrMovedAway) {
    auto running = launcher("Running");
    running.node_pressures = {"DiskPressure"};
    const auto alive = find_cause(running);
    EXPECT_EQ(alive.cause, std::nullopt);
    EXPECT_FALSE(alive.ended);
    EXPECT_THAT(alive.evidence, Contains("node n1 has DiskPressure (has not ended it)"));

    auto left = launcher("Succeeded");
    left.moved_to = "n2";
    const auto moved = find_cause(left);
    EXPECT_EQ(moved.cause, std::nullopt);
    EXPECT_TRUE(moved.ended);
    EXPECT_THAT(moved.evidence, Contains(HasSubstr("n2")));

    left.pod_reason = "Evicted";
    left.pod_message = "The node was low on resource: memory. ";
    EXPECT_EQ(find_cause(left).cause, Cause::node_pressure);
}

/// Its VMI runs on elsewhere: it left, whatever is known of how.
TEST(CauseTest, ALauncherThatItsVmLeftHasNoCause) {
    auto left = launcher("Succeeded");
    left.ends = {{.name = "compute", .exit_code = 0, .reason = "Completed", .at = noon}};
    EXPECT_EQ(find_cause(left).cause, Cause::guest_shutdown);

    left.runs_on = "n2";
    EXPECT_EQ(find_cause(left).cause, std::nullopt);
    EXPECT_TRUE(find_cause(left).ended);
    EXPECT_EQ(find_cause(left).evidence.front(), "its VM runs on node n2") << "it decides";
}

TEST(CauseTest, WhatRunsOnANodeThatIsGoneIsLost) {
    auto lost = launcher("Running");
    lost.node_there = false;
    EXPECT_EQ(find_cause(lost).cause, Cause::node_removed);
    EXPECT_FALSE(find_cause(lost).certain);

    lost.nodes_known = false;
    EXPECT_EQ(find_cause(lost).cause, std::nullopt);
}

TEST(CauseTest, NothingKnownIsUnknown) {
    const auto answer = find_cause({});

    EXPECT_EQ(answer.cause, Cause::unknown);
    EXPECT_FALSE(answer.certain);
    EXPECT_THAT(answer.evidence, Contains(HasSubstr("no Events")));
}

TEST(CauseTest, WhatEndedUnseenIsUnknownOnlyWhileNothingElseIsTold) {
    auto facts = launcher("Running");
    facts.unseen = "an earlier one ended";
    EXPECT_EQ(find_cause(facts).cause, Cause::unknown);
    EXPECT_FALSE(find_cause(facts).certain);
    EXPECT_FALSE(find_cause(facts).ended);
    EXPECT_EQ(find_cause(facts).evidence.front(), "an earlier one ended");

    facts.disruption = "EvictionByEvictionAPI";
    EXPECT_EQ(find_cause(facts).cause, Cause::api_eviction);

    facts.disruption.clear();
    facts.moved_to = "n2";
    EXPECT_EQ(find_cause(facts).cause, std::nullopt) << "it left";
}

TEST(CauseTest, WhatMayHaveEndedUnseenLeavesNoCauseAndNoCertainty) {
    auto facts = launcher("Running");
    facts.perhaps_unseen = "an end before would not be seen";
    EXPECT_EQ(find_cause(facts).cause, std::nullopt);
    EXPECT_FALSE(find_cause(facts).certain);
    EXPECT_EQ(find_cause(facts).evidence.front(), "an end before would not be seen");

    facts.runs_on = "n2";
    EXPECT_TRUE(find_cause(facts).certain) << "it left";
}

TEST(CauseTest, WordsOfOldKubelets) {
    EXPECT_EQ(kubelet_words("The node was low on resource: nodefsInodes.")->resource, "inodes");
    EXPECT_EQ(kubelet_words("The node was low on resource: imagefs.")->resource,
              "ephemeral-storage");
    EXPECT_EQ(kubelet_words("The node had condition: [PIDPressure]. ")->resource, "pids");
    EXPECT_FALSE(kubelet_words("The node was happy"));
    EXPECT_EQ(kubelet_words("The node was low on resource: ")->resource, "");
    EXPECT_EQ(kubelet_words("Usage of EmptyDir volume ")->resource, "emptyDir");
}

}  // namespace
}  // namespace scout::migration
