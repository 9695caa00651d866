// SPDX-License-Identifier: Apache-2.0
#include "cluster/upgrade_answer.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/node_objects.h"
#include "tests/support/profiles.h"

namespace scout::cluster {
namespace {

using test::node_object;
using test::plain_labels;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

kube::SharedText text(std::string_view value) {
    return kube::SharedText{value};
}

CpuProfile object_of(const migration::Profile& profile) {
    CpuProfile out;
    out.meta.name = profile_name(profile);
    out.profile = profile;
    return out;
}

/// Node b lost avx; a and c are as b was. Each runs VMIs.
class UpgradeAnswerTest : public ::testing::Test {
protected:
    UpgradeAnswerTest() {
        objects.nodes = {node_object("a"), node_object("b"), node_object("c")};
        objects.nodes[1].annotations = kube::Labels{{profile_annotation, after.meta.name},
                                                    {former_profile_annotation, before.meta.name}};
        objects.profiles = {before, after};
        std::sort(objects.profiles.begin(), objects.profiles.end(),
                  [](const auto& x, const auto& y) { return x.meta.name < y.meta.name; });
        add_vmi("mover", "a", "host-model");
        add_vmi("small", "a", "Small");
        add_vmi("there", "b", "host-model");
        add_vmi("ended", "a", "host-model", "Succeeded");
    }

    void add_vmi(const std::string& name, const std::string& node, const std::string& model,
                 const std::string& phase = "Running") {
        kube::Vmi vmi;
        vmi.meta = {.space = text("shop"), .name = name, .uid = "uid-" + name, .version = "1"};
        vmi.phase = text(phase);
        vmi.node = text(node);
        vmi.architecture = text("amd64");
        vmi.cpu_model = text(model);
        vmi.machine = text("q35");
        objects.vmis.push_back(std::move(vmi));
    }
    [[nodiscard]] Result<migration::UpgradeImpact> ask(const std::string& node = "b") const {
        return node_upgrade_impact(objects, node, {.map = &map});
    }
    [[nodiscard]] std::vector<std::string> notes() const { return ask().value().notes; }

    migration::CpuMap map = scout::test::small_map();
    CpuProfile before = object_of(scout::test::host({.model = "Large", .machines = {"q35"}}));
    CpuProfile after =
        object_of(scout::test::host({.model = "Large", .disable = {"avx"}, .machines = {"q35"}}));
    Objects objects;
};

TEST_F(UpgradeAnswerTest, ComparesTheTwoProfilesThatTheNodeNames) {
    const auto impact = ask();

    ASSERT_TRUE(impact) << impact.error().message;
    EXPECT_TRUE(impact->comparable);
    EXPECT_EQ(impact->missing_after, migration::FeatureSet{"avx"});
    EXPECT_THAT(impact->advice, HasSubstr("restart guests"));
}

TEST_F(UpgradeAnswerTest, NamesTheVmisThatCanNoLongerComeToTheNode) {
    EXPECT_THAT(notes(), Contains("VMIs: running elsewhere, could go to b before and cannot now: "
                                  "shop/mover"));
}

TEST_F(UpgradeAnswerTest, NamesNoneThatCouldNotGoThereAnyway) {
    add_vmi("zoned", "a", "host-model");
    objects.vmis.back().node_selector = kube::Labels{{"zone", "z"}};
    add_vmi("fixed", "a", "host-model");
    kube::Condition movable;
    movable.type = text("LiveMigratable");
    movable.status = text("False");
    objects.vmis.back().conditions = {movable};

    EXPECT_THAT(notes(), Contains("VMIs: running elsewhere, could go to b before and cannot now: "
                                  "shop/mover"));
}

TEST_F(UpgradeAnswerTest, NamesThoseWhoseModelTheNodeHasNoLabelForAnyMore) {
    before =
        object_of(scout::test::host({.model = "Large", .usable = {"Small"}, .machines = {"q35"}}));
    after = object_of(
        scout::test::host({.model = "Large", .not_usable = {"Small"}, .machines = {"q35"}}));
    objects.nodes[1].annotations = kube::Labels{{profile_annotation, after.meta.name},
                                                {former_profile_annotation, before.meta.name}};
    objects.profiles = {before, after};
    std::sort(objects.profiles.begin(), objects.profiles.end(),
              [](const auto& x, const auto& y) { return x.meta.name < y.meta.name; });

    EXPECT_THAT(notes(), Contains(HasSubstr("cannot now: shop/small")));
}

TEST_F(UpgradeAnswerTest, NamesTheVmisThatStartedThereAndLoseTargets) {
    // Its labels now say another host-model, which c has no label for.
    auto renamed = plain_labels("Small");
    renamed["host-model-required-features.node.kubevirt.io/vmx-ept"] = "true";
    objects.nodes[1].labels = test::kube_labels(renamed);

    EXPECT_THAT(notes(), Contains("VMIs: running on b, if started before the change can no longer "
                                  "go to a, c: shop/there"));
}

TEST_F(UpgradeAnswerTest, SaysThatNoneLosesATargetOrThatThereAreNone) {
    objects.vmis.erase(objects.vmis.begin());
    EXPECT_THAT(notes(), Contains("VMIs: none of those that run loses a target by the change"));

    objects.vmis.clear();
    EXPECT_THAT(notes(), Contains(HasSubstr("there are none among the objects")));
}

TEST_F(UpgradeAnswerTest, OfManyVmisTheFirstAreNamed) {
    for (int i = 0; i < 50; ++i) {
        add_vmi("more-" + std::to_string(i), "c", "host-model");
    }
    EXPECT_THAT(notes(), Contains(HasSubstr("and 31 more")));
}

TEST_F(UpgradeAnswerTest, WithoutHistoryItSaysWhatIsMissing) {
    EXPECT_THAT(ask("a").error().message, HasSubstr("no agent has told its CPU profile yet"));
    EXPECT_EQ(ask("x").error().code, Errc::not_found);

    objects.profiles.clear();
    EXPECT_THAT(ask().error().message, HasSubstr("expected CPUProfile " + after.meta.name));

    objects.nodes[1].annotations = kube::Labels{{profile_annotation, after.meta.name}};
    objects.profiles = {after};
    EXPECT_THAT(ask().error().message, HasSubstr("has not changed since virt-scout keeps it"));
}

TEST_F(UpgradeAnswerTest, AnEventSaysWhatWasAndIsAndWhatThatMeans) {
    const auto note = profile_change_note(before, after, &map);

    EXPECT_EQ(note, "the CPU profile changed from " + before.meta.name + " (host-model Large) to " +
                        after.meta.name +
                        " (host-model Large); features that guests started before have and it no "
                        "longer offers: avx; features that guests started now have and it did not "
                        "offer: none");
    const auto other = object_of(scout::test::host({.model = "Other", .vendor = "AMD"}));
    EXPECT_THAT(profile_change_note(before, other, &map), HasSubstr("this is another machine"));
    EXPECT_THAT(note, Not(HasSubstr("cannot be told")));
}

}  // namespace
}  // namespace scout::cluster
