// SPDX-License-Identifier: Apache-2.0
// Decoders: small documents of ours, and what a running cluster printed.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "kube/json.h"
#include "kube/list_document.h"
#include "kube/objects/bare_object.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/launcher_pod.h"
#include "kube/objects/migration.h"
#include "kube/objects/node.h"
#include "kube/objects/records.h"
#include "kube/objects/scout_config.h"
#include "kube/objects/vmi.h"
#include "tests/support/test_data.h"

namespace scout::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

template <class T>
Result<T> decode(Result<T> (*decoder)(kube::JsonObject&), std::string text) {
    kube::TextPool texts;
    kube::JsonReader reader{texts};
    auto object = reader.parse(kube::PaddedText::of(text));
    if (!object) {
        return fail(std::move(object.error()));
    }
    return decoder(*object);
}

TEST(NodeDecoderTest, KeepsWhatIsUsedAlone) {
    const auto node = decode(&kube::decode_node, R"({"kind":"Node","apiVersion":"v1","metadata":{
        "name":"n1","uid":"u1","resourceVersion":"7","labels":{"b":"2","a":"1","c":""},
        "annotations":{"virt-scout.io/cpu-profile":"p","other":"x"},
        "managedFields":[{"manager":"kubelet","fieldsV1":{"f:status":{}}}]},
      "spec":{"unschedulable":true,"podCIDR":"10.0.0.0/8",
        "taints":[{"key":"k","value":null,"effect":"NoSchedule"}]},
      "status":{"conditions":[
        {"type":"Ready","status":"True","reason":"KubeletReady","message":"ready",
         "lastTransitionTime":"2026-11-27T21:39:46Z","lastHeartbeatTime":null},
        {"type":"NetworkUnavailable","status":"False"},
        {"type":"DiskPressure","status":"False"}],
        "images":[{"names":["a"],"sizeBytes":1}]}})");

    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->meta.name, "n1");
    EXPECT_EQ(node->meta.uid, "u1");
    EXPECT_EQ(node->meta.version, "7");
    EXPECT_EQ(node->labels, (kube::Labels{{"a", "1"}, {"b", "2"}, {"c", ""}}));
    EXPECT_EQ(node->annotations, (kube::Labels{{"virt-scout.io/cpu-profile", "p"}}));
    EXPECT_TRUE(node->unschedulable);
    ASSERT_EQ(node->taints.size(), 1U);
    EXPECT_EQ(node->taints[0].effect, "NoSchedule");
    ASSERT_EQ(node->conditions.size(), 2U);
    EXPECT_EQ(node->conditions[0].reason, "KubeletReady");
    EXPECT_EQ(node->conditions[0].since, WallTime{1795815586s});
    EXPECT_TRUE(node->conditions[0].message.empty());
    EXPECT_EQ(node->conditions[1].type, "DiskPressure");
    EXPECT_FALSE(node->deletion);
}

TEST(NodeDecoderTest, KeepsWhyANodeIsNotReady) {
    const auto node = decode(&kube::decode_node, R"({"metadata":{"name":"n1"},
      "status":{"conditions":[
        {"type":"Ready","status":"False","message":"node is shutting down"},
        {"type":"DiskPressure","status":"True","message":"kubelet has disk pressure"}]}})");

    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->conditions[0].message, "node is shutting down");
    EXPECT_TRUE(node->conditions[1].message.empty());
}

TEST(LauncherPodDecoderTest, FindsItsVmi) {
    const auto pod = decode(&kube::decode_launcher_pod, R"({"metadata":{"name":"virt-launcher-a",
        "namespace":"ns","uid":"p1","resourceVersion":"8",
        "labels":{"kubevirt.io":"virt-launcher","kubevirt.io/created-by":"v1",
                  "kubevirt.io/migrationJobUID":"m1"},
        "annotations":{"kubevirt.io/domain":"a"},
        "deletionTimestamp":"2026-11-27T21:39:46Z","deletionGracePeriodSeconds":45},
      "spec":{"nodeName":"n1","nodeSelector":{"k":"v"},"terminationGracePeriodSeconds":60,
              "containers":[{"name":"compute"}]},
      "status":{"phase":"Running"}})");

    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->meta.space, "ns");
    EXPECT_EQ(pod->node, "n1");
    EXPECT_EQ(pod->phase, "Running");
    EXPECT_EQ(pod->vmi_name, "a");
    EXPECT_EQ(pod->vmi_uid, "v1");
    EXPECT_EQ(pod->migration_uid, "m1");
    EXPECT_EQ(pod->node_selector.find("k"), "v");
    EXPECT_EQ(pod->deletion, WallTime{1795815586s});
    EXPECT_EQ(pod->deletion_grace, 45s);
    EXPECT_EQ(pod->grace, 60s);
    EXPECT_NE(pod->ending, nullptr);
}

