// SPDX-License-Identifier: Apache-2.0
#include "cluster/policy_lint.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace scout::cluster {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string head = "apiVersion: migrations.kubevirt.io/v1alpha1\nkind: MigrationPolicy\n";

std::string policy(const std::string& name, const std::string& spec) {
    return head + "metadata: {name: " + name + "}\nspec: " + spec + "\n";
}

class PolicyLintTest : public testing::Test {
protected:
    PolicyLint lint(const std::string& text) {
        folder.write("p.yaml", text);
        auto found = lint_policy_files({folder.path()});
        EXPECT_TRUE(found) << found.error().message;
        return found ? *std::move(found) : PolicyLint{};
    }
    /// "refused CODE", "warn CODE"
    std::vector<std::string> codes(const std::string& text) {
        std::vector<std::string> out;
        for (const auto& finding : lint(text).findings) {
            out.push_back(std::string{to_string(finding.severity)} + " " +
                          std::string{finding.code});
        }
        return out;
    }

    test::TemporaryFolder folder;
};

TEST_F(PolicyLintTest, NothingIsWrongWithWhatKubeVirtTakesAndObeys) {
    EXPECT_THAT(codes(policy("a", R"({selectors: {namespaceSelector: {hpc: "true"},
        virtualMachineInstanceSelector: {db: pg}}, allowAutoConverge: true, allowPostCopy: false,
        allowWorkloadDisruption: false, bandwidthPerMigration: 64Mi, completionTimeoutPerGiB: 0,
        experimental: {compression: zstd}})")),
                IsEmpty());
    EXPECT_THAT(codes(policy("a", "{selectors: {}, bandwidthPerMigration: 0}")), IsEmpty());
    EXPECT_EQ(lint(policy("a", "{selectors: {}}") + "---\n" +
                   policy("b",
                          "{selectors: "
                          "{virtualMachine"
                          "InstanceSelector: "
                          "{a: b}}}"))
                  .policies,
              2U);
}

struct Row {
    const char* spec;
    std::vector<std::string> codes;
    const char* text;
};
void PrintTo(const Row& row, std::ostream* out) {
    *out << row.spec;
}

class OnePolicyTest : public PolicyLintTest, public testing::WithParamInterface<Row> {};

