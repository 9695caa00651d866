// SPDX-License-Identifier: Apache-2.0
#include "migration/matrix.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "migration/interner.h"
#include "migration/label_profile.h"
#include "tests/support/profiles.h"

namespace scout::migration {
namespace {

using test::host;

/// A node of the reference model: what the matrix was told, and nothing else.
struct Known {
    Profile profile;
    Labels labels;
};

std::vector<LabelView> views(const Labels& labels) {
    return {labels.begin(), labels.end()};
}

/// Invented hosts that differ in every way the layers look at.
class Fleet {
public:
    explicit Fleet(unsigned seed, bool with_map = true) : random_(seed), with_map_(with_map) {}

    Known make() {
        static const std::vector<std::string> models{"Small", "Large", "Other", "Newest"};
        static const std::vector<std::string> features{"ssbd", "avx", "vmx-ept", "vmx-vpid", "sse"};
        const auto& model = models[pick(models.size())];
        test::HostSpec spec{.model = model,
                            .vendor = model == "Other" ? "AMD" : "Intel",
                            .require = some(features),
                            .disable = some(features),
                            .usable = some(models),
                            .not_usable = {},
                            .machines = pick(4) == 0 ? std::vector<std::string>{"pc"}
                                                     : std::vector<std::string>{"q35"}};
        if (pick(4) == 0) {
            spec.machines.clear();
        }
        Known node{.profile = host(spec), .labels = {}};
        make_odd(node.profile, features);
        node.labels = standalone_labels(node.profile, {}, map_or_none());
        if (pick(8) == 0) {
            node.labels["kubevirt.io/schedulable"] = "false";
        }
        if (pick(8) == 0) {
            node.labels["cpu-vendor.node.kubevirt.io/Hygon"] = "true";
        }
        node.labels["kubernetes.io/hostname"] = std::to_string(random_());
        return node;
    }
    std::size_t pick(std::size_t below) { return random_() % below; }
    [[nodiscard]] const CpuMap* map_or_none() const { return with_map_ ? &map : nullptr; }

    CpuMap map = test::small_map();

private:
    /// What hosts of one kind differ in, and what documents leave out.
    void make_odd(Profile& profile, const std::vector<std::string>& features) {
        if (pick(8) == 0) {
            profile.arch = "s390x";
        }
        if (pick(8) == 0) {
            profile.virt_type = "qemu";
        }
        if (pick(8) == 0) {
            profile.vendor.clear();
        }
        if (pick(8) == 0) {
            profile.arch.clear();
            profile.origin =
                pick(2) == 0 ? ProfileOrigin::bare_cpu : ProfileOrigin::domain_capabilities;
        }
        if (pick(4) != 0) {
            auto& width = profile.host_model->maxphysaddr.emplace();
            width.mode = pick(2) == 0 ? "emulate" : "passthrough";
            (width.mode == "emulate" ? width.bits : width.limit) = pick(2) == 0 ? 39U : 46U;
        }
        if (pick(8) == 0) {
            profile.supported_listed = true;
            profile.supported = make_feature_set(some(features));
        }
    }
    std::vector<std::string> some(const std::vector<std::string>& all) {
        std::vector<std::string> out;
        for (const auto& name : all) {
            if (pick(3) == 0) {
                out.push_back(name);
            }
        }
        return out;
    }

