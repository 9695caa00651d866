// SPDX-License-Identifier: Apache-2.0
// scoutctl --from: the real program on dumps of clusters.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "cluster/cpu_profile.h"
#include "tests/cli/program.h"
#include "tests/support/profiles.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace scout::cli {
namespace {

namespace json = boost::json;
using test::scoutctl;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

json::value answer(std::vector<std::string> words, int code = 0) {
    words.insert(words.end(), {"-o", "json"});
    const auto outcome = scoutctl(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return json::parse(outcome.out.empty() ? "{}" : outcome.out);
}

std::string text(const json::value& value) {
    return std::string(value.as_string());
}

std::vector<std::string> texts(const json::value& list) {
    std::vector<std::string> out;
    for (const auto& each : list.as_array()) {
        out.push_back(text(each));
    }
    return out;
}

/// The entry of the array whose member has this value.
const json::value& entry(const json::value& list, std::string_view member, std::string_view value) {
    for (const auto& each : list.as_array()) {
        if (text(each.at(member)) == value) {
            return each;
        }
    }
    throw std::runtime_error("no entry with " + std::string(member) + " " + std::string(value));
}

/// Codes of the reasons for which `from` is refused on `to`, by layer.
std::vector<std::string> refusal(const json::value& matrix, std::string_view from,
                                 std::string_view to, std::string_view layer) {
    std::vector<std::string> codes;
    for (const auto& each : matrix.at("refused").as_array()) {
        if (text(each.at("from")) == from && text(each.at("to")) == to &&
            text(each.at("layer")) == layer) {
            for (const auto& reason : each.at("reasons").as_array()) {
                codes.push_back(text(reason.at("code")));
            }
        }
    }
    return codes;
}

/// Verdict and codes of the stock layer of one node's answer.
std::pair<std::string, std::set<std::string>> placement(const json::value& where,
                                                        std::string_view node) {
    const auto& found = entry(where.at("nodes"), "node", node);
    std::set<std::string> codes;
    for (const auto& reason : found.at("reasons").as_array()) {
        if (text(reason.at("layer")) == "stock") {
            codes.insert(text(reason.at("code")));
        }
    }
    return {text(found.at("stock")), codes};
}

class LiveDumpTest : public testing::Test {
protected:
    void SetUp() override {
        SCOUT_TEST_DATA_OR_SKIP(data);
        live = (data / "kubevirt/live").string();
        old_nodes = (data / "kubernetes/nodes").string();
    }

    std::string live;
    std::string old_nodes;
};

TEST_F(LiveDumpTest, SaysWhereAVmWithFrozenSelectorsCanGo) {
    const auto where = answer({"where", "web-2", "--from", live});

    EXPECT_EQ(text(where.at("source")), "node-c");
    EXPECT_EQ(placement(where, "node-a").first, "can");
    EXPECT_THAT(placement(where, "node-b"), testing::Pair("cannot", ElementsAre("unschedulable")));
    const auto [verdict, codes] = placement(where, "node-h");
    EXPECT_EQ(verdict, "cannot");
    EXPECT_THAT(codes, IsSupersetOf({"feature", "unschedulable"}));
    const auto& reasons = entry(where.at("nodes"), "node", "node-h").at("reasons").as_array();
    const auto missing = std::find_if(reasons.begin(), reasons.end(), [](const json::value& each) {
        return text(each.at("code")) == "feature" && text(each.at("layer")) == "stock";
    });
    ASSERT_NE(missing, reasons.end());
    EXPECT_THAT(texts(missing->at("keys")),
                UnorderedElementsAre("cpu-feature.node.kubevirt.io/pcid",
                                     "cpu-feature.node.kubevirt.io/ssbd"));
}

TEST_F(LiveDumpTest, SaysWhereAVmWithANamedModelCanGo) {
    const auto where = answer({"where", "shop/db-1", "--from", live});

    EXPECT_EQ(text(where.at("source")), "node-a");
    EXPECT_EQ(placement(where, "node-c").first, "can");
    EXPECT_THAT(placement(where, "node-b"), testing::Pair("cannot", ElementsAre("unschedulable")));
    EXPECT_THAT(placement(where, "node-h"), testing::Pair("cannot", ElementsAre("unschedulable")));
}

TEST_F(LiveDumpTest, NamesWhyAVmCannotMigrateAtAll) {
    const auto where = scoutctl({"where", "nomig-1", "--from", live});

    EXPECT_EQ(where.code, 1);
    EXPECT_THAT(where.out, HasSubstr("DisksNotLiveMigratable"));
}

TEST_F(LiveDumpTest, ShowsLevelsAndWhatIsRefused) {
    const auto matrix = answer({"matrix", "--from", live});

    ASSERT_EQ(matrix.at("nodes").as_array().size(), 4U);
    const auto& c = entry(matrix.at("nodes"), "name", "node-c");
    EXPECT_TRUE(c.at("schedulable").as_bool());
    EXPECT_THAT(texts(c.at("out")), testing::Contains("node-a"));
    const auto& h = entry(matrix.at("nodes"), "name", "node-h");
    EXPECT_FALSE(h.at("schedulable").as_bool());
    EXPECT_TRUE(h.at("level").is_null());
    EXPECT_THAT(refusal(matrix, "node-c", "node-h", "stock"), testing::Contains("feature"));
    EXPECT_THAT(refusal(matrix, "node-c", "node-a", "stock"), IsEmpty());
}

TEST_F(LiveDumpTest, FindsTheInconsistentLabels) {
    const auto check = answer({"labels", "--check", "--from", live}, 1);

    const auto& h = entry(check.at("nodes"), "node", "node-h").at("findings");
    const auto& found = entry(h, "code", "inconsistent");
    EXPECT_EQ(text(found.at("severity")), "error");
    EXPECT_EQ(found.at("labels").as_array().size(), 2U);
}

TEST_F(LiveDumpTest, FindsABaselineOfTheNodesThatTakeVms) {
    const auto baseline = answer({"baseline", "--from", live});

    EXPECT_FALSE(baseline.at("model").is_null());
    EXPECT_THAT(text(baseline.at("reason")), HasSubstr("node-h"));
    EXPECT_EQ(scoutctl({"baseline", "node-a", "node-x", "--from", live}).code, 2);
}

TEST_F(LiveDumpTest, OldLabellersHaveNoMachineType) {
    const auto matrix =
        answer({"matrix", "--from", old_nodes + "/km-node01.json", "--from",
                old_nodes + "/km-node02.json", "--from", old_nodes + "/km-node03.json"});

    ASSERT_EQ(matrix.at("nodes").as_array().size(), 3U);
    for (const auto& node : matrix.at("nodes").as_array()) {
        EXPECT_THAT(texts(node.at("out")), IsEmpty());
    }
    EXPECT_EQ(matrix.at("refused").as_array().size(), 6U);
    for (const auto& each : matrix.at("refused").as_array()) {
        EXPECT_EQ(text(each.at("layer")), "stock");
        ASSERT_EQ(each.at("reasons").as_array().size(), 1U);
        EXPECT_EQ(text(each.at("reasons").at(0).at("code")), "machine-type");
    }
}

TEST(DumpTest, JudgesForAnotherMachineType) {
    const auto matrix = answer({"matrix", "--from", "cluster", "--machine-type", "pc-q35-9.9"});

    EXPECT_THAT(refusal(matrix, "n1", "n2", "stock"), ElementsAre("machine-type"));
}

TEST(DumpTest, LevelsFollowTheLayer) {
    const auto stock = answer({"matrix", "--from", "cluster"});
    const auto truth = answer({"matrix", "--from", "cluster", "--layer", "truth"});

    EXPECT_EQ(text(stock.at("layer")), "stock");
    EXPECT_EQ(text(truth.at("layer")), "truth");
    // Without a cpu_map the truth of a named model is not known.
    EXPECT_THAT(texts(entry(stock.at("nodes"), "name", "n1").at("out")), ElementsAre("n2"));
    EXPECT_THAT(texts(entry(truth.at("nodes"), "name", "n1").at("out")), IsEmpty());
}

/// As its own aggregator labels the nodes.
TEST(DumpTest, LevelsAreThoseOfTheClustersScoutConfigUnlessFlagsSayOtherwise) {
    const scout::test::TemporaryFolder folder;
    std::filesystem::copy(test::small_documents() / "cluster/nodes.yaml",
                          folder.path() / "nodes.yaml");
    const auto configured = [&folder](const json::object& levels) {
        folder.write("config.json",
                     json::serialize(json::object{{"apiVersion", "virt-scout.io/v1alpha1"},
                                                  {"kind", "ScoutConfig"},
                                                  {"metadata", {{"name", "default"}}},
                                                  {"spec", {{"levels", levels}}}}));
        return folder.path().string();
    };
    const auto dump = configured({{"layer", "truth"}, {"machineType", "pc-q35-9.9"}});
    const auto matrix = answer({"matrix", "--from", dump});
    EXPECT_EQ(text(matrix.at("layer")), "truth");
    EXPECT_THAT(refusal(matrix, "n1", "n2", "stock"), ElementsAre("machine-type"));
    const auto asked =
        answer({"matrix", "--from", dump, "--layer", "stock", "--machine-type", "q35"});
    EXPECT_EQ(text(asked.at("layer")), "stock");
    EXPECT_THAT(refusal(asked, "n1", "n2", "stock"), IsEmpty());

    folder.write("cordoned.json", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"c",
        "labels":{"kubernetes.io/arch":"amd64","kubevirt.io/schedulable":"true",
        "host-model-cpu.node.kubevirt.io/Large":"true"}},"spec":{"unschedulable":true,"taints":[
        {"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule",
        "timeAdded":"2026-11-30T10:00:00Z"}]},"status":{"conditions":[{"type":"Ready",
        "status":"True","lastHeartbeatTime":"2026-11-30T10:05:00Z"}]}})");
    const auto level_of = [&configured](const char* cordoned_for) {
        const auto nodes = answer({"nodes", "--from", configured({{"cordonedFor", cordoned_for}})});
        return entry(nodes.at("nodes"), "node", "c").at("level");
    };
    EXPECT_FALSE(level_of("10m").is_null());
    EXPECT_TRUE(level_of("1m").is_null());

