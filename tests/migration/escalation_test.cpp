// SPDX-License-Identifier: Apache-2.0
#include "migration/escalation.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;

TEST(EscalationTest, EachWordIsReadAsItIsWritten) {
    for (const auto* word : {"none", "auto-converge", "post-copy", "pause"}) {
        const auto read = escalation_named(word);
        ASSERT_TRUE(read) << word;
        EXPECT_EQ(to_string(*read), word);
    }
    EXPECT_FALSE(escalation_named("postCopy"));
    EXPECT_FALSE(escalation_named(""));
}

TEST(EscalationTest, OverridesItsOwnFieldsAlone) {
    const MigrationSettings before{.bandwidth = Quantity{64U << 20U},
                                   .completion_per_gib = 800s,
                                   .progress = 99s,
                                   .max_downtime = 700ms};
    EXPECT_EQ(escalated(before, Escalation::none, 2s), before);

    auto wanted = before;
    wanted.allow_auto_converge = true;
    EXPECT_EQ(escalated(before, Escalation::auto_converge, 2s), wanted);

    wanted = before;
    wanted.allow_post_copy = wanted.allow_workload_disruption = true;
    wanted.completion_per_gib = 2s;
    EXPECT_EQ(escalated(before, Escalation::post_copy, 2s), wanted);

    auto pausing = before;
    pausing.allow_post_copy = true;
    wanted.allow_post_copy = false;
    EXPECT_EQ(escalated(pausing, Escalation::pause, 2s), wanted);
}

/// Two GiB, of which as much is written in a second as is copied.
MigrationLoad busy_guest(std::uint64_t bandwidth = 1'250'000'000) {
    return {.memory = {2 * gib, 2 * gib, 2 * gib},
            .dirty_rate = {bandwidth, bandwidth, bandwidth},
            .bandwidth = {bandwidth, bandwidth, bandwidth},
            .setup = 2s};
}

TEST(EscalationTest, WhatDoesNotEndByItselfMayEndWithIt) {
    const auto load = busy_guest();
    const MigrationSettings settings;
    ASSERT_FALSE(forecast(load, settings).optimistic.moved());

    EXPECT_FALSE(escalated_move(load, settings, {}, Escalation::none, 1h));
    const auto paused = escalated_move(load, settings, {}, Escalation::pause, 30s);
    ASSERT_TRUE(paused);
    EXPECT_GE(paused->completion_per_gib, 1s);
    EXPECT_LE(paused->duration, 30s);
    EXPECT_FALSE(escalated_move(load, settings, {}, Escalation::pause, 3s));
    const auto slowed = escalated_move(load, settings, {}, Escalation::auto_converge, 60s);
    ASSERT_TRUE(slowed);
    EXPECT_EQ(slowed->completion_per_gib, 0s);
}

/// A guest that is being pulled over when its node kills it is lost.
TEST(EscalationTest, PostCopyMustEndOverAnyLink) {
    const auto load = busy_guest();
    const MigrationSettings settings;
    // Two GiB at 125 MB/s are 17 s.
    const auto moved = escalated_move(load, settings, {}, Escalation::post_copy, 30s);
    ASSERT_TRUE(moved);
    EXPECT_GT(moved->duration, 17s);
    EXPECT_FALSE(escalated_move(load, settings, {}, Escalation::post_copy, 17s));
}

const Labels shop{{"kubernetes.io/metadata.name", "shop"}, {"team", "a"}};
const Labels web{{"app", "web"}, {"kubevirt.io/nodeName", "n1"}};

