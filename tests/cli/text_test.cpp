// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <string>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "cli/json_text.h"
#include "cli/style.h"

namespace scout::cli {
namespace {

namespace json = boost::json;

TEST(TextTest, ReplacesEachInvalidByte) {
    EXPECT_EQ(valid_utf8("grün"), "grün");
    EXPECT_EQ(valid_utf8("a\xff"
                         "b"),
              "a\xef\xbf\xbd"
              "b");
    EXPECT_EQ(valid_utf8("\xc3"), "\xef\xbf\xbd");
    EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // surrogate
    EXPECT_EQ(valid_utf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");                  // overlong
    EXPECT_TRUE(is_valid_utf8("\xf0\x9f\x90\xa7"));
    EXPECT_FALSE(is_valid_utf8("\xf5\x80\x80\x80"));
}

TEST(TextTest, EscapesWhatWouldSteerATerminal) {
    EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
    EXPECT_EQ(printable("a\nb\tc\r"), "a\\nb\\tc\\r");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m"),
              "\\x9b31m");  // C1
    EXPECT_EQ(printable("\xe2\x80\xae"
                        "txt"),
              "\\u202etxt");  // right-to-left override
    EXPECT_EQ(printable("grün"), "grün");
}

TEST(TextTest, ShortensWordsThatNobodyReads) {
    const std::string huge(std::size_t{1} << 20U, 'A');

    EXPECT_EQ(shown("a few honest words"), "a few honest words");
    EXPECT_EQ(shown("model " + huge + " is not known"),
              "model " + std::string(300, 'A') + "… is not known");
    EXPECT_EQ(shown(std::string(299, 'A') + "ü"), std::string(299, 'A') + "…");
    std::string words;
    for (int word = 0; word < 100'000; ++word) {
        words += "word ";
    }
    EXPECT_LT(shown(words).size(), 20'000U);
    EXPECT_LT(shown(std::string(std::size_t{1} << 20U, ' ')).size(), 20'000U);
}

TEST(TextTest, TablesAlignByCharactersAndEscape) {
    Table table({"A", "B"});
    table.add({{.text = "grün"}, {.text = "x\x1b"}});
    table.add({{.text = "b"}, {.text = ""}});

    EXPECT_EQ(table.text(false), "A     B\ngrün  x\\x1b\nb     -\n");
    EXPECT_NE(table.text(true).find("\x1b[1mA\x1b[0m"), std::string::npos);
}

TEST(TextTest, ShortListsSayHowManyAreLeftOut) {
    EXPECT_EQ(short_list({"a", "b", "c"}, 2), "a, b, … (+1)");
    EXPECT_EQ(short_list({"a", "b"}, 2), "a, b");
}

TEST(JsonTextTest, WritesWhatAParserReadsBack) {
    const auto value = json::parse(
        R"({"a":[],"b":{},"c":[1,"x",null],"d":[{"e":true},{"f":"\u0001\"\\"}],"g":1.5})");

    EXPECT_EQ(json::parse(to_json_text(value)), value);
    EXPECT_EQ(json::parse(to_json_line(value)), value);
    EXPECT_EQ(to_json_line(value).find('\n'), std::string::npos);
    EXPECT_NE(to_json_text(value).find("\"c\": [1, \"x\", null]"), std::string::npos);
}

TEST(YamlTextTest, KeepsStringsStringsAndNullsNull) {
    const auto value = json::parse(R"({"model":"EPYC-Rome","t":"true","n":"1.5","e":"",
        "no":"off","z":null,"i":7,"b":false,"l":[],"s":"a: b # c","c":"\u001b[0m\n"})");

    const auto text = to_yaml_text(value);
    const auto read = YAML::Load(text);

    EXPECT_NE(text.find("model: EPYC-Rome\n"), std::string::npos);
    EXPECT_NE(text.find("t: \"true\"\n"), std::string::npos);
    EXPECT_NE(text.find("\"no\": \"off\"\n"), std::string::npos);
    EXPECT_NE(text.find("z: null\n"), std::string::npos);
    EXPECT_NE(text.find("i: 7\n"), std::string::npos);
    EXPECT_NE(text.find("b: false\n"), std::string::npos);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(read["c"].Scalar(), "\x1b[0m\n");
    EXPECT_EQ(read["s"].Scalar(), "a: b # c");
    EXPECT_TRUE(read["l"].IsSequence());
}

}  // namespace
}  // namespace scout::cli
