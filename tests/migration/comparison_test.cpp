// SPDX-License-Identifier: Apache-2.0
#include "migration/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profiles.h"

namespace scout::migration {
namespace {

using test::host;

Comparison ask(const Profile& from, const Profile& to) {
    return test::compare_hosts(from, to, test::small_map());
}

TEST(ComparisonTest, MarksWhatTheLabelsLetThroughAndTheHypervisorRefuses) {
    const auto source = host({.model = "Large", .usable = {"Large", "Small"}});
    const auto target = host({.model = "Small", .usable = {"Small"}, .not_usable = {"Large"}});

    const auto answer = ask(source, target);

    EXPECT_EQ(answer.gate, Verdict::can);
    EXPECT_EQ(answer.truth, Verdict::cannot);
    EXPECT_EQ(answer.verdict, Verdict::cannot);
    EXPECT_TRUE(answer.gap());
    EXPECT_THAT(answer.missing, testing::ElementsAre("aes", "avx"));
}

TEST(ComparisonTest, ShowsTheGatesReasonFirstWhereItAloneDecides) {
    const auto unknown = host({.model = "Newest", .usable = {"Newest"}});
    const auto target = host({.model = "Newest", .usable = {"Small"}});

    const auto answer = ask(unknown, target);

    EXPECT_EQ(answer.truth, Verdict::unknown);
    EXPECT_EQ(answer.gate, Verdict::cannot);
    EXPECT_EQ(answer.verdict, Verdict::cannot);
    ASSERT_GE(answer.reasons.size(), 2U);
    EXPECT_EQ(answer.reasons.front().layer, Layer::stock);
    EXPECT_EQ(answer.reasons.back().layer, Layer::truth);
}

TEST(ComparisonTest, SaysThatTheSetOfABareCpuWasAssumed) {
    auto bare = host({});
    bare.origin = ProfileOrigin::bare_cpu;

    EXPECT_TRUE(ask(host({}), bare).assumed);
    EXPECT_FALSE(ask(bare, host({})).assumed);
    EXPECT_EQ(ask(host({}), bare).map, "test map");
}

TEST(ComparisonTest, CallsAMissingLabelUnknownWhereTheFeaturesCouldNotBeTold) {
    const auto source = host({.model = "Newest", .require = {"avx"}, .usable = {"Newest"}});
    const auto target = host({.model = "Newest", .usable = {"Newest"}});

    const auto answer = ask(source, target);

    EXPECT_EQ(answer.gate, Verdict::unknown);
    EXPECT_EQ(answer.verdict, Verdict::unknown);
}

TEST(ComparisonTest, SummaryCountsWhatMatters) {
    Placement placement;
    EXPECT_EQ(summary(placement), "can go to 0 of 0 nodes");
    placement.nodes.resize(3);
    placement.nodes[0].comparison.verdict = Verdict::can;
    placement.nodes[1].comparison = {
        .verdict = Verdict::cannot, .gate = Verdict::can, .truth = Verdict::cannot};

    EXPECT_EQ(summary(placement),
              "can go to 1 of 3 nodes; 1 cannot be compared; 1 would be let through by KubeVirt's "
              "labels and fail");
}

}  // namespace
}  // namespace scout::migration