TEST(LauncherPodDecoderTest, KeepsWhatItsContainersRequest) {
    const auto pod = decode(&kube::decode_launcher_pod, R"({"metadata":{"name":"p"},
      "spec":{"priority":-5,"overhead":{"cpu":"10m","memory":"64Mi"},
        "initContainers":[{"name":"a","resources":{"requests":{"memory":"1M"}}},
                          {"name":"b","restartPolicy":"Always",
                           "resources":{"requests":{"cpu":"1","ephemeral-storage":"2M"}}},
                          {"name":"c"}],
        "containers":[{"name":"compute","command":["x"],
                       "resources":{"limits":{"memory":"3Gi"},
                                    "requests":{"memory":"2Gi","ephemeral-storage":"50M"}}},
                      {"name":"d","resources":{"requests":{"cpu":"1"}}},
                      {"name":"e","resources":{"requests":{"memory":"lots"}}}]}})");

    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->priority, -5);
    EXPECT_EQ(pod->requests.overhead.memory, "64Mi");
    ASSERT_EQ(pod->requests.init_containers.size(), 2U) << "of those that request something";
    EXPECT_EQ(pod->requests.init_containers[0].memory, "1M");
    EXPECT_FALSE(pod->requests.init_containers[0].stays);
    EXPECT_EQ(pod->requests.init_containers[1].storage, "2M");
    EXPECT_TRUE(pod->requests.init_containers[1].stays);
    ASSERT_EQ(pod->requests.containers.size(), 2U);
    EXPECT_EQ(pod->requests.containers[0].memory, "2Gi");
    EXPECT_EQ(pod->requests.containers[0].storage, "50M");
    EXPECT_EQ(pod->requests.containers[1].memory, "lots") << "what it means others find out";
}

/// A pod of that status.
Result<kube::LauncherPod> launcher_with(const std::string& status) {
    return decode(&kube::decode_launcher_pod, R"({"metadata":{"name":"p","namespace":"ns",
        "uid":"p1","resourceVersion":"8","labels":{"kubevirt.io/created-by":"v1"},
        "annotations":{"kubevirt.io/domain":"a"}},
      "spec":{"nodeName":"n1","containers":[{"name":"compute",
        "command":["virt-launcher","--grace-period-seconds","45"],
        "resources":{"limits":{"memory":"1Gi"}}}]},"status":)" +
                                                  status + "}");
}

