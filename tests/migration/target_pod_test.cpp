// SPDX-License-Identifier: Apache-2.0
#include "migration/target_pod.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "migration/cheapest_change.h"
#include "migration/label_profile.h"
#include "tests/support/profiles.h"

namespace scout::migration {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::SizeIs;

const std::string feature{label::cpu_feature};
const std::string known{label::known_model};
const std::string usable{label::cpu_model};
const std::string vendor{label::vendor};

Labels node_labels(const std::string& model, const std::vector<std::string>& features,
                   const std::vector<std::string>& required = {}) {
    Labels labels{{std::string{label::host_model} + model, "true"},
                  {known + model, "true"},
                  {usable + "Small", "true"},
                  {vendor + "Intel", "true"},
                  {"machine-type.node.kubevirt.io/q35", "true"},
                  {"kubernetes.io/arch", "amd64"},
                  {"kubevirt.io/schedulable", "true"}};
    for (const auto& name : features) {
        labels[feature + name] = "true";
    }
    for (const auto& name : required) {
        labels[std::string{label::required_feature} + name] = "true";
    }
    return labels;
}

/// A host-model VM that never moved, on a node of model Large with these features.
MovingVm running_vm(const std::vector<std::string>& features) {
    MovingVm vm;
    vm.node = "n1";
    vm.arch = "amd64";
    vm.machine_type = "q35";
    vm.cpu_model = "host-model";
    vm.pod = Labels{{"kubevirt.io/schedulable", "true"}};
    vm.source = node_labels("Large", features, {"avx"});
    return vm;
}

class TargetPodTest : public testing::Test {
protected:
    [[nodiscard]] Comparison ask(const Labels& target) const {
        const auto pod = target_pod(vm);
        const auto guest = assumed_guest(vm, pod, &map);
        const auto stock = stock_node(target);
        const auto profile = label_profile(stock, &map);
        const auto facts = label_facts(stock);
        const NodeView view{
            .profile = profile, .facts = facts, .labels = target, .labels_derived = false};
        auto answer = compare(guest, pod.stock, view, &map);
        apply(pod, target, answer);
        return answer;
    }
    /// "code: key, key" of the stock layer.
    [[nodiscard]] static std::vector<std::string> stock_reasons(const Comparison& answer) {
        std::vector<std::string> out;
        for (const auto& reason : answer.reasons) {
            if (reason.layer == Layer::stock) {
                out.push_back(std::string{to_string(reason.code)} + ": " + join(reason.keys));
            }
        }
        return out;
    }

