// SPDX-License-Identifier: Apache-2.0
#include "cluster/launcher_grace.h"

#include <stdexcept>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "tests/cluster/json_patch.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// As KubeVirt makes it, with a sidecar in front.
json::value launcher(const json::array& command = {"/usr/bin/virt-launcher-monitor", "--name", "vm",
                                                   "--grace-period-seconds", "45",
                                                   "--hook-sidecars", "0"}) {
    return {{"metadata", {{"labels", {{"kubevirt.io", "virt-launcher"}}}}},
            {"spec",
             {{"terminationGracePeriodSeconds", 60},
              {"containers", json::array{{{"name", "sidecar"}, {"command", {"--grace"}}},
                                         {{"name", "compute"}, {"command", command}}}}}}};
}

/// The pod of a VM that wants so much.
json::value wanting(const char* seconds, json::value pod = launcher()) {
    pod.at("metadata").as_object()["annotations"] =
        json::object{{"virt-scout.io/launcher-grace-seconds", seconds}};
    return pod;
}

GraceRaise raise(const json::value& pod, std::string_view of_namespace = {}) {
    auto text = json::serialize(pod);
    const auto read = kube::decode_new_pod(kube::PaddedText::of(text));
    if (!read) {
        throw std::runtime_error(read.error().message);
    }
    return raise_launcher_grace(*read, of_namespace);
}

std::string grace_of(const json::value& pod) {
    return std::string{pod.at_pointer("/spec/containers/1/command/4").as_string()};
}

std::int64_t whole_of(const json::value& pod) {
    return pod.at_pointer("/spec/terminationGracePeriodSeconds").as_int64();
}

TEST(LauncherGraceTest, IsLeftAloneWhereNobodyWantsMore) {
    const auto nothing = raise(launcher());
    EXPECT_THAT(nothing.patch, IsEmpty());
    EXPECT_THAT(nothing.warnings, IsEmpty());
}

TEST(LauncherGraceTest, TheLauncherWaitsAsLongAsItsVmWantsAndItsPodAsKubeVirtHasIt) {
    const auto pod = wanting("300");
    const auto raised = raise(pod);
    const auto after = test::patched(pod, raised.patch);
    EXPECT_EQ(grace_of(after), "300");
    EXPECT_EQ(whole_of(after), 315);
    EXPECT_THAT(raised.warnings, IsEmpty());
    EXPECT_THAT(raise(after).patch, IsEmpty()) << "a second time changes nothing";
}

TEST(LauncherGraceTest, TheVmIsHeardBeforeItsNamespace) {
    EXPECT_EQ(grace_of(test::patched(launcher(), raise(launcher(), "200").patch)), "200");
    const auto pod = wanting("100");
    EXPECT_EQ(grace_of(test::patched(pod, raise(pod, "200").patch)), "100");
}

TEST(LauncherGraceTest, IsNeverLowered) {
    EXPECT_THAT(raise(wanting("45")).patch, IsEmpty());
    EXPECT_THAT(raise(wanting("10")).patch, IsEmpty());
    auto pod = wanting("100");
    pod.as_object()["spec"].as_object()["terminationGracePeriodSeconds"] = 600;
    const auto after = test::patched(pod, raise(pod).patch);
    EXPECT_EQ(grace_of(after), "100");
    EXPECT_EQ(whole_of(after), 600);
}

TEST(LauncherGraceTest, APodThatSaysNoGraceOfItsOwnGetsOne) {
    auto pod = wanting("100");
    pod.as_object()["spec"].as_object().erase("terminationGracePeriodSeconds");
    EXPECT_EQ(whole_of(test::patched(pod, raise(pod).patch)), 115);
}

TEST(LauncherGraceTest, TheFlagMayHoldItsNumber) {
    const auto pod =
        wanting("100", launcher({"monitor", "a", "b", "c", "--grace-period-seconds=45"}));
    EXPECT_EQ(grace_of(test::patched(pod, raise(pod).patch)), "--grace-period-seconds=100");
}

TEST(LauncherGraceTest, WhatIsNoNumberOfSecondsIsAWarning) {
    for (const char* text : {"0", "-1", "3601", "5m", "1e3", " 60", "99999999999999999999"}) {
        const auto wrong = raise(wanting(text));
        EXPECT_THAT(wrong.patch, IsEmpty()) << text;
        EXPECT_THAT(wrong.warnings, ElementsAre(HasSubstr("1 to 3600"))) << text;
        EXPECT_THAT(raise(launcher(), text).warnings, ElementsAre(HasSubstr("of its namespace")));
    }
}

TEST(LauncherGraceTest, ALauncherWithoutTheFlagKeepsWhatItHas) {
    for (const auto& command : {json::array{}, json::array{"--grace-period-seconds"},
                                json::array{"--grace-period-seconds", "soon"},
                                json::array{"--grace-period-secondsy", "4"}}) {
        const auto raised = raise(wanting("100", launcher(command)));
        EXPECT_THAT(raised.patch, IsEmpty());
        EXPECT_THAT(raised.warnings, ElementsAre(HasSubstr("--grace-period-seconds")));
    }
}

TEST(LauncherGraceTest, OtherPodsAreNotTouched) {
    auto pod = wanting("100");
    pod.at("metadata").at("labels").as_object()["kubevirt.io"] = "hotplug-disk";
    EXPECT_THAT(raise(pod, "100").patch, IsEmpty());
}

}  // namespace
}  // namespace scout::cluster