TEST(EscalationTest, ItsPolicyIsForItAlone) {
    ChosenVmi vmi{.labels = web, .space = shop, .others = {}};
    vmi.labels["kubevirt.io/outdatedLauncherImage"] = "";
    const auto chosen = selectors_of_one({}, vmi);
    ASSERT_TRUE(chosen) << chosen.error().message;
    EXPECT_EQ(chosen->vmi, web) << "KubeVirt may take the other one away before the hand-off";
    EXPECT_EQ(chosen->space, shop);

    vmi.others = {{{"app", "web"}, {"kubevirt.io/nodeName", "n2"}},
                  {{"kubevirt.io/nodeName", "n1"}}};
    EXPECT_TRUE(selectors_of_one({}, vmi));
    vmi.others.push_back({{"app", "web"}, {"kubevirt.io/nodeName", "n1"}, {"more", ""}});
    const auto shared = selectors_of_one({}, vmi);
    ASSERT_FALSE(shared);
    EXPECT_THAT(shared.error().message, HasSubstr("for both"));
}

TEST(EscalationTest, ItsPolicyIsBasedOnTheOneInForceUnlessThatForbidsIt) {
    const ChosenVmi vmi{.labels = web, .space = shop, .others = {}};
    MigrationPolicy gold{.name = "gold",
                         .selectors = PolicySelectors{.space = {}, .vmi = {{"app", "web"}}},
                         .overrides = {}};
    const auto allowed = policy_of_one({gold}, vmi, Escalation::pause);
    ASSERT_TRUE(allowed) << allowed.error().message;
    EXPECT_EQ(allowed->based_on, "gold");

    gold.overrides.allow_workload_disruption = false;
    const auto forbidden = policy_of_one({gold}, vmi, Escalation::pause);
    ASSERT_FALSE(forbidden);
    EXPECT_EQ(forbidden.error().code, Errc::refused);
    EXPECT_EQ(forbidden.error().message, "policy gold forbids pause");
    EXPECT_TRUE(policy_of_one({gold}, vmi, Escalation::auto_converge));
}

TEST(EscalationTest, WithoutTheLabelsThatKeepOthersOutThereIsNone) {
    EXPECT_FALSE(selectors_of_one({}, {.labels = {{"app", "web"}}, .space = shop, .others = {}}));
    EXPECT_FALSE(selectors_of_one({}, {.labels = web, .space = {{"team", "a"}}, .others = {}}));
}

TEST(EscalationTest, ItsNodeIsNamedOnlyWhereThatIsNeeded) {
    ChosenVmi vmi{.labels = web, .space = shop, .others = {{{"app", "db"}}}};
    const auto chosen = selectors_of_one_anywhere({}, vmi);
    ASSERT_TRUE(chosen) << chosen.error().message;
    EXPECT_EQ(chosen->vmi, (Labels{{"app", "web"}}));
    EXPECT_EQ(chosen->space, shop);

    const MigrationPolicy gold{.name = "gold",
                               .selectors = {{.space = {{"team", "a"}}, .vmi = {{"app", "web"}}}},
                               .overrides = {}};
    EXPECT_EQ(selectors_of_one_anywhere({gold}, vmi)->vmi, (Labels{{"app", "web"}}));
    const MigrationPolicy full{
        .name = "full", .selectors = {{.space = shop, .vmi = {{"app", "web"}}}}, .overrides = {}};
    EXPECT_EQ(selectors_of_one_anywhere({full}, vmi)->vmi, web) << "it has to outrank that";

    vmi.others = {{{"app", "web"}, {"kubevirt.io/nodeName", "n2"}}};
    EXPECT_EQ(selectors_of_one_anywhere({}, vmi)->vmi, web) << "another VM has the rest of them";
    vmi.others = {web};
    EXPECT_FALSE(selectors_of_one_anywhere({}, vmi));
}

TEST(EscalationTest, APolicyThatNamesAllLabelsIsNotOutranked) {
    const MigrationPolicy all{
        .name = "all", .selectors = {{.space = shop, .vmi = web}}, .overrides = {}};
    const auto refused = selectors_of_one({all}, {.labels = web, .space = shop, .others = {}});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("policy all names every label"));
}

Labels some_of(const Labels& all, std::size_t most, std::mt19937_64& random) {
    Labels some;
    for (const auto& [key, value] : all) {
        if (some.size() < most && random() % 2 == 0) {
            some[key] = random() % 5 == 0 ? "other" : value;
        }
    }
    return some;
}

