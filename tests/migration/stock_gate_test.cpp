// SPDX-License-Identifier: Apache-2.0
#include "migration/stock_gate.h"

#include <functional>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A node whose labels let a host-model guest of an equal node in.
Labels node_labels() {
    return {{"cpu-feature.node.kubevirt.io/avx", "true"},
            {"cpu-feature.node.kubevirt.io/ssbd", "true"},
            {"cpu-model-migration.node.kubevirt.io/Large", "true"},
            {"cpu-model-migration.node.kubevirt.io/Small", "true"},
            {"cpu-model.node.kubevirt.io/Small", "true"},
            {"cpu-vendor.node.kubevirt.io/Intel", "true"},
            {"host-model-cpu.node.kubevirt.io/Large", "true"},
            {"host-model-required-features.node.kubevirt.io/ssbd", "true"},
            {"kubernetes.io/arch", "amd64"},
            {"kubevirt.io/schedulable", "true"},
            {"machine-type.node.kubevirt.io/q35", "true"}};
}

StockAnswer ask(const Labels& from, const Labels& to, std::string_view machine = "q35") {
    return pass_gate(stock_host_model_guest(stock_node(from), machine), stock_node(to));
}

TEST(StockGateTest, LetsAHostModelGuestIntoAnEqualNode) {
    EXPECT_EQ(ask(node_labels(), node_labels()).verdict, Verdict::can);
}

struct Fault {
    const char* name;
    std::function<void(Labels&)> make;
    ReasonCode code;
    const char* key;
};

class StockGateFaultTest : public testing::TestWithParam<Fault> {};