    const auto odd = scoutctl({"nodes", "--from", configured({{"layer", "both"}})});
    EXPECT_THAT(odd.err, HasSubstr("spec.levels.layer"));
}

TEST(DumpTest, AFolderWithoutFilesOfObjectsIsNoEmptyCluster) {
    const scout::test::TemporaryFolder folder;
    folder.write("nodes.txt", "kind: Node");

    const auto outcome = scoutctl({"nodes", "--from", folder.path().string()});

    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("expected files that end in .yaml"));
}

TEST(DumpTest, SaysWhatItCannotReadAndGoesOn) {
    const scout::test::TemporaryFolder folder;
    std::filesystem::copy(test::small_documents() / "cluster/nodes.yaml",
                          folder.path() / "nodes.yaml");
    folder.write("broken.json", R"({"kind":"Node","metadata":)");

    const auto outcome = scoutctl({"nodes", "--from", folder.path().string()});

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("broken.json"));
    EXPECT_THAT(outcome.out, HasSubstr("n3"));
}

/// Nodes a and b; b names two profiles, of which the later one lacks a feature of "Large".
void write_profiled_nodes(const scout::test::TemporaryFolder& folder) {
    const auto node = [](const std::string& name, const json::object& annotations) {
        const json::object labels{{"kubernetes.io/arch", "amd64"},
                                  {"kubevirt.io/schedulable", "true"},
                                  {"host-model-cpu.node.kubevirt.io/Large", "true"},
                                  {"cpu-model-migration.node.kubevirt.io/Large", "true"},
                                  {"cpu-feature.node.kubevirt.io/avx", "true"},
                                  {"cpu-vendor.node.kubevirt.io/Intel", "true"},
                                  {"machine-type.node.kubevirt.io/q35", "true"}};
        return json::serialize(json::object{
            {"apiVersion", "v1"},
            {"kind", "Node"},
            {"metadata", {{"name", name}, {"labels", labels}, {"annotations", annotations}}}});
    };
    const auto before = scout::test::host({.model = "Large", .require = {"cx8", "fpu", "mmx"}});
    const auto after = scout::test::host({.model = "Large", .require = {"cx8", "fpu"}});
    folder.write("a.json", node("a", {}));
    folder.write("b.json",
                 node("b", {{cluster::profile_annotation, cluster::profile_name(after)},
                            {cluster::former_profile_annotation, cluster::profile_name(before)}}));
    folder.write("before.json", cluster::cpu_profile_body(before).value());
    folder.write("after.json", cluster::cpu_profile_body(after).value());
}

