// SPDX-License-Identifier: Apache-2.0
#include "cluster/node_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/host_model_placement.h"
#include "cluster/level_keeper.h"
#include "cluster/levels.h"
#include "cluster/node_state.h"
#include "tests/cluster/node_objects.h"
#include "tests/support/profiles.h"

namespace scout::cluster {
namespace {

using migration::Layer;
using migration::Verdict;
using test::node_object;
using test::plain_labels;
using testing::HasSubstr;

const WallTime now{std::chrono::hours{500'000}};

CpuProfile object_of(const migration::Profile& profile) {
    CpuProfile out;
    out.meta.name = profile_name(profile);
    out.profile = profile;
    return out;
}

kube::Node naming(kube::Node node, const CpuProfile& profile) {
    node.annotations = kube::Labels{{profile_annotation, profile.meta.name}};
    return node;
}

class NodeProfileTest : public ::testing::Test {
protected:
    [[nodiscard]] static NodeProfile choose(const kube::Node& node, const CpuProfile* named) {
        return node_profile(node, node_state(node, now).stock, named);
    }
    /// What the labels of `node` say otherwise.
    [[nodiscard]] std::string why(const migration::Labels& labels) const {
        const auto chosen = choose(naming(node_object("n", labels), large), &large);
        EXPECT_EQ(chosen.object == nullptr, !chosen.why_labels.empty());
        return chosen.why_labels;
    }
    [[nodiscard]] static migration::Labels with(migration::Labels labels, const char* key) {
        labels[key] = "true";
        return labels;
    }

    CpuProfile large = object_of(scout::test::host({.model = "Large"}));
};

TEST_F(NodeProfileTest, TheNamedProfileIsUsedWhileItAgreesWithTheLabels) {
    EXPECT_EQ(why(plain_labels()), "");
    EXPECT_EQ(why(with(plain_labels(), "cpu-vendor.node.kubevirt.io/Stale")), "");
    EXPECT_EQ(why(plain_labels("Small")),
              "its labels say host-model Small, the profile says Large");
    EXPECT_THAT(why(with(plain_labels(), "host-model-cpu.node.kubevirt.io/Small")),
                HasSubstr("Large, Small"));
    auto other_vendor = with(plain_labels(), "cpu-vendor.node.kubevirt.io/AMD");
    other_vendor.erase("cpu-vendor.node.kubevirt.io/Intel");
    EXPECT_EQ(why(other_vendor), "its labels say vendor AMD, the profile says Intel");
    auto other_arch = plain_labels();
    other_arch["kubernetes.io/arch"] = "arm64";
    EXPECT_EQ(why(other_arch), "its labels say architecture arm64, the profile says amd64");
}

TEST_F(NodeProfileTest, WithoutTheObjectTheLabelsTell) {
    const auto chosen = choose(naming(node_object("n"), large), nullptr);
    EXPECT_EQ(chosen.object, nullptr);
    EXPECT_EQ(chosen.why_labels, "there is no CPUProfile " + large.meta.name);

    const auto silent = choose(node_object("n"), nullptr);
    EXPECT_EQ(silent.object, nullptr);
    EXPECT_EQ(silent.why_labels, "");
}

TEST_F(NodeProfileTest, TheProfileServesTheTruthLayerAndTheLabelsTheStockLayer) {
    const auto map = scout::test::small_map();
    // Its labels were written before a BIOS setting took avx away.
    const auto poor = object_of(scout::test::host({.model = "Large", .disable = {"avx"}}));
    Objects objects{.nodes = {node_object("a"), naming(node_object("b"), poor)},
                    .kubevirts = {},
                    .vmis = {},
                    .migrations = {},
                    .launchers = {},
                    .profiles = {poor}};
    const auto level = [&objects, &map](Layer layer, std::size_t node) {
        return judge_levels(objects, now, {.layer = layer, .map = &map}).nodes.at(node).level;
    };

    EXPECT_EQ(level(Layer::stock, 0), 100U);
    EXPECT_EQ(level(Layer::truth, 0), 0U) << "b cannot enable avx";
    EXPECT_EQ(level(Layer::truth, 1), 100U) << "guests of b have none";
    const auto placement =
        place_host_model(objects, "a", now, {.layer = Layer::truth, .map = &map}).value();
    EXPECT_EQ(placement.nodes.front().comparison.gate, Verdict::can);
    EXPECT_EQ(placement.nodes.front().comparison.truth, Verdict::cannot);
    EXPECT_EQ(placement.nodes.front().comparison.missing, migration::FeatureSet{"avx"});

    objects.profiles.clear();
    EXPECT_EQ(level(Layer::truth, 0), 100U);
}

TEST_F(NodeProfileTest, TheKeeperCountsByWhatItKnowsNodes) {
    LevelKeeper keeper({}, {});
    keeper.put(naming(node_object("a"), large), now, &large);
    keeper.put(naming(node_object("b", plain_labels("Small")), large), now, &large);
    keeper.put(naming(node_object("c"), large), now);
    keeper.put(node_object("d"), now);
    EXPECT_EQ(keeper.by_profile(), 1U);
    EXPECT_EQ(keeper.profile_unused(), 2U);

    keeper.put(naming(node_object("c"), large), now, &large);
    keeper.remove("b");
    EXPECT_EQ(keeper.by_profile(), 2U);
    EXPECT_EQ(keeper.profile_unused(), 0U);
}

}  // namespace
}  // namespace scout::cluster