TEST(LauncherPodDecoderTest, KeepsWhatTellsOfItsEndWhereSomethingDoes) {
    const auto runs = launcher_with(R"({"phase":"Running",
        "conditions":[{"type":"Ready","status":"True"},
                      {"type":"DisruptionTarget","status":"False","reason":"x"}],
        "containerStatuses":[{"name":"compute","state":{"running":{}}}]})");
    const auto well = launcher_with(R"({"phase":"Succeeded","containerStatuses":[{"name":"compute",
        "state":{"terminated":{"exitCode":0,"reason":"Completed",
                               "finishedAt":"2026-11-27T21:39:46Z"}}}]})");
    const auto evicted = launcher_with(R"({"phase":"Failed","reason":"Evicted","message":"low",
        "conditions":[{"type":"Ready","status":"False"},
                      {"type":"DisruptionTarget","status":"True","reason":"TerminationByKubelet"}],
        "containerStatuses":[{"name":"compute","state":{"terminated":{"exitCode":137,
          "reason":"Error","finishedAt":"2026-11-27T21:39:46Z"}}}]})");
    const auto marked = launcher_with(R"({"phase":"Running","conditions":[
        {"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}]})");

    ASSERT_TRUE(runs && well && evicted && marked);
    EXPECT_EQ(runs->ending, nullptr);
    EXPECT_EQ(runs->launcher_grace, 45s);
    EXPECT_EQ(well->ending, nullptr);
    EXPECT_TRUE(well->is_final());
    EXPECT_EQ(well->ended, WallTime{1795815586s});
    ASSERT_NE(evicted->ending, nullptr);
    EXPECT_EQ(evicted->ending->meta.uid, "p1");
    EXPECT_EQ(evicted->ending->vmi_name, "a");
    EXPECT_EQ(evicted->ending->node, "n1");
    EXPECT_EQ(evicted->ending->reason, "Evicted");
    ASSERT_EQ(evicted->ending->conditions.size(), 1U);
    ASSERT_EQ(evicted->ending->containers.size(), 1U);
    EXPECT_EQ(evicted->ending->containers.front().exit_code, 137);
    EXPECT_EQ(evicted->ending->containers.front().memory_limit, "1Gi");
    ASSERT_NE(marked->ending, nullptr);
    EXPECT_FALSE(marked->is_final());
}

constexpr const char* full_vmi = R"({"metadata":{"name":"a","namespace":"ns","uid":"v1",
        "resourceVersion":"9"},
      "spec":{"architecture":"amd64","evictionStrategy":"LiveMigrate",
        "terminationGracePeriodSeconds":-1,"nodeSelector":{"disk":"ssd"},
        "domain":{"cpu":{"model":"host-model","features":[{"name":"invtsc","policy":"require"},
                                                          {"name":"pcid"}]},
                  "machine":{"type":"q35"},"memory":{"guest":"1Gi"},
                  "resources":{"requests":{"memory":"3Gi"}}}},
      "status":{"phase":"Running","nodeName":"n1","evacuationNodeName":"n1",
        "memory":{"guestAtBoot":"1Gi","guestCurrent":"2Gi"},
        "activePods":{"p1":"n1","p2":"n2"},"machine":{"type":"pc-q35-9"},
        "topologyHints":{"tscFrequency":2294787000},
        "conditions":[{"type":"LiveMigratable","status":"False","reason":"DisksNotLiveMigratable",
                       "message":"cannot"}],
        "migrationState":{"migrationUid":"m1","sourceNode":"n1","targetNode":"n2",
          "targetPod":"virt-launcher-a-2","startTimestamp":"2026-11-27T21:39:46.5Z",
          "completed":true,"failed":true,"mode":"PreCopy","failureReason":"no",
          "migrationConfiguration":{"allowPostCopy":true},
          "targetDirectMigrationNodePorts":{"1":2}}}})";

TEST(VmiDecoderTest, ReadsSpecAndStatus) {
    const auto vmi = decode(&kube::decode_vmi, full_vmi);

    ASSERT_TRUE(vmi) << vmi.error().message;
    EXPECT_EQ(vmi->cpu_model, "host-model");
    EXPECT_EQ(vmi->cpu_features, (std::vector<kube::CpuFeature>{
                                     {kube::SharedText{"invtsc"}, kube::SharedText{"require"}},
                                     {kube::SharedText{"pcid"}, {}}}));
    EXPECT_EQ(vmi->machine_asked, "q35");
    EXPECT_EQ(vmi->machine, "pc-q35-9");
    EXPECT_EQ(vmi->grace, 0s);
    EXPECT_EQ(vmi->memory, "2Gi") << "what the guest has now";
    EXPECT_EQ(vmi->tsc_hz, 2294787000);
    EXPECT_EQ(vmi->evacuation_node, "n1");
    ASSERT_EQ(vmi->active_pods.size(), 2U);
    EXPECT_EQ(vmi->active_pods[1].node, "n2");
    const auto* migratable = find_condition(vmi->conditions, "LiveMigratable");
    ASSERT_NE(migratable, nullptr);
    EXPECT_EQ(migratable->reason, "DisksNotLiveMigratable");
    ASSERT_TRUE(vmi->migration);
    EXPECT_EQ(vmi->migration->uid, "m1");
    EXPECT_EQ(vmi->migration->start, WallTime{1795815586500ms});
    EXPECT_TRUE(vmi->migration->failed);
    EXPECT_FALSE(vmi->migration->is_under_way());
    EXPECT_FALSE(vmi->migration->settings) << "it has ended";
    EXPECT_EQ(find_condition(vmi->conditions, "Ready"), nullptr);
}

