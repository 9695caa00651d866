// SPDX-License-Identifier: Apache-2.0
#include "cluster/cause_story.h"

#include <string>

#include <gmock/gmock.h>

#include "tests/support/temporary_folder.h"

namespace scout::cluster {
namespace {

using migration::Cause;
using testing::Contains;
using testing::HasSubstr;

/// VM ns/a on n1, of which each test reads some objects.
class CauseStoryTest : public testing::Test {
protected:
    void add(const std::string& yaml) { folder.write(std::to_string(++files) + ".yaml", yaml); }
    void add_vm(const std::string& created) {
        add("apiVersion: kubevirt.io/v1\nkind: VirtualMachine\n"
            "metadata: {name: a, namespace: ns, uid: vm, creationTimestamp: '" +
            created + "'}\n");
    }
    void add_vmi(const std::string& status = {}) {
        add("apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\n"
            "metadata: {name: a, namespace: ns, uid: a-2, "
            "creationTimestamp: '2026-03-02T03:00:00Z'}\n"
            "status: {phase: Running, nodeName: n1" +
            status + "}\n");
    }
    void add_launcher() {
        add("apiVersion: v1\nkind: Pod\n"
            "metadata: {name: virt-launcher-a-new11, namespace: ns, uid: p2,\n"
            "  creationTimestamp: '2026-03-02T03:00:01Z',\n"
            "  labels: {kubevirt.io: virt-launcher, kubevirt.io/created-by: a-2},\n"
            "  annotations: {kubevirt.io/domain: a}}\n"
            "spec: {nodeName: n1}\nstatus: {phase: Running}\n");
    }
    void add_pressed_node() {
        add("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
            "status: {conditions: [{type: DiskPressure, status: 'True'}]}\n");
    }
    void add_move(const std::string& created, const std::string& phase) {
        add("apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceMigration\n"
            "metadata: {name: m, namespace: ns, uid: m, creationTimestamp: '" +
            created + "'}\nspec: {vmiName: a}\nstatus: {phase: " + phase + "}\n");
    }
    void add_event(const std::string& kind, const std::string& name, const std::string& uid,
                   const std::string& at) {
        add("apiVersion: v1\nkind: Event\nmetadata: {name: e" + std::to_string(files) +
            ", namespace: ns}\ninvolvedObject: {kind: " + kind + ", namespace: ns, name: " + name +
            ", uid: " + uid + "}\nreason: Killing\nmessage: Stopping container compute\n" +
            "lastTimestamp: '" + at + "'\n");
    }
    [[nodiscard]] CauseStory story(const std::string& name = "ns/a") const {
        const auto dump = read_records({folder.path()});
        EXPECT_TRUE(dump) << dump.error().message;
        auto story = find_story(dump->records, name);
        EXPECT_TRUE(story) << story.error().message;
        return story.value_or(CauseStory{});
    }

