// SPDX-License-Identifier: Apache-2.0
#include "cluster/evacuation_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::cluster {
namespace {

using kube::SharedText;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

kube::KubeVirt with_gates(std::vector<SharedText> on, std::vector<SharedText> off = {}) {
    kube::KubeVirt kubevirt;
    kubevirt.feature_gates = std::move(on);
    kubevirt.disabled_feature_gates = std::move(off);
    return kubevirt;
}

TEST(EvacuationRulesTest, TheGateDecidesWhereNobodyElseDoes) {
    std::vector<std::string> faults;
    const auto gate = with_gates({SharedText{evacuation_gate}});
    const auto gate_off = with_gates({SharedText{evacuation_gate}}, {SharedText{evacuation_gate}});

    EXPECT_EQ(evacuation_rules(nullptr, nullptr, faults).mode, EvacuationMode::observe);
    EXPECT_EQ(evacuation_rules(nullptr, &gate, faults).mode, EvacuationMode::act);
    EXPECT_EQ(evacuation_rules(nullptr, &gate, faults).mode_by, ModeSource::gate);
    EXPECT_EQ(evacuation_rules(nullptr, &gate_off, faults).mode, EvacuationMode::observe);
    EXPECT_THAT(faults, IsEmpty());
}

TEST(EvacuationRulesTest, AnExplicitModeWins) {
    std::vector<std::string> faults;
    const auto gate = with_gates({SharedText{evacuation_gate}, SharedText{hooks_gate}});
    kube::ScoutConfig config;
    config.evacuation_mode = SharedText{"off"};
    config.evacuation_reserve = 0;
    config.evacuation_patience = 600;
    config.evacuation_escalation = SharedText{"auto-converge"};

    const auto rules = evacuation_rules(&config, &gate, faults);

    EXPECT_EQ(rules, (EvacuationRules{.mode = EvacuationMode::off,
                                      .mode_by = ModeSource::scout_config,
                                      .reserve = 0s,
                                      .patience = 600s,
                                      .escalation = migration::Escalation::auto_converge,
                                      .hooks = true}));
    EXPECT_THAT(faults, IsEmpty());
}

TEST(EvacuationRulesTest, WhatIsWrongIsSaidAndDoesLess) {
    std::vector<std::string> faults;
    const auto gate = with_gates({SharedText{evacuation_gate}});
    kube::ScoutConfig config;
    config.evacuation_mode = SharedText{"aggressive"};
    config.evacuation_reserve = -1;
    config.evacuation_patience = 5;
    config.evacuation_escalation = SharedText{"postCopy"};

    const auto rules = evacuation_rules(&config, &gate, faults);

    EXPECT_EQ(rules.mode, EvacuationMode::observe);
    EXPECT_EQ(rules.reserve, 10s);
    EXPECT_EQ(rules.patience, 60s);
    EXPECT_EQ(rules.escalation, migration::Escalation::none);
    EXPECT_THAT(faults,
                ElementsAre(HasSubstr("aggressive"), HasSubstr("postCopy"),
                            HasSubstr("0 to 3600 seconds"), HasSubstr("20 to 600 seconds")));
}

}  // namespace
}  // namespace scout::cluster