TEST(DumpTest, SaysWhetherANodeIsKnownByItsProfileOrItsLabels) {
    const scout::test::TemporaryFolder folder;
    write_profiled_nodes(folder);

    const auto nodes = answer({"nodes", "--from", folder.path().string()});
    const auto node = answer({"node", "b", "--from", folder.path().string()});

    EXPECT_EQ(text(nodes.at("nodes").at(0).at("source")), "labels");
    EXPECT_EQ(text(nodes.at("nodes").at(1).at("source")), "profile");
    EXPECT_THAT(text(node.at("yardstick")), HasSubstr("CPUProfile cpu-"));
    EXPECT_EQ(node.at("profile").at("hostModel").at("require").as_array().size(), 2U);
}

TEST(DumpTest, NodesWhoseLabelsTellNoOneHostModelSayWhy) {
    const scout::test::TemporaryFolder folder;
    const auto node = [&folder](const std::string& name, const std::string& labels) {
        folder.write(name + ".json", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" +
                                         name + R"(","labels":{"kubernetes.io/arch":"amd64")" +
                                         labels + "}}}");
    };
    node("two", R"(,"kubevirt.io/schedulable":"true","host-model-cpu.node.kubevirt.io/A":"true",
                    "host-model-cpu.node.kubevirt.io/B":"true")");
    node("none", R"(,"kubevirt.io/schedulable":"true","cpu-model.node.kubevirt.io/A":"true")");
    node("plain", "");
    const std::string from = folder.path().string();

    const auto nodes = answer({"nodes", "--from", from}).at("nodes");

    EXPECT_THAT(text(entry(nodes, "node", "two").at("reason")),
                HasSubstr("inconsistent: host-models A, B"));
    EXPECT_THAT(text(entry(nodes, "node", "none").at("reason")), HasSubstr("/dev/kvm"));
    EXPECT_THAT(text(entry(nodes, "node", "plain").at("reason")),
                HasSubstr("virt-handler does not run there"));
    EXPECT_THAT(scoutctl({"where", "host-model@two", "--from", from}).out,
                HasSubstr("inconsistent: host-models A, B"));
}