    test::TemporaryFolder folder;
    int files = 0;
};

TEST_F(CauseStoryTest, NothingEndsWhatRunsAndIsTheFirst) {
    add_vm("2026-03-02T02:59:59Z");
    add_vmi();
    add_launcher();
    add_pressed_node();

    const auto told = story().answer;

    EXPECT_EQ(told.cause, std::nullopt);
    EXPECT_TRUE(told.certain);
    EXPECT_THAT(told.evidence, Contains("node n1 has DiskPressure (has not ended it)"));
}

TEST_F(CauseStoryTest, OfALauncherThatWasNotReadNothingIsKnown) {
    add_vmi();
    add_pressed_node();

    const auto told = story().answer;

    EXPECT_EQ(told.cause, Cause::unknown);
    EXPECT_FALSE(told.certain);
    EXPECT_FALSE(told.ended);
    EXPECT_THAT(told.evidence.front(), HasSubstr("no launcher pod of it is among what was read"));
    EXPECT_THAT(told.evidence.front(), HasSubstr("--aggregator kube:"));
    EXPECT_THAT(told.evidence, Contains("node n1 has DiskPressure"));
}

TEST_F(CauseStoryTest, WhatIsOlderThanTheVmiSaysThatAnotherWasBefore) {
    const auto unseen = [this](const auto& add_sign) {
        files = 0;
        add_vmi();
        add_launcher();
        add_sign();
        const auto told = story().answer;
        return told.cause == Cause::unknown ? told.evidence.front() : "known";
    };
    EXPECT_THAT(unseen([this] { add_move("2026-03-01T10:00:00Z", "Succeeded"); }),
                HasSubstr("VMIM m is older"));
    EXPECT_THAT(
        unseen([this] { add_event("VirtualMachineInstance", "a", "a-1", "2026-03-02T03:00:05Z"); }),
        HasSubstr("an Event Killing (Stopping container compute) is about a VMI before"));
    EXPECT_THAT(
        unseen([this] { add_event("Pod", "virt-launcher-a-old11", "p1", "2026-03-02T02:59:00Z"); }),
        HasSubstr("virt-launcher-a-old11 ended before"));
    EXPECT_EQ(unseen([this] { add_move("2026-03-02T04:00:00Z", "Failed"); }), "known");
    EXPECT_EQ(
        unseen([this] { add_event("VirtualMachineInstance", "a", "a-2", "2026-03-02T03:00:05Z"); }),
        "known");
}

/// It may have been stopped all the time, or have waited for its disks.
TEST_F(CauseStoryTest, AnOlderVmTellsOfNoEarlierLauncher) {
    add_vm("2026-02-01T00:00:00Z");
    add_vmi();
    add_launcher();
    add_pressed_node();

    const auto told = story().answer;

    EXPECT_EQ(told.cause, std::nullopt);
    EXPECT_FALSE(told.certain);
    EXPECT_THAT(told.evidence.front(),
                HasSubstr("an end before this VMI would not be seen, for the VirtualMachine is "
                          "older (2026-02-01T00:00:00Z) than it (2026-03-02T03:00:00Z)"));
    EXPECT_THAT(told.evidence.front(), HasSubstr("--aggregator kube:"));
}

TEST_F(CauseStoryTest, AskedOfTheLauncherThatRunsEarlierOnesDoNotCount) {
    add_vm("2026-02-01T00:00:00Z");
    add_vmi();
    add_launcher();

    EXPECT_EQ(story("virt-launcher-a-new11").answer.cause, std::nullopt);
}

/// Kubernetes cuts what a generated name begins with to 58 characters.
TEST_F(CauseStoryTest, ALauncherOfALongNameIsKnownByItsEventsToo) {
    const std::string fits(43, 'a');
    const std::string cut(50, 'b');
    add_event("Pod", "virt-launcher-" + fits + "-x1y2z", "p1", "2026-03-02T02:00:00Z");
    add_event("Pod", "virt-launcher-" + cut.substr(0, 44) + "x1y2z", "p2", "2026-03-02T02:00:00Z");
    EXPECT_EQ(story("ns/" + fits).vmi, "ns/" + fits);
    EXPECT_EQ(story("ns/" + cut).vmi, "ns/" + cut);
    EXPECT_EQ(story(cut).vmi, "ns/" + cut);
    const auto dump = read_records({folder.path()});
    ASSERT_TRUE(dump);
    EXPECT_FALSE(find_story(dump->records, "other/" + cut));
    EXPECT_FALSE(find_story(dump->records, "ns/" + cut.substr(0, 43)));
}

/// Two VMs whose launchers are called alike; that of the other one was evicted.
class CauseOfLongNamesTest : public CauseStoryTest {
protected:
    CauseOfLongNamesTest() {
        add_one(one, "one-uid", "pod-1", "11111", "Running");
        add_event("2026-03-02T04:00:00Z", "Evicted", "The node was low on resource: memory. ");
    }
    void add_event(const std::string& at, const std::string& reason, const std::string& message) {
        add("apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: ns}\n"
            "involvedObject: {kind: Pod, namespace: ns, name: " +
            pod_name("22222") + ", uid: pod-2}\nreason: " + reason + "\nmessage: '" + message +
            "'\nlastTimestamp: '" + at + "'\n");
    }
    static std::string pod_name(const std::string& suffix) {
        return "virt-launcher-" + std::string(44, 'b') + suffix;
    }
    void add_one(const std::string& vm, const std::string& uid, const std::string& pod,
                 const std::string& suffix, const std::string& phase) {
        add("apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\n"
            "metadata: {name: " +
            vm + ", namespace: ns, uid: " + uid +
            ", creationTimestamp: '2026-03-02T03:00:00Z'}\n"
            "status: {phase: Running, nodeName: n1, activePods: {" +
            pod + ": n1}}\n");
        add("apiVersion: v1\nkind: Pod\nmetadata: {name: " + pod_name(suffix) +
            ", namespace: ns, uid: " + pod +
            ",\n  labels: {kubevirt.io: virt-launcher, kubevirt.io/created-by: " + uid +
            "},\n  annotations: {kubevirt.io/domain: " + vm +
            "}}\nspec: {nodeName: n1}\nstatus: {phase: " + phase + "}\n");
    }

