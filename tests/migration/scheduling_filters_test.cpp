// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "migration/scheduling/filters.h"
#include "migration/scheduling/requests.h"

namespace scout::migration::scheduling {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr std::int64_t gibi = std::int64_t{1} << 30;
constexpr const char* host = "kubernetes.io/hostname";
constexpr const char* zone = "topology.kubernetes.io/zone";

LabelSelector app(const std::string& name) {
    return {.labels = {{"app", name}}, .expressions = {}};
}

PodTerm beside(const std::string& name, const std::string& topology) {
    return {.pods = app(name), .spaces = {}, .space_labels = {}, .topology = topology};
}

/// Nodes a and b in zone 1, c in zone 2: 4 cores and 8 GiB each. The new pod is of namespace shop.
class FiltersTest : public testing::Test {
protected:
    FiltersTest() {
        for (const auto& [name, place] :
             std::map<std::string, std::string>{{"a", "1"}, {"b", "1"}, {"c", "2"}}) {
            Node node;
            node.name = name;
            node.labels = {{host, name}, {zone, place}};
            node.allocatable = Resources{{"cpu", 4000}, {"memory", 8 * gibi}, {"pods", 10}};
            cluster.nodes.push_back(node);
        }
        pod.space = "shop";
        pod.name = "new";
        pod.labels = {{"app", "web"}};
    }
    Pod& add(const std::string& name, const std::string& node, const std::string& label = "web") {
        auto& one = cluster.pods.emplace_back();
        one.space = "shop";
        one.name = name;
        one.node = node;
        one.labels = {{"app", label}};
        return one;
    }
    /// "a: code: key" of all that was found, unknown ones with "?".
    [[nodiscard]] std::vector<std::string> found() const {
        const Filters filters(cluster);
        const auto ready = filters.prepare(pod);
        std::vector<std::string> out;
        for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
            for (const auto& [verdict, reason] : ready.judge(i)) {
                out.push_back(cluster.nodes[i].name + (verdict == Verdict::cannot ? ": " : "?: ") +
                              std::string{to_string(reason.code)} +
                              (reason.keys.empty() ? "" : ": " + join(reason.keys)));
            }
        }
        return out;
    }
    [[nodiscard]] std::string text(std::size_t node) const {
        const Filters filters(cluster);
        const auto all = filters.prepare(pod).judge(node);
        return all.empty() ? std::string{} : all.front().reason.text;
    }

    Cluster cluster;
    Pod pod;
};

TEST_F(FiltersTest, APodThatAsksForNothingGoesEverywhere) {
    EXPECT_THAT(found(), IsEmpty());
}

TEST_F(FiltersTest, WhatPodsOfANodeAskForIsNotFree) {
    add("one", "a").requests = {{"cpu", 3000}, {"memory", gibi}};
    add("two", "b").requests = {{"memory", 8 * gibi}};
    pod.requests = {{"cpu", 1500}, {"memory", gibi / 2}};

    EXPECT_THAT(found(), ElementsAre("a: resources: cpu", "b: resources: memory"));
    EXPECT_EQ(text(0),
              "cpu: 1.5 cores are asked for, and 1 cores of 4 cores are not requested yet");
    EXPECT_EQ(text(1), "memory: 512.0 MiB are asked for, and 0 B of 8.0 GiB are not requested yet");
}

TEST_F(FiltersTest, EveryResourceThatIsTooLittleIsNamed) {
    pod.requests = {{"cpu", 5000}, {"devices.kubevirt.io/kvm", 1}, {"memory", 9 * gibi}};
    cluster.nodes.resize(1);

    EXPECT_THAT(found(), ElementsAre("a: resources: cpu", "a: resources: devices.kubevirt.io/kvm",
                                     "a: resources: memory"));
}

TEST_F(FiltersTest, ANodeHasRoomForSoManyPods) {
    cluster.nodes[0].allocatable->at("pods") = 1;
    add("one", "a");

    EXPECT_THAT(found(), ElementsAre("a: resources: pods"));
}

TEST_F(FiltersTest, OfANodeThatDoesNotTellWhatItHasResourcesAreNotJudged) {
    cluster.nodes[0].allocatable.reset();
    pod.requests = {{"cpu", 5000}};

    EXPECT_THAT(found(), ElementsAre("b: resources: cpu", "c: resources: cpu"));
}

