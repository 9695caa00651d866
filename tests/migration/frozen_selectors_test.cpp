// SPDX-License-Identifier: Apache-2.0
#include "migration/frozen_selectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Labels labels_of(const std::vector<std::string>& models, const std::vector<std::string>& features) {
    Labels labels{{"kubevirt.io/schedulable", "true"}};
    for (const auto& model : models) {
        labels.emplace(std::string{label::known_model} + model, "true");
    }
    for (const auto& feature : features) {
        labels.emplace(std::string{label::cpu_feature} + feature, "true");
    }
    return labels;
}

/// Case 11: the pod asks for what its first node had; every node was upgraded since.
class FrozenSelectorsTest : public testing::Test {
protected:
    Labels pod = labels_of({"OldModel"}, {"f1", "f2"});
    Labels today = labels_of({"NewModel"}, {"f2"});
    Labels before = labels_of({"OldModel"}, {"f1", "f2"});
    FrozenGuest guest{.selectors = pod, .node = "n1", .live_features = std::nullopt};
};

TEST_F(FrozenSelectorsTest, SelectorsThatTheSourceItselfHasNoLongerAreStale) {
    const auto found = judge_frozen_selectors(guest, {{"n1", today}, {"n2", today}});

    EXPECT_EQ(found.state, FrozenState::stale);
    EXPECT_THAT(found.stale, ElementsAre("OldModel", "f1"));
    EXPECT_THAT(found.lacking, IsEmpty());
    EXPECT_THAT(found.text, HasSubstr("no node fits: stale selectors OldModel, f1"));
}

TEST_F(FrozenSelectorsTest, HardwareLacksWhatTheSourceStillHas) {
    const auto found = judge_frozen_selectors(guest, {{"n1", before}, {"n2", today}});

    EXPECT_EQ(found.state, FrozenState::lacking);
    EXPECT_THAT(found.stale, IsEmpty());
    EXPECT_THAT(found.lacking, ElementsAre("OldModel", "f1"));
    EXPECT_THAT(found.text, HasSubstr("hardware of the others lacks it"));
}

TEST_F(FrozenSelectorsTest, DroppingSelectorsDoesNotHelpALiveDomainThatRequiresTheFeature) {
    guest.live_features = FeatureSet{"f1", "f2"};

    const auto found = judge_frozen_selectors(guest, {{"n1", today}, {"n2", today}});

    EXPECT_EQ(found.still_required, (FeatureSet{"f1"}));
    EXPECT_THAT(found.text, HasSubstr("dropping the selectors alone does not help: the live domain "
                                      "still requires f1"));
}

TEST_F(FrozenSelectorsTest, DroppingSelectorsMayHelpALiveDomainWithoutTheFeature) {
    guest.live_features = FeatureSet{"f2"};

    const auto found = judge_frozen_selectors(guest, {{"n1", today}, {"n2", today}});

    EXPECT_THAT(found.still_required, IsEmpty());
    EXPECT_THAT(found.text, testing::Not(HasSubstr("does not help")));
}

TEST_F(FrozenSelectorsTest, WithoutTheLiveDomainTheNoteIsConditional) {
    const auto found = judge_frozen_selectors(guest, {{"n1", today}, {"n2", today}});

    EXPECT_THAT(found.text, HasSubstr("does not help if the live domain XML still requires"));
}

TEST_F(FrozenSelectorsTest, AnotherNodeThatWasNotUpgradedFits) {
    const auto found =
        judge_frozen_selectors(guest, {{"n1", today}, {"n2", today}, {"n3", before}});

    EXPECT_EQ(found.state, FrozenState::fits);
    EXPECT_THAT(found.fitting, ElementsAre("n3"));
}

TEST_F(FrozenSelectorsTest, TheSourceIsNeverATargetAlthoughItsLabelsFit) {
    const auto found = judge_frozen_selectors(guest, {{"n1", before}});

    EXPECT_EQ(found.state, FrozenState::lacking);
    EXPECT_THAT(found.fitting, IsEmpty());
}

TEST_F(FrozenSelectorsTest, WithoutTheSourceNodeTheCauseIsNotGuessed) {
    const auto found = judge_frozen_selectors(guest, {{"n2", today}});

    EXPECT_EQ(found.state, FrozenState::unknown);
    EXPECT_THAT(found.stale, IsEmpty());
    EXPECT_THAT(found.text, HasSubstr("cannot be told"));
}

TEST_F(FrozenSelectorsTest, NodesThatHaveItOnlyTogetherDoNotFit) {
    const auto model = labels_of({"OldModel"}, {"f2"});
    const auto feature = labels_of({"NewModel"}, {"f1", "f2"});

    const auto found =
        judge_frozen_selectors(guest, {{"n1", before}, {"n2", model}, {"n3", feature}});

    EXPECT_EQ(found.state, FrozenState::lacking);
    EXPECT_THAT(found.text, HasSubstr("no other node has all that is asked for together"));
}

TEST_F(FrozenSelectorsTest, ALabelWithAnotherValueIsNotTheOneAskedFor) {
    auto other = before;
    other[std::string{label::cpu_feature} + "f1"] = "false";

    const auto found = judge_frozen_selectors(guest, {{"n1", before}, {"n2", other}});

    EXPECT_THAT(found.lacking, ElementsAre("f1"));
}

TEST_F(FrozenSelectorsTest, APodWithoutCpuSelectorsIsNotFrozen) {
    const Labels plain{{"kubevirt.io/schedulable", "true"},
                       {"cpu-vendor.node.kubevirt.io/Intel", "true"}};
    const FrozenGuest fresh{.selectors = plain, .node = "n1", .live_features = std::nullopt};

    EXPECT_EQ(judge_frozen_selectors(fresh, {{"n2", today}}).state, FrozenState::not_frozen);
}

}  // namespace
}  // namespace scout::migration
