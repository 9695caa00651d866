// SPDX-License-Identifier: Apache-2.0
#include "migration/node_selector.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

NodeSelectorTerm expression(std::string key, std::string op, std::vector<std::string> values) {
    return {.expressions = {{std::move(key), std::move(op), std::move(values)}}, .fields = {}};
}
NodeSelectorTerm field(std::string key, std::string op, std::vector<std::string> values) {
    return {.expressions = {}, .fields = {{std::move(key), std::move(op), std::move(values)}}};
}

const Labels labels{{"disk", "ssd"}, {"cpus", "8"}, {"empty", ""}};

struct Row {
    NodeSelectorTerm term;
    bool matches;
};
void PrintTo(const Row& row, std::ostream* out) {
    for (const auto& each : {row.term.expressions, row.term.fields}) {
        for (const auto& asked : each) {
            *out << asked.key << " " << asked.op << " " << testing::PrintToString(asked.values);
        }
    }
}
class MatchesTest : public testing::TestWithParam<Row> {};

TEST_P(MatchesTest, AsTheSchedulerHasIt) {
    EXPECT_EQ(matches(GetParam().term, labels, "n1"), GetParam().matches);
}

INSTANTIATE_TEST_SUITE_P(
    Labels, MatchesTest,
    testing::Values(
        Row{{}, false}, Row{expression("disk", "In", {"hdd", "ssd"}), true},
        Row{expression("disk", "In", {"hdd"}), false}, Row{expression("gone", "In", {""}), false},
        Row{expression("empty", "In", {""}), true}, Row{expression("disk", "In", {}), false},
        Row{expression("disk", "NotIn", {"ssd"}), false},
        Row{expression("gone", "NotIn", {"ssd"}), true},
        Row{expression("disk", "Exists", {}), true},
        Row{expression("disk", "Exists", {"x"}), false},
        Row{expression("gone", "DoesNotExist", {}), true},
        Row{expression("disk", "DoesNotExist", {}), false},
        Row{expression("cpus", "Gt", {"7"}), true}, Row{expression("cpus", "Gt", {"8"}), false},
        Row{expression("cpus", "Lt", {"9"}), true}, Row{expression("cpus", "Gt", {"-1"}), false},
        Row{expression("disk", "Gt", {"1"}), false}, Row{expression("gone", "Lt", {"1"}), false},
        Row{expression("cpus", "Gt", {"x"}), false},
        Row{expression("cpus", "Gt", {"1", "2"}), false},
        Row{expression("cpus", "Lt", {"9223372036854775807"}), true},
        Row{expression("cpus", "Lt", {"9223372036854775808"}), false},
        Row{expression("disk", "in", {"ssd"}), false}));

INSTANTIATE_TEST_SUITE_P(Fields, MatchesTest,
                         testing::Values(Row{field("metadata.name", "In", {"n1"}), true},
                                         Row{field("metadata.name", "In", {"n2"}), false},
                                         Row{field("metadata.name", "NotIn", {"n2"}), true},
                                         Row{field("metadata.name", "In", {"n1", "n2"}), false},
                                         Row{field("metadata.name", "Exists", {}), false},
                                         Row{field("metadata.uid", "In", {"n1"}), false},
                                         Row{field("metadata.uid", "NotIn", {"n1"}), true}));