TEST_F(FiltersTest, TaintsAreToleratedByKeyValueAndEffect) {
    cluster.nodes[0].taints = {{"dedicated", "gpu", "NoSchedule"}};
    cluster.nodes[1].taints = {{"dedicated", "gpu", "NoExecute"}};
    cluster.nodes[2].taints = {{"dedicated", "gpu", "PreferNoSchedule"}};
    EXPECT_THAT(found(), ElementsAre("a: taint: dedicated", "b: taint: dedicated"));
    EXPECT_EQ(text(0), "the taint dedicated=gpu:NoSchedule is not tolerated");

    pod.tolerations = {{"dedicated", "Equal", "gpu", "NoSchedule"}};
    EXPECT_THAT(found(), ElementsAre("b: taint: dedicated"));
    pod.tolerations = {{"dedicated", {}, "vms", {}}};
    EXPECT_THAT(found(), SizeIs(2));
    pod.tolerations = {{"dedicated", "Exists", {}, {}}};
    EXPECT_THAT(found(), IsEmpty());
    pod.tolerations = {{{}, "Exists", {}, {}}};
    EXPECT_THAT(found(), IsEmpty());
    pod.tolerations = {{"dedicated", "Gt", "1", {}}};
    EXPECT_THAT(found(), SizeIs(2));
}

TEST_F(FiltersTest, ACordonIsOneReason) {
    cluster.nodes[0].unschedulable = true;
    cluster.nodes[0].taints = {{"node.kubernetes.io/unschedulable", {}, "NoSchedule"}};
    EXPECT_THAT(found(), ElementsAre("a: unschedulable"));

    pod.tolerations = {{"node.kubernetes.io/unschedulable", "Exists", {}, {}}};
    EXPECT_THAT(found(), IsEmpty());
}

TEST_F(FiltersTest, NodeSelectorAndAffinityNameTheirLabels) {
    pod.node_selector = {{zone, "2"}};
    pod.node_terms = {{.expressions = {{host, "NotIn", {"c"}}}, .fields = {}}};

    EXPECT_THAT(found(), ElementsAre(std::string{"a: selector: "} + zone,
                                     std::string{"b: selector: "} + zone,
                                     std::string{"c: node-affinity: "} + host));
}

TEST_F(FiltersTest, NoTermAtAllMatchesNoNode) {
    pod.node_terms.emplace();

    EXPECT_THAT(found(), ElementsAre("a: node-affinity", "b: node-affinity", "c: node-affinity"));
}

TEST_F(FiltersTest, APortOfTheNodeIsTakenOnce) {
    add("one", "a").ports = {{{}, "TCP", 80}};
    add("two", "b").ports = {{"10.0.0.1", {}, 80}};
    add("three", "c").ports = {{{}, "UDP", 80}};
    pod.ports = {{"10.0.0.2", "TCP", 80}};

    EXPECT_THAT(found(), ElementsAre("a: host-port: 80"));
}

TEST_F(FiltersTest, ItKeepsAwayFromPodsItMustNotBeWith) {
    add("one", "a");
    pod.anti_affinity = {beside("web", zone)};

    EXPECT_THAT(found(), ElementsAre(std::string{"a: pod-anti-affinity: "} + zone,
                                     std::string{"b: pod-anti-affinity: "} + zone));
}

TEST_F(FiltersTest, PodsThatMustNotBeWithItKeepItAway) {
    add("one", "c", "db").anti_affinity = {beside("web", host)};
    add("other", "a", "db").anti_affinity = {beside("cache", host)};

    EXPECT_THAT(found(), ElementsAre(std::string{"c: pod-anti-affinity: "} + host));
}

TEST_F(FiltersTest, ATermChoosesPodsOfItsOwnNamespaceUnlessItNamesOthers) {
    add("one", "a").space = "bank";
    pod.anti_affinity = {beside("web", host)};
    EXPECT_THAT(found(), IsEmpty());

    pod.anti_affinity.front().spaces = {"bank"};
    EXPECT_THAT(found(), SizeIs(1));

    pod.anti_affinity.front().spaces.clear();
    pod.anti_affinity.front().space_labels.emplace().labels = {{"team", "red"}};
    EXPECT_THAT(found(), ElementsAre("a?: not-comparable: namespaceSelector",
                                     "b?: not-comparable: namespaceSelector",
                                     "c?: not-comparable: namespaceSelector"));
    cluster.spaces = {{"bank", {{"team", "red"}}}, {"shop", {}}};
    EXPECT_THAT(found(), ElementsAre(std::string{"a: pod-anti-affinity: "} + host));
}

TEST_F(FiltersTest, ItMustBeWithOnePodThatAllOfItsTermsChoose) {
    add("one", "a", "db");
    pod.affinity = {beside("db", zone)};
    EXPECT_THAT(found(), ElementsAre(std::string{"c: pod-affinity: "} + zone));

    pod.affinity.push_back(beside("cache", zone));
    EXPECT_THAT(found(), SizeIs(3));
}