TEST_P(OnePolicyTest, IsJudged) {
    const auto& row = GetParam();
    const auto text = policy("p", row.spec);
    EXPECT_THAT(codes(text), testing::ElementsAreArray(row.codes));
    const auto findings = lint(text).findings;
    ASSERT_FALSE(findings.empty());
    EXPECT_THAT(findings.front().text, HasSubstr(row.text));
    EXPECT_EQ(findings.front().policy, "p");
    EXPECT_EQ(findings.front().line, 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Case25, OnePolicyTest,
    testing::Values(
        Row{"{selectors: {namespaceSelector: {hpc: true}}}",
            {"refused selector-value"},
            "write it in quotes: \"true\""},
        Row{"{selectors: {namespaceSelector: {hpc: yes}}}", {"refused selector-value"}, "true"},
        Row{"{selectors: {namespaceSelector: {hpc: Off}}}", {"refused selector-value"}, "false"},
        Row{"{selectors: {namespaceSelector: {rack: 0x1F}}}", {"refused selector-value"}, "31"},
        Row{"{selectors: {namespaceSelector: {rack: 12}}}", {"refused selector-value"}, "\"12\""},
        Row{"{selectors: {namespaceSelector: {rack: ~}}}", {"refused selector-value"}, "nothing"},
        Row{"{selectors: {namespaceSelector: {matchLabels: {a: b}}}}",
            {"refused match-labels"},
            "right below it"},
        Row{"{selectors: {virtualMachineInstanceSelector: {matchExpressions: [{key: a}]}}}",
            {"refused match-labels"},
            "only equal values"},
        Row{"{allowPostCopy: true}", {"refused no-selectors"}, "{} chooses every VM"},
        Row{"{selectors: []}", {"refused type"}, "expected a map, found a list"},
        Row{"{selectors: {vmiSelector: {a: b}}}", {"warn pruned"}, "chooses more VMs"},
        Row{"{selectors: {virtualMachineInstanceSelector: {db: \"\"}}}",
            {"warn empty-value"},
            "not for any value"}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, OnePolicyTest,
    testing::Values(
        Row{"{selectors: {}, disableTLS: true}", {"warn pruned"}, "whole cluster only"},
        Row{"{selectors: {}, progressTimeout: 3}", {"warn pruned"}, "KubeVirt object"},
        Row{"{selectors: {}, bandwith: 3}", {"warn pruned"}, "spec.bandwith is no field"},
        Row{"{selectors: {}, allowPostCopy: \"true\"}", {"refused type"}, "found \"true\""},
        Row{"{selectors: {}, completionTimeoutPerGiB: -1}", {"refused negative"}, "0 or more"},
        Row{"{selectors: {}, completionTimeoutPerGiB: 1.5}", {"refused type"}, "whole number"},
        Row{"{selectors: {}, bandwidthPerMigration: -64Mi}", {"refused negative"}, "-64Mi"},
        Row{"{selectors: {}, bandwidthPerMigration: 64MB}", {"refused quantity"}, "64MB"},
        Row{"{selectors: {}, bandwidthPerMigration: 1.5}", {"refused type"}, "quantity"},
        Row{"{selectors: {}, bandwidthPerMigration: 500m}",
            {"warn milli", "warn no-limit"},
            "thousandths"},
        Row{"{selectors: {}, bandwidthPerMigration: 217Ki}", {"warn rounded"}, "1 MiB/s"},
        Row{"{selectors: {}, maxDowntimeMs: 0}", {"refused range", "warn gated"}, "1 to 2000000"},
        Row{"{selectors: {}, maxDowntimeMs: 500}", {"warn gated"}, "MigrationStallDetection"},
        Row{"{selectors: {}, experimental: {stallDetector: {}}}", {"warn gated"}, "refused where"},
        Row{"{selectors: {}, experimental: {compression: gzip}}", {"refused type"}, "none or zstd"},
        Row{"{selectors: {namespaceSelector: {a: \"b c\"}}}",
            {"warn unreachable"},
            "no label can have the value 'b c'"},
        Row{"{selectors: {namespaceSelector: {\"a b\": c}}}",
            {"warn unreachable"},
            "no object can have a label 'a b'"}));

TEST_F(PolicyLintTest, OfEqualSelectorsOneIsNeverApplied) {
    const auto found =
        lint(policy("b", "{selectors: {virtualMachineInstanceSelector: {db: pg}}}") + "---\n" +
             policy("a", "{selectors: {virtualMachineInstanceSelector: {db: pg}}}") + "---\n" +
             policy("c", "{selectors: {namespaceSelector: {db: pg}}}"))
            .findings;
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].code, "equal-selectors");
    EXPECT_EQ(found[0].policy, "b");
    EXPECT_EQ(found[0].line, 1U);
    EXPECT_THAT(found[0].text, AllOf(HasSubstr("VMI label db=pg"), HasSubstr("as a does")));
    EXPECT_EQ(found[1].code, "unreachable");
    EXPECT_THAT(found[1].text, HasSubstr("lowest name, a"));
}

TEST_F(PolicyLintTest, TheSameNameTwiceIsOnePolicy) {
    const auto found = lint(policy("a", "{selectors: {}}") + "---\n" +
                            policy("a", "{selectors: {namespaceSelector: {db: pg}}}"))
                           .findings;
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].code, "same-name");
    EXPECT_THAT(found[0].text, HasSubstr("line 1"));
}

TEST_F(PolicyLintTest, WhatIsNoManifestIsToldWithItsPlace) {
    EXPECT_THAT(codes("a: [b\n"), ElementsAre("refused yaml"));
    EXPECT_THAT(lint(head + "metadata: &m {name: a}\nspec: *m\n").findings.at(0).text,
                HasSubstr("aliases are not taken"));
    EXPECT_THAT(codes("{\"kind\": \"MigrationPolicy\", "), ElementsAre("refused yaml"));
    EXPECT_THAT(codes("kind: MigrationPolicy\n"),
                ElementsAre("refused api-version", "refused name", "refused no-selectors"));
    EXPECT_THAT(codes("kind: ConfigMap\n---\n"), IsEmpty());
    EXPECT_THAT(codes(head + "metadata: {name: a}\nspec: {selectors: {}}\nselectors: {}\n"),
                ElementsAre("warn pruned"));
    std::string deep;
    for (int i = 0; i < 10'000; ++i) {
        deep += "{\"a\":";
    }
    EXPECT_THAT(codes(deep), ElementsAre("refused yaml"));
}