TEST(TermFaultsTest, AreTheApiServers) {
    const auto faults = [](const NodeSelectorTerm& term) { return term_faults(term, "t"); };
    EXPECT_THAT(faults(expression("disk", "In", {"ssd"})), IsEmpty());
    EXPECT_THAT(faults(field("metadata.name", "In", {"n1"})), IsEmpty());
    EXPECT_THAT(faults(expression("disk", "In", {})),
                ElementsAre("t.matchExpressions[0].values: Required value: must be specified when "
                            "`operator` is 'In' or 'NotIn'"));
    EXPECT_THAT(faults(expression("disk", "Exists", {"x"})),
                ElementsAre("t.matchExpressions[0].values: Forbidden: may not be specified when "
                            "`operator` is 'Exists' or 'DoesNotExist'"));
    EXPECT_THAT(faults(expression("disk", "Gt", {})), ElementsAre(HasSubstr("single value")));
    EXPECT_THAT(faults(expression("disk", "Gt", {"1.5"})),
                ElementsAre(HasSubstr("the value must be an integer")));
    EXPECT_THAT(faults(expression("disk", "Near", {"x"})),
                ElementsAre("t.matchExpressions[0].operator: Invalid value: \"Near\": not a valid "
                            "selector operator"));
    EXPECT_THAT(faults(expression("a b", "Exists", {})), ElementsAre(HasSubstr(".key: Invalid")));
    EXPECT_THAT(faults(expression("a", "In", {"b", "c d"})),
                ElementsAre(HasSubstr("values[1]: Invalid value: \"c d\"")));
    EXPECT_THAT(faults(field("spec.x", "In", {"n1"})),
                ElementsAre(HasSubstr("not a valid field selector key")));
    EXPECT_THAT(faults(field("metadata.name", "Exists", {})),
                ElementsAre(HasSubstr("not a valid selector operator")));
    EXPECT_THAT(faults(field("metadata.name", "In", {"a", "b"})),
                ElementsAre(HasSubstr("must be only one value")));
    EXPECT_THAT(faults(field("metadata.name", "In", {"A_b"})), ElementsAre(HasSubstr("DNS name")));
}

TEST(MergedTest, IsAskedOfEachAlternativeOnce) {
    const auto ssd = expression("disk", "In", {"ssd"});
    const auto n1 = field("metadata.name", "In", {"n1"});
    EXPECT_THAT(merged({}, n1), ElementsAre(n1));
    EXPECT_THAT(merged({}, {}), IsEmpty());
    EXPECT_THAT(merged({ssd, {}}, n1),
                ElementsAre(NodeSelectorTerm{.expressions = ssd.expressions, .fields = n1.fields},
                            NodeSelectorTerm{}));
    const auto once = merged({ssd}, n1);
    EXPECT_EQ(merged(once, n1), once);
}

class RandomTerms {
public:
    std::uint32_t below(std::uint32_t limit) {
        return static_cast<std::uint32_t>(random_() % limit);
    }
    std::string pick(const std::vector<std::string>& from) { return from[random_() % from.size()]; }
    NodeSelectorTerm term() {
        NodeSelectorTerm out;
        for (auto n = below(3); n > 0; --n) {
            out.expressions.push_back(requirement());
        }
        if (below(4) == 0) {
            out.fields.push_back({.key = "metadata.name",
                                  .op = pick({"In", "NotIn"}),
                                  .values = {pick({"n1", "n2"})}});
        }
        return out;
    }

private:
    NodeRequirement requirement() {
        NodeRequirement asked{.key = pick({"a", "b", "c"}),
                              .op = pick({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}),
                              .values = {}};
        const bool number = asked.op == "Gt" || asked.op == "Lt";
        for (auto n = asked.op.ends_with("ist") || asked.op == "Exists" ? 0U
                      : number                                          ? 1U
                                                                        : 1 + below(2);
             n > 0; --n) {
            asked.values.push_back(pick({"1", "2", "3"}));
        }
        return asked;
    }

    std::mt19937 random_{7};  // NOLINT(cert-msc51-cpp): every run shall see the same
};

/// Of random selectors and terms: a node that the merged ones match is matched by both.
TEST(MergedTest, NodesAreThoseOfBoth) {
    RandomTerms random;
    unsigned matched = 0;
    for (unsigned i = 0; i < 100'000; ++i) {
        std::vector<NodeSelectorTerm> terms;
        for (auto n = random.below(3); n > 0; --n) {
            terms.push_back(random.term());
        }
        const auto added = random.term();
        Labels node;
        for (const auto* key : {"a", "b", "c"}) {
            if (random.below(2) == 0) {
                node[key] = random.pick({"1", "2", "3", "x"});
            }
        }
        const auto name = random.pick({"n1", "n2"});
        const bool both = (terms.empty() || matches(terms, node, name)) &&
                          (added.empty() || matches(added, node, name));
        const auto all = merged(terms, added);
        const bool together = all.empty() || matches(all, node, name);
        ASSERT_EQ(together, both) << i;
        matched += together ? 1 : 0;
    }
    EXPECT_GT(matched, 1000U);
}

}  // namespace
}  // namespace scout::migration
