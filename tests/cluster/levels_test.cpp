// SPDX-License-Identifier: Apache-2.0
#include "cluster/levels.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/dump.h"
#include "tests/cluster/node_objects.h"
#include "tests/support/profiles.h"
#include "tests/support/test_data.h"

namespace scout::cluster {
namespace {

using migration::Layer;
using migration::ReasonCode;
using std::chrono::minutes;
using test::cordon;
using test::node_object;
using test::plain_labels;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const WallTime now{std::chrono::hours{500'000}};

std::size_t place_of(const Levels& levels, std::string_view name) {
    const auto found = std::find_if(levels.nodes.begin(), levels.nodes.end(),
                                    [name](const auto& node) { return node.name == name; });
    if (found == levels.nodes.end()) {
        throw std::runtime_error("no node " + std::string(name));
    }
    return static_cast<std::size_t>(found - levels.nodes.begin());
}

const NodeLevel& level_of(const Levels& levels, std::string_view name) {
    return levels.nodes[place_of(levels, name)];
}

std::vector<std::string> out_of(const Levels& levels, std::string_view name) {
    return levels.out(place_of(levels, name));
}

/// A refusal with the names of both nodes.
struct Refused {
    std::string from;
    std::string to;
    Layer layer;
    Refusal::Reasons reasons;
};

std::vector<Refused> all_refused(const Levels& levels) {
    std::vector<Refused> out;
    for (std::size_t from = 0; from < levels.nodes.size(); ++from) {
        for (const auto& each : levels.refused(from)) {
            out.push_back(
                {levels.nodes[from].name, levels.nodes[each.to].name, each.layer, each.reasons});
        }
    }
    return out;
}

/// Codes of the refusals of one pair, in order; both layers.
std::vector<ReasonCode> codes(const Levels& levels, std::string_view from, std::string_view to) {
    std::vector<ReasonCode> out;
    for (const auto& refusal : all_refused(levels)) {
        for (const auto& reason : *refusal.reasons) {
            EXPECT_EQ(reason.layer, refusal.layer);
            if (refusal.from == from && refusal.to == to) {
                out.push_back(reason.code);
            }
        }
    }
    return out;
}

/// Label keys of the stock refusal of one pair, reason by reason.
std::vector<std::string> stock_keys(const Levels& levels, std::string_view from,
                                    std::string_view to) {
    std::vector<std::string> out;
    for (const auto& refusal : all_refused(levels)) {
        if (refusal.layer == Layer::stock && refusal.from == from && refusal.to == to) {
            for (const auto& reason : *refusal.reasons) {
                out.insert(out.end(), reason.keys.begin(), reason.keys.end());
            }
        }
    }
    return out;
}

/// "FROM>TO" of each refusal.
std::string pairs(const Levels& levels) {
    std::string out;
    for (const auto& each : all_refused(levels)) {
        out += (out.empty() ? "" : " ") + each.from + ">" + each.to;
    }
    return out;
}

TEST(LevelsTest, EqualNodesAreFullyMeshed) {
    const Objects objects{.nodes = {node_object("a"), node_object("b"), node_object("c")}};

    const auto levels = judge_levels(objects, now, {});

    ASSERT_THAT(levels.nodes, SizeIs(3));
    EXPECT_THAT(levels.out(0), ElementsAre("b", "c"));
    EXPECT_THAT(levels.out(1), ElementsAre("a", "c"));
    EXPECT_EQ(levels.nodes[2].level, 100U);
    EXPECT_THAT(all_refused(levels), IsEmpty());
}

TEST(LevelsTest, ALoneCountedNodeHasLevelZero) {
    const auto levels = judge_levels({.nodes = {node_object("a")}}, now, {});
    EXPECT_EQ(level_of(levels, "a").level, 0U);
}

TEST(LevelsTest, TheLevelIsOfTheLayerThatIsAskedForAndRefusalsAreOfBoth) {
    const auto map = scout::test::small_map();
    const Objects objects{
        .nodes = {node_object("l1"), node_object("l2"), node_object("s", plain_labels("Small"))}};

    const auto stock = judge_levels(objects, now, {.map = &map});
    const auto truth = judge_levels(objects, now, {.layer = Layer::truth, .map = &map});

    EXPECT_EQ(level_of(stock, "l1").level, 100U);
    EXPECT_EQ(level_of(truth, "l1").level, 50U);
    EXPECT_THAT(out_of(truth, "l1"), ElementsAre("l2"));
    EXPECT_EQ(level_of(truth, "s").level, 100U);
    for (const auto* levels : {&stock, &truth}) {
        const auto refused = all_refused(*levels);
        ASSERT_THAT(refused, SizeIs(2));
        EXPECT_EQ(refused[0].from, "l1");
        EXPECT_EQ(refused[1].from, "l2");
        EXPECT_EQ(refused[0].layer, Layer::truth);
        EXPECT_THAT(refused[0].reasons->at(0).keys, ElementsAre("aes", "avx"));
    }
}

TEST(LevelsTest, WhatKubeVirtAsksOfEveryNodeIsAskedOfTargets) {
    kube::KubeVirt kubevirt;
    kubevirt.meta.name = "kubevirt";
    const kube::Labels pool = test::node_object("x", {{"pool", "vms"}}).labels;
    kubevirt.node_selectors = pool;
    auto labels = plain_labels();
    labels["pool"] = "vms";
    const Objects objects{
        .nodes = {node_object("a", labels), node_object("b", labels), node_object("c")},
        .kubevirts = {kubevirt}};

    const auto levels = judge_levels(objects, now, {});

    EXPECT_THAT(out_of(levels, "a"), ElementsAre("b"));
    EXPECT_EQ(level_of(levels, "a").level, 100U);
    EXPECT_FALSE(level_of(levels, "c").schedulable);
    EXPECT_EQ(level_of(levels, "c").level, std::nullopt);
    EXPECT_THAT(codes(levels, "a", "c"), ElementsAre(ReasonCode::unschedulable));
}

TEST(LevelsTest, WhatIsListedIsBoundedAndTheRestIsCounted) {
    const auto map = scout::test::small_map();
    const Objects objects{
        .nodes = {node_object("l1"), node_object("l2"), node_object("s", plain_labels("Small"))}};

    const auto levels = judge_levels(objects, now, {.map = &map, .most_refusals = 1});

    EXPECT_EQ(pairs(levels), "l1>s");
    EXPECT_EQ(levels.not_listed, 1U);
}

/// What is listed is cut class by class, and told node by node.
TEST(LevelsTest, NodesOfOneClassListTheirOwnRefusals) {
    const auto map = scout::test::small_map();
    auto small = plain_labels("Small");
    small["kubevirt.io/schedulable"] = "false";
    const auto large = plain_labels();
    const Objects objects{.nodes = {node_object("a", large), node_object("b", small),
                                    node_object("c", large), node_object("d", small)}};

    EXPECT_EQ(pairs(judge_levels(objects, now, {.map = &map})),
              "a>b a>b a>d a>d b>d c>b c>b c>d c>d d>b");
    const auto cut = judge_levels(objects, now, {.map = &map, .most_refusals = 9});
    EXPECT_EQ(pairs(cut), "a>b a>b a>d a>d b>d c>b c>b c>d c>d");
    EXPECT_EQ(cut.not_listed, 1U);
    const auto short_one = judge_levels(objects, now, {.map = &map, .most_refusals = 5});
    EXPECT_EQ(pairs(short_one), "a>b a>b a>d a>d c>b") << "the first class first";
    EXPECT_EQ(short_one.not_listed, 5U);
}

/// A fleet has too many pairs of nodes to say it of each.
TEST(LevelsTest, WhatIsSaidOfAPairOfClassesIsHeldOnce) {
    const auto map = scout::test::small_map();
    Objects objects;
    for (int i = 0; i < 40; ++i) {
        const auto number = std::to_string(100 + i);
        objects.nodes.push_back(node_object("l" + number));
        objects.nodes.push_back(node_object("s" + number, plain_labels("Small")));
    }
    cordon(objects.nodes[0], now - minutes{20});

    const auto levels = judge_levels(objects, now, {.map = &map});

    std::set<const void*> said;
    for (const auto& refusal : all_refused(levels)) {
        said.insert(refusal.reasons.get());
    }
    EXPECT_THAT(levels.outlooks, SizeIs(2));
    EXPECT_THAT(all_refused(levels), SizeIs(40 * 40 + 79));
    EXPECT_THAT(said, SizeIs(3)) << "Large to Small, and both to the one that is cordoned";
}

TEST(LevelsTest, WithoutACpuMapTheTruthLayerSaysNeitherYesNorNo) {
    const Objects objects{.nodes = {node_object("a"), node_object("b")}};

    const auto levels = judge_levels(objects, now, {.layer = Layer::truth});

    EXPECT_EQ(level_of(levels, "a").level, 0U);
    EXPECT_THAT(levels.unknown(place_of(levels, "a")), ElementsAre("b"));
    EXPECT_THAT(all_refused(levels), IsEmpty());
    EXPECT_EQ(level_of(levels, "a").truth_not_known, 1U);
    const auto stock = judge_levels(objects, now, {});
    EXPECT_EQ(level_of(stock, "a").level, 100U);
    EXPECT_EQ(level_of(stock, "a").truth_not_known, 1U) << "and it is said, whatever the layer";
}

TEST(LevelsTest, ARollingDrainDoesNotRelabelTheFleet) {
    Objects objects{.nodes = {node_object("a"), node_object("b"), node_object("c")}};
    cordon(objects.nodes[2], now);

    const auto soon = judge_levels(objects, now + minutes{9}, {});
    const auto later = judge_levels(objects, now + minutes{10}, {});

    EXPECT_EQ(level_of(soon, "c").level, 100U);
    EXPECT_EQ(level_of(soon, "c").still_counted, "it is cordoned, and counts for 60 s more");
    EXPECT_FALSE(level_of(soon, "c").schedulable);
    EXPECT_THAT(out_of(soon, "a"), ElementsAre("b", "c"));
    EXPECT_THAT(all_refused(soon), IsEmpty());
    EXPECT_EQ(level_of(later, "c").level, std::nullopt);
    EXPECT_EQ(level_of(later, "c").not_counted, "it is cordoned");
    EXPECT_THAT(out_of(later, "c"), ElementsAre("a", "b")) << "guests can still leave it";
    EXPECT_THAT(out_of(later, "a"), ElementsAre("b"));
    EXPECT_EQ(level_of(later, "a").level, 100U);
    EXPECT_THAT(codes(later, "a", "c"), ElementsAre(ReasonCode::unschedulable));
    EXPECT_THAT(codes(later, "c", "a"), IsEmpty());
}

TEST(LevelsTest, InconsistentHostModelsGetNoLevelAndNoGuests) {
    auto twice = plain_labels();
    twice["host-model-cpu.node.kubevirt.io/Small"] = "true";
    const Objects objects{.nodes = {node_object("a"), node_object("b"), node_object("two", twice)}};

    const auto levels = judge_levels(objects, now, {});

    EXPECT_EQ(level_of(levels, "two").level, std::nullopt);
    EXPECT_EQ(level_of(levels, "two").not_counted, "its labels name several host-models");
    EXPECT_THAT(out_of(levels, "two"), IsEmpty());
    EXPECT_THAT(out_of(levels, "a"), ElementsAre("b"));
    EXPECT_EQ(level_of(levels, "a").level, 100U);
    EXPECT_THAT(all_refused(levels), IsEmpty());
}

TEST(LevelsTest, ANodeThatKubeVirtDoesNotKnowIsNoTarget) {
    const Objects objects{
        .nodes = {node_object("a"), node_object("master", {{"kubernetes.io/arch", "amd64"}})}};

    const auto levels = judge_levels(objects, now, {});

    EXPECT_THAT(all_refused(levels), IsEmpty());
    EXPECT_EQ(level_of(levels, "master").level, std::nullopt);
    EXPECT_EQ(level_of(levels, "a").level, 0U);
}

TEST(LevelsTest, EveryArchitectureCountsForItselfAndHasItsOwnMachineType) {
    auto s390x = plain_labels();
    s390x["kubernetes.io/arch"] = "s390x";
    s390x["machine-type.node.kubevirt.io/s390-ccw-virtio"] = "true";
    auto unlabelled = plain_labels();
    unlabelled.erase("kubernetes.io/arch");
    const Objects objects{.nodes = {node_object("a1"), node_object("a2"), node_object("a3"),
                                    node_object("s1", s390x), node_object("s2", s390x),
                                    node_object("u1", unlabelled), node_object("u2", unlabelled)}};

    const auto levels = judge_levels(objects, now, {});

    for (const auto& node : levels.nodes) {
        EXPECT_EQ(node.level, 100U) << node.name;
    }
    EXPECT_THAT(out_of(levels, "s1"), ElementsAre("s2"));
    EXPECT_THAT(out_of(levels, "u1"), ElementsAre("u2"));
    EXPECT_THAT(codes(levels, "a1", "s1"), ElementsAre(ReasonCode::arch, ReasonCode::arch));
}

TEST(LevelsTest, TheMachineTypeIsTheCallersElseTheClusters) {
    auto labels = plain_labels();
    labels["machine-type.node.kubevirt.io/pc-q35-rhel9.6.0"] = "true";
    Objects objects{.nodes = {node_object("a"), node_object("b", labels)}};

    EXPECT_EQ(level_of(judge_levels(objects, now, {}), "b").level, 100U);
    const auto chosen = judge_levels(objects, now, {.machine_type = "pc-q35-rhel9.6.0"});
    EXPECT_EQ(level_of(chosen, "a").level, 100U);
    EXPECT_EQ(level_of(chosen, "b").level, 0U);
    EXPECT_THAT(stock_keys(chosen, "b", "a"),
                ElementsAre("machine-type.node.kubevirt.io/pc-q35-rhel9.6.0"));
    objects.kubevirts.push_back(test::kubevirt_object());
    objects.kubevirts.back().machine = kube::SharedText{"pc-q35-rhel9.6.0"};
    EXPECT_EQ(level_of(judge_levels(objects, now, {}), "b").level, 0U);
}

TEST(LevelsTest, TheDefaultMachineIsOfTheKubeVirtObjectThatIsInForce) {
    auto kubevirt = test::kubevirt_object();
    kubevirt.architecture_machines = {{kube::SharedText{"arm64"}, kube::SharedText{"virt-9"}}};
    auto idle = test::kubevirt_object();
    idle.phase = {};
    idle.machine = kube::SharedText{"never"};

    EXPECT_EQ(default_machine({}, "amd64"), "q35");
    EXPECT_EQ(default_machine({}, "arm64"), "virt");
    EXPECT_EQ(default_machine({}, "s390x"), "s390-ccw-virtio");
    EXPECT_EQ(default_machine({idle, kubevirt}, "arm64"), "virt-9");
    EXPECT_EQ(default_machine({idle, kubevirt}, "amd64"), "q35");
    kubevirt.machine = kube::SharedText{"pc-q35-9"};
    EXPECT_EQ(default_machine({idle, kubevirt}, "amd64"), "pc-q35-9");
    EXPECT_EQ(default_machine({idle, kubevirt}, "arm64"), "pc-q35-9") << "KubeVirt asks no further";
    EXPECT_EQ(default_machine({idle}, "amd64"), "never") << "an export may have no status";
}

TEST(LevelsTest, AnOldLabellerHasNoEdgeForWantOfTheMachineType) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    std::vector<std::filesystem::path> files;
    for (const char* name : {"km-node01.json", "km-node02.json", "km-node03.json"}) {
        files.push_back(data / "kubernetes/nodes" / name);
    }
    auto dump = read_dump(files).value();
    ASSERT_THAT(dump.objects.nodes, SizeIs(3));

    const auto before = judge_levels(dump.objects, dump.moment, {});
    for (auto& node : dump.objects.nodes) {
        std::vector<kube::Labels::Entry> entries{node.labels.begin(), node.labels.end()};
        entries.emplace_back("machine-type.node.kubevirt.io/q35", "true");
        node.labels = kube::Labels{std::move(entries)};
    }
    const auto after = judge_levels(dump.objects, dump.moment, {});

    EXPECT_THAT(all_refused(before), SizeIs(6));
    for (const auto& refusal : all_refused(before)) {
        EXPECT_EQ(refusal.layer, Layer::stock);
        ASSERT_THAT(*refusal.reasons, SizeIs(1));
        EXPECT_EQ(refusal.reasons->at(0).code, ReasonCode::machine_type);
        EXPECT_THAT(refusal.reasons->at(0).keys, ElementsAre("machine-type.node.kubevirt.io/q35"));
    }
    for (const auto& node : before.nodes) {
        EXPECT_EQ(node.level, 0U) << node.name;
    }
    EXPECT_THAT(all_refused(after), IsEmpty());
    for (const auto& node : after.nodes) {
        EXPECT_EQ(node.level, 100U) << node.name << ": " << node.not_counted;
        EXPECT_EQ(node.destinations, 2U);
        EXPECT_THAT(out_of(after, node.name), SizeIs(2));
    }
}

TEST(LevelsTest, ARealDumpIsJudgedAsItsReadmeSays) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto dump = read_dump({data / "kubevirt/live"}).value();

    const auto levels = judge_levels(dump.objects, dump.moment, {});

    EXPECT_EQ(level_of(levels, "node-a").level, 100U);
    EXPECT_THAT(out_of(levels, "node-a"), ElementsAre("node-c"));
    EXPECT_EQ(level_of(levels, "node-c").level, 100U);
    EXPECT_THAT(out_of(levels, "node-c"), ElementsAre("node-a"));
    EXPECT_EQ(level_of(levels, "node-b").level, std::nullopt);
    EXPECT_FALSE(level_of(levels, "node-b").schedulable);
    EXPECT_EQ(level_of(levels, "node-h").level, std::nullopt);
    EXPECT_EQ(level_of(levels, "node-h").not_counted, "kubevirt.io/schedulable is not true");
    EXPECT_THAT(codes(levels, "node-c", "node-b"), ElementsAre(ReasonCode::unschedulable));
    EXPECT_THAT(stock_keys(levels, "node-a", "node-h"),
                ElementsAre("cpu-feature.node.kubevirt.io/pcid",
                            "cpu-feature.node.kubevirt.io/ssbd", "kubevirt.io/schedulable"));
    EXPECT_THAT(codes(levels, "node-b", "node-a"), ElementsAre(ReasonCode::model));
}

}  // namespace
}  // namespace scout::cluster
