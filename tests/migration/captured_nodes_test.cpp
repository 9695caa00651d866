// SPDX-License-Identifier: Apache-2.0
// Cases 12, 14 and 32 on Node objects of real clusters, which SCOUT_TEST_DATA names.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "migration/cpu_truth.h"
#include "migration/label_profile.h"
#include "migration/labels.h"
#include "migration/stock_gate.h"
#include "tests/support/test_data.h"

namespace scout::migration {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

namespace fs = std::filesystem;

constexpr std::array km_nodes{"km-node01.json", "km-node02.json", "km-node03.json"};
constexpr const char* q35 = "pc-q35-rhel8.2.0";
constexpr std::uint64_t pinned_hz = 2'294'787'000;

/// JSON is YAML, so one reader takes both.
Labels node_labels(const fs::path& file) {
    Labels labels;
    for (const auto& entry : YAML::LoadFile(file.string())["metadata"]["labels"]) {
        labels.emplace(entry.first.as<std::string>(), entry.second.as<std::string>());
    }
    return labels;
}

std::vector<Labels> km_labels(const fs::path& data) {
    std::vector<Labels> all;
    for (const char* name : km_nodes) {
        all.push_back(node_labels(data / "kubernetes/nodes" / name));
    }
    return all;
}

/// Keys of KubeVirt that others write: heartbeat, KSM handler and topology hinter.
bool is_of_others(std::string_view key) {
    return key == label::schedulable || key == "kubevirt.io/ksm-enabled" ||
           key.starts_with(label::tsc_scheduling);
}

/// What the labeller would write for a node's own documents, and the keys that those do not tell.
struct Produced {
    explicit Produced(const StockNode& node) {
        const auto profile = label_profile(node, nullptr);
        const auto facts = label_facts(node);
        const std::set<std::string, std::less<>> none;
        labels = labeller_labels(profile, facts, nullptr, {.obsolete_models = &none});
        not_told = labels_not_derivable(profile, facts, nullptr);
    }
    [[nodiscard]] bool explains(const std::string& key, const std::string& value) const {
        const auto found = labels.find(key);
        return (found != labels.end() && found->second == value) ||
               std::any_of(not_told.begin(), not_told.end(), [&key](const std::string& each) {
                   return key == each || (each.ends_with('/') && key.starts_with(each));
               });
    }

    Labels labels;
    std::vector<std::string> not_told;
};

/// Why the gate says no, if it does for one reason.
std::optional<ReasonCode> only_code(const StockAnswer& answer) {
    return answer.verdict == Verdict::cannot && answer.reasons.size() == 1
               ? std::optional{answer.reasons.front().code}
               : std::nullopt;
}

TEST(CapturedNodesTest, EveryLabellerKeyCanBeProducedOrIsListedAsNotDerivable) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    std::size_t files = 0;
    for (const auto& file : fs::directory_iterator(data / "kubernetes/nodes")) {
        SCOPED_TRACE(file.path().filename().string());
        const auto labels = node_labels(file.path());
        const Produced produced(stock_node(labels));

        std::vector<std::string> not_explained;
        for (const auto& [key, value] : labels) {
            const bool of_kubevirt = key.find("kubevirt.io/") != std::string::npos;
            if (of_kubevirt && !is_of_others(key) && !produced.explains(key, value)) {
                not_explained.push_back(key);
            }
        }

        EXPECT_THAT(not_explained, IsEmpty());
        ++files;
    }
    EXPECT_EQ(files, 5U);
}

TEST(CapturedNodesTest, TwoHostModelLabelsAreInconsistentAndNoneIsChosen) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto all = km_labels(data);
    auto twice = all.front();
    twice.emplace(std::string{label::host_model} + "Other", "true");

    const auto guest = stock_host_model_guest(stock_node(twice), {});

    EXPECT_THAT(stock_node(twice).host_models, ElementsAre("IvyBridge-IBRS", "Other"));
    ASSERT_TRUE(guest.impossible);
    EXPECT_THAT(guest.impossible->keys,
                ElementsAre("host-model-cpu.node.kubevirt.io/IvyBridge-IBRS",
                            "host-model-cpu.node.kubevirt.io/Other"));
    EXPECT_EQ(guest.host_model, "");
    EXPECT_NE(pass_gate(guest, stock_node(all.back())).verdict, Verdict::can);
}

TEST(CapturedNodesTest, APinnedTscIsAcceptableWithinToleranceOrWhereItScales) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto all = km_labels(data);
    auto guest = stock_host_model_guest(stock_node(all.front()), {});
    guest.tsc_hz = pinned_hz;

    for (const auto& labels : all) {
        const auto node = stock_node(labels);
        ASSERT_TRUE(node.tsc_hz);
        EXPECT_FALSE(node.tsc_scalable);
        EXPECT_TRUE(tsc_acceptable(pinned_hz, *node.tsc_hz, node.tsc_scalable));
    }
    auto further = stock_node(all.back());
    further.tsc_hz = 2'295'400'000;
    EXPECT_FALSE(tsc_acceptable(pinned_hz, *further.tsc_hz, further.tsc_scalable));
    EXPECT_EQ(only_code(pass_gate(guest, further)), ReasonCode::tsc);
    further.tsc_scalable = true;
    EXPECT_TRUE(tsc_acceptable(pinned_hz, *further.tsc_hz, further.tsc_scalable));
    EXPECT_EQ(only_code(pass_gate(guest, further)), ReasonCode::tsc_label);
}

TEST(CapturedNodesTest, EachNodeIsLabelledForItsOwnFrequencyAlone) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto all = km_labels(data);
    auto guest = stock_host_model_guest(stock_node(all.front()), {});
    guest.tsc_hz = pinned_hz;

    EXPECT_EQ(pass_gate(guest, stock_node(all[0])).verdict, Verdict::can);
    EXPECT_EQ(only_code(pass_gate(guest, stock_node(all[1]))), ReasonCode::tsc_label);
    EXPECT_EQ(only_code(pass_gate(guest, stock_node(all[2]))), ReasonCode::tsc_label);
}

/// The gate's answers for every ordered pair of nodes.
std::vector<StockAnswer> all_pairs(const std::vector<Labels>& nodes) {
    std::vector<StockAnswer> answers;
    for (const auto& from : nodes) {
        for (const auto& to : nodes) {
            if (&from != &to) {
                answers.push_back(
                    pass_gate(stock_host_model_guest(stock_node(from), q35), stock_node(to)));
            }
        }
    }
    return answers;
}

TEST(CapturedNodesTest, AnOldLabellerHasNoEdgeForWantOfTheMachineTypeAlone) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    auto nodes = km_labels(data);
    const auto machine = std::string{label::machine_type} + q35;

    const auto before = all_pairs(nodes);
    for (auto& labels : nodes) {
        labels.emplace(machine, "true");
    }
    const auto after = all_pairs(nodes);

    EXPECT_THAT(before, SizeIs(6));
    for (const auto& answer : before) {
        EXPECT_EQ(answer.verdict, Verdict::cannot);
        ASSERT_THAT(answer.reasons, SizeIs(1));
        EXPECT_EQ(answer.reasons.front().code, ReasonCode::machine_type);
        EXPECT_THAT(answer.reasons.front().keys, ElementsAre(machine));
    }
    EXPECT_THAT(after, testing::Each(testing::Field(&StockAnswer::verdict, Verdict::can)));
}

}  // namespace
}  // namespace scout::migration
