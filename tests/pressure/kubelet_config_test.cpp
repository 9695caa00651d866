// SPDX-License-Identifier: Apache-2.0
#include "pressure/kubelet_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "migration/node_shutdown.h"
#include "tests/support/temporary_folder.h"

namespace scout::pressure {
namespace {

using namespace std::chrono_literals;
using migration::PressureSignal;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

KubeletFiles files(const std::string& text, const std::vector<std::string>& drop_ins = {}) {
    KubeletFiles made{.main = {{.name = "config.yaml", .text = head + text}}, .drop_ins = {}};
    for (const auto& one : drop_ins) {
        made.drop_ins.push_back({.name = "10-more.conf", .text = head + one});
    }
    return made;
}

KubeletConfig read(const KubeletFiles& from) {
    auto config = parse_kubelet_config(from);
    EXPECT_TRUE(config) << (config ? "" : config.error().message);
    return config.value_or(KubeletConfig{});
}

std::string refusal(const std::string& text) {
    const auto config = parse_kubelet_config(files(text));
    return config ? "(taken)" : config.error().message;
}

/// What a node of the proposal's functional test has in its file.
TEST(KubeletConfigTest, TheProposalsExample) {
    const auto config = read(files(R"(
authentication: {anonymous: {enabled: false}}
evictionSoft:
  memory.available: "3500Mi"
evictionSoftGracePeriod:
  memory.available: "5s"
evictionMaxPodGracePeriod: 300
evictionHard:
  memory.available: "10Mi"
evictionMinimumReclaim:
  memory.available: 1Gi
shutdownGracePeriod: 60s
shutdownGracePeriodCriticalPods: 10s
cgroupRoot: /kube
)"));
    ASSERT_THAT(config.eviction.thresholds, SizeIs(3));
    EXPECT_EQ(config.eviction.thresholds[0].value.of(0), 10U << 20U);
    EXPECT_EQ(config.eviction.thresholds[1].soft_grace, 5000ms);
    EXPECT_TRUE(config.eviction.thresholds[1].minimum_reclaim);
    EXPECT_EQ(config.eviction.max_pod_grace, 300s);
    EXPECT_EQ(migration::shutdown_grace(config.shutdown), 50s);
    EXPECT_EQ(config.cgroup_root, "/kube");
}

TEST(KubeletConfigTest, WithoutAFileTheDefaultsAreInForce) {
    EXPECT_THAT(read({}).eviction.thresholds, SizeIs(6));
    EXPECT_FALSE(migration::shutdown_grace(read({}).shutdown));
    EXPECT_EQ(read(files("")), read({}));
    EXPECT_EQ(read(files("evictionHard:\nshutdownGracePeriod: 0s\n")), read({}));
}

TEST(KubeletConfigTest, JsonIsTakenToo) {
    const auto config = parse_kubelet_config(
        {.main = {{.name = "kubelet-config.json", .text = R"({"kind": "KubeletConfiguration",
                               "apiVersion": "kubelet.config.k8s.io/v1beta1",
                               "evictionHard": {"pid.available": "5%"}})"}},
         .drop_ins = {}});
    ASSERT_TRUE(config);
    ASSERT_THAT(config->eviction.thresholds, SizeIs(1));
    EXPECT_EQ(config->eviction.thresholds[0].signal, PressureSignal::pid_available);
}

TEST(KubeletConfigTest, DropInsAreMergedKeyByKey) {
    // The defaults are there before drop-ins are merged into them.
    const auto more = read(files("", {"evictionHard: {memory.available: 1Gi}"}));
    ASSERT_THAT(more.eviction.thresholds, SizeIs(6));
    EXPECT_EQ(more.eviction.thresholds[0].value.of(0), 1U << 30U);

    const auto merged =
        read(files("evictionHard: {memory.available: 1Gi, nodefs.available: 5%}\n"
                   "evictionMaxPodGracePeriod: 60\nenforceNodeAllocatable: [pods]\n",
                   {"evictionHard: {memory.available: 2Gi}\n",
                    "evictionHard: {nodefs.available: null}\n"
                    "evictionMaxPodGracePeriod: 90\nenforceNodeAllocatable: [none]\n"}));
    ASSERT_THAT(merged.eviction.thresholds, SizeIs(1));
    EXPECT_EQ(merged.eviction.thresholds[0].value.of(0), std::uint64_t{2} << 30U);
    EXPECT_EQ(merged.eviction.max_pod_grace, 90s);
}

TEST(KubeletConfigTest, PrioritiesOfAShutdown) {
    const auto config =
        read(files("shutdownGracePeriodByPodPriority:\n"
                   "- {priority: 1000, shutdownGracePeriodSeconds: 120}\n"
                   "- {priority: 0, shutdownGracePeriodSeconds: 30}\n"));
    EXPECT_EQ(migration::shutdown_grace(config.shutdown), 30s);
    EXPECT_EQ(migration::shutdown_grace(config.shutdown, 5000), 120s);
}

TEST(KubeletConfigTest, WhatIsWrongIsNamedWithItsFileAndField) {
    EXPECT_THAT(refusal("evictionHard: {memory.available: 1GB}"),
                AllOf(HasSubstr("evictionHard"), HasSubstr("1GB")));
    EXPECT_THAT(refusal("evictionHard: [a]"),
                AllOf(HasSubstr("config.yaml"), HasSubstr("evictionHard"), HasSubstr("a list")));
    EXPECT_THAT(refusal("evictionHard: {memory.available: [1]}"), HasSubstr("'signal: value'"));
    EXPECT_THAT(refusal("evictionMaxPodGracePeriod: soon"),
                AllOf(HasSubstr("evictionMaxPodGracePeriod"), HasSubstr("'soon'")));
    EXPECT_THAT(refusal("mergeDefaultEvictionSettings: perhaps"), HasSubstr("'perhaps'"));
    EXPECT_THAT(refusal("evictionSoft: {memory.available: 1Gi}\n"
                        "evictionSoft: {memory.available: 2Gi}"),
                HasSubstr("given twice"));
    EXPECT_THAT(refusal("shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s"),
                HasSubstr("shutdownGracePeriodCriticalPods"));
    EXPECT_THAT(refusal("enforceNodeAllocatable: pods"),
                AllOf(HasSubstr("enforceNodeAllocatable"), HasSubstr("'pods'")));
    EXPECT_THAT(refusal("enforceNodeAllocatable: [[pods]]"), HasSubstr("a list"));
    EXPECT_THAT(refusal("shutdownGracePeriod: ten"), HasSubstr("shutdownGracePeriod"));
    EXPECT_THAT(refusal("shutdownGracePeriodByPodPriority: [{priority: 1}]"),
                HasSubstr("shutdownGracePeriodSeconds"));
    EXPECT_THAT(refusal("a: [\n"), HasSubstr("not YAML"));
    const auto other = parse_kubelet_config(
        {.main = {{.name = "x", .text = "kind: Config\napiVersion: v1\n"}}, .drop_ins = {}});
    EXPECT_THAT(other.error().message,
                AllOf(HasSubstr("KubeletConfiguration"), HasSubstr("Config")));
    EXPECT_FALSE(parse_kubelet_config({.main = {{.name = "x", .text = ""}}, .drop_ins = {}}));
    EXPECT_FALSE(parse_kubelet_config(
        {.main = {{.name = "x", .text = std::string(kubelet_file_limit + 1, ' ')}},
         .drop_ins = {}}));
}

TEST(KubeletFilesTest, AreReadInTheirOrder) {
    const test::TemporaryFolder folder;
    const auto file = folder.write("config.yaml", "main");
    folder.write("kubelet.conf.d/20-b.conf", "second");
    folder.write("kubelet.conf.d/10-a.conf", "first");
    folder.write("kubelet.conf.d/README", "passed over");
    const auto read =
        read_kubelet_files({.file = file, .folder = folder.path() / "kubelet.conf.d"});
    ASSERT_TRUE(read);
    ASSERT_THAT(read->main, SizeIs(1));
    ASSERT_THAT(read->drop_ins, SizeIs(2));
    EXPECT_EQ(read->drop_ins[0].text, "first");
    EXPECT_EQ(read->drop_ins[1].text, "second");
}

TEST(KubeletFilesTest, OnlyAFileThatWasNamedMustBeThere) {
    const test::TemporaryFolder folder;
    const auto absent = folder.path() / "config.yaml";
    EXPECT_THAT(
        read_kubelet_files({.file = absent, .file_must_be = false, .folder = {}}).value().main,
        IsEmpty());
    const auto must = read_kubelet_files({.file = absent, .folder = {}});
    ASSERT_FALSE(must);
    EXPECT_EQ(must.error().code, Errc::not_found);
    EXPECT_THAT(must.error().message, HasSubstr("config.yaml"));
    EXPECT_FALSE(read_kubelet_files({.file = {}, .folder = absent}));
    folder.write("config.yaml", std::string(kubelet_file_limit + 1, ' '));
    EXPECT_FALSE(read_kubelet_files({.file = absent, .file_must_be = false, .folder = {}}));
}

}  // namespace
}  // namespace scout::pressure