TEST(VmiDecoderTest, TakesWhatItsMigrationRunsBy) {
    const auto vmi = decode(&kube::decode_vmi, R"({"metadata":{"name":"a"},"status":{
        "migrationState":{"migrationUid":"m1","migrationPolicyName":"p","migrationConfiguration":{
          "nodeDrainTaintKey":"kubevirt.io/drain","parallelMigrationsPerCluster":5,
          "allowAutoConverge":false,"bandwidthPerMigration":"64Mi","completionTimeoutPerGiB":2,
          "progressTimeout":30,"unsafeMigrationOverride":false,"allowPostCopy":true,
          "allowWorkloadDisruption":true,"disableTLS":false}}}})");
    ASSERT_TRUE(vmi) << vmi.error().message;
    ASSERT_TRUE(vmi->migration);
    EXPECT_TRUE(vmi->migration->is_under_way());
    EXPECT_EQ(vmi->migration->policy, "p");
    ASSERT_TRUE(vmi->migration->settings);
    EXPECT_EQ(vmi->migration->settings->bandwidth, "64Mi");
    EXPECT_EQ(vmi->migration->settings->completion_seconds_per_gib, 2);
    EXPECT_EQ(vmi->migration->settings->progress_seconds, 30);
    EXPECT_EQ(vmi->migration->settings->allow_post_copy, true);
    EXPECT_EQ(vmi->migration->settings->allow_auto_converge, false);
}

TEST(VmiDecoderTest, TakesItsMemoryFromWhereItIsTold) {
    const auto given = decode(&kube::decode_vmi, R"({"metadata":{"name":"a"},"spec":{"domain":{
        "memory":{"guest":1073741824},"resources":{"requests":{"memory":"3Gi"}}}}})");
    ASSERT_TRUE(given) << given.error().message;
    EXPECT_EQ(given->memory, "1073741824");
    const auto asked = decode(&kube::decode_vmi, R"({"metadata":{"name":"a"},"spec":{"domain":{
        "memory":{},"resources":{"requests":{"cpu":2,"memory":"3Gi"}}}}})");
    ASSERT_TRUE(asked) << asked.error().message;
    EXPECT_EQ(asked->memory, "3Gi");
}

TEST(VmiDecoderTest, NamesWhatElseTiesItToNodes) {
    const auto tied = decode(&kube::decode_vmi, R"({"metadata":{"name":"a"},"spec":{
        "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{}},
                    "podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[]},
                    "podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[]}},
        "domain":{"cpu":{"dedicatedCpuPlacement":true},"launchSecurity":{"sev":{}},
                  "devices":{"disks":[{"name":"x"}],"gpus":[{"name":"g"}],"hostDevices":[]}}}})");
    const auto free = decode(&kube::decode_vmi, R"({"metadata":{"name":"a"},"spec":{
        "domain":{"cpu":{"dedicatedCpuPlacement":false},"devices":{"disks":[]}}}})");

    ASSERT_TRUE(tied) << tied.error().message;
    EXPECT_THAT(tied->other_demands,
                ElementsAre("dedicatedCpuPlacement", "gpus", "hostDevices", "launchSecurity",
                            "nodeAffinity", "podAntiAffinity"));
    ASSERT_TRUE(free) << free.error().message;
    EXPECT_THAT(free->other_demands, IsEmpty());
}

