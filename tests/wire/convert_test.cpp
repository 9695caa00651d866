// SPDX-License-Identifier: Apache-2.0
#include "wire/convert.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "wire/checks.h"

namespace scout::wire {
namespace {

migration::Profile full_profile() {
    migration::Profile profile;
    profile.arch = "x86_64";
    profile.virt_type = "kvm";
    profile.vendor = "AMD";
    profile.host_model = migration::HostModel{
        .name = "EPYC-Rome",
        .require = {"stibp", "x2apic"},
        .disable = {"sha-ni"},
        .maxphysaddr = migration::MaxPhysAddr{.mode = "passthrough", .bits = {}, .limit = 48}};
    profile.models = {
        {.name = "EPYC", .usable = migration::Usable::yes, .vendor = "AMD", .blockers = {}},
        {.name = "EPYC-Rome",
         .usable = migration::Usable::no,
         .vendor = "AMD",
         .blockers = {"clwb", "umip"}},
        {.name = "qemu64",
         .usable = migration::Usable::unknown,
         .vendor = "unknown",
         .blockers = {}},
        {.name = "silent", .usable = {}, .vendor = "", .blockers = {}}};
    profile.supported_listed = true;
    profile.supported = {"aes", "avx2"};
    profile.machines = {"pc-q35-7.2", "q35"};
    profile.asked_machine = "q35";
    profile.max_vcpus = 288;
    return profile;
}

TEST(ConvertTest, ProfileComesBackWithTheSameDigest) {
    const auto profile = full_profile();

    const auto back = from_wire(to_wire(profile));

    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, profile);
    EXPECT_EQ(migration::digest(*back), migration::digest(profile));
}

TEST(ConvertTest, EmptyProfileAndBareCpuComeBack) {
    migration::Profile bare;
    bare.origin = migration::ProfileOrigin::bare_cpu;

    EXPECT_EQ(from_wire(to_wire(bare)).value(), bare);
    EXPECT_EQ(from_wire(to_wire(migration::Profile{})).value(), migration::Profile{});
}

TEST(ConvertTest, ListsAreSortedAgainWhateverTheSenderDid) {
    v1::Profile sent;
    for (const char* name : {"z", "a", "z"}) {
        sent.add_supported(name);
    }
    sent.add_models()->set_name("z");
    sent.add_models()->set_name("a");

    const auto back = from_wire(sent).value();

    EXPECT_EQ(back.supported, (migration::FeatureSet{"a", "z"}));
    EXPECT_EQ(back.models.front().name, "a");
}

TEST(ConvertTest, NamesAndListsOverTheLimitAreRefusedByField) {
    v1::Profile long_name;
    long_name.mutable_host_model()->set_name(std::string(254, 'x'));
    v1::Profile long_list;
    for (std::size_t i = 0; i <= list_limit; ++i) {
        long_list.add_supported("f");
    }

    const auto name = from_wire(long_name);
    const auto list = from_wire(long_list);

    ASSERT_FALSE(name);
    EXPECT_EQ(name.error().code, Errc::invalid);
    EXPECT_EQ(name.error().message,
              "profile: host_model.name: expected at most 253 bytes, found 254");
    ASSERT_FALSE(list);
    EXPECT_EQ(list.error().message,
              "profile: supported: expected at most 4096 entries, found 4097");
}

/// A comparison through the answer that carries it.
Result<migration::Comparison> carried(const v1::Comparison& comparison) {
    v1::WhereResponse answer;
    *answer.add_nodes()->mutable_comparison() = comparison;
    auto placement = from_wire(answer);
    if (!placement) {
        return fail(std::move(placement.error()));
    }
    return placement->nodes.front().comparison;
}

TEST(ConvertTest, UnknownEnumeratorsAreRefused) {
    v1::Profile profile;
    profile.add_models()->set_usable(static_cast<v1::Profile::Usable>(9));
    v1::GuestCpu guest;
    guest.set_mode(static_cast<v1::GuestCpu::Mode>(9));
    v1::Comparison comparison;
    comparison.set_gate(static_cast<v1::Verdict>(9));

    EXPECT_EQ(from_wire(profile).error().code, Errc::invalid);
    EXPECT_EQ(from_wire(guest).error().code, Errc::invalid);
    EXPECT_EQ(carried(comparison).error().code, Errc::invalid);
}

TEST(ConvertTest, GuestComesBackInEveryMode) {
    for (const auto mode : {migration::CpuMode::custom, migration::CpuMode::host_model,
                            migration::CpuMode::host_passthrough, migration::CpuMode::unstated}) {
        migration::GuestCpu guest;
        guest.mode = mode;
        guest.arch = "x86_64";
        guest.model = "Haswell";
        guest.require = {"a", "b"};
        guest.disable = {"c"};
        guest.machine = "pc-q35-7.2";
        guest.tsc_hz = 2'294'787'000;
        guest.doubt = "the document is not of a running guest: it has no id";
        guest.vcpus = 8;
        EXPECT_EQ(from_wire(to_wire(guest)).value(), guest) << "ties not told";
        guest.ties = migration::FeatureSet{};
        EXPECT_EQ(from_wire(to_wire(guest)).value(), guest) << "no ties";
        guest.ties = {"hostdev pci"};

        EXPECT_EQ(from_wire(to_wire(guest)).value(), guest);
    }
}

TEST(ConvertTest, FactsComeBackAndLongOnesAreCut) {
    migration::HostFacts facts;
    facts.tsc_hz = 0;
    facts.tsc_scalable = true;
    facts.numa_cells = 2;
    facts.kernel = "6.1.0";
    facts.bios = "1.2 2024-01-01";

    EXPECT_EQ(from_wire(to_wire(facts)), facts);
    facts.bios = std::string(1000, 'x');
    EXPECT_EQ(from_wire(to_wire(facts)).bios.size(), name_limit);
}

migration::Comparison gap() {
    migration::Comparison comparison;
    comparison.verdict = migration::Verdict::cannot;
    comparison.gate = migration::Verdict::can;
    comparison.truth = migration::Verdict::cannot;
    comparison.missing = {"svm"};
    comparison.reasons = {{.code = migration::ReasonCode::feature,
                           .layer = migration::Layer::truth,
                           .text = "1 feature is missing: svm",
                           .keys = {"svm"}},
                          {.code = migration::ReasonCode::machine_type,
                           .layer = migration::Layer::stock,
                           .text = "no label",
                           .keys = {"machine-type.node.kubevirt.io/q35"}}};
    comparison.map = "/usr/share/libvirt/cpu_map";
    comparison.assumed = true;
    return comparison;
}

TEST(ConvertTest, ComparisonComesBackWithBothLayersAndEveryReason) {
    const auto back = carried(to_wire(gap())).value();

    EXPECT_TRUE(back.gap());
    EXPECT_EQ(back.missing, migration::FeatureSet{"svm"});
    ASSERT_EQ(back.reasons.size(), 2U);
    EXPECT_EQ(back.reasons[0].code, migration::ReasonCode::feature);
    EXPECT_EQ(back.reasons[1].layer, migration::Layer::stock);
    EXPECT_EQ(back.reasons[1].keys.front(), "machine-type.node.kubevirt.io/q35");
    EXPECT_EQ(back.map, "/usr/share/libvirt/cpu_map");
    EXPECT_TRUE(back.assumed);
}

TEST(ConvertTest, EveryReasonCodeComesBack) {
    for (int code = 0; code <= static_cast<int>(migration::ReasonCode::not_comparable); ++code) {
        auto sent = gap();
        sent.reasons.front().code = static_cast<migration::ReasonCode>(code);

        const auto back = carried(to_wire(sent));

        ASSERT_TRUE(back) << back.error().message;
        EXPECT_EQ(back->reasons.front().code, sent.reasons.front().code);
    }
}

TEST(ConvertTest, ReasonOfAnUnknownCodeOrLayerIsRefused) {
    auto code = to_wire(gap());
    code.mutable_reasons(0)->set_code("weather");
    auto layer = to_wire(gap());
    layer.mutable_reasons(0)->set_layer("crust");

    EXPECT_EQ(carried(code).error().message,
              "placement: reasons.code: expected a known code, found 'weather'");
    EXPECT_FALSE(carried(layer));
}

TEST(ConvertTest, PlacementComesBackSortedByNode) {
    v1::WhereResponse answer;
    answer.set_subject("vm-7");
    answer.set_source("n1");
    for (const char* name : {"n3", "n2"}) {
        auto* node = answer.add_nodes();
        node->set_node(name);
        *node->mutable_comparison() = to_wire(name[1] == '3' ? gap() : migration::Comparison{});
    }
    answer.add_notes("second");
    answer.add_notes("first");

    const auto back = from_wire(answer).value();

    EXPECT_EQ(back.subject, "vm-7");
    EXPECT_EQ(back.source, "n1");
    ASSERT_EQ(back.nodes.size(), 2U);
    EXPECT_EQ(back.nodes[0].node, "n2");
    EXPECT_TRUE(back.nodes[1].comparison.gap());
    EXPECT_EQ(back.notes, (std::vector<std::string>{"second", "first"})) << "in their own order";
}

TEST(ConvertTest, BaselineAndUpgradeImpactComeBack) {
    migration::Baseline baseline;
    baseline.model = "EPYC";
    baseline.vendor = "AMD";
    baseline.reason = "largest";
    baseline.common = {"EPYC", "Nehalem"};
    baseline.losses["n1"].features = migration::FeatureSet{"avx2"};
    baseline.losses["n2"].features = migration::FeatureSet{};
    baseline.losses["n3"].why = "not told";
    baseline.custom_features = {"aes"};
    migration::UpgradeImpact impact;
    impact.model_before = "A";
    impact.model_after = "B";
    impact.named_usable_after = migration::Usable::no;
    impact.comparable = true;
    impact.missing_after = {"xsaves"};
    impact.advice = "restart";
    EXPECT_EQ(from_wire(to_wire(impact)).machines_missing_after, std::nullopt);
    impact.machines_missing_after = {"pc-q35-5.2"};
    impact.machines_missing_before = migration::FeatureSet{};
    impact.notes = {"the TSC frequency is not known"};

    const auto base = from_wire(to_wire(baseline));
    const auto effect = from_wire(to_wire(impact));

    EXPECT_EQ(base.model, baseline.model);
    EXPECT_EQ(base.common, baseline.common);
    EXPECT_EQ(base.losses, baseline.losses);
    EXPECT_EQ(base.custom_features, baseline.custom_features);
    EXPECT_TRUE(effect.model_changed());
    EXPECT_EQ(effect.named_usable_before, std::nullopt);
    EXPECT_EQ(effect.named_usable_after, migration::Usable::no);
    EXPECT_EQ(effect.missing_after, migration::FeatureSet{"xsaves"});
    EXPECT_EQ(effect.advice, "restart");
    EXPECT_EQ(effect.machines_missing_after, impact.machines_missing_after);
    EXPECT_EQ(effect.machines_missing_before, impact.machines_missing_before);
    EXPECT_EQ(effect.notes, impact.notes);
}

TEST(ConvertTest, TextIsCutAtAWholeCharacter) {
    EXPECT_EQ(cut("abc", 3), "abc");
    EXPECT_EQ(cut("ab\xC3\xA4", 3), "ab");
    EXPECT_EQ(cut("\xE2\x82\xAC", 2), "");
}

}  // namespace
}  // namespace scout::wire