    std::mt19937 random_;
    bool with_map_;
};

Comparison reference(const Known& from, const Known& to, const CpuMap* map) {
    static const HostFacts facts;
    return compare(host_model_guest(from.profile),
                   stock_host_model_guest(stock_node(from.labels), "q35"),
                   {.profile = to.profile, .facts = facts, .labels = to.labels}, map);
}

class MatrixMapTest : public testing::TestWithParam<bool> {};

TEST_P(MatrixMapTest, EqualsThePairwiseAnswerAfterAnySequence) {
    Fleet fleet(7, GetParam());
    Matrix matrix({.machine_type = "q35", .map = fleet.map_or_none()});
    std::map<Matrix::NodeId, Known> live;
    for (int step = 0; step < 300; ++step) {
        if (live.size() < 3 || (live.size() < 40 && fleet.pick(3) != 0)) {
            auto node = fleet.make();
            const auto id = matrix.add(views(node.labels), &node.profile, digest(node.profile));
            ASSERT_TRUE(live.emplace(id, std::move(node)).second);
        } else {
            const auto gone =
                std::next(live.begin(), static_cast<std::ptrdiff_t>(fleet.pick(live.size())));
            matrix.remove(gone->first);
            live.erase(gone);
        }
        ASSERT_EQ(matrix.nodes(), live.size());
        if (step % 30 != 29) {
            continue;
        }
        for (const auto& [from, source] : live) {
            std::uint32_t stock = 0;
            std::uint32_t both = 0;
            for (const auto& [to, target] : live) {
                if (from == to) {
                    continue;
                }
                const auto expected = reference(source, target, fleet.map_or_none());
                const auto cell = matrix.cell(from, to);
                ASSERT_EQ(cell.gate, expected.gate);
                ASSERT_EQ(cell.truth, expected.truth);
                stock += expected.gate == Verdict::can ? 1U : 0U;
                both += expected.verdict == Verdict::can ? 1U : 0U;
            }
            ASSERT_EQ(matrix.destinations(from, Layer::stock), stock);
            ASSERT_EQ(matrix.destinations(from, Layer::truth), both);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Maps, MatrixMapTest, testing::Bool());

/// Labels as real nodes have them and worse: stale, doubled, missing.
Labels odd_labels(Fleet& fleet) {
    auto labels = fleet.make().labels;
    static const std::vector<std::pair<const char*, const char*>> additions{
        {"host-model-cpu.node.kubevirt.io/Large", "true"},
        {"host-model-required-features.node.kubevirt.io/ssbd", "true"},
        {"host-model-required-features.node.kubevirt.io/vmx-ept", "true"},
        {"cpu-feature.node.kubevirt.io/ssbd", "false"},
        {"cpu-model.node.kubevirt.io/Small", "true"},
        {"cpu-model-migration.node.kubevirt.io/Other", "true"},
        {"node-labeller.kubevirt.io/obsolete-host-model", ""},
        {"kubernetes.io/arch", "s390x"},
        {"kubernetes.io/arch", "arm64"},
        {"cpu-timer.node.kubevirt.io/tsc-frequency", "2000000000"}};
    for (const auto& [key, value] : additions) {
        if (fleet.pick(8) == 0) {
            labels[key] = value;
        }
    }
    std::erase_if(labels, [&fleet](const auto&) { return fleet.pick(40) == 0; });
    return labels;
}

TEST_P(MatrixMapTest, EqualsThePairwiseAnswerForNodesKnownByTheirLabelsAlone) {
    Fleet fleet(11, GetParam());
    const auto* map = fleet.map_or_none();
    Matrix matrix({.machine_type = "q35", .map = map});
    std::map<Matrix::NodeId, Labels> nodes;
    for (int i = 0; i < 100; ++i) {
        auto labels = odd_labels(fleet);
        const auto id = matrix.add(views(labels), nullptr, "");
        nodes.emplace(id, std::move(labels));
    }
    std::map<Verdict, int> gates;
    std::map<Verdict, int> truths;
    for (const auto& [from, source] : nodes) {
        const auto stock = stock_node(source);
        const auto guest = host_model_guest(label_profile(stock, map));
        for (const auto& [to, target] : nodes) {
            const auto profile = label_profile(stock_node(target), map);
            const HostFacts facts;
            const auto expected = compare(
                guest, stock_host_model_guest(stock, "q35"),
                {.profile = profile, .facts = facts, .labels = target, .labels_derived = false},
                map);
            const auto cell = matrix.cell(from, to);
            ASSERT_EQ(cell.gate, expected.gate);
            ASSERT_EQ(cell.truth, expected.truth) << stock.arch << " " << profile.arch;
            ++gates[cell.gate];
            ++truths[cell.truth];
        }
    }
    EXPECT_EQ(gates.size(), 3U) << "every answer was among them";
    EXPECT_EQ(truths.size(), GetParam() ? 3U : 2U);
}

TEST(MatrixTest, PutsEqualNodesInOneClassWhateverTheOrderOfTheirLabels) {
    Fleet fleet(1);
    Matrix matrix({.machine_type = "", .map = &fleet.map});
    const auto profile = host({.usable = {"Small"}});
    const auto labels = standalone_labels(profile, {}, &fleet.map);
    auto reversed = views(labels);
    std::reverse(reversed.begin(), reversed.end());
    auto renamed = labels;
    renamed["kubernetes.io/hostname"] = "other";

    const auto a = matrix.add(views(labels), &profile, "d");
    const auto b = matrix.add(reversed, &profile, "d");
    const auto c = matrix.add(views(renamed), &profile, "d");

    EXPECT_EQ(matrix.classes(), 1U);
    EXPECT_EQ(matrix.class_of(a), matrix.class_of(b));
    EXPECT_EQ(matrix.destinations(a, Layer::truth), 2U);
    matrix.remove(b);
    matrix.remove(c);
    EXPECT_EQ(matrix.destinations(a, Layer::truth), 0U);
    matrix.remove(a);
    EXPECT_EQ(matrix.classes(), 0U);
}

TEST(MatrixTest, ForgetsTheNamesOfNodesThatWentAway) {
    Interner names;
    const auto first = names.acquire('f', "avx");
    const auto again = names.acquire('f', "avx");
    const auto model = names.acquire('m', "avx");
    EXPECT_EQ(first, again);
    EXPECT_NE(first, model);

    names.release(first);
    EXPECT_NE(names.acquire('f', "aes"), first) << "it still has a user";
    names.release(again);

    EXPECT_EQ(names.acquire('f', "sse"), first) << "the number is free for another name";
}

TEST(MatrixTest, KnowsNodesByTheirLabelsAlone) {
    Fleet fleet(1);
    Matrix matrix({.machine_type = "", .map = &fleet.map});
    const auto large =
        standalone_labels(host({.model = "Large", .usable = {"Large", "Small"}}), {}, &fleet.map);
    const auto small = standalone_labels(
        host({.model = "Small", .usable = {"Small"}, .not_usable = {"Large"}}), {}, &fleet.map);

    const auto a = matrix.add(views(large), nullptr, "");
    const auto b = matrix.add(views(small), nullptr, "");

    EXPECT_EQ(matrix.cell(a, b).gate, Verdict::can);
    EXPECT_EQ(matrix.cell(a, b).truth, Verdict::cannot);
    EXPECT_EQ(matrix.cell(b, a).truth, Verdict::can);
}

TEST(MatrixTest, LevelLeavesTheNodeItselfOutAndIsZeroForALoneNode) {
    EXPECT_EQ(migratability_level(0, 1), 0U);
    EXPECT_EQ(migratability_level(0, 0), 0U);
    EXPECT_EQ(migratability_level(2, 3), 100U);
    EXPECT_EQ(migratability_level(1, 4), 33U);
    EXPECT_EQ(migratability_level(4'294'967'294U, 4'294'967'295U), 100U);
}

}  // namespace
}  // namespace scout::migration
