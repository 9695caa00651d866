// SPDX-License-Identifier: Apache-2.0
#include "migration/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "migration/stock_gate.h"
#include "tests/support/profiles.h"

namespace scout::migration {
namespace {

using test::host;

TEST(LabelsTest, WritesExactlyWhatTheLabellerWouldWrite) {
    const auto map = test::small_map();
    auto profile = host({.model = "Small",
                         .require = {"ssbd"},
                         .disable = {"sse"},
                         .usable = {"Generic", "kvm64"},
                         .not_usable = {"Large", "Small"},
                         .machines = {"pc-q35-8.0", "q35"}});
    profile.models.push_back(
        {.name = "Unsaid", .usable = std::nullopt, .vendor = "", .blockers = {}});
    const HostFacts facts{.tsc_hz = 2'000'000'000, .tsc_scalable = true};

    const Labels expected{{"cpu-feature.node.kubevirt.io/cx8", "true"},
                          {"cpu-feature.node.kubevirt.io/fpu", "true"},
                          {"cpu-feature.node.kubevirt.io/mmx", "true"},
                          {"cpu-feature.node.kubevirt.io/ssbd", "true"},
                          {"cpu-model-migration.node.kubevirt.io/Generic", "true"},
                          {"cpu-model-migration.node.kubevirt.io/Large", "true"},
                          {"cpu-model-migration.node.kubevirt.io/Small", "true"},
                          {"cpu-model.node.kubevirt.io/Generic", "true"},
                          {"cpu-timer.node.kubevirt.io/tsc-frequency", "2000000000"},
                          {"cpu-timer.node.kubevirt.io/tsc-scalable", "true"},
                          {"cpu-vendor.node.kubevirt.io/Intel", "true"},
                          {"host-model-cpu.node.kubevirt.io/Small", "true"},
                          {"host-model-required-features.node.kubevirt.io/ssbd", "true"},
                          {"machine-type.node.kubevirt.io/pc-q35-8.0", "true"},
                          {"machine-type.node.kubevirt.io/q35", "true"}};
    EXPECT_EQ(labeller_labels(profile, facts, &map), expected);
}

TEST(LabelsTest, TakesTheListOfSupportedFeaturesAsItIs) {
    auto profile = host({.require = {"ssbd"}});
    profile.supported_listed = true;
    profile.supported = {"apic", "vmx"};

    const auto node = stock_node(labeller_labels(profile, {}, nullptr));

    EXPECT_EQ(node.features, (FeatureSet{"apic", "vmx"}));
    EXPECT_EQ(node.required, (FeatureSet{"ssbd"}));
}

TEST(LabelsTest, ConfiguredObsoleteModelsReplaceTheBuiltInOnesAndMarkTheHostModel) {
    const std::set<std::string, std::less<>> obsolete{"Small"};
    const auto profile = host({.model = "Small", .usable = {"Small", "kvm64-v1"}});

    const auto built_in = stock_node(labeller_labels(profile, {}, nullptr));
    const auto configured =
        stock_node(labeller_labels(profile, {}, nullptr, {.obsolete_models = &obsolete}));

    EXPECT_EQ(built_in.usable_models, (FeatureSet{"Small"}));
    EXPECT_FALSE(built_in.obsolete_host_model);
    EXPECT_EQ(configured.usable_models, (FeatureSet{"kvm64-v1"}));
    EXPECT_TRUE(configured.obsolete_host_model);
}

TEST(LabelsTest, WritesTheLaunchSecurityOfAnyArchitecture) {
    auto profile = host({});
    profile.launch_security = {"sev", "sev-es"};
    auto ibm = host({.model = "gen15a", .vendor = ""});
    ibm.arch = "s390x";
    ibm.launch_security = {"s390-pv"};

    const auto labels = labeller_labels(profile, {}, nullptr);
    EXPECT_EQ(labels.at("kubevirt.io/sev"), "true");
    EXPECT_EQ(labels.at("kubevirt.io/sev-es"), "true");
    EXPECT_FALSE(labels.contains("kubevirt.io/sev-snp"));
    EXPECT_TRUE(labeller_labels(ibm, {}, nullptr).contains("kubevirt.io/s390-pv"));
}

TEST(LabelsTest, SaysWhichKeysDocumentsDoNotTell) {
    const auto map = test::small_map();
    auto arm = host({.machines = {"virt"}});
    arm.arch = "aarch64";
    auto bare = host({});
    bare.origin = ProfileOrigin::bare_cpu;

    EXPECT_THAT(labels_not_derivable(host({.machines = {"q35"}}), {}, &map),
                testing::ElementsAre("hyperv.node.kubevirt.io/", "kubevirt.io/realtime"));
    EXPECT_THAT(labels_not_derivable(host({}), {}, nullptr),
                testing::ElementsAre(
                    "cpu-feature.node.kubevirt.io/", "cpu-timer.node.kubevirt.io/tsc-frequency",
                    "cpu-timer.node.kubevirt.io/tsc-scalable", "hyperv.node.kubevirt.io/",
                    "kubevirt.io/realtime", "machine-type.node.kubevirt.io/"));
    EXPECT_THAT(labels_not_derivable(arm, {}, &map), testing::ElementsAre("kubevirt.io/realtime"));
    EXPECT_THAT(labels_not_derivable(bare, {.tsc_hz = 1}, &map),
                testing::IsSupersetOf({"cpu-model.node.kubevirt.io/", "kubevirt.io/tdx"}));
}

TEST(LabelsTest, WritesNothingForAHostModelWithoutAName) {
    const auto labels = labeller_labels(host({.model = ""}), {}, nullptr);

    EXPECT_FALSE(labels.contains("host-model-cpu.node.kubevirt.io/"));
}

TEST(LabelsTest, HasNoCpuLabelsOnArm) {
    auto profile = host({.usable = {"cortex-a57"}, .machines = {"virt"}});
    profile.arch = "aarch64";

    EXPECT_EQ(labeller_labels(profile, {}, nullptr),
              (Labels{{"machine-type.node.kubevirt.io/virt", "true"}}));
}

TEST(LabelsTest, NamesIbmWhereS390LeavesTheVendorOut) {
    auto profile = host({.model = "gen15a-base", .vendor = ""});
    profile.arch = "s390x";

    EXPECT_EQ(stock_node(labeller_labels(profile, {}, nullptr)).vendors,
              (std::vector<std::string>{"IBM"}));
}

TEST(LabelsTest, RoundTripThroughTheGateEqualsTheFormula) {
    const auto map = test::small_map();
    const auto source = host({.model = "Small", .require = {"avx"}, .usable = {"Large", "Small"}});
    const auto fits = host({.model = "Large", .usable = {"Small"}});
    const auto lacks = host({.model = "Small", .usable = {"Small"}});

    const auto guest = stock_host_model_guest(stock_node(standalone_labels(source, {}, &map)), "");

    EXPECT_EQ(pass_gate(guest, stock_node(standalone_labels(fits, {}, &map))).verdict,
              Verdict::can);
    const auto refused = pass_gate(guest, stock_node(standalone_labels(lacks, {}, &map)));
    EXPECT_EQ(refused.verdict, Verdict::cannot);
    EXPECT_THAT(refused.reasons.at(0).keys,
                testing::ElementsAre("cpu-feature.node.kubevirt.io/avx"));
}

}  // namespace
}  // namespace scout::migration