std::vector<MigrationPolicy> some_policies(const ChosenVmi& vmi, std::mt19937_64& random) {
    std::vector<MigrationPolicy> policies;
    for (std::uint64_t i = random() % 6; i > 0; --i) {
        policies.push_back({.name = std::string(1, static_cast<char>('a' + random() % 26)),
                            .selectors = {{.space = some_of(vmi.space, 3, random),
                                           .vmi = some_of(vmi.labels, 5, random)}},
                            .overrides = {}});
    }
    return policies;
}

/// By the stock rules, whatever others there are and whatever they are called.
TEST(EscalationTest, WhereThereIsOneItWinsAndChoosesNobodyElse) {
    std::mt19937_64 random(7);  // NOLINT(cert-msc51-cpp): every run shall see the same
    const auto some = [&random](const Labels& of, std::size_t most) {
        return some_of(of, most, random);
    };
    const Labels keys{{"app", "web"}, {"tier", "1"}, {"kubevirt.io/size", "small"}, {"x", ""}};
    const Labels spaces{{"team", "a"}, {"env", "prod"}};
    unsigned made = 0;
    unsigned contested = 0;
    for (int round = 0; round < 5000; ++round) {
        ChosenVmi vmi{.labels = some(keys, 4), .space = some(spaces, 2), .others = {}};
        vmi.labels["kubevirt.io/nodeName"] = "n1";
        vmi.space["kubernetes.io/metadata.name"] = "shop";
        for (std::uint64_t i = random() % 3; i > 0; --i) {
            auto other = some(keys, 4);
            other["kubevirt.io/nodeName"] = random() % 2 == 0 ? "n1" : "n2";
            vmi.others.push_back(std::move(other));
        }
        auto policies = some_policies(vmi, random);
        const auto chosen = selectors_of_one(policies, vmi);
        if (!chosen) {
            continue;
        }
        ++made;
        contested += matching_policies(policies, vmi.labels, vmi.space).empty() ? 0 : 1;
        policies.push_back({.name = "zz", .selectors = *chosen, .overrides = {}});
        const auto winner = matching_policies(policies, vmi.labels, vmi.space).front().policy;
        ASSERT_EQ(winner->name, "zz");
        const std::vector<MigrationPolicy> ours{policies.back()};
        for (const auto& other : vmi.others) {
            ASSERT_TRUE(matching_policies(ours, other, vmi.space).empty());
        }
        ASSERT_TRUE(matching_policies(ours, vmi.labels, spaces).empty()) << "another namespace";
    }
    EXPECT_GT(made, 1000U);
    EXPECT_GT(contested, 500U);
}

TEST(EscalationTest, WhatAPolicySaysExplicitlyHolds) {
    using enum Escalation;
    struct Row {
        MigrationOverrides policy;
        std::vector<Escalation> forbidden;
    };
    const auto said = [](std::optional<bool> converge, std::optional<bool> switches,
                         std::optional<bool> disrupts) {
        MigrationOverrides policy;
        policy.allow_auto_converge = converge;
        policy.allow_post_copy = switches;
        policy.allow_workload_disruption = disrupts;
        return policy;
    };
    const std::vector<Row> rows{
        {said({}, {}, {}), {}},
        {said(true, true, true), {}},
        {said(false, {}, {}), {auto_converge}},
        {said({}, false, {}), {post_copy}},
        {said({}, {}, false), {post_copy, pause}},
    };
    for (const auto& row : rows) {
        std::vector<Escalation> forbidden;
        for (const auto one : {none, auto_converge, post_copy, pause}) {
            if (is_forbidden(one, row.policy)) {
                forbidden.push_back(one);
            }
        }
        EXPECT_EQ(forbidden, row.forbidden) << &row - rows.data();
    }
}

}  // namespace
}  // namespace scout::migration