TEST(DumpTest, TellsWhatTheChangeOfANodesProfileMeans) {
    const scout::test::TemporaryFolder folder;
    write_profiled_nodes(folder);

    const auto impact = answer({"upgrade-impact", "b", "--from", folder.path().string()});
    const auto none = scoutctl({"upgrade-impact", "a", "--from", folder.path().string()});

    EXPECT_EQ(text(impact.at("hostModel").at("before")), "Large");
    EXPECT_THAT(texts(impact.at("notes")), testing::Contains(HasSubstr("VMIs: ")));
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.err, HasSubstr("no agent has told its CPU profile yet"));
}

TEST(DumpTest, RefusesWhatCannotBeAnswered) {
    const scout::test::TemporaryFolder folder;
    folder.write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\n");
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"matrix", "--from", folder.path().string()}, "expected Node objects"},
        {{"matrix", "--from", "no-such-folder"}, "no-such-folder"},
        {{"matrix", "--from", "cluster", "--layer", "both"}, "expected stock or truth"},
        {{"matrix", "--from", "cluster", "--documents", "hosts"}, "found both"},
        {{"where", "web-2", "--from", "cluster", "--on", "hosts"}, "found both"},
        {{"upgrade-impact", "--before", "a", "--after", "b", "--from", "cluster"}, "found both"},
        {{"matrix", "--from", "cluster", "--live"}, "found both"},
        {{"matrix", "--live", "--kubeconfig", "none"}, "none"},
        {{"labels", "hosts/new.xml", "--live"}, "--check"},
        {{"where", "host-model@n9", "--from", "cluster"}, "no node 'n9'"},
        {{"where", "web-3", "--from", "cluster"}, "web-2"},
        {{"node", "m1", "--from", "cluster"}, "did you mean 'n1'?"},
        {{"guests", "--watch", "--from", "cluster"}, "cannot answer this"},
        {{"labels", "--check"}, "--from"},
        {{"labels", "hosts/new.xml", "--from", "cluster"}, "--check"},
        {{"labels"}, "expected a document"},
        {{"debug", "watch", "nodess", "--kubeconfig", "none"}, "did you mean 'nodes'?"},
        {{"debug", "look", "nodes"}, "expected watch"},
        {{"debug", "watch", "nodes", "--kubeconfig", "none"}, "none"}};
    for (const auto& [words, expected] : cases) {
        const auto outcome = scoutctl(words);
        EXPECT_EQ(outcome.code, 2) << testing::PrintToString(words);
        EXPECT_THAT(outcome.err, HasSubstr(expected));
        EXPECT_THAT(outcome.out, IsEmpty()) << testing::PrintToString(words);
    }
}

