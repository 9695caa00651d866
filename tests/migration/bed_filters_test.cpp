// SPDX-License-Identifier: Apache-2.0
// That the scheduler's plugins, as tests/bed asks them, say what is known of small clusters.
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/ask_program.h"
#include "tests/support/bed.h"

namespace scout::test {
namespace {

namespace json = boost::json;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

/// Two nodes, good in zone a and bad in zone b, and a pod that asks for one CPU.
struct Cluster {
    const char* name;
    const char* bad_spec = "{}";  ///< of the node bad
    const char* pods = "[]";      ///< that are there
    const char* spec = "{}";      ///< of the pod, without containers
    const char* ports = "[]";     ///< of the pod
    const char* others = "{}";    ///< further lists
    const char* plugin;           ///< that rejects bad, and nothing else does
    const char* reason;
};
void PrintTo(const Cluster& cluster, std::ostream* out) {
    *out << cluster.name;
}

json::object node(std::string_view name, std::string_view zone, std::string_view spec) {
    return {
        {"metadata",
         {{"name", name},
          {"labels", {{"kubernetes.io/hostname", name}, {"topology.kubernetes.io/zone", zone}}}}},
        {"spec", json::parse(spec)},
        {"status", {{"allocatable", {{"cpu", "2"}, {"memory", "4Gi"}, {"pods", "10"}}}}}};
}

json::object state_of(const Cluster& cluster) {
    auto spec = json::parse(cluster.spec).as_object();
    spec["containers"] = {{{"name", "c"},
                           {"resources", {{"requests", {{"cpu", "1"}}}}},
                           {"ports", json::parse(cluster.ports)}}};
    auto state = json::parse(cluster.others).as_object();
    state["nodes"] = {node("good", "a", "{}"), node("bad", "b", cluster.bad_spec)};
    state["pods"] = json::parse(cluster.pods);
    state["pod"] = {{"metadata", {{"name", "p"}, {"namespace", "ns"}, {"labels", {{"app", "x"}}}}},
                    {"spec", std::move(spec)}};
    return state;
}

json::object answer_to(const std::string& question) {
    return json::parse(ask_kubernetes("filters", {question}).front()).as_object();
}

class BedFiltersTest : public testing::TestWithParam<Cluster> {
protected:
    void SetUp() override { SCOUT_BED_OR_SKIP(); }
};

TEST_P(BedFiltersTest, OnePluginRejectsOneNode) {
    const auto answer = answer_to(json::serialize(state_of(GetParam())));

    SCOPED_TRACE(json::serialize(answer));
    ASSERT_TRUE(answer.contains("nodes"));
    EXPECT_EQ(answer.at("nodes").at("good"), (json::value{{"fits", true}}));
    const auto& bad = answer.at("nodes").at("bad");
    EXPECT_EQ(bad.at("fits"), false);
    EXPECT_EQ(bad.at("plugin"), GetParam().plugin);
    EXPECT_EQ(bad.at("reasons"), (json::array{GetParam().reason}));
    ASSERT_EQ(bad.at("failed").as_array().size(), 1U);
    EXPECT_EQ(bad.at("failed").at(0).at("plugin"), GetParam().plugin);
}

constexpr const char* one_claim =
    R"({"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]})";