TEST_P(StockGateFaultTest, RefusesAndNamesTheLabel) {
    auto target = node_labels();
    GetParam().make(target);

    const auto answer = ask(node_labels(), target);

    EXPECT_EQ(answer.verdict, Verdict::cannot);
    ASSERT_EQ(answer.reasons.size(), 1U);
    EXPECT_EQ(answer.reasons[0].code, GetParam().code);
    EXPECT_EQ(answer.reasons[0].layer, Layer::stock);
    EXPECT_THAT(answer.reasons[0].keys, ElementsAre(GetParam().key));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, StockGateFaultTest,
    testing::Values(
        Fault{"Schedulable", [](Labels& l) { l["kubevirt.io/schedulable"] = "false"; },
              ReasonCode::unschedulable, "kubevirt.io/schedulable"},
        Fault{"Arch", [](Labels& l) { l["kubernetes.io/arch"] = "arm64"; }, ReasonCode::arch,
              "kubernetes.io/arch"},
        Fault{"Vendor",
              [](Labels& l) {
                  l.erase("cpu-vendor.node.kubevirt.io/Intel");
                  l["cpu-vendor.node.kubevirt.io/AMD"] = "true";
              },
              ReasonCode::vendor, "cpu-vendor.node.kubevirt.io/Intel"},
        Fault{"Model", [](Labels& l) { l.erase("cpu-model-migration.node.kubevirt.io/Large"); },
              ReasonCode::model, "cpu-model-migration.node.kubevirt.io/Large"},
        Fault{"Obsolete",
              [](Labels& l) { l["node-labeller.kubevirt.io/obsolete-host-model"] = "true"; },
              ReasonCode::model, "node-labeller.kubevirt.io/obsolete-host-model"},
        Fault{"Feature", [](Labels& l) { l.erase("cpu-feature.node.kubevirt.io/ssbd"); },
              ReasonCode::feature, "cpu-feature.node.kubevirt.io/ssbd"},
        Fault{"Machine", [](Labels& l) { l.erase("machine-type.node.kubevirt.io/q35"); },
              ReasonCode::machine_type, "machine-type.node.kubevirt.io/q35"}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(StockGateTest, LooksAtNeitherUnrequiredFeaturesNorUsability) {
    auto target = node_labels();
    target.erase("cpu-feature.node.kubevirt.io/avx");
    target.erase("cpu-model.node.kubevirt.io/Small");

    EXPECT_EQ(ask(node_labels(), target).verdict, Verdict::can);
}

TEST(StockGateTest, ChoosesNoHostModelSilentlyWhereThereAreTwo) {
    auto source = node_labels();
    source["host-model-cpu.node.kubevirt.io/Small"] = "true";

    const auto answer = ask(source, node_labels());

    EXPECT_EQ(answer.verdict, Verdict::unknown);
    EXPECT_THAT(answer.reasons.at(0).text, HasSubstr("inconsistent"));
    EXPECT_THAT(answer.reasons.at(0).keys, ElementsAre("host-model-cpu.node.kubevirt.io/Large",
                                                       "host-model-cpu.node.kubevirt.io/Small"));
}

/// KubeVirt asks for the value of a required feature, and takes a vendor whatever its value is.
TEST(StockGateTest, DoesNotJudgeWhatComesOfLabelsThatAreNotTrue) {
    for (const auto* const key :
         {"host-model-required-features.node.kubevirt.io/x", "cpu-vendor.node.kubevirt.io/AMD",
          "host-model-cpu.node.kubevirt.io/Small"}) {
        for (const auto* const value : {"false", ""}) {
            auto source = node_labels();
            source[key] = value;
            const auto answer = ask(source, node_labels());
            EXPECT_EQ(answer.verdict, Verdict::unknown) << key;
            EXPECT_THAT(answer.reasons.at(0).keys, ElementsAre(key));
        }
    }
}

TEST(StockGateTest, IsCertainOfTwoVendorLabelsOnlyWhereBothLeadToTheSame) {
    auto source = node_labels();
    source["cpu-vendor.node.kubevirt.io/AMD"] = "true";
    auto other = node_labels();
    other.erase("cpu-vendor.node.kubevirt.io/Intel");
    other["cpu-vendor.node.kubevirt.io/Hygon"] = "true";

    EXPECT_EQ(ask(source, node_labels()).verdict, Verdict::unknown);
    EXPECT_EQ(ask(source, source).verdict, Verdict::can);
    EXPECT_EQ(ask(source, other).verdict, Verdict::cannot);
}

TEST(StockGateTest, SaysThatKubeVirtCannotEvenAskWithoutAHostModel) {
    auto source = node_labels();
    source.erase("host-model-cpu.node.kubevirt.io/Large");
    auto nameless = source;
    nameless["host-model-cpu.node.kubevirt.io/"] = "true";

    for (const auto& labels : {source, nameless}) {
        const auto answer = ask(labels, node_labels());
        EXPECT_EQ(answer.verdict, Verdict::unknown);
        EXPECT_THAT(answer.reasons.at(0).keys, ElementsAre("host-model-cpu.node.kubevirt.io/"));
    }
}

TEST(StockGateTest, ShowsWhatRefusesBeforeWhatIsOnlyInDoubt) {
    auto source = node_labels();
    source["cpu-vendor.node.kubevirt.io/AMD"] = "true";
    auto target = node_labels();
    target.erase("cpu-feature.node.kubevirt.io/ssbd");

    const auto answer = ask(source, target);

    EXPECT_EQ(answer.verdict, Verdict::cannot);
    ASSERT_EQ(answer.reasons.size(), 2U);
    EXPECT_EQ(answer.reasons[0].code, ReasonCode::feature);
    EXPECT_EQ(answer.reasons[1].code, ReasonCode::vendor);
}

TEST(StockGateTest, AsksANamedModelForAUsableModelLabel) {
    const GuestCpu guest{.arch = "x86_64", .virt_type = "kvm", .model = "Small", .machine = "q35"};
    auto without = node_labels();
    without.erase("cpu-model.node.kubevirt.io/Small");

    const auto stock = stock_guest(guest, stock_node(node_labels()));

    EXPECT_EQ(stock.named_model, "Small");
    EXPECT_EQ(pass_gate(stock, stock_node(node_labels())).verdict, Verdict::can);
    EXPECT_EQ(pass_gate(stock, stock_node(without)).verdict, Verdict::unknown)
        << "as a host-model guest it would pass";
    without.erase("cpu-model-migration.node.kubevirt.io/Large");
    EXPECT_EQ(pass_gate(stock, stock_node(without)).verdict, Verdict::cannot);
    EXPECT_EQ(pass_gate(stock, stock_node(without)).reasons.at(0).code, ReasonCode::model);
}

struct Reading {
    const char* name;
    const char* gone;  ///< from the target's labels
    const char* added;
};

class StockGateReadingTest : public testing::TestWithParam<Reading> {};

TEST_P(StockGateReadingTest, IsUnknownWhereOnlyAHostModelGuestWouldBeRefused) {
    const GuestCpu guest{.arch = "x86_64", .virt_type = "kvm", .model = "Small", .machine = "q35"};
    auto target = node_labels();
    target.erase(GetParam().gone);
    target[GetParam().added] = "true";

    const auto answer =
        pass_gate(stock_guest(guest, stock_node(node_labels())), stock_node(target));

    EXPECT_EQ(answer.verdict, Verdict::unknown);
    ASSERT_EQ(answer.reasons.size(), 1U);
    EXPECT_THAT(answer.reasons[0].text, HasSubstr("as one with model Small it passes"));
}

INSTANTIATE_TEST_SUITE_P(
    Readings, StockGateReadingTest,
    testing::Values(Reading{"Model", "cpu-model-migration.node.kubevirt.io/Large", "other"},
                    Reading{"Feature", "cpu-feature.node.kubevirt.io/ssbd", "other"},
                    Reading{"Obsolete", "", "node-labeller.kubevirt.io/obsolete-host-model"}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(StockGateTest, GuessesWhatHostModelNeedsFromTheGuestWhereItsNodeIsNotKnown) {
    GuestCpu guest{.arch = "x86_64",
                   .virt_type = "kvm",
                   .vendor = "Intel",
                   .model = "Small",
                   .require = {"avx"},
                   .machine = "q35"};
    const auto target = stock_node(node_labels());

    EXPECT_EQ(pass_gate(stock_guest(guest, {}), target).verdict, Verdict::can);
    guest.require = {"hypervisor"};
    EXPECT_EQ(pass_gate(stock_guest(guest, {}), target).verdict, Verdict::unknown)
        << "KubeVirt need not ask for all that a guest has";
    guest.model = "Newest";
    EXPECT_EQ(pass_gate(stock_guest(guest, {}), target).verdict, Verdict::cannot);
    guest.model.clear();
    EXPECT_EQ(pass_gate(stock_guest(guest, {}), target).verdict, Verdict::can)
        << "a CPU that is passed through asks for no model";
}

TEST(StockGateTest, KnowsNeitherTheVendorNorTheFeaturesThatLiveXmlLeavesOpen) {
    GuestCpu guest{.arch = "x86_64", .virt_type = "kvm", .model = "Small", .machine = "q35"};
    const auto node = stock_node(node_labels());

    EXPECT_EQ(pass_gate(stock_guest(guest, {}), node).verdict, Verdict::unknown);
    EXPECT_EQ(pass_gate(stock_guest(guest, {}), node).reasons.at(0).code, ReasonCode::vendor);
    EXPECT_EQ(pass_gate(stock_guest(guest, node), node).verdict, Verdict::can);
    guest.require = {"explicit"};
    const auto answer = pass_gate(stock_guest(guest, node), node);
    EXPECT_EQ(answer.verdict, Verdict::unknown) << "the guest may have asked for it by name";
    EXPECT_THAT(answer.reasons.at(0).text, HasSubstr("explicit, which KubeVirt may ask for"));
}

TEST(StockGateTest, TakesALiveGuestWithTheSourcesHostModelForAHostModelGuest) {
    const GuestCpu guest{.arch = "x86_64",
                         .virt_type = "kvm",
                         .model = "Large",
                         .require = {"ssbd"},
                         .machine = "q35"};

    const auto stock = stock_guest(guest, stock_node(node_labels()));

    EXPECT_EQ(stock.host_model, "Large");
    EXPECT_THAT(stock.features, ElementsAre("ssbd"));
    EXPECT_EQ(stock.machine_type, "q35");
}

TEST(StockGateTest, TellsALabellerWithoutVmxDetailsFromHardwareThatLacksThem) {
    auto source = node_labels();
    source["host-model-required-features.node.kubevirt.io/vmx-ept"] = "true";
    source["host-model-required-features.node.kubevirt.io/umip"] = "true";
    auto target = node_labels();

    const auto old = ask(source, target);
    target["cpu-feature.node.kubevirt.io/vmx-vpid"] = "true";
    const auto reporting = ask(source, target);

    EXPECT_EQ(old.verdict, Verdict::cannot) << "KubeVirt asks for the label whoever wrote it";
    ASSERT_EQ(old.reasons.size(), 2U);
    EXPECT_EQ(old.reasons[0].code, ReasonCode::feature);
    EXPECT_THAT(old.reasons[0].keys, ElementsAre("cpu-feature.node.kubevirt.io/umip"));
    EXPECT_EQ(old.reasons[1].code, ReasonCode::not_reported);
    EXPECT_THAT(old.reasons[1].keys, ElementsAre("cpu-feature.node.kubevirt.io/vmx-ept"));
    EXPECT_EQ(reporting.verdict, Verdict::cannot);
    ASSERT_EQ(reporting.reasons.size(), 1U);
    EXPECT_EQ(reporting.reasons[0].code, ReasonCode::feature);
    EXPECT_THAT(reporting.reasons[0].keys, ElementsAre("cpu-feature.node.kubevirt.io/umip",
                                                       "cpu-feature.node.kubevirt.io/vmx-ept"));
}

struct Tsc {
    const char* name;
    const char* frequency;  ///< of the target, in Hz; null: none is labelled
    bool scalable;
    bool labelled;  ///< for the guest's frequency
    std::optional<ReasonCode> refused;
};

class StockGateTscTest : public testing::TestWithParam<Tsc> {};

TEST_P(StockGateTscTest, AsksForTheLabelOfTheVeryFrequency) {
    auto guest = stock_host_model_guest(stock_node(node_labels()), "q35");
    guest.tsc_hz = 2'000'000'000;
    auto target = node_labels();
    if (GetParam().frequency != nullptr) {
        target["cpu-timer.node.kubevirt.io/tsc-frequency"] = GetParam().frequency;
    }
    target["cpu-timer.node.kubevirt.io/tsc-scalable"] = GetParam().scalable ? "true" : "false";
    if (GetParam().labelled) {
        target["scheduling.node.kubevirt.io/tsc-frequency-2000000000"] = "true";
    }

    const auto answer = pass_gate(guest, stock_node(target));

    if (!GetParam().refused) {
        EXPECT_EQ(answer.verdict, Verdict::can);
        return;
    }
    EXPECT_EQ(answer.verdict, Verdict::cannot);
    ASSERT_EQ(answer.reasons.size(), 1U);
    EXPECT_EQ(answer.reasons[0].code, *GetParam().refused);
    EXPECT_THAT(answer.reasons[0].keys,
                ElementsAre("scheduling.node.kubevirt.io/tsc-frequency-2000000000"));
}

INSTANTIATE_TEST_SUITE_P(
    Frequencies, StockGateTscTest,
    testing::Values(Tsc{"Labelled", "2000000000", false, true, std::nullopt},
                    Tsc{"WithinTolerance", "2000500125", false, false, ReasonCode::tsc_label},
                    Tsc{"BeyondTolerance", "2000500126", false, false, ReasonCode::tsc},
                    Tsc{"FasterButScalable", "3000000000", true, false, ReasonCode::tsc_label},
                    Tsc{"SlowerThoughScalable", "1000000000", true, false, ReasonCode::tsc},
                    Tsc{"NotTold", nullptr, false, false, ReasonCode::tsc},
                    Tsc{"LabelOutlivedTheFrequency", "3000000000", false, true, std::nullopt}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(StockGateTest, JudgesDerivedLabelsByTheFrequencyForNobodyDerivesThatOfTheScheduler) {
    auto guest = stock_host_model_guest(stock_node(node_labels()), "q35");
    guest.tsc_hz = 2'000'000'000;
    auto labels = node_labels();
    labels["cpu-timer.node.kubevirt.io/tsc-frequency"] = "2000000000";
    Profile profile{.arch = "x86_64", .virt_type = "kvm", .machines = {"q35"}};
    profile.supported_listed = true;

    EXPECT_EQ(pass_gate(guest, derived_stock_node(labels, profile, {}, nullptr)).verdict,
              Verdict::can);
}

TEST(StockGateTest, OldLabellersLackTheMachineTypeOnEveryNode) {
    auto old = node_labels();
    old.erase("machine-type.node.kubevirt.io/q35");

    const auto answer = ask(old, old);

    EXPECT_EQ(answer.verdict, Verdict::cannot);
    ASSERT_EQ(answer.reasons.size(), 1U);
    EXPECT_EQ(answer.reasons[0].code, ReasonCode::machine_type);
}

}  // namespace
}  // namespace scout::migration
