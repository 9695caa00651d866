// SPDX-License-Identifier: Apache-2.0
#include "cluster/records.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "cluster/cause_story.h"
#include "cluster/stuck_moves.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace scout::cluster {
namespace {

using namespace std::chrono_literals;
using migration::Cause;
using migration::StuckState;
using testing::HasSubstr;

RecordDump read(const std::filesystem::path& path) {
    auto dump = read_records({path});
    EXPECT_TRUE(dump) << dump.error().message;
    return std::move(*dump);
}

const migration::StuckAnswer& of(const std::vector<migration::StuckAnswer>& all,
                                 const std::string& vmi) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&vmi](const auto& each) { return each.vmi == vmi; });
    EXPECT_NE(found, all.end()) << vmi;
    return *found;
}

class LiveRecordsTest : public testing::Test {
protected:
    void SetUp() override {
        SCOUT_TEST_DATA_OR_SKIP(data);
        dump = read(data / "kubevirt/live");
    }

    RecordDump dump;
};

TEST_F(LiveRecordsTest, AllKindsAreThereAndTheMomentIsThatOfTheLatest) {
    EXPECT_EQ(dump.records.nodes.size(), 4U);
    EXPECT_EQ(dump.records.vmis.size(), 9U);
    EXPECT_EQ(dump.records.moves.size(), 6U);
    EXPECT_EQ(dump.records.events.size(), 46U);
    EXPECT_FALSE(dump.records.launchers.empty());
    EXPECT_TRUE(dump.left_out.empty());
    EXPECT_EQ(rfc3339(dump.moment), "2026-11-27T23:06:23Z");
}

TEST_F(LiveRecordsTest, WhatIsStuckIsToldAndNothingElse) {
    const auto stuck = stuck_moves(dump.records, dump.moment);

    ASSERT_EQ(stuck.size(), 3U);
    const auto& evac = of(stuck, "shop/evac-1");
    EXPECT_EQ(evac.state, StuckState::being_moved);
    EXPECT_EQ(evac.phase, "PreparingTarget");
    EXPECT_EQ(of(stuck, "shop/ext-1").state, StuckState::external);
    const auto& failed = of(stuck, "shop/stuck-1");
    EXPECT_EQ(failed.state, StuckState::stale_mark);
    EXPECT_EQ(failed.failed, 3U);
    EXPECT_EQ(rfc3339(failed.next_try.value_or(WallTime{})), "2026-11-27T23:07:35Z");
    EXPECT_TRUE(failed.cancel.possible);
}

TEST_F(LiveRecordsTest, HealthyVmsHaveNoCauseAndTheirMovesHaveRequesters) {
    const auto alive = find_story(dump.records, "shop/stuck-1").value();
    EXPECT_EQ(alive.answer.cause, std::nullopt);
    EXPECT_EQ(alive.pod, "virt-launcher-stuck-1-76kkm");
    ASSERT_EQ(alive.moves.size(), 4U);
    EXPECT_EQ(alive.moves[0].name, "kubevirt-evacuation-fgt4l");
    EXPECT_EQ(alive.moves[3].request.requester, migration::Requester::drain);

    const auto left = find_story(dump.records, "virt-launcher-web-2-np9ln").value();
    EXPECT_EQ(left.answer.cause, std::nullopt);
    EXPECT_TRUE(left.answer.ended);
    EXPECT_EQ(left.moves.at(0).request.requester, migration::Requester::user);
}

