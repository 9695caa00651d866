// SPDX-License-Identifier: Apache-2.0
#include "cluster/scheduling_objects.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/decode_text.h"

namespace scout::cluster {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
namespace scheduling = migration::scheduling;

template <class Object>
Object read(Result<Object> (*decoder)(kube::JsonObject&), std::string text) {
    auto object = kube::decode_text(text, decoder);
    EXPECT_TRUE(object) << object.error().message;
    return object ? std::move(*object) : Object{};
}

template <class Object>
std::string fault(Result<Object> (*decoder)(kube::JsonObject&), std::string text) {
    const auto object = kube::decode_text(text, decoder);
    return object ? "no fault" : object.error().message;
}

constexpr const char* meta =
    R"("metadata":{"name":"p","namespace":"shop","uid":"u","resourceVersion":"1")";

/// After its metadata has begun.
constexpr const char* rich_pod = R"(,
      "labels":{"app":"web","kubevirt.io":"virt-launcher"}},
     "spec":{"nodeName":"n1","nodeSelector":{"disk":"ssd"},"schedulerName":"default-scheduler",
      "tolerations":[{"key":"dedicated","operator":"Equal","value":"vms","effect":"NoSchedule"}],
      "affinity":{"nodeAffinity":{
         "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}],
         "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
           {"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}],
            "matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n2"]}]}]}},
       "podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
           {"topologyKey":"zone","namespaces":["bank"],"namespaceSelector":{},
            "labelSelector":{"matchLabels":{"app":"web"},
              "matchExpressions":[{"key":"tier","operator":"Exists"}]}}]}},
      "topologySpreadConstraints":[
        {"maxSkew":2,"minDomains":3,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",
         "matchLabelKeys":["app"],"nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor"},
        {"maxSkew":1,"topologyKey":"rack","whenUnsatisfiable":"ScheduleAnyway"}],
      "volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"disk"}},
                 {"name":"b","emptyDir":{}},
                 {"name":"c","ephemeral":{"volumeClaimTemplate":{}}}],
      "containers":[{"name":"compute","ports":[{"containerPort":1,"hostPort":80}],
        "resources":{"requests":{"cpu":"1100m","memory":"1Gi","devices.kubevirt.io/kvm":"1",
                                 "storage":"5Gi"}}}]},
     "status":{"phase":"Running"}})";

TEST(ScheduledPodTest, TellsWhatItTakesAndWhatItAsksFor) {
    const auto pod = read(&decode_scheduled_pod, "{" + std::string{meta} + rich_pod);

    EXPECT_EQ(pod.meta.name, "p");
    EXPECT_FALSE(pod.final);
    EXPECT_TRUE(pod.launcher);
    EXPECT_EQ(pod.pod.node, "n1");
    EXPECT_THAT(pod.pod.requests, ElementsAre(Pair("cpu", 1100), Pair("devices.kubevirt.io/kvm", 1),
                                              Pair("memory", std::int64_t{1} << 30)));
    EXPECT_EQ(pod.pod.tolerations.front(),
              (scheduling::Toleration{"dedicated", "Equal", "vms", "NoSchedule"}));
    ASSERT_TRUE(pod.pod.node_terms);
    EXPECT_TRUE(migration::matches(*pod.pod.node_terms, {{"zone", "a"}}, "n1"));
    EXPECT_FALSE(migration::matches(*pod.pod.node_terms, {{"zone", "a"}}, "n2"));
    ASSERT_EQ(pod.pod.anti_affinity.size(), 1U);
    EXPECT_THAT(pod.pod.anti_affinity.front().spaces, ElementsAre("bank"));
    EXPECT_TRUE(pod.pod.anti_affinity.front().space_labels);
    ASSERT_EQ(pod.pod.spread.size(), 1U);
    EXPECT_EQ(pod.pod.spread.front().min_domains, 3);
    EXPECT_FALSE(pod.pod.spread.front().pods);
    EXPECT_FALSE(pod.pod.spread.front().honors_affinity);
    EXPECT_TRUE(pod.pod.spread.front().honors_taints);
    EXPECT_THAT(pod.pod.claims, ElementsAre("disk", "p-c"));
    EXPECT_EQ(pod.pod.ports, (std::vector<scheduling::HostPort>{{{}, {}, 80}}));
    EXPECT_THAT(pod.pod.not_judged, IsEmpty());
}