TEST(MigrationDecoderTest, ReadsWhatAUserAskedForAndHowItStands) {
    const auto migration =
        decode(&kube::decode_migration, R"({"metadata":{"name":"m","namespace":"ns",
        "uid":"m1","resourceVersion":"9","creationTimestamp":"2026-11-27T21:39:46Z",
        "annotations":{"virt-scout.io/migration-cause":"drain","kubevirt.io/x":"y"}},
      "spec":{"vmiName":"a","addedNodeSelector":{"zone":"b"},"priority":"user-triggered"},
      "status":{"phase":"Failed","conditions":[{"type":"migrationAbortRequested","status":"True"}],
        "phaseTransitionTimestamps":[
          {"phase":"Pending","phaseTransitionTimestamp":"2026-11-27T21:39:46Z"},
          {"phase":"Failed","phaseTransitionTimestamp":"2026-11-27T21:39:48Z"}]}})");

    ASSERT_TRUE(migration) << migration.error().message;
    EXPECT_EQ(migration->failed_at, WallTime{1795815588s});
    EXPECT_FALSE(migration->backs_off);
    EXPECT_EQ(migration->vmi_name, "a");
    EXPECT_TRUE(migration->is_final());
    EXPECT_EQ(migration->annotations, (kube::Labels{{"virt-scout.io/migration-cause", "drain"}}));
    EXPECT_EQ(migration->added_node_selector.find("zone"), "b");
    EXPECT_EQ(migration->creation, WallTime{1795815586s});
    EXPECT_EQ(migration->conditions.size(), 1U);
}

TEST(MigrationDecoderTest, TellsThoseAfterWhoseFailureKubeVirtWaits) {
    for (const auto* const key :
         {"kubevirt.io/evacuationMigration", "kubevirt.io/workloadUpdateMigration"}) {
        const auto migration = decode(&kube::decode_migration,
                                      std::string{R"({"metadata":{"name":"m","annotations":{")"} +
                                          key + R"(":"","virt-scout.io/a":"b"}}})");
        ASSERT_TRUE(migration) << migration.error().message;
        EXPECT_TRUE(migration->backs_off) << key;
        EXPECT_EQ(migration->annotations, (kube::Labels{{"virt-scout.io/a", "b"}}));
        EXPECT_FALSE(migration->failed_at);
    }
}

TEST(KubeVirtDecoderTest, ReadsTheConfiguration) {
    const auto kubevirt = decode(&kube::decode_kubevirt, R"({"metadata":{"name":"kubevirt",
        "namespace":"kubevirt","uid":"k","resourceVersion":"1"},
      "spec":{"configuration":{"evictionStrategy":"LiveMigrate","cpuModel":"Haswell",
        "machineType":"q35","vmRolloutStrategy":"Stage",
        "architectureConfiguration":{"amd64":{"machineType":"pc-q35-9"},"arm64":null,
                                     "s390x":{"emulatedMachines":["x"]}},
        "obsoleteCPUModels":{"486":true,"pentium":false},
        "developerConfiguration":{"featureGates":["Plugins"],"disabledFeatureGates":["NodeRestriction"],
          "nodeSelectors":{"a":"b"}},
        "migrations":{"bandwidthPerMigration":"64Mi","parallelMigrationsPerCluster":7,
          "allowPostCopy":true,"network":"mig",
          "requireHostModelMigratabilityLevel":50,
          "preferedHostModelMigratabilityLevel":{"level":80,"weight":10},
          "preferredHostModelMigratabilityLevel":{"level":70}}}},
      "status":{"phase":"Deployed","observedKubeVirtVersion":"v1.9.0","operatorVersion":"v1.9.0",
        "defaultArchitecture":"amd64"}})");

    ASSERT_TRUE(kubevirt) << kubevirt.error().message;
    EXPECT_EQ(kubevirt->eviction_strategy, "LiveMigrate");
    ASSERT_EQ(kubevirt->architecture_machines.size(), 1U);
    EXPECT_EQ(kubevirt->architecture_machines[0].machine, "pc-q35-9");
    ASSERT_TRUE(kubevirt->obsolete_cpu_models);
    EXPECT_THAT(*kubevirt->obsolete_cpu_models,
                ElementsAre(kube::SharedText{"486"}, kube::SharedText{"pentium"}));
    EXPECT_THAT(kubevirt->feature_gates, ElementsAre(kube::SharedText{"Plugins"}));
    EXPECT_EQ(kubevirt->migrations.bandwidth, "64Mi");
    EXPECT_EQ(kubevirt->migrations.per_cluster, 7);
    EXPECT_EQ(kubevirt->migrations.allow_post_copy, true);
    EXPECT_FALSE(kubevirt->migrations.allow_auto_converge);
    EXPECT_EQ(kubevirt->levels.required, 50);
    ASSERT_TRUE(kubevirt->levels.prefered);
    EXPECT_EQ(kubevirt->levels.prefered->weight, 10);
    ASSERT_TRUE(kubevirt->levels.preferred);
    EXPECT_FALSE(kubevirt->levels.preferred->weight);
    EXPECT_EQ(kubevirt->observed_version, "v1.9.0");
}

