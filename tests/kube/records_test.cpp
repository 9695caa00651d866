// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/records.h"

#include <string>

#include <gmock/gmock.h>

#include "kube/json.h"
#include "kube/objects/vmi.h"

namespace scout::kube {
namespace {

using testing::HasSubstr;

template <class T>
Result<T> decode(Result<T> (*decoder)(JsonObject&), std::string text) {
    TextPool texts;
    JsonReader reader{texts};
    auto object = reader.parse(PaddedText::of(text));
    if (!object) {
        return fail(std::move(object.error()));
    }
    return decoder(*object);
}

TEST(RecordsTest, VmiTellsItsMarkItsDeletionAndItsMove) {
    const auto vmi = decode(&decode_vmi_record, R"({"metadata":{"name":"a","namespace":"ns",
        "uid":"u","annotations":{"kubevirt.io/eviction-source":"descheduler"},
        "labels":{"kubevirt.io/outdatedLauncherImage":""},
        "deletionTimestamp":"2026-03-02T10:00:00Z"},
        "spec":{"evictionStrategy":"External"},
        "status":{"phase":"Failed","reason":"NodeUnresponsive","nodeName":"n1",
        "evacuationNodeName":"n2","selinuxContext":"none","activePods":{"p1":"n1"},
        "phaseTransitionTimestamps":[{"phase":"Failed",
            "phaseTransitionTimestamp":"2026-03-02T09:00:00Z"}],
        "migrationState":{"sourceNode":"n1","completed":true,
            "sourceState":{"syncAddress":"192.0.2.1:9185"},"targetState":null}}})");

    ASSERT_TRUE(vmi) << vmi.error().message;
    EXPECT_EQ(vmi->eviction_source, "descheduler");
    EXPECT_TRUE(vmi->outdated_launcher);
    EXPECT_EQ(vmi->reason, "NodeUnresponsive");
    EXPECT_EQ(vmi->evacuation_node, "n2");
    EXPECT_EQ(rfc3339(*vmi->deletion), "2026-03-02T10:00:00Z");
    ASSERT_EQ(vmi->phases.size(), 1U);
    EXPECT_EQ(rfc3339(vmi->phases[0].at), "2026-03-02T09:00:00Z");
    ASSERT_TRUE(vmi->move);
    EXPECT_TRUE(vmi->move->completed);
    EXPECT_EQ(vmi->move->source_sync, "192.0.2.1:9185");
    EXPECT_TRUE(vmi->move->target_sync.empty());
}

/// Other owners do not delete what has ended.
TEST(RecordsTest, VmiTellsWhetherItIsControlled) {
    const auto with = [](const std::string& owners) {
        const auto text = R"({"metadata":{"name":"a","ownerReferences":)" + owners + "}}";
        const auto record = decode(&decode_vmi_record, text);
        const auto vmi = decode(&decode_vmi, text);
        EXPECT_TRUE(record && vmi);
        EXPECT_EQ(record->controlled, vmi->controlled) << owners;
        return vmi->controlled;
    };
    EXPECT_TRUE(with(R"([{"kind":"X"},{"kind":"VirtualMachine","controller":true}])"));
    EXPECT_FALSE(with(R"([{"kind":"X"},{"kind":"Y","controller":false}])"));
    EXPECT_FALSE(with("null"));
}

TEST(RecordsTest, VmiThatIsWatchedTellsItsEndAndTheTimeThatItWants) {
    const auto vmi = decode(&decode_vmi, R"({"metadata":{"name":"a",
        "annotations":{"virt-scout.io/launcher-grace-seconds":"300"}},
        "status":{"phase":"Succeeded","phaseTransitionTimestamps":[
            {"phase":"Running","phaseTransitionTimestamp":"2026-03-02T08:00:00Z"},
            {"phase":"Succeeded","phaseTransitionTimestamp":"2026-03-02T09:00:00Z"}]}})");
    ASSERT_TRUE(vmi) << vmi.error().message;
    ASSERT_TRUE(vmi->ended);
    EXPECT_EQ(rfc3339(*vmi->ended), "2026-03-02T09:00:00Z");
    EXPECT_EQ(vmi->wanted_grace, "300");
}

