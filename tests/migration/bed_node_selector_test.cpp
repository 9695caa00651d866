// SPDX-License-Identifier: Apache-2.0
// Node selector terms, as we read them and as the scheduler's own matcher does (tests/bed).
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include "migration/node_selector.h"
#include "tests/support/ask_program.h"
#include "tests/support/bed.h"

namespace scout::migration {
namespace {

namespace json = boost::json;

constexpr std::uint32_t seed = 20261129;
constexpr std::size_t cases = 100'000;

using Words = std::vector<std::string>;
using Terms = std::vector<NodeSelectorTerm>;

struct Case {
    Terms terms;
    NodeSelectorTerm added;
    Labels labels;
    std::string node;
};

/// Terms and nodes that meet often enough, among much that is odd.
class Cases {
public:
    Case next() {
        return {.terms = terms(), .added = term(), .labels = labels(), .node = pick(names_)};
    }

private:
    bool one_in(unsigned n) { return random_() % n == 0; }
    const std::string& pick(const Words& from) { return from[random_() % from.size()]; }

    const std::string& key() { return pick(one_in(12) ? odd_keys_ : keys_); }
    const std::string& value() {
        return pick(one_in(8) ? odd_values_ : one_in(2) ? numbers_ : values_);
    }
    Words some_values(std::size_t fewest, std::size_t most) {
        Words out;
        for (auto n = fewest + random_() % (most - fewest + 1); n > 0; --n) {
            out.push_back(value());
        }
        return out;
    }
    Words values_for(const std::string& op) {
        if (one_in(20)) {
            return some_values(0, 3);
        }
        if (op == "Gt" || op == "Lt") {
            return {pick(one_in(6) ? odd_values_ : numbers_)};
        }
        return op == "In" || op == "NotIn" ? some_values(1, 4) : Words{};
    }
    NodeRequirement expression() {
        const auto op = pick(one_in(25) ? odd_ops_ : ops_);
        return {.key = key(), .op = op, .values = values_for(op)};
    }
    NodeRequirement field() {
        const auto op = one_in(12) ? pick(one_in(2) ? odd_ops_ : ops_) : pick({"In", "NotIn"});
        auto values = one_in(12) ? some_values(0, 2) : Words{pick(names_)};
        return {.key = one_in(10) ? pick({"metadata.uid", "spec.unschedulable", ""})
                                  : std::string{"metadata.name"},
                .op = op,
                .values = std::move(values)};
    }
    NodeSelectorTerm term() {
        NodeSelectorTerm out;
        for (auto n = random_() % 3; n > 0; --n) {
            out.expressions.push_back(expression());
        }
        for (auto n = one_in(4) ? 1 + random_() % 2 : 0; n > 0; --n) {
            out.fields.push_back(field());
        }
        return out;
    }
    Terms terms() {
        Terms out;
        for (auto n = random_() % 4; n > 0; --n) {
            out.push_back(term());
        }
        return out;
    }
    Labels labels() {
        Labels out;
        for (auto n = random_() % 6; n > 0; --n) {
            out[key()] = value();
        }
        return out;
    }