TEST(ScoutConfigDecoderTest, ReadsWhatIsAskedAndWhatWasTold) {
    const auto config = decode(&kube::decode_scout_config, R"({
      "metadata":{"name":"default","uid":"u","resourceVersion":"3","generation":7},
      "spec":{"levels":{"layer":"truth","machineType":"pc","cordonedFor":"5m"},
        "placement":{"requireHostModelMigratabilityLevel":50,
          "preferredHostModelMigratabilityLevel":{"level":70,"weight":2}},
        "pressure":{"mode":"act","movesPerMinute":7},"policies":{"lint":"refuse"}},
      "status":{"observedGeneration":6,"conditions":[{"type":"InForce","status":"True",
        "message":"all of it","lastTransitionTime":"2026-11-27T10:00:00Z"}]}})");

    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->generation, 7);
    EXPECT_EQ(config->layer, "truth");
    EXPECT_EQ(config->machine_type, "pc");
    EXPECT_EQ(config->cordoned_for, "5m");
    EXPECT_EQ(config->not_ready_for, "");
    EXPECT_EQ(config->placement.required, 50);
    EXPECT_FALSE(config->placement.prefered);
    EXPECT_EQ(config->placement.preferred, (kube::PreferredLevel{.level = 70, .weight = 2}));
    EXPECT_EQ(config->pressure_mode, "act");
    EXPECT_EQ(config->pressure_moves_per_minute, 7);
    EXPECT_EQ(config->policy_lint, "refuse");
    EXPECT_EQ(config->observed_generation, 6);
    ASSERT_EQ(config->conditions.size(), 1U);
    EXPECT_EQ(config->conditions[0].message, "all of it");
}

TEST(KubeVirtDecoderTest, TakesAQuantityThatIsANumberAndTellsAbsentFromEmpty) {
    const auto number = decode(&kube::decode_kubevirt,
                               R"({"spec":{"configuration":{"obsoleteCPUModels":{},
                                   "migrations":{"bandwidthPerMigration":0}}}})");
    const auto nothing = decode(&kube::decode_kubevirt, R"({"spec":{"configuration":{}}})");

    ASSERT_TRUE(number) << number.error().message;
    EXPECT_EQ(number->migrations.bandwidth, "0");
    ASSERT_TRUE(number->obsolete_cpu_models);
    EXPECT_THAT(*number->obsolete_cpu_models, IsEmpty());
    ASSERT_TRUE(nothing);
    EXPECT_FALSE(nothing->obsolete_cpu_models);
}

TEST(BareObjectDecoderTest, KeepsWhatNamesTheObject) {
    const auto bare = decode(
        &kube::decode_bare,
        R"({"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"3"},"x":[1]})");

    ASSERT_TRUE(bare) << bare.error().message;
    EXPECT_EQ(bare->meta.space, "ns");
    EXPECT_EQ(bare->meta.name, "a");
    EXPECT_EQ(bare->meta.uid, "u");
    EXPECT_EQ(bare->meta.version, "3");
    EXPECT_FALSE(decode(&kube::decode_bare, R"({"metadata":{"name":"a"}})"));
}

struct WrongDocument {
    std::function<std::string()> error;  ///< of the decoder
    std::string names;
};

template <class T>
WrongDocument wrong(Result<T> (*decoder)(kube::JsonObject&), std::string text, std::string names) {
    auto error = [decoder, text = std::move(text)] {
        const auto decoded = decode(decoder, text);
        return decoded ? std::string{"(no error)"} : decoded.error().message;
    };
    return {std::move(error), std::move(names)};
}

