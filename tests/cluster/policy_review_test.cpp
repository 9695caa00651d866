// SPDX-License-Identifier: Apache-2.0
#include "cluster/policy_review.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/policy_lint.h"

namespace scout::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

PolicyFinding finding(std::string_view code, LintSeverity severity = LintSeverity::warn) {
    return {.file = {}, .policy = "p", .code = code, .severity = severity, .text = "is amiss"};
}

TEST(PolicyReviewTest, WhatIsFoundIsAWarningUnlessItIsToBeRefused) {
    for (const auto* code : {"unreachable", "equal-selectors", "no-limit", "milli"}) {
        const std::vector found{finding(code)};
        EXPECT_THAT(review_policy(found, PolicyLintMode::warn).warnings,
                    ElementsAre("p: is amiss"));
        EXPECT_EQ(review_policy(found, PolicyLintMode::warn).refusal, "");
        EXPECT_EQ(review_policy(found, PolicyLintMode::refuse).refusal, "p: is amiss") << code;
        EXPECT_THAT(review_policy(found, PolicyLintMode::refuse).warnings, IsEmpty());
        EXPECT_THAT(review_policy(found, PolicyLintMode::off).warnings, IsEmpty());
        EXPECT_EQ(review_policy(found, PolicyLintMode::off).refusal, "");
    }
}

TEST(PolicyReviewTest, WhatOnlySeemsToBeSomethingElseIsAWarningAlways) {
    for (const auto* code : {"empty-value", "rounded"}) {
        const auto review = review_policy({finding(code)}, PolicyLintMode::refuse);
        EXPECT_EQ(review.refusal, "") << code;
        EXPECT_THAT(review.warnings, ElementsAre("p: is amiss")) << code;
    }
}

TEST(PolicyReviewTest, WhatOthersSayIsNotSaidTwice) {
    for (const auto mode : {PolicyLintMode::warn, PolicyLintMode::refuse}) {
        for (const auto& found :
             {finding("negative", LintSeverity::refused), finding("type", LintSeverity::refused),
              finding("gated"), finding("pruned")}) {
            EXPECT_EQ(review_policy({found}, mode).refusal, "") << found.code;
            EXPECT_THAT(review_policy({found}, mode).warnings, IsEmpty()) << found.code;
        }
    }
}

TEST(PolicyReviewTest, NoMoreIsSaidThanSomebodyReads) {
    std::vector<PolicyFinding> many(10'000, finding("empty-value"));
    for (auto& each : many) {
        each.policy = std::string(253, 'p');
        each.text = std::string(1'000, 't');
    }

    const auto told = review_policy(many, PolicyLintMode::warn).warnings;
    ASSERT_THAT(told, SizeIs(9));
    EXPECT_THAT(told.front(), SizeIs(63 + 2 + 256));
    EXPECT_THAT(told.back(), HasSubstr("and 9992 more"));

    for (auto& each : many) {
        each.code = "unreachable";
    }
    const auto refusal = review_policy(many, PolicyLintMode::refuse).refusal;
    EXPECT_LT(refusal.size(), 4096U);
    EXPECT_THAT(refusal, HasSubstr("; and 9992 more"));
}

TEST(PolicyReviewTest, ModesHaveWords) {
    for (const auto mode : {PolicyLintMode::off, PolicyLintMode::warn, PolicyLintMode::refuse}) {
        EXPECT_EQ(policy_lint_mode_named(to_string(mode)), mode);
    }
    EXPECT_EQ(policy_lint_mode_named("Warn"), std::nullopt);
}

}  // namespace
}  // namespace scout::cluster