INSTANTIATE_TEST_SUITE_P(
    Clusters, BedFiltersTest,
    testing::Values(
        Cluster{.name = "cpu",
                .pods = R"([{"metadata":{"name":"q"},"spec":{"nodeName":"bad","containers":[
                    {"name":"c","resources":{"requests":{"cpu":"1500m"}}}]}}])",
                .plugin = "NodeResourcesFit",
                .reason = "Insufficient cpu"},
        Cluster{.name = "taint",
                .bad_spec = R"({"taints":[{"key":"k","effect":"NoSchedule"}]})",
                .plugin = "TaintToleration",
                .reason = "node(s) had untolerated taint(s)"},
        Cluster{.name = "cordon",
                .bad_spec = R"({"unschedulable":true})",
                .plugin = "NodeUnschedulable",
                .reason = "node(s) were unschedulable"},
        Cluster{.name = "node affinity",
                .spec = R"({"affinity":{"nodeAffinity":{
                    "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
                        {"matchExpressions":[{"key":"topology.kubernetes.io/zone",
                            "operator":"In","values":["a"]}]}]}}}})",
                .plugin = "NodeAffinity",
                .reason = "node(s) didn't match Pod's node affinity/selector"},
        Cluster{.name = "host port",
                .pods = R"([{"metadata":{"name":"q"},"spec":{"nodeName":"bad","containers":[
                    {"name":"c","ports":[{"containerPort":80,"hostPort":80,"protocol":"TCP"}]}]}}])",
                .ports = R"([{"containerPort":8080,"hostPort":80,"protocol":"TCP"}])",
                .plugin = "NodePorts",
                .reason = "node(s) didn't have free ports for the requested pod ports"},
        Cluster{.name = "anti-affinity",
                .pods = R"([{"metadata":{"name":"q","namespace":"ns","labels":{"app":"x"}},
                    "spec":{"nodeName":"bad","containers":[]}}])",
                .spec = R"({"affinity":{"podAntiAffinity":{
                    "requiredDuringSchedulingIgnoredDuringExecution":[{
                        "topologyKey":"kubernetes.io/hostname",
                        "labelSelector":{"matchLabels":{"app":"x"}}}]}}})",
                .plugin = "InterPodAffinity",
                .reason = "node(s) didn't match pod anti-affinity rules"},
        Cluster{.name = "anti-affinity of a pod there, by the labels of the namespace",
                .pods = R"([{"metadata":{"name":"q","namespace":"other"},
                    "spec":{"nodeName":"bad","containers":[],"affinity":{"podAntiAffinity":{
                        "requiredDuringSchedulingIgnoredDuringExecution":[{
                            "topologyKey":"topology.kubernetes.io/zone",
                            "labelSelector":{"matchLabels":{"app":"x"}},
                            "namespaceSelector":{"matchLabels":{"team":"t"}}}]}}}}])",
                .others = R"({"namespaces":[
                    {"metadata":{"name":"ns","labels":{"team":"t"}}}]})",
                .plugin = "InterPodAffinity",
                .reason = "node(s) didn't satisfy existing pods anti-affinity rules"},
        Cluster{.name = "topology spread",
                .pods = R"([{"metadata":{"name":"q","namespace":"ns","labels":{"app":"x"}},
                    "spec":{"nodeName":"bad","containers":[]}}])",
                .spec = R"({"topologySpreadConstraints":[{"maxSkew":1,
                    "topologyKey":"topology.kubernetes.io/zone",
                    "whenUnsatisfiable":"DoNotSchedule",
                    "labelSelector":{"matchLabels":{"app":"x"}}}]})",
                .plugin = "PodTopologySpread",
                .reason = "node(s) didn't match pod topology spread constraints"},
        Cluster{.name = "volume of another zone, by its node affinity",
                .spec = one_claim,
                .others = R"({
                    "persistentVolumeClaims":[{"metadata":{"name":"c","namespace":"ns","uid":"u",
                        "annotations":{"pv.kubernetes.io/bind-completed":"yes"}},
                        "spec":{"volumeName":"pv"},"status":{"phase":"Bound"}}],
                    "persistentVolumes":[{"metadata":{"name":"pv"},"spec":{
                        "claimRef":{"name":"c","namespace":"ns","uid":"u"},
                        "nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[
                            {"key":"topology.kubernetes.io/zone","operator":"In",
                             "values":["a"]}]}]}}}}]})",
                .plugin = "VolumeBinding",
                .reason = "node(s) didn't match PersistentVolume's node affinity"},
        Cluster{.name = "volume of another zone, by its label",
                .spec = one_claim,
                .others = R"({
                    "persistentVolumeClaims":[{"metadata":{"name":"c","namespace":"ns","uid":"u",
                        "annotations":{"pv.kubernetes.io/bind-completed":"yes"}},
                        "spec":{"volumeName":"pv"},"status":{"phase":"Bound"}}],
                    "persistentVolumes":[{"metadata":{"name":"pv",
                        "labels":{"topology.kubernetes.io/zone":"a"}},
                        "spec":{"claimRef":{"name":"c","namespace":"ns","uid":"u"}}}]})",
                .plugin = "VolumeZone",
                .reason = "node(s) had no available volume zone"},
        Cluster{.name = "too many volumes of a driver",
                .pods = R"([{"metadata":{"name":"q","namespace":"ns"},"spec":{"nodeName":"bad",
                    "containers":[],"volumes":[
                        {"name":"v","persistentVolumeClaim":{"claimName":"d"}}]}}])",
                .spec = one_claim,
                .others = R"({
                    "persistentVolumeClaims":[
                        {"metadata":{"name":"c","namespace":"ns","uid":"u",
                            "annotations":{"pv.kubernetes.io/bind-completed":"yes"}},
                            "spec":{"volumeName":"pv"},"status":{"phase":"Bound"}},
                        {"metadata":{"name":"d","namespace":"ns","uid":"w"},
                            "spec":{"volumeName":"pw"},"status":{"phase":"Bound"}}],
                    "persistentVolumes":[
                        {"metadata":{"name":"pv"},"spec":{
                            "claimRef":{"name":"c","namespace":"ns","uid":"u"},
                            "csi":{"driver":"disk.csi","volumeHandle":"1"}}},
                        {"metadata":{"name":"pw"},"spec":{
                            "claimRef":{"name":"d","namespace":"ns","uid":"w"},
                            "csi":{"driver":"disk.csi","volumeHandle":"2"}}}],
                    "csiNodes":[{"metadata":{"name":"bad"},"spec":{"drivers":[
                        {"name":"disk.csi","nodeID":"bad","allocatable":{"count":1}}]}}]})",
                .plugin = "NodeVolumeLimits",
                .reason = "node(s) exceed max volume count"}));