    const std::string one = std::string(50, 'b') + "-1";
    const std::string other = std::string(50, 'b') + "-2";
};

TEST_F(CauseOfLongNamesTest, ALauncherThatIsKnownToBeAnothersDoesNotCount) {
    add_one(other, "two-uid", "pod-2", "22222", "Failed");

    EXPECT_EQ(story("ns/" + one).answer.cause, std::nullopt);
    EXPECT_EQ(story("ns/" + other).answer.cause, Cause::node_pressure);
    EXPECT_TRUE(story("ns/" + other).answer.certain);
    const auto dump = read_records({folder.path()});
    ASSERT_TRUE(dump);
    EXPECT_FALSE(find_story(dump->records, "ns/" + std::string(50, 'b') + "-3"));
}

/// Its pod is gone, and its VM has another one.
TEST_F(CauseOfLongNamesTest, WhoseItWasIsNotCertainIfSeveralMayHaveHadIt) {
    EXPECT_TRUE(story("ns/" + one).answer.certain) << "nobody else is known";

    add_one(other, "two-uid", "pod-3", "33333", "Running");
    const auto told = story("ns/" + one).answer;

    EXPECT_EQ(told.cause, Cause::node_pressure);
    EXPECT_FALSE(told.certain);
    ASSERT_GT(told.evidence.size(), 1U);
    EXPECT_THAT(told.evidence[1], HasSubstr("may have been of VM " + other));
}

/// Whose it was decides whether there was one before this VMI.
TEST_F(CauseOfLongNamesTest, ALauncherThatMayHaveBeenItsOwnBeforeLeavesItOpen) {
    files = 0;  // an hour before this VMI, by nobody knows what
    add_one(one, "one-uid", "pod-1", "11111", "Running");
    add_event("2026-03-02T02:00:00Z", "Killing", "Stopping container compute");
    add_one(other, "two-uid", "pod-3", "33333", "Running");

    const auto told = story("ns/" + one).answer;

    EXPECT_EQ(told.cause, std::nullopt);
    EXPECT_FALSE(told.certain);
    EXPECT_THAT(told.evidence.front(), HasSubstr("may have been its own before"));
}

TEST_F(CauseStoryTest, AMarkIsToldWhileNoMigrationRuns) {
    add_vmi(", evacuationNodeName: n1");
    add_launcher();
    EXPECT_EQ(story().mark, "n1");

    add_move("2026-03-02T04:00:00Z", "Pending");
    EXPECT_EQ(story().mark, "n1") << "it may wait for long";

    add_move("2026-03-02T04:00:00Z", "Scheduling");
    EXPECT_EQ(story().mark, "");
}

TEST_F(CauseStoryTest, WhatVirtScoutWroteOnVmisOfTheNameIsTold) {
    add_vmi();
    const auto add_act = [this](const std::string& uid, const std::string& reporter,
                                const std::string& reason, const std::string& at) {
        add("apiVersion: events.k8s.io/v1\nkind: Event\nmetadata: {name: e" +
            std::to_string(files) +
            ", namespace: ns}\nregarding: {kind: VirtualMachineInstance, namespace: ns, name: a, "
            "uid: " +
            uid + "}\nreportingController: " + reporter + "\nreason: " + reason +
            "\nnote: so it was\neventTime: '" + at + "'\n");
    };
    const std::string own = "virt-scout.io/aggregator";
    add_act("a-1", own, "EvacuationBegan", "2026-03-02T02:50:10.000000Z");
    add_act("a-1", own, "EvacuationGivenUp", "2026-03-02T02:50:15.000000Z");
    add_act("a-2", "virt-controller", "Started", "2026-03-02T03:00:05.000000Z");

    const auto acts = story().acts;

    ASSERT_EQ(acts.size(), 2U);
    EXPECT_EQ(acts[0].reason, "EvacuationGivenUp");
    EXPECT_EQ(rfc3339(acts[0].at), "2026-03-02T02:50:15Z");
    EXPECT_EQ(acts[0].text, "so it was");
    EXPECT_EQ(acts[1].reason, "EvacuationBegan");
    EXPECT_EQ(deed_of("EvacuationGivenUp"), "gave up");
    EXPECT_EQ(deed_of("MigrationRequested"), "");
}

}  // namespace
}  // namespace scout::cluster