TEST(DecoderTest, NamesThePathOfWhatIsWrong) {
    const std::vector<WrongDocument> documents{
        wrong(&kube::decode_node, R"({"metadata":[]})",
              "metadata: expected an object, found an array"),
        wrong(&kube::decode_node, R"({"spec":{"taints":[{"key":"a"},{"effect":3}]}})",
              "spec.taints[1].effect: expected a string, found a number"),
        wrong(&kube::decode_node, R"({"metadata":{"labels":{"a.b/c":true}}})",
              "metadata.labels.a.b/c: expected a string, found true or false"),
        wrong(&kube::decode_node, R"({"spec":{"unschedulable":"true"}})",
              "spec.unschedulable: expected true or false, found a string"),
        wrong(&kube::decode_node, R"({"status":{"conditions":{}}})",
              "status.conditions: expected an array, found an object"),
        wrong(&kube::decode_launcher_pod, R"({"metadata":{"deletionTimestamp":"soon"}})",
              "metadata.deletionTimestamp: expected a time like"),
        wrong(&kube::decode_launcher_pod, R"({"spec":{"terminationGracePeriodSeconds":1.5}})",
              "spec.terminationGracePeriodSeconds: expected a whole number"),
        wrong(&kube::decode_vmi, R"({"status":{"topologyHints":{"tscFrequency":1e30}}})",
              "status.topologyHints.tscFrequency: expected a whole number of 64 bits"),
        wrong(&kube::decode_vmi, R"({"status":{"activePods":{"u":{}}}})",
              "status.activePods.u: expected a string, found an object"),
        wrong(
            &kube::decode_kubevirt,
            R"({"spec":{"configuration":{"architectureConfiguration":{"amd64":{"machineType":1}}}}})",
            "spec.configuration.architectureConfiguration.amd64.machineType: expected a string"),
        wrong(&kube::decode_node, R"({"metadata":{"name":"n")", "expected a JSON object, found"),
        wrong(&kube::decode_node, R"([1])", "expected a JSON object"),
        wrong(&kube::decode_node, "", "expected a JSON object, found"),
    };
    for (const auto& document : documents) {
        EXPECT_THAT(document.error(), HasSubstr(document.names));
    }
}

TEST(DecoderTest, TakesTwoThousandLabelsAndLongUnicodeOnes) {
    std::string labels;
    for (int label = 0; label < 2000; ++label) {
        labels += (label == 0 ? "\"l" : ",\"l") + std::to_string(label) + "\":\"" +
                  std::string(63, 'v') + "\"";
    }
    const auto node = decode(&kube::decode_node,
                             R"({"metadata":{"labels":{)" + labels + R"(,"\u00fc/":"☃\n"}}})");

    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->labels.size(), 2001U);
    EXPECT_EQ(node->labels.find("l1999"), std::string(63, 'v'));
    EXPECT_EQ(node->labels.find("ü/"), "☃\n");
}

/// Every object of a file that `kubectl get -o json` printed.
template <class T>
void expect_all_decode(const std::filesystem::path& file, Result<T> (*decoder)(kube::JsonObject&),
                       std::size_t least) {
    auto text = read_file(file);
    ASSERT_TRUE(text) << text.error().message;
    const auto list = kube::split_list(kube::PaddedText::of(*text));
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_GE(list->items.size(), least);
    kube::TextPool texts;
    kube::JsonReader reader{texts};
    for (const auto& item : list->items) {
        auto object = reader.parse(item);
        ASSERT_TRUE(object) << object.error().message;
        const auto decoded = decoder(*object);
        ASSERT_TRUE(decoded) << decoded.error().message;
        EXPECT_FALSE(decoded->meta.name.empty());
        EXPECT_FALSE(decoded->meta.uid.empty());
    }
}

TEST(DecoderTest, ReadsWhatARunningClusterPrinted) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto live = data / "kubevirt/live";
    expect_all_decode(live / "nodes.json", &kube::decode_node, 4);
    expect_all_decode(live / "virtualmachineinstances.json", &kube::decode_vmi, 9);
    expect_all_decode(live / "virtualmachineinstancemigrations.json", &kube::decode_migration, 6);
    expect_all_decode(live / "pods.json", &kube::decode_launcher_pod, 11);
}

}  // namespace
}  // namespace scout::test