TEST_F(BedFiltersTest, AllThatRejectANodeAreNamed) {
    const auto state = state_of(
        {.name = "",
         .bad_spec = R"({"taints":[{"key":"k","effect":"NoSchedule"}],"unschedulable":true})",
         .spec = R"({"nodeSelector":{"topology.kubernetes.io/zone":"a"}})",
         .plugin = "",
         .reason = ""});

    const auto answer = answer_to(json::serialize(state));

    SCOPED_TRACE(json::serialize(answer));
    const auto& bad = answer.at("nodes").at("bad");
    EXPECT_EQ(bad.at("plugin"), "NodeUnschedulable");
    std::vector<std::string> plugins;
    for (const auto& each : bad.at("failed").as_array()) {
        plugins.emplace_back(each.at("plugin").as_string());
    }
    EXPECT_THAT(plugins, ElementsAre("NodeUnschedulable", "TaintToleration", "NodeAffinity"));
}

/// Each state is by itself, also after one that could not be read.
TEST_F(BedFiltersTest, NothingIsLeftOfTheQuestionBefore) {
    const auto claimed = json::serialize(state_of({.name = "",
                                                   .spec = one_claim,
                                                   .others = R"({"persistentVolumeClaims":[
                {"metadata":{"name":"c","namespace":"ns"},"spec":{"storageClassName":"s"}}],
                "storageClasses":[{"metadata":{"name":"s"},"provisioner":"disk.csi",
                    "volumeBindingMode":"WaitForFirstConsumer"}]})",
                                                   .plugin = "",
                                                   .reason = ""}));
    const auto unclaimed =
        json::serialize(state_of({.name = "", .spec = one_claim, .plugin = "", .reason = ""}));

    const auto answers = ask_kubernetes("filters", {claimed, unclaimed, "{\"pod\":3}", claimed});

    EXPECT_EQ(answers[0], R"({"nodes":{"bad":{"fits":true},"good":{"fits":true}}})");
    EXPECT_THAT(answers[1], HasSubstr("persistentvolumeclaim \\\"c\\\" not found"));
    EXPECT_THAT(answers[2], testing::StartsWith(R"({"error":)"));
    EXPECT_EQ(answers[3], answers[0]);
}

TEST_F(BedFiltersTest, WhatItDoesNotKnowIsAnError) {
    const std::vector<std::string> questions{"",
                                             "{}",
                                             "[",
                                             R"({"pod":{},"node":[]})",
                                             R"({"pod":{"Spec":{}}})",
                                             R"({"pod":{},"nodes":[null]})",
                                             R"({"pod":{},"nodes":[{}]})"};
    EXPECT_THAT(ask_kubernetes("filters", questions), Each(testing::StartsWith(R"({"error":)")));
}

}  // namespace
}  // namespace scout::test