TEST(ScheduledPodTest, WhileItIsResizedItTakesMoreThanANewOneWould) {
    const auto pod = read(&decode_scheduled_pod, "{" + std::string{meta} + R"(},
     "spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]},
     "status":{"containerStatuses":[{"name":"c","resources":{"requests":{"cpu":"2"}},
                                     "allocatedResources":{"cpu":"1500m"}}]}})");

    EXPECT_THAT(pod.pod.requests, ElementsAre(Pair("cpu", 2000)));
    EXPECT_THAT(pod.when_new, ElementsAre(Pair("cpu", 1000)));
}

TEST(ScheduledPodTest, WhatIsNotLookedAtIsNamed) {
    const auto pod = read(&decode_scheduled_pod, "{" + std::string{meta} + R"(},
     "spec":{"schedulerName":"mine","resourceClaims":[{"name":"gpu"}],
             "volumes":[{"name":"a","iscsi":{"iqn":"x"}}]}})");

    EXPECT_THAT(pod.pod.not_judged,
                ElementsAre("volumes.iscsi", "schedulerName", "resourceClaims"));
}

TEST(ScheduledPodTest, WhatIsWrongIsNamedWithItsPath) {
    EXPECT_THAT(fault(&decode_scheduled_pod, "{" + std::string{meta} + R"(},
        "spec":{"containers":[{"resources":{"requests":{"cpu":"many"}}}]}})"),
                HasSubstr("spec.containers[0].resources.requests.cpu"));
    EXPECT_THAT(fault(&decode_scheduled_pod, R"({"spec":{"tolerations":{}}})"),
                HasSubstr("spec.tolerations: expected"));
}

TEST(VmiWishesTest, TellsPlacesAndVolumes) {
    const auto vmi = read(&decode_vmi_wishes, "{" + std::string{meta} + R"(,"labels":{"app":"x"}},
     "spec":{"tolerations":[{"operator":"Exists"}],
      "volumes":[{"name":"root","dataVolume":{"name":"root-disk"}},
                 {"name":"data","persistentVolumeClaim":{"claimName":"data"}},
                 {"name":"top","ephemeral":{"persistentVolumeClaim":{"claimName":"base"}}},
                 {"name":"init","cloudInitNoCloud":{"userData":"secret"}},
                 {"name":"boot","containerDisk":{"image":"x"}}]}})");

    EXPECT_EQ(vmi.pod.space, "shop");
    EXPECT_THAT(vmi.pod.labels, ElementsAre(Pair("app", "x")));
    EXPECT_THAT(vmi.pod.claims, ElementsAre("root-disk", "data", "base"));
    EXPECT_THAT(vmi.pod.tolerations, testing::SizeIs(1));
}

