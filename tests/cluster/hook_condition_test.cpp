// SPDX-License-Identifier: Apache-2.0
// The condition of our node hook, evaluated as virt-handler does (tests/cel).
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/hook_plugin.h"
#include "tests/support/ask_program.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using testing::ElementsAre;

class HookConditionTest : public testing::Test {
protected:
    void SetUp() override {
        const char* named = std::getenv("SCOUT_CEL");
        program = named != nullptr ? named : SCOUT_BUILT_CEL;
        if (!std::filesystem::exists(program)) {
            GTEST_SKIP()
                << "no evaluator: build it with tools/lib/cel.sh, or name it with SCOUT_CEL";
        }
    }
    /// What the condition says of each VMI.
    std::vector<std::string> evaluate(const std::string& condition,
                                      const std::vector<std::string>& vmis) {
        std::vector<std::string> questions;
        for (const auto& vmi : vmis) {
            questions.push_back(
                json::serialize(json::object{{"condition", condition}, {"vmi", json::parse(vmi)}}));
        }
        return test::ask_program({program}, questions);
    }

    std::string program;
};

std::string vmi_on(const std::string& node, const std::string& phase = "Running",
                   const std::string& deletion = {}) {
    json::object metadata{{"name", "vm1"}, {"namespace", "ns1"}, {"uid", "u"}};
    if (!deletion.empty()) {
        metadata["deletionTimestamp"] = deletion;
    }
    return json::serialize(json::object{{"metadata", std::move(metadata)},
                                        {"status", {{"phase", phase}, {"nodeName", node}}}});
}

TEST_F(HookConditionTest, OnlyRunningVmsThatNobodyDeletesAreAskedAbout) {
    EXPECT_THAT(evaluate(hook_condition({}),
                         {vmi_on("n1"), vmi_on("n1", "Scheduled"), vmi_on("n1", "Succeeded"),
                          vmi_on("n1", "Running", "2026-11-28T10:00:00Z")}),
                ElementsAre("true", "false", "false", "false"));
}

TEST_F(HookConditionTest, ABareVmiIsNotAskedAboutAndIsNoError) {
    const std::string gone = R"({"metadata":{"name":"vm1","namespace":"ns1","uid":"u"}})";
    EXPECT_THAT(evaluate(hook_condition({}), {gone, "{}"}), ElementsAre("false", "false"));
    EXPECT_THAT(evaluate(hook_condition({"n1"}), {gone, "{}"}), ElementsAre("false", "false"));
}

TEST_F(HookConditionTest, NodesWithoutAgentAreLeftOutUpToTheLimit) {
    NodeNames names{"n2"};
    EXPECT_THAT(evaluate(hook_condition(names), {vmi_on("n1"), vmi_on("n2"), vmi_on("")}),
                ElementsAre("true", "false", "true"));
    while (names.size() < most_left_out) {
        // As long as a node's name may be.
        auto name = "n" + std::to_string(names.size() + 2);
        names.insert(name + "." + std::string(252 - name.size(), 'x'));
    }
    const auto last = *names.rbegin();
    EXPECT_THAT(evaluate(hook_condition(names), {vmi_on("n1"), vmi_on("n2"), vmi_on(last)}),
                ElementsAre("true", "false", "false"));
    EXPECT_LT(hook_condition(names).size(), 100'000U) << "what the API server compiles";
}

}  // namespace
}  // namespace scout::cluster