/// Others end while the guest runs on.
TEST(RecordsTest, LauncherEndsWithTheContainerThatItIs) {
    const auto at = [](std::chrono::minutes minutes) { return WallTime{} + minutes; };
    const auto container = [](const char* name, std::optional<WallTime> finished) {
        ContainerRecord record;
        record.name = SharedText{name};
        record.finished = finished;
        return record;
    };
    PodRecord pod;
    pod.phase = SharedText{"Running"};
    pod.containers = {container("compute", std::nullopt),
                      container("volumedisk0", at(std::chrono::minutes{5}))};
    EXPECT_FALSE(end_of_launcher(pod));
    pod.phase = SharedText{"Failed"};
    EXPECT_EQ(end_of_launcher(pod), at(std::chrono::minutes{5})) << "nothing else is known";
    pod.containers[0].finished = at(std::chrono::minutes{3});
    EXPECT_EQ(end_of_launcher(pod), at(std::chrono::minutes{3}));
}

TEST(RecordsTest, MigrationTellsWhoseItIs) {
    const auto move = decode(&decode_move_record, R"({"metadata":{"name":"m","namespace":"ns",
        "annotations":{"kubevirt.io/evacuationMigration":"n1","virt-scout.io/migration-cause":"drain",
            "other":"x"},
        "labels":{"kubevirt.io/volume-update-migration":"a"},
        "managedFields":[
            {"manager":"virt-controller","time":"2026-03-02T10:00:01Z"},
            {"manager":"virt-controller","subresource":"status","time":"2026-03-01T10:00:00Z"},
            {"manager":"kubectl-create","time":"2026-03-02T10:00:00Z"}]},
        "spec":{"vmiName":"a","priority":"system-critical","sendTo":{"migrationID":"i"},
            "receive":{"migrationID":"i"}},"status":{"phase":"Pending"}})");

    ASSERT_TRUE(move) << move.error().message;
    EXPECT_EQ(move->evacuation, SharedText{"n1"});
    EXPECT_FALSE(move->workload_update);
    EXPECT_TRUE(move->volume_update);
    EXPECT_EQ(move->annotations, (Labels{{"virt-scout.io/migration-cause", "drain"}}));
    EXPECT_EQ(move->creator, "kubectl-create");
    EXPECT_EQ(move->send_to, SharedText{});
    EXPECT_TRUE(move->receives);
}

TEST(RecordsTest, PodTellsHowItsContainersEnded) {
    const auto pod = decode(&decode_pod_record, R"({"metadata":{"name":"p","namespace":"ns",
        "labels":{"kubevirt.io":"virt-launcher","kubevirt.io/created-by":"u"},
        "annotations":{"kubevirt.io/domain":"a"}},
        "spec":{"nodeName":"n1","containers":[
            {"name":"compute","resources":{"limits":{"memory":"2Gi"}}},{"name":"log"}]},
        "status":{"phase":"Failed","reason":"Evicted","message":"why",
            "containerStatuses":[
                {"name":"log","state":{"running":{"startedAt":"2026-03-02T10:00:00Z"}}},
                {"name":"compute","state":{"terminated":{"exitCode":137,"reason":"OOMKilled",
                    "finishedAt":"2026-03-02T10:00:00Z"}}}]}})");

    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->reason, "Evicted");
    ASSERT_EQ(pod->containers.size(), 2U);
    EXPECT_FALSE(pod->containers[0].exit_code);
    EXPECT_EQ(pod->containers[1].exit_code, 137);
    EXPECT_EQ(pod->containers[1].memory_limit, "2Gi");
}

