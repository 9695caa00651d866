// SPDX-License-Identifier: Apache-2.0
#include "cluster/label_check.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/dump.h"
#include "documents/cpu_map_files.h"
#include "tests/cluster/node_objects.h"
#include "tests/support/test_data.h"

namespace scout::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const WallTime now{std::chrono::hours{500'000}};

/// "node: severity code: key, key" of each finding.
std::vector<std::string> told(const std::vector<migration::NodeFindings>& nodes) {
    std::vector<std::string> out;
    for (const auto& node : nodes) {
        for (const auto& finding : node.findings) {
            std::string line = node.node + ": ";
            line += to_string(finding.severity);
            line += ' ';
            line += to_string(finding.code);
            out.push_back(line + ": " + migration::join(finding.keys));
        }
    }
    return out;
}

TEST(LabelCheckTest, ListOfTheKubeVirtObjectInForceIsTheOneThatCounts) {
    Objects objects;
    auto labels = test::plain_labels();
    labels["cpu-model-migration.node.kubevirt.io/qemu64"] = "true";
    objects.nodes.push_back(test::node_object("n1", labels));
    EXPECT_THAT(told(check_labels(objects, now, {})), IsEmpty());

    auto idle = test::kubevirt_object();
    idle.phase = {};
    idle.obsolete_cpu_models.emplace(1, kube::SharedText{"Large"});
    objects.kubevirts = {idle, test::kubevirt_object()};
    EXPECT_THAT(told(check_labels(objects, now, {})),
                ElementsAre("n1: warning stale: cpu-model-migration.node.kubevirt.io/qemu64"));

    objects.kubevirts[1].obsolete_cpu_models.emplace();
    EXPECT_THAT(told(check_labels(objects, now, {})), IsEmpty())
        << "an empty list excludes nothing";
}

TEST(LabelCheckTest, TheMachineTypeThatVmsGetIsAskedFor) {
    Objects objects{.nodes = {test::node_object("n1")}};
    auto kubevirt = test::kubevirt_object();
    objects.kubevirts = {kubevirt};
    EXPECT_THAT(told(check_labels(objects, now, {.machine_type = "pc-q35-rhel9.4.0"})), IsEmpty())
        << "what is asked about is no default";

    kubevirt.machine = kube::SharedText{"pc-q35-rhel9.4.0"};
    objects.kubevirts = {kubevirt};

    EXPECT_THAT(told(check_labels(objects, now, {})),
                ElementsAre("n1: warning missing-machine-type: "
                            "machine-type.node.kubevirt.io/pc-q35-rhel9.4.0"));
}

TEST(LabelCheckTest, ALevelThatTheOtherLabelsDoNotComeToIsTold) {
    auto labels = test::plain_labels();
    Objects objects{.nodes = {test::node_object("plain", labels)}};
    for (const auto& [name, level] : {std::pair{"right", "100"}, std::pair{"wrong", "3"}}) {
        labels[std::string{level_label}] = level;
        objects.nodes.push_back(test::node_object(name, labels));
    }

    const auto nodes = check_labels(objects, now, {});

    EXPECT_THAT(told(nodes), ElementsAre("wrong: note level: " + std::string{level_label}));
    EXPECT_THAT(nodes.back().findings[0].text,
                HasSubstr("is 3, by the other labels here it would be 100 (layer stock)"));
}

TEST(RealLabelCheckTest, NodesOfARunningKubeVirt) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto dump = read_dump({data / "kubevirt" / "live"}).value();
    const auto map = documents::load_cpu_map(data / "libvirt" / "cpu_map").value();

    const auto nodes = check_labels(dump.objects, dump.moment, {.map = &map});

    EXPECT_THAT(told(nodes),
                ElementsAre("node-h: error inconsistent: cpu-vendor.node.kubevirt.io/Intel, "
                            "cpu-vendor.node.kubevirt.io/OldVendor",
                            "node-h: warning inconsistent: cpu-feature.node.kubevirt.io/acpi, "
                            "cpu-feature.node.kubevirt.io/ds, cpu-feature.node.kubevirt.io/ss",
                            "node-h: warning unschedulable: kubevirt.io/schedulable"));
    EXPECT_THAT(nodes.back().findings[0].text,
                HasSubstr("kubectl label node node-h cpu-vendor.node.kubevirt.io/OldVendor-"));
}

/// Case 32.
TEST(RealLabelCheckTest, NodesOfAnOldLabeller) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto folder = data / "kubernetes" / "nodes";
    const std::string missing = ": warning missing-machine-type: machine-type.node.kubevirt.io/";

    const auto old =
        read_dump({folder / "km-node01.json", folder / "km-node02.json", folder / "km-node03.json"})
            .value();
    const auto mixed =
        read_dump({folder / "km-node01.json", folder / "harvester-0-nodeConditionFalse.yaml"})
            .value();

    EXPECT_THAT(told(check_labels(old.objects, old.moment, {})),
                ElementsAre("node01" + missing, "node02" + missing, "node03" + missing));
    EXPECT_THAT(told(check_labels(mixed.objects, mixed.moment, {})),
                ElementsAre("harvester-node-1: warning unschedulable: kubevirt.io/schedulable",
                            "node01" + missing,
                            "node01: warning old-labeller: machine-type.node.kubevirt.io/, "
                            "cpu-feature.node.kubevirt.io/vmx-"));
}

}  // namespace
}  // namespace scout::cluster