TEST(DumpTest, NamesOfVmisMayHaveTheirNamespace) {
    const auto short_name = answer({"where", "web-2", "--from", "cluster", "--cpu-map", "cpu_map"});
    const auto whole_name =
        answer({"where", "shop/web-2", "--from", "cluster", "--cpu-map", "cpu_map"});

    EXPECT_EQ(short_name.at("nodes"), whole_name.at("nodes"));
    EXPECT_EQ(text(short_name.at("source")), "n1");
}

/// An arm64 node is no reason to have no baseline of the others.
TEST(DumpCommandsTest, ABaselineIsOfTheArchitectureThatMostNodesHave) {
    const scout::test::TemporaryFolder folder;
    const auto node = [](const std::string& name, const std::string& arch, json::object labels) {
        labels["kubernetes.io/arch"] = arch;
        labels["kubevirt.io/schedulable"] = "true";
        return json::serialize(
            json::object{{"apiVersion", "v1"},
                         {"kind", "Node"},
                         {"metadata", {{"name", name}, {"labels", std::move(labels)}}}});
    };
    const json::object cpu{{"host-model-cpu.node.kubevirt.io/Nehalem", "true"},
                           {"cpu-vendor.node.kubevirt.io/Intel", "true"},
                           {"cpu-feature.node.kubevirt.io/sse", "true"}};
    folder.write("nodes.json",
                 node("a", "amd64", cpu) + node("b", "amd64", cpu) + node("p", "amd64", {}) +
                     node("c", "arm64", {{"cpu-feature.node.kubevirt.io/asimd", "true"}}));
    const auto outcome = scoutctl({"baseline", "--from", folder.path().string(), "-o", "json"});
    const auto reason = text(json::parse(outcome.out).at("reason"));
    EXPECT_THAT(reason, HasSubstr("left out, for another architecture, arm64: c"));
    EXPECT_THAT(reason, HasSubstr("left out, for its labeller has written no CPU: p"));
    EXPECT_THAT(json::serialize(json::parse(outcome.out)),
                testing::Not(HasSubstr("cannot be compared")));
}

}  // namespace
}  // namespace scout::cli
