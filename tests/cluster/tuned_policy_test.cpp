// SPDX-License-Identifier: Apache-2.0
#include "cluster/tuned_policy.h"

#include <string>

#include <gtest/gtest.h>

#include "kube/decode_text.h"

namespace scout::cluster {
namespace {

using namespace std::chrono_literals;

kube::MigrationPolicy policy(const std::string& labels, const std::string& annotations) {
    auto text = R"({"metadata":{"name":"p","labels":{)" + labels + R"(},"annotations":{)" +
                annotations + "}}}";
    return kube::decode_text(text, &kube::decode_migration_policy).value();
}

constexpr const char* tuned = R"("virt-scout.io/tune":"true")";

kube::MigrationPolicy until(const std::string& time) {
    return policy(tuned, R"("virt-scout.io/expires":")" + time + "\"");
}

TEST(TunedPolicyTest, ItsTimeIsOverWhenItsAnnotationSaysSo) {
    const auto end = WallTime{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30} + 18h};
    for (const auto* text : {"2026-11-30T18:00:00Z", "2026-11-30T19:00:00+01:00"}) {
        const auto one = until(text);
        EXPECT_EQ(tune_end(one), end) << text;
        EXPECT_EQ(tune_state(one, end - 1ms), TuneState::runs) << text;
        EXPECT_EQ(tune_state(one, end), TuneState::over) << text;
    }
}

TEST(TunedPolicyTest, WhatCannotBeReadIsNeverOver) {
    for (const auto* text : {"", "tomorrow", "2026-11-30", "1764525600", "2026-11-30T18:00:00"}) {
        EXPECT_EQ(tune_state(until(text), WallTime::max()), TuneState::unreadable) << text;
    }
    EXPECT_EQ(tune_state(policy(tuned, ""), WallTime::max()), TuneState::unreadable);
}

TEST(TunedPolicyTest, WithoutItsLabelItIsSomebodyElses) {
    const std::string over = R"("virt-scout.io/expires":"2020-01-01T00:00:00Z")";
    for (const auto* labels :
         {"", R"("virt-scout.io/tune":"")", R"("virt-scout.io/tune":"false")"}) {
        EXPECT_EQ(tune_state(policy(labels, over), WallTime::max()), TuneState::other) << labels;
        EXPECT_FALSE(tune_end(policy(labels, over))) << labels;
    }
}

}  // namespace
}  // namespace scout::cluster
