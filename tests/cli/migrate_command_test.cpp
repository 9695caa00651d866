// SPDX-License-Identifier: Apache-2.0
// scoutctl migrate --dry-run: the real program on dumps and manifests.
#include <algorithm>
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
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json::value answer(std::vector<std::string> words, int code, const std::string& input = {}) {
    words.insert(words.begin(), "migrate");
    words.insert(words.end(), {"--dry-run", "-o", "json"});
    if (std::find(words.begin(), words.end(), "--from") == words.end()) {
        words.insert(words.end(), {"--from", "cluster", "--cpu-map", "cpu_map"});
    }
    const auto outcome = scoutctl(words, test::small_documents(), input);
    EXPECT_EQ(outcome.code, code) << outcome.err << outcome.out;
    return json::parse(outcome.out.empty() ? "null" : outcome.out);
}

std::vector<std::string> texts(const json::value& list) {
    std::vector<std::string> out;
    for (const auto& each : list.as_array()) {
        out.emplace_back(each.is_string() ? each.as_string() : each.at("code").as_string());
    }
    return out;
}

const std::string head =
    "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceMigration\n"
    "metadata: {name: move, namespace: shop}\n";

TEST(MigrateCommandTest, ManifestIsJudgedByItsTermAndTheVmsOwnSelectors) {
    const auto aimed = answer({"-f", "moves/aimed.yaml"}, 0);

    EXPECT_EQ(aimed.at("verdict"), "ok");
    EXPECT_EQ(aimed.at("vmi"), "shop/web-2");
    EXPECT_THAT(texts(aimed.at("candidates")), ElementsAre("n2"));
    EXPECT_THAT(texts(aimed.at("ignoredKeys")), ElementsAre("kubernetes.io/arch"));
    EXPECT_TRUE(aimed.at("giveUpSeconds").is_null());
    EXPECT_THAT(texts(aimed.at("reasons")), ElementsAre("ignored-key"));
}

TEST(MigrateCommandTest, WhatWouldWaitSaysForHowLongAndWhy) {
    const auto cordoned = answer({"-f", "moves/cordoned.yaml"}, 1);

    EXPECT_EQ(cordoned.at("verdict"), "pending");
    EXPECT_THAT(texts(cordoned.at("candidates")), IsEmpty());
    EXPECT_EQ(cordoned.at("giveUpSeconds"), 60);
    EXPECT_EQ(texts(cordoned.at("reasons")).front(), "no-candidate");
    EXPECT_EQ(answer({"web-2", "--to", "n4"}, 1).at("giveUpSeconds"), 300);
}

TEST(MigrateCommandTest, AllThatIsRefusedIsToldAtOnce) {
    const auto refused = answer({"-f", "moves/own-node.yaml"}, 1);

    EXPECT_EQ(refused.at("verdict"), "refused");
    EXPECT_THAT(texts(refused.at("reasons")), ElementsAre("label", "term-empty", "already-there"));
}

TEST(MigrateCommandTest, StandardInputIsAManifestToo) {
    EXPECT_EQ(answer({"-f", "-"}, 0, head + "spec: {vmiName: web-2}").at("verdict"), "ok");
    EXPECT_EQ(answer({"-f", "-"}, 1, head + "spec: {vmiName: web-3}").at("verdict"), "refused");
}

TEST(MigrateCommandTest, VmsAreAimedFromTheCommandLineByTheSameRules) {
    EXPECT_THAT(texts(answer({"shop/web-2"}, 0).at("candidates")), ElementsAre("n2"));
    EXPECT_THAT(texts(answer({"web-2", "--to", "n2"}, 0).at("candidates")), ElementsAre("n2"));
    EXPECT_THAT(texts(answer({"web-2", "--to", "n1"}, 1).at("reasons")),
                ElementsAre("already-there"));
    EXPECT_THAT(texts(answer({"web-2", "--to", "n9"}, 1).at("reasons")),
                ElementsAre("node-absent"));
    EXPECT_THAT(texts(answer({"web-2", "--where",
                              "kubernetes.io/hostname in (n2,n3),kubernetes.io/arch!=arm64,!gone"},
                             0)
                          .at("candidates")),
                ElementsAre("n2"));
    EXPECT_THAT(texts(answer({"web-2", "--where", "disktype=ssd,zone in (a,b)"}, 1).at("reasons")),
                ElementsAre("no-node-matches"));
    EXPECT_THAT(texts(answer({"web-2", "--where", "cpus>many"}, 1).at("reasons")),
                ElementsAre("term"));
}

/// The proposal's negative tests, each told before.
TEST(MigrateCommandTest, WhatTheSchedulerWouldSayIsSaidBefore) {
    const std::vector<std::pair<const char*, const char*>> rows{
        {"n2", "taint"}, {"n3", "resources"}, {"n4", "volume"}, {"n5", "pod-anti-affinity"}};
    for (const auto& [node, code] : rows) {
        const auto pending =
            answer({"shop/db", "--to", node, "--from", "crowded", "--cpu-map", "cpu_map"}, 1);
        EXPECT_EQ(pending.at("verdict"), "pending");
        EXPECT_EQ(pending.at("giveUpSeconds"), 300);
        EXPECT_THAT(texts(pending.at("reasons")), ElementsAre("no-candidate", code));
    }
    EXPECT_THAT(
        texts(answer({"shop/db", "--from", "crowded", "--cpu-map", "cpu_map"}, 0).at("candidates")),
        ElementsAre("n6"));
}

