// SPDX-License-Identifier: Apache-2.0
// scoutctl protection and pressure: the real program on dumps of clusters.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "tests/cli/program.h"
#include "tests/support/test_data.h"

namespace scout::cli {
namespace {

namespace json = boost::json;
using test::scoutctl;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

json::value answer(std::vector<std::string> words) {
    words.insert(words.end(), {"-o", "json"});
    const auto outcome = scoutctl(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out.empty() ? "null" : outcome.out);
}

std::map<std::string, std::string> verdicts(const std::vector<std::string>& words) {
    std::map<std::string, std::string> out;
    const auto told = answer(words);
    for (const auto& vm : told.at("vms").as_array()) {
        out.emplace(vm.at("vmi").as_string(), vm.at("verdict").as_string());
    }
    return out;
}

TEST(ProtectionCommandTest, TellsOfTheRealDump) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto live = (data / "kubevirt/live").string();

    EXPECT_THAT(verdicts({"protection", "--from", live}),
                ElementsAre(Pair("shop/db-1", "unknown"), Pair("shop/evac-1", "unknown"),
                            Pair("shop/ext-1", "strategy"), Pair("shop/feat-1", "unknown"),
                            Pair("shop/nomig-1", "not-migratable"), Pair("shop/none-1", "strategy"),
                            Pair("shop/stuck-1", "unknown"), Pair("shop/web-1", "unknown"),
                            Pair("shop/web-2", "unknown")));
    const auto web = answer({"protection", "web-2", "--from", live}).at("vms").at(0);
    EXPECT_EQ(web.at("node"), "node-c");
    EXPECT_EQ(web.at("budgetSeconds"), 45);
    EXPECT_EQ(web.at("memoryBytes"), 134217728);
    EXPECT_THAT(std::string(web.at("why").as_string()), HasSubstr("no Plugin object was read"));
    EXPECT_THAT(std::string(web.at("advice").as_string()), HasSubstr("kubectl get scoutconfigs"));
    const auto fixed = answer({"protection", "shop/nomig-1", "--from", live}).at("vms").at(0);
    EXPECT_THAT(std::string(fixed.at("why").as_string()), HasSubstr("DisksNotLiveMigratable"));
}

TEST(ProtectionCommandTest, TellsWhichWouldBeMovedAndWhatHelpsTheOthers) {
    EXPECT_THAT(verdicts({"protection", "--from", "pressed"}),
                ElementsAre(Pair("shop/big", "too-big"), Pair("shop/loner", "strategy"),
                            Pair("shop/pinned", "not-migratable"), Pair("shop/silent", "no-hook"),
                            Pair("shop/web", "protected")));
    EXPECT_THAT(verdicts({"protection", "--node", "n2", "--from", "pressed"}),
                ElementsAre(Pair("shop/silent", "no-hook")));
    EXPECT_THAT(verdicts({"protection", "web", "shop/big", "--from", "pressed"}),
                ElementsAre(Pair("shop/big", "too-big"), Pair("shop/web", "protected")));

    const auto table = scoutctl({"protection", "--from", "pressed"});
    EXPECT_EQ(table.code, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr("virt-scout.io/launcher-grace-seconds: \"181\""));
    EXPECT_THAT(table.out, HasSubstr("LiveMigrate (cluster)"));
    EXPECT_THAT(table.out, HasSubstr("no agent that is alive"));
    EXPECT_THAT(table.out, HasSubstr("note: how much of its memory"));
}

TEST(ProtectionCommandTest, AClusterWithoutTheGateProtectsNobody) {
    const auto told = answer({"protection", "--from", "cluster"});

    ASSERT_EQ(told.at("vms").as_array().size(), 1U);
    const auto& vm = told.at("vms").at(0);
    EXPECT_EQ(vm.at("verdict"), "no-hook");
    EXPECT_TRUE(vm.at("forecast").is_null()) << "its memory is not told";
    EXPECT_TRUE(vm.at("memoryBytes").is_null());
}

TEST(PressureCommandTest, WithoutAgentsOnlyWhatKubeletsSaidIsTold) {
    const auto told = answer({"pressure", "--from", "pressed"});

    ASSERT_EQ(told.at("nodes").as_array().size(), 2U);
    const auto& pressed = told.at("nodes").at(1);
    EXPECT_EQ(pressed.at("node"), "n2");
    EXPECT_TRUE(pressed.at("thresholds").is_null());
    EXPECT_EQ(pressed.at("conditions").at(0).at("type"), "MemoryPressure");
    EXPECT_EQ(pressed.at("conditions").at(0).at("status"), "True");
    EXPECT_EQ(pressed.at("conditions").at(0).at("since"), "2026-03-02T09:58:30Z");
    EXPECT_EQ(pressed.at("taints").at(0), "node.kubernetes.io/memory-pressure:NoSchedule");
    EXPECT_EQ(answer({"pressure", "n1", "--from", "pressed"}).at("nodes").as_array().size(), 1U);

    const auto table = scoutctl({"pressure", "--from", "pressed"});
    EXPECT_EQ(table.code, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr("MemoryPressure is True since 2026-03-02T09:58:30Z"));
    EXPECT_THAT(table.out, HasSubstr("note: the kubelets' thresholds"));
    EXPECT_EQ(scoutctl({"pressure", "n9", "--from", "pressed"}).code, 2);
    EXPECT_EQ(scoutctl({"pressure", "n/1", "--from", "pressed"}).code, 2);
}

TEST(PressureCommandTest, TellsOfTheRealDump) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto told = answer({"pressure", "--from", (data / "kubevirt/live").string()});

    ASSERT_EQ(told.at("nodes").as_array().size(), 4U);
    for (const auto& node : told.at("nodes").as_array()) {
        EXPECT_EQ(node.at("conditions").as_array().size(), 3U) << "without Ready";
    }
}

TEST(ProtectionCommandTest, RefusesWhatCannotBeAnswered) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"protection", "webb", "--from", "pressed"}, "did you mean"},
        {{"protection", "--node", "n9", "--from", "pressed"}, "no node 'n9'"},
        {{"protection", "--node", "n/1", "--from", "pressed"}, "--node"},
        {{"protection", "web", "--node", "n1", "--from", "pressed"}, "found both"},
        {{"protection", "--from", "pressed", "--live"}, "found both"},
        {{"protection", "--live", "--kubeconfig", "none"}, "none"}};
    for (const auto& [words, expected] : cases) {
        const auto outcome = scoutctl(words);
        EXPECT_EQ(outcome.code, 2) << testing::PrintToString(words);
        EXPECT_THAT(outcome.err, HasSubstr(expected));
        EXPECT_TRUE(outcome.out.empty()) << testing::PrintToString(words);
    }
}

}  // namespace
}  // namespace scout::cli