TEST(RecordsTest, NodeTellsItsLatestHeartbeat) {
    const auto node = decode(&decode_node_record, R"({"metadata":{"name":"n1",
        "annotations":{"kubevirt.io/heartbeat":"2026-03-02T10:00:09Z"},
        "labels":{"kubevirt.io/schedulable":"false"}},
        "spec":{"taints":[{"key":"kubevirt.io/drain","effect":"NoSchedule"}]},
        "status":{"conditions":[{"type":"Ready","status":"False","message":"node is shutting down",
            "lastHeartbeatTime":"2026-03-02T10:00:00Z"}]}})");

    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(rfc3339(*node->heartbeat), "2026-03-02T10:00:09Z");
    EXPECT_EQ(node->schedulable, "false");
    EXPECT_EQ(node->conditions.at(0).message, "node is shutting down");
    EXPECT_EQ(node->taints.at(0).key, "kubevirt.io/drain");
    EXPECT_TRUE(decode(&decode_node_record, R"({"metadata":{"name":"n",
        "annotations":{"kubevirt.io/heartbeat":"soon"}}})"));
}

TEST(RecordsTest, EventsOfBothApisAreTheSame) {
    const auto core = decode(&decode_seen_event, R"({"metadata":{"name":"e","namespace":"ns",
        "annotations":{"starved_resource":"memory"}},
        "involvedObject":{"kind":"Pod","namespace":"ns","name":"virt-launcher-a-x","uid":"u"},
        "reason":"Evicted","message":"text","source":{"component":"kubelet"},
        "firstTimestamp":"2026-03-02T09:00:00Z","lastTimestamp":"2026-03-02T10:00:00Z",
        "eventTime":null})");
    const auto newer = decode(&decode_seen_event, R"({"metadata":{"name":"e","namespace":"ns",
        "annotations":{"starved_resource":"memory"}},
        "regarding":{"kind":"Pod","namespace":"ns","name":"virt-launcher-a-x","uid":"u"},
        "reason":"Evicted","note":"text","deprecatedSource":{"component":"kubelet"},
        "eventTime":"2026-03-02T09:00:00.5Z",
        "series":{"count":3,"lastObservedTime":"2026-03-02T10:00:00Z"}})");

    ASSERT_TRUE(core) << core.error().message;
    ASSERT_TRUE(newer) << newer.error().message;
    EXPECT_EQ(*core, *newer);
    EXPECT_EQ(core->starved, "memory");
    EXPECT_EQ(rfc3339(core->at), "2026-03-02T10:00:00Z");
}

TEST(RecordsTest, EventsThatNobodyAsksAboutTakeNoRoom) {
    for (const auto* about :
         {R"({"kind":"Deployment","name":"a"})", R"({"kind":"Pod","name":"a"})"}) {
        const auto event = decode(&decode_seen_event,
                                  R"({"metadata":{"name":"e"},"reason":"r","message":"long",
                                      "involvedObject":)" +
                                      std::string{about} + "}");
        ASSERT_TRUE(event);
        EXPECT_TRUE(event->message.empty());
        EXPECT_TRUE(event->kind.empty());
        EXPECT_EQ(event->meta.name, "e");
    }
}

TEST(RecordsTest, ErrorsNameThePath) {
    const auto error = [](const auto& result) {
        return result ? std::string{} : result.error().message;
    };
    EXPECT_THAT(error(decode(&decode_pod_record,
                             R"({"status":{"containerStatuses":[{"state":{"terminated":
                                 {"exitCode":"1"}}}]}})")),
                HasSubstr("status.containerStatuses[0].state.terminated.exitCode"));
    EXPECT_THAT(error(decode(&decode_move_record, R"({"spec":{"sendTo":3}})")),
                HasSubstr("spec.sendTo"));
    EXPECT_THAT(error(decode(&decode_seen_event, R"({"regarding":[]})")), HasSubstr("regarding"));
    EXPECT_THAT(error(decode(&decode_vmi_record, R"({"status":{"activePods":[]}})")),
                HasSubstr("status.activePods"));
}

}  // namespace
}  // namespace scout::kube
