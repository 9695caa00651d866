// SPDX-License-Identifier: Apache-2.0
#include "migration/selector_syntax.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using testing::HasSubstr;

using Requirements = std::vector<NodeRequirement>;

struct Row {
    const char* text;
    Requirements expected;
};
void PrintTo(const Row& row, std::ostream* out) {
    *out << row.text;
}
class SelectorTest : public testing::TestWithParam<Row> {};

TEST_P(SelectorTest, IsReadAsKubectlDoes) {
    const auto term = parse_selector(GetParam().text);

    ASSERT_TRUE(term) << term.error().message;
    EXPECT_EQ(term->expressions, GetParam().expected);
    EXPECT_TRUE(term->fields.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Forms, SelectorTest,
    testing::Values(Row{"disktype=ssd,zone in (a,b)",
                        {{"disktype", "In", {"ssd"}}, {"zone", "In", {"a", "b"}}}},
                    Row{"a == b", {{"a", "In", {"b"}}}}, Row{"a!=b", {{"a", "NotIn", {"b"}}}},
                    Row{"a notin ( b , c )", {{"a", "NotIn", {"b", "c"}}}},
                    Row{" a , !b", {{"a", "Exists", {}}, {"b", "DoesNotExist", {}}}},
                    Row{"! a", {{"a", "DoesNotExist", {}}}}, Row{"cpus>3", {{"cpus", "Gt", {"3"}}}},
                    Row{"cpus < -3", {{"cpus", "Lt", {"-3"}}}}, Row{"a=", {{"a", "In", {""}}}},
                    Row{"a=,b", {{"a", "In", {""}}, {"b", "Exists", {}}}},
                    Row{"a in (,b)", {{"a", "In", {"", "b"}}}}, Row{"a in ()", {{"a", "In", {""}}}},
                    Row{"in in (in)", {{"in", "In", {"in"}}}}, Row{"in", {{"in", "Exists", {}}}},
                    Row{"x.y/z=1,\tw\n", {{"x.y/z", "In", {"1"}}, {"w", "Exists", {}}}},
                    Row{"cpus>9223372036854775807", {{"cpus", "Gt", {"9223372036854775807"}}}}));

TEST(SelectorFaultTest, SaysWhatWasExpectedAndWhere) {
    const std::vector<std::pair<const char*, const char*>> rows{
        {"", "expected a label's name at character 1, found the end"},
        {"a,", "expected a label's name at character 3, found the end"},
        {",a", "expected a label's name at character 1, found ','"},
        {"a b", "expected =, !=, in, notin, <, > or ',' at character 3, found 'b'"},
        {"a=b c", "expected ',' at character 5, found 'c'"},
        {"a in b", "expected '(' and values at character 6, found 'b'"},
        {"a in (b", "expected ',' or ')' at character 8, found the end"},
        {"a in (b c)", "expected ',' or ')' at character 9, found 'c'"},
        {"a in (b))", "expected ',' at character 9, found ')'"},
        {"!", "expected a label's name at character 2, found the end"},
        {"!!a", "expected a label's name at character 2, found '!'"},
        {"a!b", "expected =, !=, in, notin, <, > or ',' at character 2, found '!'"},
        {"a===b", "expected ',' at character 4, found '='"},
        {"(a)", "expected a label's name at character 1, found '('"}};
    for (const auto& [text, expected] : rows) {
        const auto term = parse_selector(text);
        ASSERT_FALSE(term) << text;
        EXPECT_EQ(term.error().code, Errc::invalid);
        EXPECT_EQ(term.error().message, expected) << text;
    }
}

TEST(SelectorFaultTest, LongOnesAreNotRead) {
    const std::string most(selector_limit, 'a');
    EXPECT_TRUE(parse_selector(most));
    EXPECT_THAT(parse_selector(most + "a").error().message, HasSubstr("at most 65536 bytes"));
    const std::string word(1000, 'x');
    EXPECT_LT(parse_selector("a " + word).error().message.size(), 200U);
}

/// Any text ends in a term or in a fault with words, and a term has what it was made of.
TEST(SelectorFaultTest, AnyTextIsAnswered) {
    std::mt19937 random(11);
    const std::string letters = "ab1 ,!=<>()\t\xff" + std::string(1, '\0');
    unsigned taken = 0;
    for (unsigned i = 0; i < 50'000; ++i) {
        std::string text;
        for (auto n = random() % 12; n > 0; --n) {
            text += random() % 9 == 0 ? std::string{" in ("}
                                      : std::string(1, letters[random() % letters.size()]);
        }
        const auto term = parse_selector(text);
        taken += term ? 1U : 0U;
        if (term) {
            EXPECT_FALSE(term->empty());
        } else {
            EXPECT_FALSE(term.error().message.empty());
        }
    }
    EXPECT_GT(taken, 1000U);
}

}  // namespace
}  // namespace scout::migration
