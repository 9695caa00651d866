// SPDX-License-Identifier: Apache-2.0
// scoutctl policy: the real program on dumps and manifests.
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace scout::cli {
namespace {

namespace json = boost::json;
using test::scoutctl;
using testing::AllOf;
using testing::HasSubstr;

json::value answer(std::vector<std::string> words, int code = 0) {
    words.insert(words.end(), {"-o", "json"});
    const auto outcome = scoutctl(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return json::parse(outcome.out.empty() ? "null" : outcome.out);
}

const json::value& number(const json::value& policy, const char* name) {
    return policy.at("effective").at(name).at("value");
}

/// Case 34: what the running KubeVirt recorded.
TEST(PolicyCommandTest, SaysOfTheRealDumpWhatKubeVirtRecorded) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto live = (data / "kubevirt/live").string();

    const auto policy = answer({"policy", "web-2", "--from", live});

    EXPECT_EQ(policy.at("vmi"), "shop/web-2");
    EXPECT_EQ(policy.at("stock"), "pay-prod");
    EXPECT_EQ(policy.at("proposal"), "pay-prod");
    EXPECT_EQ(policy.at("recorded"), "pay-prod");
    EXPECT_EQ(number(policy, "allowAutoConverge"), true);
    EXPECT_EQ(policy.at("effective").at("allowAutoConverge").at("origin"), "policy");
    EXPECT_EQ(number(policy, "allowPostCopy"), false);
    EXPECT_TRUE(number(policy, "bandwidthMiBps").is_null());
    EXPECT_EQ(number(policy, "completionTimeoutPerGiB"), 33);
    EXPECT_EQ(number(policy, "completionTimeoutSeconds"), 33);
    EXPECT_EQ(policy.at("effective").at("progressTimeoutSeconds").at("origin"), "default");
}

TEST(PolicyCommandTest, ShowsWhereTheProposalsRuleIsAnotherOne) {
    const auto policy = answer({"policy", "shop/db", "--from", "policy"});

    EXPECT_EQ(policy.at("stock"), "db-live");
    EXPECT_EQ(policy.at("proposal"), "any-db");
    EXPECT_EQ(policy.at("recorded"), "old");
    EXPECT_THAT(std::string{policy.at("why").as_string()},
                AllOf(HasSubstr("namespace label stage=live"),
                      HasSubstr("by more labels than "
                                "everything"),
                      HasSubstr("an empty value stands for any value")));
    EXPECT_EQ(number(policy, "bandwidthMiBps"), 1);
    EXPECT_EQ(number(policy, "completionTimeoutSeconds"), 1350);
    EXPECT_EQ(number(policy, "allowWorkloadDisruption"), true);
    EXPECT_EQ(number(policy, "network"), "migrations");
    EXPECT_EQ(policy.at("effective").at("network").at("origin"), "kubevirt");
    EXPECT_EQ(number(policy, "parallelMigrationsPerCluster"), 10);
    EXPECT_EQ(number(policy, "parallelOutboundMigrationsPerNode"), 2);

    const auto table = scoutctl({"policy", "db", "--from", "policy"});
    EXPECT_EQ(table.code, 0) << table.err;
    EXPECT_THAT(table.out, AllOf(HasSubstr("db-live"), HasSubstr("the KubeVirt object"),
                                 HasSubstr("which is gone")));
}

TEST(PolicyCommandTest, WithoutItsNamespaceItIsNotSure) {
    const scout::test::TemporaryFolder folder;
    folder.write("a.yaml", R"(apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: a, namespace: ns, labels: {app: web}}
status: {phase: Running}
---
apiVersion: migrations.kubevirt.io/v1alpha1
kind: MigrationPolicy
metadata: {name: p}
spec: {selectors: {namespaceSelector: {env: prod}}}
)");
    const auto policy = answer({"policy", "ns/a", "--from", folder.path().string()}, 3);
    EXPECT_TRUE(policy.at("stock").is_null());
    EXPECT_TRUE(number(policy, "completionTimeoutSeconds").is_null());
    EXPECT_THAT(std::string{policy.at("notes").at(0).as_string()},
                HasSubstr("the namespace ns is not among the objects"));
}

TEST(PolicyLintCommandTest, HasARowForEachFinding) {
    const auto rows = answer({"policy", "lint", "manifests/policies.yaml"}, 1).as_array();

    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows[0].at("file"), "manifests/policies.yaml");
    EXPECT_EQ(rows[0].at("policy"), "hpc");
    EXPECT_EQ(rows[0].at("code"), "selector-value");
    EXPECT_EQ(rows[0].at("severity"), "refused");
    std::vector<std::string> codes;
    for (const auto& row : rows) {
        codes.emplace_back(row.at("code").as_string());
    }
    EXPECT_THAT(codes, testing::ElementsAre("selector-value", "pruned", "milli", "no-limit",
                                            "negative", "equal-selectors", "unreachable"));
    const auto table = scoutctl({"policy", "lint", "manifests"});
    EXPECT_EQ(table.code, 1);
    EXPECT_THAT(table.out, HasSubstr("manifests/policies.yaml:8: warning: slow: "));
}

TEST(PolicyLintCommandTest, PoliciesOfAClusterAreHeldAgainstItsVms) {
    const auto rows = answer({"policy", "lint", "--from", "policy"}).as_array();

    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].at("code"), "chooses-none");
    EXPECT_EQ(rows[0].at("policy"), "any-db");
    EXPECT_EQ(rows[1].at("code"), "rounded");
    EXPECT_TRUE(rows[1].at("file").is_null());
}

TEST(PolicyCommandTest, RefusesWhatCannotBeAnswered) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"policy", "shop/db"}, "policy: expected --from with a dump of a cluster, or --live"},
        {{"policy", "shop/dbb", "--from", "policy"}, "did you mean 'shop/db'?"},
        {{"policy", "shop/db", "more", "--from", "policy"}, "expected one VM"},
        {{"policy", "lint"}, "policy lint: expected manifests, or --cluster"},
        {{"policy", "lint", "a.yaml", "--from", "policy"}, "policy lint: expected manifests, or"},
        {{"policy", "lint", "no-such-file"}, "no-such-file"},
        {{"policy", "lint", "cluster"}, "found no MigrationPolicy in"}};
    for (const auto& [words, expected] : cases) {
        const auto outcome = scoutctl(words);
        EXPECT_EQ(outcome.code, 2) << testing::PrintToString(words);
        EXPECT_THAT(outcome.err, HasSubstr(expected));
        EXPECT_TRUE(outcome.out.empty()) << testing::PrintToString(words);
    }
}

}  // namespace
}  // namespace scout::cli