TEST_F(PolicyLintTest, ListsAndJsonAreRead) {
    const std::string one =
        R"({"apiVersion":"migrations.kubevirt.io/v1alpha1","kind":"MigrationPolicy",
"metadata":{"name":"a"},"spec":{"selectors":{"namespaceSelector":{"hpc":true}}}})";
    EXPECT_THAT(codes(one), ElementsAre("refused selector-value"));
    EXPECT_THAT(codes("{\"kind\":\"List\",\"items\":[" + one + "," + one + "]}"),
                ElementsAre("refused selector-value", "refused selector-value"));
    EXPECT_EQ(lint("{}\n" + one).findings.at(0).line, 2U);
}

/// Codes of one that is about to be taken beside others, each a name and the value of VMI label db.
std::vector<std::string> codes_beside(
    const std::string& name, const std::vector<std::pair<std::string, std::string>>& others) {
    std::vector<kube::MigrationPolicy> known;
    for (const auto& [other, value] : others) {
        kube::MigrationPolicy policy;
        policy.meta.name = other;
        policy.selectors.emplace().vmi = kube::Labels{{"db", value}};
        known.push_back(std::move(policy));
    }
    known.emplace_back().meta.name = "without-selectors";
    std::vector<const kube::MigrationPolicy*> all;
    for (const auto& each : known) {
        all.push_back(&each);
    }
    const boost::json::value policy{
        {"apiVersion", "migrations.kubevirt.io/v1alpha1"},
        {"kind", "MigrationPolicy"},
        {"metadata", {{"name", name}}},
        {"spec", {{"selectors", {{"virtualMachineInstanceSelector", {{"db", "pg"}}}}}}}};
    std::vector<std::string> out;
    for (const auto& finding : lint_new_policy(policy, all)) {
        EXPECT_EQ(finding.policy, name);
        out.push_back(std::string{finding.code} + ": " + finding.text);
    }
    return out;
}

TEST(NewPolicyTest, IsComparedWithThoseThatThereAre) {
    EXPECT_THAT(codes_beside("m", {{"a", "my"}, {"m", "pg"}}), IsEmpty()) << "m is itself";
    EXPECT_THAT(codes_beside("m", {{"z", "pg"}, {"b", "pg"}, {"a", "pg"}}),
                ElementsAre("equal-selectors: chooses VMI label db=pg, as a does",
                            AllOf(HasSubstr("unreachable: "), HasSubstr("lowest name, a;"))));
    EXPECT_THAT(codes_beside("m", {{"z", "pg"}, {"x", "pg"}, {"a", "my"}}),
                ElementsAre(HasSubstr("equal-selectors: takes the place of x, z, never applied")));
}

TEST(NewPolicyTest, ThoseOfSingleMovesStandForNothing) {
    kube::MigrationPolicy ours;
    ours.meta.name = "virt-scout-move-u1";
    ours.move_of = "u1";
    ours.selectors.emplace();
    const boost::json::value policy{{"apiVersion", "migrations.kubevirt.io/v1alpha1"},
                                    {"kind", "MigrationPolicy"},
                                    {"metadata", {{"name", "z"}}},
                                    {"spec", {{"selectors", boost::json::object{}}}}};

    EXPECT_THAT(lint_new_policy(policy, {&ours}), IsEmpty());
    ours.move_of = "another";
    EXPECT_EQ(lint_new_policy(policy, {&ours}).size(), 2U);
}

/// The budget is 200 ms for 1,000 policies; many times that here, for builds with sanitizers.
TEST_F(PolicyLintTest, AThousandPoliciesTakeNoTime) {
    std::string text;
    for (int i = 0; i < 1000; ++i) {
        const auto n = std::to_string(i);
        text += policy("p" + n, "{selectors: {virtualMachineInstanceSelector: {app: a" + n +
                                    "}, namespaceSelector: {env: prod}}, allowPostCopy: true}") +
                "---\n";
    }
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(lint(text).policies, 1000U);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{5});
}

}  // namespace
}  // namespace scout::cluster