TEST(SchedulingObjectsTest, VolumesClaimsAndNodes) {
    const auto claim = read(&decode_volume_claim, R"({"metadata":{"name":"disk","namespace":"shop",
        "annotations":{"pv.kubernetes.io/bind-completed":"yes"}},
      "spec":{"volumeName":"pv","accessModes":["ReadWriteOncePod"]},"status":{"phase":"Bound"}})");
    EXPECT_TRUE(claim.claim.bound);
    EXPECT_TRUE(claim.claim.one_pod);
    EXPECT_FALSE(claim.claim.lost);
    EXPECT_FALSE(read(&decode_volume_claim, R"({"metadata":{"name":"disk"},
      "spec":{"volumeName":"pv"}})")
                     .claim.bound);

    const auto volume = read(&decode_persistent_volume, R"({"metadata":{"name":"pv",
        "labels":{"topology.kubernetes.io/zone":"a"}},
      "spec":{"csi":{"driver":"d","volumeHandle":"h"},"nodeAffinity":{"required":{
        "nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"Exists"}]}]}}}})");
    EXPECT_EQ(volume.volume.driver, "d");
    EXPECT_EQ(volume.volume.handle, "h");
    EXPECT_FALSE(volume.volume.translated);
    ASSERT_TRUE(volume.volume.node_terms);
    EXPECT_EQ(volume.volume.node_terms->size(), 1U);
    EXPECT_TRUE(read(&decode_persistent_volume, R"({"metadata":{"name":"pv"},
      "spec":{"awsElasticBlockStore":{"volumeID":"x"}}})")
                    .volume.translated);

    const auto room = read(&decode_node_room, R"({"metadata":{"name":"n"},
      "status":{"allocatable":{"cpu":"3920m","pods":"110","memory":"1Gi"}}})");
    EXPECT_THAT(room.allocatable.value_or(scheduling::Resources{}),
                testing::AllOf(Contains(Pair("cpu", 3920)), Contains(Pair("pods", 110))));
    EXPECT_FALSE(read(&decode_node_room, R"({"metadata":{"name":"n"}})").allocatable);

    EXPECT_THAT(read(&decode_csi_node, R"({"metadata":{"name":"n"},"spec":{"drivers":[
        {"name":"d","allocatable":{"count":7}},{"name":"e"}]}})")
                    .limits,
                ElementsAre(Pair("d", 7)));
}

TEST(SchedulingObjectsTest, WhatIsOnItsWayAndWhatIsAttached) {
    const auto vmi = read(&decode_vmi_wishes, "{" + std::string{meta} + R"(},
      "spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
        {"topologyKey":"zone","matchLabelKeys":["a"],"mismatchLabelKeys":["b"]}]}}},
      "status":{"migratedVolumes":[{"volumeName":"root",
        "sourcePVCInfo":{"claimName":"old"},"destinationPVCInfo":{"claimName":"new"}}]}})");
    EXPECT_THAT(vmi.moved_away, ElementsAre("old"));
    ASSERT_EQ(vmi.pod.affinity.size(), 1U);
    EXPECT_THAT(vmi.pod.affinity.front().label_keys, ElementsAre("a"));
    EXPECT_THAT(vmi.pod.affinity.front().unlike_label_keys, ElementsAre("b"));

    const auto attachment = read(&decode_volume_attachment, R"({"metadata":{"name":"x"},
      "spec":{"attacher":"d","nodeName":"n","source":{"persistentVolumeName":"pv"}}})");
    EXPECT_EQ(attachment.node, "n");
    EXPECT_EQ(attachment.volume, "pv");
}

TEST(SchedulingClusterTest, KeepsTheOrderOfNodesAndLeavesOutPodsThatEnded) {
    SchedulingObjects objects;
    objects.rooms = {read(&decode_node_room, R"({"metadata":{"name":"b"},
      "status":{"allocatable":{"cpu":"1"}}})")};
    objects.pods = {
        read(&decode_scheduled_pod, "{" + std::string{meta} + "}}"),
        read(&decode_scheduled_pod, "{" + std::string{meta} + R"(},"status":{"phase":"Failed"}})")};
    std::vector<kube::Node> nodes(2);
    nodes[0].meta.name = "c";
    nodes[1].meta.name = "b";

    const auto cluster = scheduling_cluster(objects, nodes, {});

    EXPECT_THAT(cluster.nodes, ElementsAre(Field(&scheduling::Node::name, "c"),
                                           Field(&scheduling::Node::name, "b")));
    EXPECT_TRUE(cluster.nodes[1].allocatable);
    EXPECT_FALSE(cluster.nodes[0].allocatable);
    EXPECT_EQ(cluster.pods.size(), 1U);
    EXPECT_FALSE(cluster.claims) << "nothing was told of them";
    EXPECT_FALSE(cluster.spaces);
}

}  // namespace
}  // namespace scout::cluster