TEST_F(FiltersTest, TheFirstOfPodsThatMustBeTogetherGoesAnywhere) {
    pod.affinity = {beside("web", zone)};
    EXPECT_THAT(found(), IsEmpty());
    cluster.nodes[2].labels.erase(zone);
    EXPECT_THAT(found(), ElementsAre(std::string{"c: pod-affinity: "} + zone));

    add("one", "a");
    EXPECT_THAT(found(), ElementsAre(std::string{"c: pod-affinity: "} + zone));
}

TEST_F(FiltersTest, PodsAreSpreadOverTheTopology) {
    add("one", "a");
    add("two", "b").deleting = true;
    add("three", "b").space = "bank";
    pod.spread.push_back({.topology = zone, .pods = app("web"), .label_keys = {}});
    EXPECT_THAT(found(), ElementsAre(std::string{"a: topology-spread: "} + zone,
                                     std::string{"b: topology-spread: "} + zone));
    EXPECT_THAT(text(0), HasSubstr("1 such pods run at topology.kubernetes.io/zone=1 and 0 where"));

    pod.spread.front().max_skew = 2;
    EXPECT_THAT(found(), IsEmpty());
    pod.spread.front().min_domains = 3;
    add("four", "c");
    add("five", "c");
    EXPECT_THAT(found(), ElementsAre(std::string{"c: topology-spread: "} + zone));
}

TEST_F(FiltersTest, NodesThatItCannotGoToCountOnlyIfTheConstraintSaysSo) {
    add("one", "a");
    pod.node_selector = {{zone, "1"}};
    pod.spread.push_back({.topology = zone, .pods = app("web"), .label_keys = {}});
    EXPECT_THAT(found(), ElementsAre(AllOf(HasSubstr("c: selector"))));

    pod.spread.front().honors_affinity = false;
    EXPECT_THAT(found(), SizeIs(3));
    pod.spread.front().honors_taints = true;
    cluster.nodes[2].taints = {{"dedicated", {}, "NoSchedule"}};
    EXPECT_THAT(found(), UnorderedElementsAre(HasSubstr("c: selector"), HasSubstr("c: taint")));
}

TEST_F(FiltersTest, ASpreadConstraintThatChoosesNothingCountsNothing) {
    add("one", "a");
    pod.spread.push_back({.topology = zone, .pods = LabelSelector{}, .label_keys = {}});
    EXPECT_THAT(found(), IsEmpty());
    pod.spread.front().pods.reset();
    EXPECT_THAT(found(), IsEmpty());
    pod.spread.front().pods = LabelSelector{};
    pod.spread.front().label_keys = {"app", "gone"};
    EXPECT_THAT(found(), SizeIs(2));
}

TEST_F(FiltersTest, ASelectorThatIsNoneLeavesItOpen) {
    pod.spread.push_back({.topology = zone, .pods = app("no label!"), .label_keys = {}});
    pod.anti_affinity = {beside("web", host)};
    pod.anti_affinity.front().pods->expressions = {{"tier", "Gt", {"1"}}};

    EXPECT_THAT(found(), SizeIs(6));
    EXPECT_THAT(found().front(), "a?: not-comparable: topologySpreadConstraints");
}

TEST_F(FiltersTest, WhatIsNotModelledIsUnknown) {
    pod.not_judged = {"resourceClaims"};
    cluster.nodes.resize(1);

    EXPECT_THAT(found(), ElementsAre("a?: not-comparable: resourceClaims"));
}

class VolumesTest : public FiltersTest {
protected:
    VolumesTest() {
        cluster.claims.emplace();
        cluster.volumes.emplace();
        Claim claim;
        claim.volume = "pv";
        claim.bound = true;
        cluster.claims->emplace("shop/disk", claim);
        cluster.volumes->emplace("pv", Volume{{}, {}, "csi", "handle", false});
        pod.claims = {"disk"};
    }
    Claim& claim() { return cluster.claims->at("shop/disk"); }
    Volume& volume() { return cluster.volumes->at("pv"); }
};

TEST_F(VolumesTest, AVolumeThatCanBeReachedFromEverywhereIsNoMatter) {
    EXPECT_THAT(found(), IsEmpty());
}

TEST_F(VolumesTest, AVolumeTiesToNodesByItsAffinityAndItsZone) {
    volume().node_terms = {{.expressions = {{host, "In", {"a", "c"}}}, .fields = {}}};
    EXPECT_THAT(found(), ElementsAre("b: volume: disk"));
    volume().node_terms.reset();

    volume().labels = {{zone, "2__3"}};
    EXPECT_THAT(found(),
                ElementsAre(std::string{"a: volume: "} + zone, std::string{"b: volume: "} + zone));
    volume().labels = {{"failure-domain.beta.kubernetes.io/zone", "1"}};
    EXPECT_THAT(found(), ElementsAre("c: volume: failure-domain.beta.kubernetes.io/zone"));
    volume().labels = {{zone, "2__"}};
    EXPECT_THAT(found(), IsEmpty()) << "the scheduler passes over what it cannot read";
    for (auto& node : cluster.nodes) {
        node.labels.erase(zone);
    }
    volume().labels = {{zone, "2"}};
    EXPECT_THAT(found(), IsEmpty()) << "of nodes without any zone the scheduler asks none";
}