    std::mt19937 random_{seed};
    Words names_{"n1", "n2", "node-3.example.com"};
    Words ops_{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
    Words odd_ops_{"", "in", "GT", "Equals", "=", "NotExists", "Gte", "In "};
    Words keys_{"a", "b", "cpus", "example.com/disk", "metadata.name"};
    Words odd_keys_{"",
                    " ",
                    "a b",
                    "-a",
                    "a-",
                    "A.b_c",
                    "/a",
                    "a/",
                    "a/b/c",
                    "Example.com/a",
                    "a..b/c",
                    "é",
                    "日本/語",
                    std::string(63, 'k'),
                    std::string(64, 'k'),
                    std::string(253, 'p') + "/k",
                    std::string(254, 'p') + "/k"};
    Words values_{"", "ssd", "hdd", "SSD", "a.b_c-d"};
    Words numbers_{"0", "1", "2", "7", "007", "10", "9223372036854775806", "9223372036854775807"};
    Words odd_values_{"-1",
                      "+1",
                      "-0",
                      "+0",
                      "-9223372036854775808",
                      "-9223372036854775809",
                      "+9223372036854775807",
                      "9223372036854775808",
                      "18446744073709551616",
                      "00000000000000000000000000000000000001",
                      " 1",
                      "1 ",
                      "1\n",
                      "1_000",
                      "0x10",
                      "0b1",
                      "1e3",
                      "1.0",
                      "--1",
                      "+-1",
                      "-+1",
                      "++1",
                      "-",
                      "+",
                      " ",
                      "_a",
                      "a_",
                      "é",
                      "１",
                      "٣",
                      "true",
                      std::string(1, '\0'),
                      std::string(63, '1'),
                      std::string(63, 'v'),
                      std::string(64, 'v')};
};

json::array as_json(const std::vector<NodeRequirement>& requirements) {
    json::array out;
    for (const auto& [key, op, values] : requirements) {
        out.push_back(json::object{
            {"key", key}, {"operator", op}, {"values", json::array(values.begin(), values.end())}});
    }
    return out;
}

std::string question(const Terms& terms, const Labels& labels, const std::string& node) {
    json::array alternatives;
    for (const auto& term : terms) {
        alternatives.push_back(json::object{{"matchExpressions", as_json(term.expressions)},
                                            {"matchFields", as_json(term.fields)}});
    }
    json::object named;
    for (const auto& [key, value] : labels) {
        named[key] = value;
    }
    return json::serialize(json::object{
        {"terms", std::move(alternatives)}, {"labels", std::move(named)}, {"name", node}});
}

bool is_match(std::string_view answer) {
    EXPECT_TRUE(answer == R"({"match":true})" || answer == R"({"match":false})") << answer;
    return answer == R"({"match":true})";
}

class BedNodeSelectorTest : public testing::Test {
protected:
    void SetUp() override {
        SCOUT_BED_OR_SKIP();
        std::cout << "seed " << seed << ", " << cases << " cases\n";
    }
};

TEST_F(BedNodeSelectorTest, NodesMatchAsInTheScheduler) {
    Cases from;
    std::vector<std::string> questions;
    std::vector<bool> ours;
    for (std::size_t i = 0; i < cases; ++i) {
        const auto asked = from.next();
        questions.push_back(question(asked.terms, asked.labels, asked.node));
        ours.push_back(matches(asked.terms, asked.labels, asked.node));
    }

    const auto theirs = test::ask_kubernetes("matches", questions);

    std::size_t matched = 0;
    for (std::size_t i = 0; i < cases; ++i) {
        ASSERT_EQ(ours[i], is_match(theirs[i])) << i << ": " << questions[i];
        matched += ours[i] ? 1 : 0;
    }
    std::cout << "all agree, " << matched << " of them match\n";
    EXPECT_GT(matched, cases / 10);
    EXPECT_LT(matched, cases / 2);
}

/// A pod without terms may go anywhere, and so may a wish without requirements.
TEST_F(BedNodeSelectorTest, MergedTermsMatchWhereBothDo) {
    Cases from;
    std::vector<std::string> questions;
    std::vector<bool> anywhere;
    for (std::size_t i = 0; i < cases; ++i) {
        const auto [terms, added, labels, node] = from.next();
        const Terms wish = added.empty() ? Terms{} : Terms{added};
        for (const auto& asked : {terms, wish, merged(terms, added)}) {
            questions.push_back(question(asked, labels, node));
            anywhere.push_back(asked.empty());
        }
    }

    const auto answers = test::ask_kubernetes("matches", questions);

    const auto is_allowed = [&](std::size_t at) { return anywhere[at] || is_match(answers[at]); };
    std::size_t allowed = 0;
    for (std::size_t i = 0; i < questions.size(); i += 3) {
        const bool both = is_allowed(i) && is_allowed(i + 1);
        ASSERT_EQ(is_allowed(i + 2), both) << questions[i] << "\n"
                                           << questions[i + 1] << "\n"
                                           << questions[i + 2];
        allowed += both ? 1 : 0;
    }
    std::cout << "all agree, " << allowed << " of them may go there\n";
    EXPECT_GT(allowed, cases / 10);
    EXPECT_LT(allowed, cases / 2);
}

}  // namespace
}  // namespace scout::migration