/// The objects of one small cluster, one file each.
class RecordsTest : public testing::Test {
protected:
    void add(const std::string& json) { folder.write(std::to_string(++files) + ".json", json); }
    void add_node(const std::string& name, const std::string& spec = "{}") {
        add(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name + R"("},"spec":)" +
            spec + "}");
    }
    void add_vmi(const std::string& name, const std::string& status) {
        add(R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":
            {"name":")" +
            name + R"(","namespace":"ns","uid":")" + name +
            R"(-uid"},"spec":{"evictionStrategy":"LiveMigrate"},"status":)" + status + "}");
    }
    void add_move(const std::string& name, const std::string& vmi, const std::string& spec,
                  const std::string& status) {
        add(R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceMigration","metadata":
            {"name":")" +
            name + R"(","namespace":"ns","uid":")" + name +
            R"(-uid","creationTimestamp":"2026-03-02T10:00:00Z"},"spec":{"vmiName":")" + vmi +
            "\"" + spec + R"(},"status":)" + status + "}");
    }
    void add_pod(const std::string& name, const std::string& vmi, const std::string& status,
                 const std::string& meta = {}) {
        add(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
            R"(","namespace":"ns","uid":")" + name + R"(-uid","labels":{"kubevirt.io":
            "virt-launcher","kubevirt.io/created-by":")" +
            vmi + R"(-uid"},"annotations":{"kubevirt.io/domain":")" + vmi + "\"}" + meta +
            R"(},"spec":{"nodeName":"n1"},"status":)" + status + "}");
    }
    /// A launcher that migration `move` has made as its target.
    void add_target(const std::string& name, const std::string& vmi, const std::string& move,
                    const std::string& status, const std::string& spec = {}) {
        add(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
            R"(","namespace":"ns","uid":")" + name + R"(-uid","labels":{"kubevirt.io":
            "virt-launcher","kubevirt.io/created-by":")" +
            vmi + R"(-uid","kubevirt.io/migrationJobUID":")" + move +
            R"(-uid"},"annotations":{"kubevirt.io/domain":")" + vmi + R"("}},"spec":{)" + spec +
            R"(},"status":)" + status + "}");
    }
    void add_event(const std::string& kind, const std::string& name, const std::string& reason,
                   const std::string& message, const std::string& space = "ns") {
        add(R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e)" + std::to_string(files) +
            R"(","namespace":")" + space + R"("},"involvedObject":{"kind":")" + kind +
            R"(","namespace":")" + space + R"(","name":")" + name + R"("},"reason":")" + reason +
            R"(","message":")" + message + R"(","lastTimestamp":"2026-03-02T10:00:00Z"})");
    }
    [[nodiscard]] RecordDump all() const { return read(folder.path()); }
    [[nodiscard]] std::vector<migration::StuckAnswer> stuck() const {
        const auto dump = all();
        return stuck_moves(dump.records, dump.moment + 10min);
    }

    test::TemporaryFolder folder;
    int files = 0;
};

const std::string running =
    R"("phase":"Running","selinuxContext":"none",
       "conditions":[{"type":"LiveMigratable","status":"True"}])";

TEST_F(RecordsTest, DrainTaintAndMissingNodeKeepAMarkFromBeingCancelled) {
    add_node("n1", R"({"taints":[{"key":"kubevirt.io/drain","effect":"NoSchedule"}]})");
    add_vmi("a", R"({"nodeName":"n1","evacuationNodeName":"n1",)" + running + "}");
    add_vmi("b", R"({"nodeName":"n9","evacuationNodeName":"n9",)" + running + "}");

    const auto found = stuck();

    EXPECT_EQ(of(found, "ns/a").state, StuckState::stale_mark);
    EXPECT_THAT(of(found, "ns/a").cancel.reason, HasSubstr("kubevirt.io/drain:NoSchedule"));
    EXPECT_EQ(of(found, "ns/b").state, StuckState::node_gone);
    EXPECT_FALSE(of(found, "ns/b").cancel.possible);
}

TEST_F(RecordsTest, LimitsAreCountedAsKubeVirtCountsThem) {
    add_node("n1");
    for (const auto* name : {"a", "b", "c"}) {
        add_vmi(name, R"({"nodeName":"n1",)" + running + "}");
    }
    add_move("m1", "a", "", R"({"phase":"Running"})");
    add_move("m2", "b", "", R"({"phase":"Scheduling"})");
    add_move("m3", "c", "", R"({"phase":"Pending"})");

    const auto found = stuck();

    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].state, StuckState::queued);
    EXPECT_THAT(found[0].waiting_for, HasSubstr("2 of 2 migrations leave node n1"));
}

TEST_F(RecordsTest, WhatAPendingMigrationWaitsForIsFound) {
    add_node("n1");
    add_vmi("a", R"({"phase":"Running","nodeName":"n1"})");
    add_move("m1", "a", "", R"({"phase":"Pending"})");
    add_vmi("b", R"({"nodeName":"n1","activePods":{"p1-uid":"n1","p2-uid":"n2","gone":"n3"},)" +
                     running + "}");
    add_move("m2", "b", "", R"({"phase":"Pending"})");
    add_pod("p1", "b", R"({"phase":"Running"})");
    add_pod("p2", "b", R"({"phase":"Running"})");
    add_move("m3", "no-vmi", "", R"({"phase":"Pending","conditions":[
        {"type":"migrationRejectedByResourceQuota","status":"True","message":"too much"}]})");

    const auto found = stuck();

    EXPECT_EQ(of(found, "ns/a").state, StuckState::no_selinux);
    EXPECT_EQ(of(found, "ns/b").state, StuckState::two_active_pods);
    EXPECT_THAT(of(found, "ns/no-vmi").waiting_for,
                HasSubstr("migrationRejectedByResourceQuota: too much"));
}