TEST_F(VolumesTest, AClaimMustBeThereAndBoundAndNotOnItsWayOut) {
    cluster.nodes.resize(1);
    claim().bound = false;
    EXPECT_THAT(found(), ElementsAre("a?: not-comparable: disk"));
    claim().bound = true;
    claim().lost = true;
    EXPECT_THAT(text(0), HasSubstr("bound to a volume that is no more"));
    claim().lost = false;
    claim().deleting = true;
    EXPECT_THAT(text(0), HasSubstr("is being deleted"));
    claim().deleting = false;
    claim().volume = "other";
    EXPECT_THAT(text(0), HasSubstr("the volume other of the claim disk is not there"));
    cluster.claims->clear();
    EXPECT_THAT(text(0), HasSubstr("the claim disk is not there"));
    cluster.claims.reset();
    EXPECT_THAT(found(), IsEmpty()) << "who asks says that claims were not told";
}

TEST_F(VolumesTest, AVolumeForOnePodStaysWithIt) {
    claim().one_pod = true;
    EXPECT_THAT(found(), IsEmpty());

    add("one", "a").claims = {"disk"};
    EXPECT_THAT(found(), ElementsAre("a: volume: disk", "b: volume: disk", "c: volume: disk"));
}

TEST_F(VolumesTest, ADriverTakesSoManyVolumesOnANode) {
    for (auto& node : cluster.nodes) {
        node.volume_limits = {{"csi", 1}};
    }
    Claim other;
    other.volume = "pv2";
    cluster.claims->emplace("shop/other", other);
    cluster.volumes->emplace("pv2", Volume{{}, {}, "csi", "handle2", false});
    add("one", "a").claims = {"other"};
    add("two", "b").claims = {"disk"};

    EXPECT_THAT(found(), ElementsAre("a: volume: csi"));
}

TEST_F(VolumesTest, OfAVolumeThatCsiMigrationTurnsIntoAnotherNobodyKnows) {
    volume().translated = true;
    cluster.nodes.resize(1);

    EXPECT_THAT(found(), ElementsAre("a?: not-comparable: disk"));
}

TEST(RequestsTest, ContainersAreAddedAndInitContainersAreWhatTheyNeedAtMost) {
    PodAsk pod;
    pod.containers = {{.requests = {{"cpu", 100}}, .actual = {}, .allocated = {}},
                      {.requests = {{"cpu", 200}, {"memory", 5}}, .actual = {}, .allocated = {}}};
    pod.init_containers = {
        {.ask = {.requests = {{"cpu", 50}}, .actual = {}, .allocated = {}}, .restarts = true},
        {.ask = {.requests = {{"cpu", 400}}, .actual = {}, .allocated = {}}}};
    pod.overhead = {{"memory", 2}};

    EXPECT_THAT(requests_of(pod), ElementsAre(Pair("cpu", 450), Pair("memory", 7)));
    pod.whole = Ask{.requests = {{"cpu", 1}}, .actual = {}, .allocated = {}};
    EXPECT_THAT(requests_of(pod), ElementsAre(Pair("cpu", 1), Pair("memory", 7)));
}

TEST(RequestsTest, WhileResourcesAreChangedTheLargerOnesCount) {
    PodAsk pod;
    pod.containers = {{.requests = {{"cpu", 300}},
                       .actual = Resources{{"cpu", 200}},
                       .allocated = {{"cpu", 250}}}};
    EXPECT_THAT(requests_of(pod), ElementsAre(Pair("cpu", 300)));
    pod.resize_infeasible = true;
    EXPECT_THAT(requests_of(pod), ElementsAre(Pair("cpu", 250)));
    EXPECT_THAT(requests_when_new(pod), ElementsAre(Pair("cpu", 300)));
}

TEST(RequestsTest, SumsStopAtWhatTheyHold) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    PodAsk pod;
    pod.containers = {{.requests = {{"memory", most}}, .actual = {}, .allocated = {}},
                      {.requests = {{"memory", most}}, .actual = {}, .allocated = {}}};

    EXPECT_THAT(requests_of(pod), ElementsAre(Pair("memory", most)));
}

}  // namespace
}  // namespace scout::migration::scheduling
