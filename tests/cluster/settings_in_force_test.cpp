// SPDX-License-Identifier: Apache-2.0
#include "cluster/settings_in_force.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::cluster {
namespace {

using kube::ScoutConfig;
using kube::SharedText;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

const WallTime now{std::chrono::hours{500'000}};

const LevelSettings given{.layer = migration::Layer::stock,
                          .machine_type = "q35",
                          .cordoned_for = 10min,
                          .not_ready_for = 5min};

ScoutConfig config() {
    ScoutConfig config;
    config.meta.name = "default";
    config.meta.uid = "u-1";
    config.generation = 4;
    return config;
}

const Protection protection{
    .state = Protection::State::yes, .reason = "NodeHook", .message = "the hook is in place"};

/// As the API server has it after a write.
ScoutConfig with_status(ScoutConfig config, const std::string& body) {
    const auto status = boost::json::parse(body).at("status");
    config.observed_generation = status.at("observedGeneration").as_int64();
    config.conditions.clear();
    for (const auto& condition : status.at("conditions").as_array()) {
        const auto text = [&condition](const char* key) {
            return SharedText{std::string{condition.at(key).as_string()}};
        };
        config.conditions.push_back({.type = text("type"),
                                     .status = text("status"),
                                     .reason = text("reason"),
                                     .message = text("message"),
                                     .since = now});
    }
    return config;
}

TEST(SettingsInForceTest, WhatNobodySetsIsAsItWasGiven) {
    const auto empty = config();

    EXPECT_EQ(settings_in_force(given, nullptr, nullptr).levels, given);
    EXPECT_EQ(settings_in_force(given, &empty, nullptr).levels, given);
    EXPECT_THAT(settings_in_force(given, &empty, nullptr).faults, IsEmpty());
}

TEST(SettingsInForceTest, TheObjectComesFirst) {
    auto object = config();
    object.layer = SharedText{"truth"};
    object.machine_type = SharedText{"pc"};
    object.cordoned_for = SharedText{"90s"};
    object.not_ready_for = SharedText{"24h"};

    const auto settings = settings_in_force(given, &object, nullptr);

    EXPECT_EQ(settings.levels, (LevelSettings{.layer = migration::Layer::truth,
                                              .machine_type = "pc",
                                              .cordoned_for = 90s,
                                              .not_ready_for = 24h}));
    EXPECT_THAT(settings.faults, IsEmpty());
    EXPECT_EQ(level_settings(with_settings({}, settings.levels)), settings.levels);
}

TEST(SettingsInForceTest, HowLongWhatBecameOfVmsIsKeptIsSaid) {
    auto object = config();
    EXPECT_EQ(settings_in_force(given, &object, nullptr).history_keep, 24h);
    object.history_keep = SharedText{"168h"};
    EXPECT_EQ(settings_in_force(given, &object, nullptr).history_keep, 168h);
    object.history_keep = SharedText{"0s"};
    const auto off = settings_in_force(given, &object, nullptr);
    EXPECT_EQ(off.history_keep, 0s);
    EXPECT_THAT(summary(off), HasSubstr("migrations is not kept"));
    const auto body = status_body(object, off, protection, now);
    EXPECT_EQ(boost::json::parse(body).at("status").at("inForce").at("historyKeep"), "0s");

    object.history_keep = SharedText{"169h"};
    const auto wrong = settings_in_force(given, &object, nullptr);
    EXPECT_EQ(wrong.history_keep, 24h);
    EXPECT_THAT(wrong.faults, ElementsAre(AllOf(HasSubstr("spec.history.keep"),
                                                HasSubstr("168h at most"), HasSubstr("169h"))));
}

TEST(SettingsInForceTest, PoliciesAreWarnedOfUnlessSomebodyWantsThemRefused) {
    auto object = config();
    EXPECT_EQ(settings_in_force(given, nullptr, nullptr).policy_lint, PolicyLintMode::warn);
    EXPECT_THAT(summary(settings_in_force(given, &object, nullptr)), HasSubstr("are warned of"));
    object.policy_lint = SharedText{"off"};
    EXPECT_EQ(settings_in_force(given, &object, nullptr).policy_lint, PolicyLintMode::off);
    object.policy_lint = SharedText{"refuse"};
    const auto refuses = settings_in_force(given, &object, nullptr);
    EXPECT_EQ(refuses.policy_lint, PolicyLintMode::refuse);
    EXPECT_THAT(refuses.faults, IsEmpty());
    const auto body = boost::json::parse(status_body(object, refuses, protection, now));
    EXPECT_EQ(body.at("status").at("inForce").at("policies").at("lint"), "refuse");

    object.policy_lint = SharedText{"deny"};
    const auto wrong = settings_in_force(given, &object, nullptr);
    EXPECT_EQ(wrong.policy_lint, PolicyLintMode::warn);
    EXPECT_THAT(wrong.faults, ElementsAre(AllOf(HasSubstr("spec.policies.lint"),
                                                HasSubstr("warn or refuse"), HasSubstr("deny"))));
}

TEST(SettingsInForceTest, NothingIsMovedForExpectedPressureUnlessSomebodyAsksForIt) {
    auto object = config();
    EXPECT_EQ(settings_in_force(given, &object, nullptr).relief, ReliefRules{});
    EXPECT_EQ(ReliefRules{}.mode, ReliefMode::observe);
    object.pressure_mode = SharedText{"act"};
    object.pressure_moves_per_minute = 60;
    const auto acts = settings_in_force(given, &object, nullptr);
    EXPECT_EQ(acts.relief, (ReliefRules{.mode = ReliefMode::act, .moves_per_minute = 60}));
    EXPECT_THAT(acts.faults, IsEmpty());
    EXPECT_THAT(summary(acts), HasSubstr("60 in a minute at most"));
    const auto body = boost::json::parse(status_body(object, acts, protection, now));
    EXPECT_EQ(body.at("status").at("inForce").at("pressure"),
              boost::json::parse(R"({"mode":"act","movesPerMinute":60})"));

    object.pressure_mode = SharedText{"always"};
    for (const auto wrong : {0, 61, -1}) {
        object.pressure_moves_per_minute = wrong;
        const auto settings = settings_in_force(given, &object, nullptr);
        EXPECT_EQ(settings.relief, ReliefRules{}) << "never more than was asked for";
        EXPECT_THAT(settings.faults,
                    ElementsAre(AllOf(HasSubstr("spec.pressure.mode"), HasSubstr("always")),
                                AllOf(HasSubstr("movesPerMinute"), HasSubstr("1 to 60"))));
    }
}

TEST(SettingsInForceTest, WhatASchemaOfAnotherVersionLetThroughIsNotObeyedAndIsSaid) {
    auto object = config();
    object.layer = SharedText{"all"};
    object.cordoned_for = SharedText{"10"};
    object.not_ready_for = SharedText{"25h"};

    const auto settings = settings_in_force(given, &object, nullptr);

    EXPECT_EQ(settings.levels, given);
    EXPECT_THAT(settings.faults,
                ElementsAre(AllOf(HasSubstr("spec.levels.layer"), HasSubstr("all")),
                            AllOf(HasSubstr("cordonedFor"), HasSubstr("10")),
                            AllOf(HasSubstr("notReadyFor"), HasSubstr("25h"))));
}

TEST(SettingsInForceTest, TheKubeVirtObjectsDemandsComeFirstAndTheDifferenceIsSaid) {
    auto object = config();
    object.placement.required = 50;
    object.placement.prefered = {.level = 80, .weight = std::nullopt};
    kube::KubeVirt kubevirt;
    kubevirt.levels.required = 30;

    const auto settings = settings_in_force(given, &object, &kubevirt);

    EXPECT_EQ(settings.placement.required->level, 30U);
    EXPECT_EQ(settings.placement.preferred->level, 80U);
    EXPECT_THAT(settings.faults,
                ElementsAre(HasSubstr("requireHostModelMigratabilityLevel differs")));
    EXPECT_THAT(summary(settings), AllOf(HasSubstr("level 30 is required"),
                                         HasSubstr("level 80 preferred with weight 1")));
    const auto body = boost::json::parse(status_body(object, settings, protection, now));
    EXPECT_EQ(body.at("status").at("inForce").at("requiredLevel"), 30);
    EXPECT_EQ(body.at("status").at("conditions").at(0).at("status"), "False");
}

TEST(ScoutConfigStatusTest, IsOfThisObjectAndTellsWhatIsInForce) {
    const auto object = config();

    const auto body = boost::json::parse(
        status_body(object, settings_in_force(given, &object, nullptr), protection, now));

    EXPECT_EQ(body.at("metadata").at("uid"), "u-1");
    EXPECT_EQ(body.at("status").at("observedGeneration"), 4);
    EXPECT_EQ(body.at("status").at("inForce").at("layer"), "stock");
    EXPECT_EQ(body.at("status").at("inForce").at("cordonedFor"), "10m");
    EXPECT_EQ(body.at("status").at("conditions").at(0).at("status"), "True");
    const auto& protecting = body.at("status").at("conditions").at(1);
    EXPECT_EQ(protecting.at("type"), "Protecting");
    EXPECT_EQ(protecting.at("status"), "True");
    EXPECT_EQ(protecting.at("message"), "the hook is in place");
    const auto& evacuation = body.at("status").at("inForce").at("evacuation");
    EXPECT_EQ(evacuation.at("mode"), "observe");
    EXPECT_EQ(evacuation.at("modeBy"), "default");
    EXPECT_EQ(evacuation.at("reserveSeconds"), 10);
    EXPECT_EQ(evacuation.at("escalation"), "none");
}

TEST(ScoutConfigStatusTest, IsWrittenOnceForEachState) {
    auto object = config();
    const auto settings = settings_in_force(given, &object, nullptr);
    object = with_status(object, status_body(object, settings, protection, now));

    EXPECT_EQ(status_body(object, settings, protection, now + 1h), "");

    auto other = protection;
    other.reason = "GateNotListed";
    EXPECT_NE(status_body(object, settings, other, now), "") << "what protects is another thing";

    kube::KubeVirt kubevirt;
    kubevirt.levels.required = 30;
    object.placement.required = 50;
    const auto both = [&object, &kubevirt] { return settings_in_force(given, &object, &kubevirt); };
    object = with_status(object, status_body(object, both(), protection, now));
    kubevirt.levels.required = 60;
    EXPECT_NE(status_body(object, both(), protection, now), "")
        << "another level is in force, and what is not obeyed is the same";

    object.generation = 5;
    EXPECT_NE(status_body(object, settings, protection, now), "")
        << "another generation was not seen yet";
}

TEST(ScoutConfigStatusTest, KeepsTheTimeOfTheLastChangeOfItsCondition) {
    auto object = config();
    object = with_status(
        object, status_body(object, settings_in_force(given, &object, nullptr), protection, now));
    const auto time_of = [&object](WallTime when) {
        const auto settings = settings_in_force(given, &object, nullptr);
        const auto body = boost::json::parse(status_body(object, settings, protection, when));
        return std::string{
            body.at("status").at("conditions").at(0).at("lastTransitionTime").as_string()};
    };

    object.machine_type = SharedText{"pc"};
    EXPECT_EQ(time_of(now + 1h), rfc3339(now)) << "it was True before";

    object.layer = SharedText{"all"};
    EXPECT_EQ(time_of(now + 1h), rfc3339(now + 1h)) << "it became False";
}

}  // namespace
}  // namespace scout::cluster