TEST(MigrateCommandTest, TableSaysTheSameInWords) {
    const auto table = scoutctl({"migrate", "-f", "moves/aimed.yaml", "--dry-run", "--from",
                                 "cluster", "--cpu-map", "cpu_map"});

    EXPECT_EQ(table.code, 0) << table.err;
    EXPECT_THAT(table.out,
                AllOf(HasSubstr("Candidates:"), HasSubstr("n2"), HasSubstr("ok: it can go to 1"),
                      HasSubstr("ignored-key  kubernetes.io/arch=arm64 has no effect"),
                      HasSubstr("metadata.name In (n2)")));
    const auto pending = scoutctl({"migrate", "-f", "moves/cordoned.yaml", "--dry-run", "--from",
                                   "cluster", "--cpu-map", "cpu_map"});
    EXPECT_THAT(pending.out, HasSubstr("pending: it would wait, and be given up after 60 s"));
}

TEST(MigrateCommandTest, RealDumpIsAnsweredAsItsDescriptionSays) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto live = (data / "kubevirt/live").string();

    const auto free =
        answer({"web-2", "--from", live, "--cpu-map", (data / "libvirt/cpu_map").string()}, 0);
    EXPECT_THAT(texts(free.at("candidates")), ElementsAre("node-a"));
    EXPECT_EQ(answer({"nomig-1", "--from", live}, 1).at("verdict"), "refused");
    EXPECT_EQ(answer({"web-2", "--to", "node-b", "--from", live}, 1).at("verdict"), "pending");
}

TEST(MigrateCommandTest, RefusesWhatCannotBeAnswered) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"web-2", "--from", "cluster"}, "in a dump nothing can be moved"},
        {{"web-2", "--dry-run", "--wait", "--from", "cluster"}, "expected --dry-run or --wait"},
        {{"shop/web-2", "--cancel", "--to", "n2"}, "expected --cancel with a VM alone"},
        {{"shop/web-2", "--cancel", "--from", "cluster"}, "expected --cancel with a VM alone"},
        {{"--cancel"}, "expected --cancel with a VM alone"},
        {{"web-2", "--cancel"}, "migrate --cancel: expected NAMESPACE/NAME"},
        {{"web-2", "--kubeconfig", "no-such-file"}, "no-such-file"},
        {{"--dry-run", "--from", "cluster"}, "expected a VM, or -f and a manifest"},
        {{"web-2", "-f", "moves/aimed.yaml", "--dry-run"}, "found both"},
        {{"-f", "moves/aimed.yaml", "--to", "n2", "--dry-run"}, "in the manifest"},
        {{"web-2", "--to", "n2", "--where", "a", "--dry-run"}, "expected --to or --where"},
        {{"web-2", "--to", "a/b", "--dry-run"}, "migrate --to"},
        {{"web-2", "--where", "a b", "--dry-run"}, "migrate --where: expected ="},
        {{"web-2", "--dry-run"}, "migrate: expected --from with a dump of a cluster, or --live"},
        {{"web-3", "--dry-run", "--from", "cluster"}, "did you mean 'web-2'?"},
        {{"-f", "no-such-file", "--dry-run", "--from", "cluster"}, "no-such-file"},
        {{"-f", "cluster/nodes.yaml", "--dry-run", "--from", "cluster"}, "found kind 'List'"},
        {{"-f", "cluster", "--dry-run", "--from", "cluster"}, "regular file"},
        {{"web-2", "--dry-run", "--from", "cluster/kubevirt.yaml"}, "expected Node objects"}};
    for (const auto& [words, expected] : cases) {
        auto all = words;
        all.insert(all.begin(), "migrate");
        const auto outcome = scoutctl(all);
        EXPECT_EQ(outcome.code, 2) << testing::PrintToString(words);
        EXPECT_THAT(outcome.err, HasSubstr(expected));
        EXPECT_TRUE(outcome.out.empty()) << testing::PrintToString(words);
    }
}

TEST(MigrateCommandTest, HostileManifestsEndInFewWords) {
    std::string values = "v";
    for (unsigned i = 0; i < 10'000; ++i) {
        values += ",v" + std::to_string(i);
    }
    const auto huge = answer({"-f", "-"}, 1,
                             head +
                                 "spec: {vmiName: web-2, addedNodeSelectorTerm: "
                                 "{matchExpressions: [{key: zone, operator: In, values: [" +
                                 values + "]}]}}");
    EXPECT_THAT(texts(huge.at("reasons")), ElementsAre("too-large"));
    const std::string megabytes(std::size_t{5} << 20U, 'x');
    const auto text =
        scoutctl({"migrate", "-f", "-", "--dry-run", "--from", "cluster"}, test::small_documents(),
                 head + "spec: {vmiName: " + megabytes + "}");
    EXPECT_EQ(text.code, 2);
    EXPECT_LT(text.err.size(), 1000U);
    EXPECT_EQ(
        answer({"-f", "-"}, 1, head + "spec: {vmiName: '\x1b[31m', addedNodeSelector: {'\x07': x}}")
            .is_null(),
        false);
}

}  // namespace
}  // namespace scout::cli