/// With hotplugged volumes a VMIM is Pending until the pod that attaches them is ready.
TEST_F(RecordsTest, TargetOfAPendingMigrationIsNotLeftOver) {
    add_node("n1");
    for (const auto* name : {"a", "b", "c"}) {
        const std::string vm{name};
        add_vmi(vm, R"({"nodeName":"n1","activePods":{")" + vm + R"(-source-uid":"n1",")" + vm +
                        R"(-target-uid":""},)" + running + "}");
        add_pod(vm + "-source", vm, R"({"phase":"Running"})");
        add_move("m-" + vm, vm, "", R"({"phase":"Pending","conditions":[
            {"type":"migrationRejectedByResourceQuota","status":"True"}]})");
    }
    add_target("a-target", "a", "m-a", R"({"phase":"Pending","conditions":[
        {"type":"PodScheduled","status":"False","reason":"Unschedulable",
         "message":"0/1 nodes are available"}]})");
    add_target("b-target", "b", "m-b", R"({"phase":"Running"})");
    add_target("c-target", "c", "m-c", R"({"phase":"Failed"})");

    const auto found = stuck();

    EXPECT_EQ(of(found, "ns/a").state, StuckState::unschedulable);
    EXPECT_THAT(of(found, "ns/a").waiting_for, HasSubstr("0/1 nodes are available"));
    EXPECT_EQ(of(found, "ns/b").state, StuckState::pending);
    EXPECT_THAT(of(found, "ns/b").waiting_for, HasSubstr("b-target"));
    EXPECT_EQ(of(found, "ns/c").state, StuckState::blocked);
}

TEST_F(RecordsTest, SynchronizingNamesTheFirstFieldThatIsMissing) {
    add_node("n1");
    add_vmi("a", R"({"nodeName":"n1",)" + running + "}");
    add_vmi("b", R"({"nodeName":"n1","migrationState":{"sourceNode":"n1",
        "sourceState":{"syncAddress":"192.0.2.1:9185"}},)" +
                     running + "}");
    const std::string synchronizing = R"({"phase":"Synchronizing","phaseTransitionTimestamps":[
        {"phase":"Synchronizing","phaseTransitionTimestamp":"2026-03-02T10:00:00Z"}]})";
    add_move("m1", "a", R"(,"sendTo":{"connectURL":"t:9185"})", synchronizing);
    add_move("m2", "b", R"(,"sendTo":{"connectURL":"t:9185"})", synchronizing);

    const auto found = stuck();

    EXPECT_THAT(of(found, "ns/a").waiting_for, HasSubstr("migrationState.sourceNode"));
    EXPECT_THAT(of(found, "ns/b").waiting_for, HasSubstr("targetState.syncAddress"));
}

TEST_F(RecordsTest, VmThatRunsAgainTellsOfItsLauncherThatWasEnded) {
    add_node("n1");
    add_vmi("a", R"({"nodeName":"n1",)" + running + "}");
    add_pod("virt-launcher-a-old11", "a", R"({"phase":"Failed","reason":"NodeAffinity"})",
            R"(,"creationTimestamp":"2026-03-01T10:00:00Z")");
    add_pod("virt-launcher-a-new11", "a", R"({"phase":"Running"})",
            R"(,"creationTimestamp":"2026-03-02T10:00:00Z")");

    const auto story = find_story(all().records, "ns/a").value();
    const auto running_one = find_story(all().records, "ns/virt-launcher-a-new11").value();

    EXPECT_EQ(story.pod, "virt-launcher-a-old11");
    EXPECT_EQ(story.answer.cause, Cause::kubelet_readmission);
    EXPECT_EQ(running_one.answer.cause, std::nullopt);
}

TEST_F(RecordsTest, EventsTellOfAPodThatIsGone) {
    add_node("n1");
    add_event("Pod", "virt-launcher-a-abcde", "Evicted", "The node was low on resource: pids. ");
    add_event("Pod", "virt-launcher-a-zzzzz", "FailedScheduling", "0/1 nodes");

    const auto story = find_story(all().records, "a").value();

    EXPECT_EQ(story.vmi, "ns/a");
    EXPECT_EQ(story.pod, "virt-launcher-a-abcde");
    EXPECT_EQ(story.answer.cause, Cause::node_pressure);
    EXPECT_EQ(story.answer.resource, "pids");
}

