// SPDX-License-Identifier: Apache-2.0
#include "cluster/yaml_json.h"

#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

namespace scout::cluster {
namespace {

std::vector<std::string> json_of(std::string_view yaml) {
    std::vector<std::string> out;
    auto documents = yaml_to_json(yaml).value();
    for (auto& document : documents) {
        out.push_back(std::move(document.json));
    }
    return out;
}

std::string fault_of(std::string_view yaml) {
    const auto read = yaml_to_json(yaml);
    return read ? "no fault" : read.error().message;
}

TEST(YamlJsonTest, NestedMapsAndListsComeOut) {
    const auto json = json_of(R"(
apiVersion: v1
metadata:
  labels: {a: b, c: "d"}
  finalizers: []
spec:
  taints:
  - key: x
    effect: NoSchedule
  - {}
)");

    EXPECT_EQ(json, std::vector<std::string>{
                        R"({"apiVersion":"v1","metadata":{"labels":{"a":"b","c":"d"},)"
                        R"("finalizers":[]},"spec":{"taints":[{"key":"x",)"
                        R"("effect":"NoSchedule"},{}]}})"});
}

/// YAML 1.1, as kubectl has it: what people write is not always the text that it seems to be.
TEST(YamlJsonTest, WhatPeopleWriteIsReadAsKubectlReadsIt) {
    const auto read = yaml_to_json(R"([yes, "yes", On, OFF, n, yEs, 0x1F, 0b11, 010, 1_000, +3, .5,
                                       1., 1_0.5, 0x, -, ., 1.2.3, 5e, nodes, 2026-11-27])",
                                   YamlAuthor::person);
    ASSERT_TRUE(read);
    const auto value = boost::json::parse(read->at(0).json);
    EXPECT_EQ(boost::json::serialize(value),
              R"([true,"yes",true,false,false,"yEs",31,3,8,1000,3,5E-1,1E0,1.05E1,"0x","-",".",)"
              R"("1.2.3","5e","nodes","2026-11-27"])");
}

TEST(YamlJsonTest, PlainAndQuotedScalarsKeepTheirKinds) {
    EXPECT_EQ(json_of(R"([true, "true", false, null, ~, "null", 1, -2.5e3, "1", 0x1F, 010, 1_0,
                          .5, 1., -, yes, 1e, v1, 2026-11-27T23:06:02Z])"),
              std::vector<std::string>{
                  R"([true,"true",false,null,null,"null",1,-2.5e3,"1","0x1F","010","1_0",)"
                  R"(".5","1.","-","yes","1e","v1","2026-11-27T23:06:02Z"])"});
}

TEST(YamlJsonTest, KeysAreTextsAndEmptyValuesAreNull) {
    EXPECT_EQ(json_of("1: true\ntrue: 2\nempty:\nlast:\n"),
              std::vector<std::string>{R"({"1":true,"true":2,"empty":null,"last":null})"});
}

TEST(YamlJsonTest, TextsOfSeveralLinesAndOddCharactersAreKept) {
    const auto json = json_of("a: |\n  one\n  \"two\"\\n\nb: \"\\u00e9\\t\\0\"\nc: 'it''s'\n");

    ASSERT_EQ(json.size(), 1U);
    const auto document = boost::json::parse(json.front());
    const auto& map = document.as_object();
    EXPECT_EQ(map.at("a").as_string(), "one\n\"two\"\\n\n");
    EXPECT_EQ(map.at("b").as_string(), boost::json::string_view("\u00e9\t\0", 4));
    EXPECT_EQ(map.at("c").as_string(), "it's");
}

TEST(YamlJsonTest, DocumentsAreTakenApartAndEmptyOnesLeftOut) {
    const auto read = yaml_to_json("---\na: 1\n---\n---\n# nothing\n---\n\nb: 2\n...\n").value();

    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[0].json, R"({"a":1})");
    EXPECT_EQ(read[1].json, R"({"b":2})");
    EXPECT_LT(read[0].line, read[1].line);
}

TEST(YamlJsonTest, NothingGivesNothing) {
    EXPECT_TRUE(json_of("").empty());
    EXPECT_TRUE(json_of("\n# a comment\n").empty());
}

TEST(YamlJsonTest, FaultsNameTheLine) {
    EXPECT_EQ(fault_of("a: 1\nb: [1, 2\n").substr(0, 5), "line ");
    EXPECT_NE(fault_of("a: &x 1\nb: *x\n").find("line 2: aliases are not taken"),
              std::string::npos);
    EXPECT_NE(fault_of("a: 1\n? [1]\n: 2\n").find("expected a text as key"), std::string::npos);
}

TEST(YamlJsonTest, WhatTheParserDoesNotTakeIsNotBegunForEver) {
    EXPECT_NE(fault_of("&\xff,").find("line 1: expected YAML"), std::string::npos);
    EXPECT_EQ(fault_of("---\n---\na: 1\n---\n"), "no fault");
}

/// The parser keeps all that a line opens, at 230 bytes each.
TEST(YamlJsonTest, ALineThatNoObjectHasEndsInAFault) {
    const auto flow = yaml_to_json("a: 1\nb: " + std::string(3U << 20U, '['));
    ASSERT_FALSE(flow);
    EXPECT_THAT(flow.error().message, testing::HasSubstr("line 2: expected at most 2 MiB"));
    EXPECT_TRUE(yaml_to_json("a: " + std::string((2U << 20U) - 4, 'x') + "\nb: 1\n"));
}

TEST(YamlJsonTest, NoTextHasDocumentsWithoutEnd) {
    std::string text;
    for (int i = 0; i <= 1'000'000; ++i) {
        text += "--- a\n";
    }
    EXPECT_NE(fault_of(text).find("at most 1000000 documents"), std::string::npos);
}

TEST(YamlJsonTest, DeepNestingEndsInAFault) {
    EXPECT_NE(fault_of(std::string(100'000, '[')), "no fault");
    EXPECT_NE(fault_of(std::string(100'000, '{')), "no fault");
}

}  // namespace
}  // namespace scout::cluster