    CpuMap map = test::small_map();
    std::vector<std::string> small{"cx8", "fpu", "mmx", "sse"};
    std::vector<std::string> large{"aes", "avx", "cx8", "fpu", "mmx", "sse"};
    MovingVm vm = running_vm(large);
};

TEST_F(TargetPodTest, FirstMigrationAsksForWhatTheNodeIsLabelledWithNow) {
    const auto pod = target_pod(vm);

    EXPECT_FALSE(pod.frozen);
    EXPECT_EQ(pod.stock.host_model, "Large");
    EXPECT_THAT(pod.stock.features, ElementsAre("avx"));
    EXPECT_THAT(pod.stock.vendors, ElementsAre("Intel"));
    EXPECT_EQ(ask(node_labels("Large", large)).verdict, Verdict::can);
    EXPECT_THAT(stock_reasons(ask(node_labels("Large", small))),
                ElementsAre("feature: " + feature + "avx"));
}

TEST_F(TargetPodTest, LaterOnesAskForWhatTheFirstNodeHad) {
    vm.moved = true;
    vm.pod = Labels{{known + "Small", "true"}, {feature + "sse", "true"}};
    vm.source = node_labels("Large", large, {"avx"});
    (*vm.source)[known + "Small"] = "true";

    const auto pod = target_pod(vm);
    auto old = node_labels("Small", small);

    EXPECT_TRUE(pod.frozen);
    EXPECT_THAT(pod.stale, IsEmpty());
    EXPECT_EQ(ask(old).verdict, Verdict::can);
    old.erase(feature + "sse");
    EXPECT_THAT(stock_reasons(ask(old)), ElementsAre("feature: " + feature + "sse"));
}

/// Case 11.
TEST_F(TargetPodTest, StaleSelectorsAreToldFromWhatTheHardwareLacks) {
    vm.moved = true;
    vm.pod = Labels{{known + "Old", "true"},
                    {feature + "f1", "true"},
                    {feature + "f2", "true"},
                    {feature + "avx", "true"}};
    vm.source = node_labels("Large", {"avx", "f2"});

    const auto pod = target_pod(vm);
    const auto answer = ask(node_labels("Large", {"f2"}));

    EXPECT_THAT(pod.stale, ElementsAre(Key(feature + "f1"), Key(known + "Old")));
    EXPECT_EQ(answer.gate, Verdict::cannot);
    EXPECT_THAT(stock_reasons(answer),
                ElementsAre("stale-selector: " + feature + "f1, " + known + "Old",
                            "feature: " + feature + "avx"));
    EXPECT_THAT(answer.reasons[0].text,
                HasSubstr("no longer: the target node has no " + feature + "f1, " + known + "Old"));
    auto kept = node_labels("Large", {"avx", "f1", "f2"});
    kept[known + "Old"] = "true";
    EXPECT_EQ(ask(kept).gate, Verdict::can) << "a node that was not upgraded has them still";
}

TEST_F(TargetPodTest, ExplicitFeaturesTakeThePlaceOfTheHostModel) {
    vm.required = {"aes"};
    vm.pod = Labels{{feature + "aes", "true"}};

    const auto pod = target_pod(vm);
    auto target = node_labels("Other", {"aes", "cx8"});

    EXPECT_TRUE(pod.frozen);
    EXPECT_EQ(pod.stock.host_model, "");
    ASSERT_THAT(pod.notes, SizeIs(1));
    EXPECT_THAT(pod.notes[0], HasSubstr("only the CPU truth tells"));
    EXPECT_EQ(ask(target).gate, Verdict::can);
    EXPECT_EQ(ask(target).truth, Verdict::cannot) << "as it has no avx";
    target[std::string{label::obsolete}] = "true";
    EXPECT_THAT(stock_reasons(ask(target)),
                ElementsAre("selector: " + std::string{label::obsolete}));
}

TEST_F(TargetPodTest, ExplicitFeaturesAreAskedForThoughThePodIsNotKnown) {
    vm.required = {"aes"};
    vm.pod.reset();

    EXPECT_TRUE(target_pod(vm).frozen);
    EXPECT_THAT(stock_reasons(ask(node_labels("Large", small))),
                ElementsAre("feature: " + feature + "aes"));
}

TEST_F(TargetPodTest, NamedModelIsAskedForByItsNameAlone) {
    vm.cpu_model = "Small";
    vm.pod.reset();
    auto target = node_labels("Other", small);

    EXPECT_EQ(ask(target).verdict, Verdict::can);
    target.erase(usable + "Small");
    EXPECT_THAT(stock_reasons(ask(target)), ElementsAre("model: " + usable + "Small"));
}

TEST_F(TargetPodTest, FeaturesOfANamedModelAreAskedForAndKeptAwayFrom) {
    vm.cpu_model = "Small";
    vm.required = {"aes"};
    vm.forbidden = {"svm"};

    EXPECT_EQ(ask(node_labels("Large", large)).verdict, Verdict::can);
    EXPECT_THAT(stock_reasons(ask(node_labels("Large", {"cx8", "fpu", "mmx", "sse", "svm"}))),
                ElementsAre("feature: " + feature + "aes", "selector: " + feature + "svm"));
}

TEST_F(TargetPodTest, OptionalFeatureLeavesTheTruthOpen) {
    vm.cpu_model = "Small";
    vm.optional = {"aes"};

    const auto answer = ask(node_labels("Large", large));

    EXPECT_EQ(answer.gate, Verdict::can);
    EXPECT_EQ(answer.truth, Verdict::unknown);
}

TEST_F(TargetPodTest, SelectorsOfTheVmWinAndThoseOfItsSpecificationAreReadFromThePod) {
    vm.cluster_selectors = {{"disk", "hdd"}, {"zone", "a"}};
    vm.vm_selectors = {{"disk", "ssd"}};
    vm.pod = Labels{{"added", "once"},
                    {"kubevirt.io/sev", "true"},
                    {"hyperv.node.kubevirt.io/time", "true"},
                    {"kubevirt.io/schedulable", "true"}};
    auto target = node_labels("Large", large);
    target["zone"] = "b";

    EXPECT_THAT(stock_reasons(ask(target)),
                ElementsAre("selector: disk=ssd, hyperv.node.kubevirt.io/time, kubevirt.io/sev, "
                            "zone=a"));
}

TEST_F(TargetPodTest, EverythingWithoutWhichANodeGetsNoVmIsAskedFor) {
    vm.tsc_hz = 2'000'000'000;
    auto target = node_labels("Large", large);
    target["kubevirt.io/schedulable"] = "false";
    target["kubernetes.io/arch"] = "s390x";
    target.erase(vendor + "Intel");
    target.erase("machine-type.node.kubevirt.io/q35");

    EXPECT_THAT(stock_reasons(ask(target)),
                ElementsAre("arch: kubernetes.io/arch", "vendor: " + vendor + "Intel",
                            "machine-type: machine-type.node.kubevirt.io/q35",
                            "tsc: scheduling.node.kubevirt.io/tsc-frequency-2000000000",
                            "unschedulable: kubevirt.io/schedulable"));
}

TEST_F(TargetPodTest, TwoVendorsOfTheSourceLeaveItOpenWhichIsAskedFor) {
    (*vm.source)[vendor + "Old"] = "true";

    const auto answer = ask(node_labels("Large", large));

    EXPECT_EQ(answer.gate, Verdict::unknown);
    EXPECT_THAT(stock_reasons(answer),
                ElementsAre("vendor: " + vendor + "Intel, " + vendor + "Old"));
}

struct Unknown {
    std::string name;
    void (*change)(MovingVm&);
    std::string expected;  ///< in the text of the reason
};
class UnknownPodTest : public TargetPodTest, public testing::WithParamInterface<Unknown> {};

TEST_P(UnknownPodTest, IsSaidAndNothingIsMadeUp) {
    GetParam().change(vm);

    const auto answer = ask(node_labels("Large", large));

    EXPECT_EQ(answer.gate, Verdict::unknown);
    EXPECT_EQ(answer.truth, Verdict::unknown);
    const bool said =
        std::any_of(answer.reasons.begin(), answer.reasons.end(), [](const Reason& reason) {
            return reason.layer == Layer::stock &&
                   reason.text.find(GetParam().expected) != std::string::npos;
        });
    EXPECT_TRUE(said);
}

const Unknown unknowns[] = {
    {"SourceNotKnown", [](MovingVm& vm) { vm.source.reset(); }, "labels of node n1"},
    {"PodNotKnownOfOneThatMoved",
     [](MovingVm& vm) {
         vm.pod.reset();
         vm.moved = true;
     },
     "launcher pod"},
    {"SourceWithTwoHostModels",
     [](MovingVm& vm) { (*vm.source)[std::string{label::host_model} + "Small"] = "true"; },
     "inconsistent"},
    {"SourceWithoutHostModel",
     [](MovingVm& vm) { vm.source->erase(std::string{label::host_model} + "Large"); },
     "no host-model-cpu label"},
};

INSTANTIATE_TEST_SUITE_P(Rules, UnknownPodTest, testing::ValuesIn(unknowns),
                         [](const auto& made) { return made.param.name; });

TEST_F(TargetPodTest, WhatIsKnownStillRefusesWhereTheCpuIsNot) {
    vm.source.reset();
    auto target = node_labels("Large", large);
    target["kubevirt.io/schedulable"] = "false";

    const auto answer = ask(target);

    EXPECT_EQ(answer.gate, Verdict::cannot);
    EXPECT_THAT(stock_reasons(answer), ElementsAre("unschedulable: kubevirt.io/schedulable",
                                                   "vendor: " + vendor, "not-comparable: n1"));
    EXPECT_THAT(answer.reasons.back().text, HasSubstr("labels of node n1, where the guest runs"));
}

TEST_F(TargetPodTest, FrozenSelectorsAreKnownThoughTheSourceIsNot) {
    vm.moved = true;
    vm.pod = Labels{{known + "Large", "true"}, {vendor + "Intel", "true"}};
    vm.source.reset();

    const auto answer = ask(node_labels("Large", large));

    EXPECT_EQ(answer.gate, Verdict::can);
    EXPECT_EQ(answer.truth, Verdict::unknown);
}

TEST_F(TargetPodTest, AssumedCpuIsTheFrozenOneWithoutWhatItsNodeCannotHave) {
    vm.moved = true;
    vm.pod = Labels{{known + "Large", "true"}, {feature + "avx", "true"}};
    vm.source = node_labels("Small", {"avx", "cx8", "fpu", "mmx", "sse"});

    const auto guest = assumed_guest(vm, target_pod(vm), &map);

    EXPECT_EQ(guest.model, "Large");
    EXPECT_THAT(guest.require, ElementsAre("avx"));
    EXPECT_THAT(guest.disable, ElementsAre("aes"));
    EXPECT_EQ(guest.vendor, "Intel");
    EXPECT_EQ(guest.doubt, "");
}

/// Case 11 with a model that the map knows: the guest runs on such a node, so nobody may say that
/// its hardware lacks what that node's labels lack.
TEST_F(TargetPodTest, StaleFeaturesLeaveTheTruthOpenOnNodesLikeItsOwn) {
    vm.moved = true;
    vm.pod = Labels{{known + "Large", "true"}, {feature + "avx", "true"}, {feature + "f1", "true"}};
    vm.source = node_labels("Large", large, {"avx"});

    const auto answer = ask(node_labels("Large", large, {"avx"}));

    EXPECT_EQ(answer.truth, Verdict::unknown);
    EXPECT_EQ(answer.gate, Verdict::cannot);
    EXPECT_EQ(answer.reasons.front().code, ReasonCode::stale_selector);
    EXPECT_EQ(
        cheapest_change({.subject = "", .source = "", .nodes = {{"n2", answer}}, .notes = {}}),
        "on n2: restart the VM, so that it asks for what nodes have now");
    EXPECT_EQ(ask(node_labels("Large", small, {"avx"})).truth, Verdict::cannot) << "of avx";
}

TEST_F(TargetPodTest, NamedModelIsAssumedWithoutWhatItsNodeCannotHave) {
    vm.cpu_model = "Large";
    vm.source = node_labels("Small", {"avx", "cx8", "fpu", "mmx", "sse"});

    EXPECT_THAT(assumed_guest(vm, target_pod(vm), &map).disable, ElementsAre("aes"));
    vm.source.reset();
    EXPECT_THAT(assumed_guest(vm, target_pod(vm), &map).disable, IsEmpty());
}

TEST_F(TargetPodTest, CpuThatMovedWithExplicitFeaturesIsNotGuessed) {
    vm.required = {"aes"};
    vm.pod = Labels{{feature + "aes", "true"}};
    vm.moved = true;

    EXPECT_THAT(assumed_guest(vm, target_pod(vm), &map).doubt, HasSubstr("may have moved before"));
}

TEST_F(TargetPodTest, EmulatedAndPassedThroughGuestsAreNotCompared) {
    vm.emulated = true;
    EXPECT_EQ(ask(node_labels("Large", large)).truth, Verdict::unknown);

    vm.emulated = false;
    vm.cpu_model = "host-passthrough";
    const auto answer = ask(node_labels("Large", large));
    EXPECT_EQ(answer.gate, Verdict::can);
    EXPECT_EQ(answer.truth, Verdict::unknown);
}

}  // namespace
}  // namespace scout::migration