TEST_F(RecordsTest, TargetsOfFailedMovesAreNotTheVm) {
    add_node("n1");
    add_vmi("a", R"({"nodeName":"n1",)" + running + "}");
    add_move("m1", "a", "", R"({"phase":"Failed"})");
    add_pod("virt-launcher-a-new11", "a", R"({"phase":"Running"})");
    add(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"virt-launcher-a-tgt11",
        "namespace":"ns","uid":"t","labels":{"kubevirt.io":"virt-launcher",
        "kubevirt.io/created-by":"a-uid","kubevirt.io/migrationJobUID":"m1-uid"},
        "annotations":{"kubevirt.io/domain":"a"}},"status":{"phase":"Failed","reason":"Evicted"}})");

    EXPECT_EQ(find_story(all().records, "ns/a").value().answer.cause, std::nullopt);
}

TEST_F(RecordsTest, ATargetThatFailedIsNoneThatItsVmLeft) {
    add_node("n1");
    add_vmi("a", R"({"nodeName":"n2","migrationState":{"migrationUid":"m1-uid","sourceNode":"n2",
        "targetNode":"n1","completed":true,"failed":true},)" +
                     running + "}");
    add_target("virt-launcher-a-tgt11", "a", "m1", R"({"phase":"Failed"})", R"("nodeName":"n1")");

    const auto story = find_story(all().records, "ns/virt-launcher-a-tgt11").value();

    EXPECT_EQ(story.answer.cause, Cause::unknown);
}

/// Its migrations were tidied up; a VMI that goes on never starts anew.
TEST_F(RecordsTest, LauncherThatItsVmLeftIsNoneThatEndedAlsoWithoutTheMigration) {
    add_node("n1");
    add_node("n2");
    add_vmi("a", R"({"nodeName":"n2",)" + running + "}");
    add_pod("virt-launcher-a-old11", "a",
            R"({"phase":"Succeeded","containerStatuses":[{"name":"compute","state":{"terminated":
            {"exitCode":0,"reason":"Completed","finishedAt":"2026-03-02T10:00:00Z"}}}]})");

    for (const auto* asked : {"ns/a", "ns/virt-launcher-a-old11"}) {
        const auto story = find_story(all().records, asked).value();
        EXPECT_EQ(story.answer.cause, std::nullopt) << asked;
        EXPECT_TRUE(story.answer.ended) << asked;
        EXPECT_THAT(story.answer.evidence, testing::Contains("its VM runs on node n2")) << asked;
    }
}

TEST_F(RecordsTest, LauncherThatItsVmLeftAndIsGoneIsNoneThatRuns) {
    add_node("n2");
    add_vmi("a", R"({"nodeName":"n2","activePods":{"p2":"n2"},)" + running + "}");
    add(R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"ns"},
        "involvedObject":{"kind":"Pod","namespace":"ns","name":"virt-launcher-a-old11",
        "uid":"p1"},"reason":"Killing","message":"Stopping container compute",
        "lastTimestamp":"2026-03-02T10:00:00Z"})");

    const auto story = find_story(all().records, "ns/virt-launcher-a-old11").value();

    EXPECT_EQ(story.answer.cause, std::nullopt);
    EXPECT_TRUE(story.answer.ended);
}

/// What its node has now is none of the former launcher's.
TEST_F(RecordsTest, AVmiThatWasMadeAnewTellsNothingOfALauncherThatIsGone) {
    add(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"conditions":
        [{"type":"DiskPressure","status":"True"}]}})");
    add(R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":
        {"name":"a","namespace":"ns","uid":"new","creationTimestamp":"2026-03-02T10:00:05Z"},
        "status":{"phase":"Failed","nodeName":"n1"}})");
    add_event("Pod", "virt-launcher-a-old11", "Killing", "Stopping container compute");

    const auto story = find_story(all().records, "ns/virt-launcher-a-old11").value();

    EXPECT_EQ(story.answer.cause, Cause::unknown);
}

