// SPDX-License-Identifier: Apache-2.0
// The JSON contract of docs/json.md, word for word, on the small documents in tests/data.
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "tests/cli/documented_fields.h"
#include "tests/cli/program.h"

namespace scout::cli {
namespace {

struct Golden {
    const char* name;
    int code;
    std::vector<std::string> words;
};

std::string golden_text(const std::string& name) {
    std::ifstream in(std::string(SCOUT_GOLDEN) + "/" + name + ".json", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> with_map(std::vector<std::string> words) {
    words.insert(words.begin(), {"--cpu-map", "cpu_map", "-o", "json"});
    return words;
}

class GoldenTest : public testing::TestWithParam<Golden> {};

TEST_P(GoldenTest, AnswersWordForWord) {
    const auto& golden = GetParam();

    const auto outcome = test::scoutctl(with_map(golden.words));

    EXPECT_EQ(outcome.code, golden.code) << outcome.err;
    EXPECT_EQ(outcome.out, golden_text(golden.name));
}

INSTANTIATE_TEST_SUITE_P(
    Contract, GoldenTest,
    testing::Values(
        Golden{"compare_can", 0, {"compare", "mixed/guest.xml", "hosts/old.xml"}},
        Golden{"compare_cannot", 1, {"compare", "hosts/old.xml", "hosts/new.xml"}},
        Golden{"compare_unknown", 3, {"compare", "mixed/emulated.xml", "hosts/new.xml"}},
        Golden{"compare_document", 2, {"compare", "mixed/capabilities.xml", "mixed/guest.xml"}},
        Golden{"compare_vendor", 1, {"compare", "hosts/new.xml", "hosts/other-vendor.xml"}},
        Golden{"compare_all", 0, {"compare", "--all", "mixed"}},
        Golden{"profile", 0, {"profile", "hosts/new.xml"}},
        Golden{"profile_emulated", 0, {"profile", "mixed/emulated.xml"}},
        Golden{"profile_labeller", 0, {"profile", "mixed/labeller"}},
        Golden{"labels", 0, {"labels", "mixed/labeller"}},
        Golden{"labels_assumed", 0, {"labels", "mixed/bare-cpu.xml"}},
        Golden{"baseline", 0, {"baseline", "hosts/old.xml", "hosts/new.xml", "mixed/labeller"}},
        Golden{"baseline_vendors", 0, {"baseline", "hosts"}},
        Golden{"upgrade_impact",
               0,
               {"upgrade-impact", "--before", "hosts/old.xml", "--after", "hosts/new.xml"}},
        Golden{"upgrade_impact_machines",
               0,
               {"upgrade-impact", "--before", "mixed/labeller", "--after", "upgraded"}},
        Golden{
            "upgrade_impact_vendor",
            0,
            {"upgrade-impact", "--before", "hosts/old.xml", "--after", "hosts/other-vendor.xml"}},
        Golden{"where", 0, {"where", "mixed/guest.xml", "--on", "hosts", "mixed/capabilities.xml"}},
        Golden{"where_host_model", 1, {"where", "file:hosts/old.xml", "--on", "hosts"}},
        Golden{"where_stock", 1, {"where", "mixed/labeller", "--on", "mixed/emulated.xml"}},
        Golden{"where_assumed", 1, {"where", "mixed/guest.xml", "--on", "mixed/bare-cpu.xml"}},
        Golden{"nodes_from", 0, {"nodes", "--from", "cluster"}},
        Golden{"node_from", 0, {"node", "n1", "--from", "cluster"}},
        Golden{"guests_from", 0, {"guests", "--from", "cluster"}},
        Golden{"matrix_from", 0, {"matrix", "--from", "cluster"}},
        Golden{"matrix_truth_from", 0, {"matrix", "--from", "cluster", "--layer", "truth"}},
        Golden{"baseline_from", 0, {"baseline", "--from", "cluster"}},
        Golden{"labels_check", 1, {"labels", "--check", "--from", "cluster"}},
        Golden{"where_vmi", 0, {"where", "shop/web-2", "--from", "cluster"}},
        Golden{"where_crowded", 0, {"where", "shop/db", "--from", "crowded"}},
        Golden{"where_from", 0, {"where", "host-model@n1", "--from", "cluster"}},
        Golden{"why_not_from", 1, {"why-not", "host-model@n1", "n3", "--from", "cluster"}},
        Golden{"pressure", 0, {"pressure", "--from", "pressed"}},
        Golden{"protection", 0, {"protection", "--from", "pressed"}},
        Golden{"policy", 0, {"policy", "shop/db", "--from", "policy"}},
        Golden{"policy_lint", 1, {"policy", "lint", "manifests"}},
        Golden{"policy_tune",
               0,
               {"policy", "tune", "--for", "2h", "--namespace", "shop", "--bandwidth", "1Gi",
                "--completion-timeout", "10", "--auto-converge=false", "--post-copy",
                "--workload-disruption=true", "--name", "drain", "--dry-run", "--from", "tune"}},
        Golden{"policy_tune_list", 0, {"policy", "tune", "--list", "--from", "tune"}},
        Golden{
            "migrate", 0, {"migrate", "-f", "moves/aimed.yaml", "--dry-run", "--from", "cluster"}},
        Golden{"migrate_pending",
               1,
               {"migrate", "-f", "moves/cordoned.yaml", "--dry-run", "--from", "cluster"}},
        Golden{"migrate_refused",
               1,
               {"migrate", "-f", "moves/own-node.yaml", "--dry-run", "--from", "cluster"}},
        Golden{"drain_plan", 0, {"drain-plan", "n1", "--from", "crowded"}},
        Golden{"why", 0, {"why", "shop/db", "--from", "night"}},
        Golden{"stuck", 0, {"stuck", "--from", "night"}},
        Golden{"why_not", 1, {"why-not", "hosts/old.xml", "hosts/new.xml"}},
        Golden{"matrix",
               0,
               {"matrix", "--documents", "hosts", "mixed/emulated.xml", "mixed/capabilities.xml"}}),
    [](const auto& each) {
        std::string name;
        bool upper = true;
        for (const char* at = each.param.name; *at != '\0'; ++at) {
            if (*at != '_') {
                name +=
                    upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(*at))) : *at;
            }
            upper = *at == '_';
        }
        return name;
    });

/// Every leaf of the JSON is the same leaf of the YAML.
void expect_same(const boost::json::value& json, const YAML::Node& yaml, const std::string& where) {
    if (const auto* object = json.if_object()) {
        ASSERT_TRUE(yaml.IsMap() && yaml.size() == object->size()) << where;
        for (const auto& member : *object) {
            const std::string key(member.key());
            expect_same(member.value(), yaml[key], where + "." + key);
        }
    } else if (const auto* array = json.if_array()) {
        ASSERT_TRUE(yaml.IsSequence() && yaml.size() == array->size()) << where;
        for (std::size_t at = 0; at < array->size(); ++at) {
            expect_same((*array)[at], yaml[at], where + "[]");
        }
    } else if (const auto* text = json.if_string()) {
        EXPECT_EQ(yaml.Scalar(), std::string(*text)) << where;
    } else if (json.is_null()) {
        EXPECT_TRUE(yaml.IsNull()) << where;
    } else {
        EXPECT_EQ(yaml.Scalar(), boost::json::serialize(json)) << where;
    }
}

TEST_P(GoldenTest, YamlSaysTheSame) {
    auto words = with_map(GetParam().words);
    words[3] = "yaml";

    const auto outcome = test::scoutctl(words);

    EXPECT_EQ(outcome.code, GetParam().code) << outcome.err;
    expect_same(boost::json::parse(golden_text(GetParam().name)), YAML::Load(outcome.out), "");
}

TEST_P(GoldenTest, TablesSaySomethingAndNeverColourAPipe) {
    auto words = with_map(GetParam().words);
    words[3] = "wide";

    const auto outcome = test::scoutctl(words);

    EXPECT_EQ(outcome.code, GetParam().code) << outcome.err;
    EXPECT_FALSE(outcome.out.empty() && outcome.err.empty());
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
}

struct Section {
    const char* title;
    std::vector<std::string> goldens;
};

TEST(ContractTest, FieldsAreWhatTheContractSays) {
    const std::vector<Section> sections{
        {"compare A B", {"compare_can", "compare_cannot", "compare_document"}},
        {"profile", {"profile", "profile_emulated", "profile_labeller"}},
        {"labels", {"labels"}},
        {"labels --check", {"labels_check"}},
        {"where, why-not", {"where", "where_host_model", "why_not", "where_vmi", "where_crowded"}},
        {"matrix", {"matrix"}},
        {"matrix --from", {"matrix_from", "matrix_truth_from"}},
        {"why", {"why"}},
        {"stuck", {"stuck"}},
        {"protection", {"protection"}},
        {"migrate --dry-run", {"migrate", "migrate_pending", "migrate_refused"}},
        {"policy VM", {"policy"}},
        {"policy lint", {"policy_lint"}},
        {"policy tune", {"policy_tune"}},
        {"policy tune --list", {"policy_tune_list"}},
        {"drain-plan NODE", {"drain_plan"}},
        {"nodes", {"nodes_from"}},
        {"baseline", {"baseline", "baseline_vendors"}},
        {"upgrade-impact", {"upgrade_impact", "upgrade_impact_vendor"}},
    };
    for (const auto& section : sections) {
        std::set<std::string> written;
        for (const auto& golden : section.goldens) {
            test::add_fields(boost::json::parse(golden_text(golden)), written);
        }
        EXPECT_EQ(written, test::documented_fields(section.title)) << section.title;
    }
}

TEST(ContractTest, TheReasonThatDecidesIsTheFirstOne) {
    const auto answer = boost::json::parse(golden_text("where_stock"));
    const auto& node = answer.at("nodes").at(0);
    EXPECT_EQ(node.at("verdict"), "cannot");
    EXPECT_EQ(node.at("truth"), "unknown");
    EXPECT_EQ(node.at("reasons").at(0).at("layer"), "stock");

    const auto table = test::scoutctl(
        {"--cpu-map", "cpu_map", "where", "mixed/labeller", "--on", "mixed/emulated.xml"});
    EXPECT_NE(table.out.find("the target node has no label"), std::string::npos) << table.out;
}

}  // namespace
}  // namespace scout::cli