TEST_F(RecordsTest, VmOnANodeThatIsGoneIsLostWithIt) {
    add_node("n2");
    add_vmi("a", R"({"nodeName":"n1",)" + running + "}");
    const auto alone = find_story(all().records, "ns/a").value();
    EXPECT_EQ(alone.answer.cause, Cause::node_removed);
    EXPECT_FALSE(alone.answer.certain);

    add_pod("virt-launcher-a-old11", "a", R"({"phase":"Running"})");
    EXPECT_EQ(find_story(all().records, "ns/a").value().answer.cause, Cause::node_removed);
}

TEST_F(RecordsTest, NothingHasEndedAVmThatStarts) {
    add_node("n1");
    add_vmi("a", R"({"phase":"Scheduling"})");

    const auto story = find_story(all().records, "ns/a").value();

    EXPECT_EQ(story.answer.cause, std::nullopt);
    EXPECT_FALSE(story.answer.ended);
}

/// The migration was made at ten.
TEST_F(RecordsTest, WhoWantedAMoveIsToldByWhatHadItsLauncherDeletedBefore) {
    const auto wanted = [this](const std::string& reason, const std::string& since) {
        add_vmi("a", R"({"nodeName":"n1",)" + running + "}");
        add_move("kubevirt-evacuation-m", "a", "", R"({"phase":"Scheduling"})");
        add_pod("virt-launcher-a-old11", "a",
                R"({"phase":"Running","conditions":[{"type":"DisruptionTarget","status":"True",
                "reason":")" +
                    reason + R"(","lastTransitionTime":")" + since + "\"}]}",
                R"(,"deletionTimestamp":"2026-03-02T10:00:30Z","deletionGracePeriodSeconds":60)");
        const auto story = find_story(all().records, "ns/a").value();
        files = 0;
        return to_string(story.moves.at(0).request.requester);
    };
    const std::string before = "2026-03-02T09:59:30Z";
    EXPECT_EQ(wanted("DeletionByTaintManager", before), "taint");
    EXPECT_EQ(wanted("PreemptionByScheduler", before), "preemption");
    EXPECT_EQ(wanted("EvictionByEvictionAPI", before), "drain");
    EXPECT_EQ(wanted("DeletionByTaintManager", "2026-03-02T10:00:10Z"), "drain");
}

/// A node that was started anew shuts down no more, nor one that thought better of it.
TEST_F(RecordsTest, OfShutdownsTheLastWordCountsIfItIsYoung) {
    const auto wanted = [this](const std::string& word, const std::string& at) {
        add(R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e)" + word +
            R"(","namespace":"default"},"involvedObject":{"kind":"Node","name":"n1"},
            "reason":"NodeShutdown","message":"Shutdown manager detected shutdown )" +
            word + R"(","lastTimestamp":")" + at + "\"}");
        const auto dump = all();
        return to_string(find_story(dump.records, "ns/a").value().moves.at(0).request.requester);
    };
    add_vmi("a", R"({"nodeName":"n1",)" + running + "}");
    add_move("kubevirt-evacuation-m", "a", "", R"({"phase":"Scheduling"})");

    EXPECT_EQ(wanted("event", "2026-03-02T09:10:00Z"), "drain");
    EXPECT_EQ(wanted("event", "2026-03-02T09:58:00Z"), "shutdown");
    EXPECT_EQ(wanted("cancellation", "2026-03-02T09:59:00Z"), "drain");
}

TEST_F(RecordsTest, NamesAreFoundOrTheNearestIsNamed) {
    add_vmi("web", R"({"phase":"Running"})");
    add(R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance",
        "metadata":{"name":"web","namespace":"other"}})");
    const auto dump = all();

    EXPECT_EQ(find_story(dump.records, "web").error().code, Errc::invalid);
    EXPECT_EQ(find_story(dump.records, "ns/web").value().vmi, "ns/web");
    const auto wrong = find_story(dump.records, "ns/wab");
    EXPECT_EQ(wrong.error().code, Errc::not_found);
    EXPECT_THAT(wrong.error().message, HasSubstr("did you mean 'ns/web'?"));
}

TEST_F(RecordsTest, WhatCannotBeReadIsToldAndTheRestGoesOn) {
    add_node("n1");
    add(R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"regarding":3})");
    add(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"}})");

    const auto dump = all();

    EXPECT_EQ(dump.records.nodes.size(), 1U);
    ASSERT_EQ(dump.left_out.size(), 1U);
    EXPECT_THAT(dump.left_out[0].reason, HasSubstr("regarding"));
    EXPECT_EQ(dump.files, 3U);
}

}  // namespace
}  // namespace scout::cluster
