// SPDX-License-Identifier: Apache-2.0
#include "migration/cpu_truth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profiles.h"

namespace scout::migration {
namespace {

using test::host;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CpuTruthTest : public testing::Test {
protected:
    [[nodiscard]] TruthAnswer ask(const Profile& from, const Profile& to) const {
        return ask(host_model_guest(from), to);
    }
    [[nodiscard]] TruthAnswer ask(const GuestCpu& guest, const Profile& to,
                                  const HostFacts& facts = {}) const {
        return compare_truth(guest, {.profile = to, .facts = facts}, &map);
    }

    CpuMap map = test::small_map();
};

TEST_F(CpuTruthTest, FitsWhenEveryFeatureOfTheModelIsThere) {
    const auto answer = ask(host({.model = "Small"}), host({.model = "Large"}));

    EXPECT_EQ(answer.verdict, Verdict::can);
    EXPECT_THAT(answer.missing, IsEmpty());
    EXPECT_THAT(answer.reasons, IsEmpty());
    EXPECT_EQ(answer.map, "test map");
}

TEST_F(CpuTruthTest, NamesExactlyWhatIsMissing) {
    const auto answer = ask(host({.model = "Large", .require = {"ssbd"}, .disable = {"avx"}}),
                            host({.model = "Small", .disable = {"sse"}}));

    EXPECT_EQ(answer.verdict, Verdict::cannot);
    EXPECT_THAT(answer.missing, ElementsAre("aes", "ssbd", "sse"));
    ASSERT_EQ(answer.reasons.size(), 1U);
    EXPECT_EQ(answer.reasons[0].code, ReasonCode::feature);
    EXPECT_THAT(answer.reasons[0].keys, ElementsAre("aes", "ssbd", "sse"));
}

TEST_F(CpuTruthTest, SaysVendorFirstAndStillWhatIsMissing) {
    const auto answer = ask(host({.model = "Large"}), host({.model = "Other", .vendor = "AMD"}));

    EXPECT_EQ(answer.verdict, Verdict::cannot);
    ASSERT_EQ(answer.reasons.size(), 2U);
    EXPECT_EQ(answer.reasons[0].code, ReasonCode::vendor);
    EXPECT_THAT(answer.missing, ElementsAre("aes", "avx"));
}

TEST_F(CpuTruthTest, ConcludesNothingFromAModelThatTheMapDoesNotKnow) {
    const auto answer = ask(host({.model = "Newest"}), host({.model = "Newest"}));

    EXPECT_EQ(answer.verdict, Verdict::unknown);
    ASSERT_EQ(answer.reasons.size(), 1U);
    EXPECT_EQ(answer.reasons[0].code, ReasonCode::not_comparable);
    EXPECT_THAT(answer.reasons[0].text, HasSubstr("Newest"));
    EXPECT_THAT(answer.reasons[0].text, HasSubstr("test map"));
}

TEST_F(CpuTruthTest, NeedsNoMapForExpandedDocuments) {
    const auto source = host({.model = "Newest", .require = {"fpu", "cx8", "mmx", "amx-tile"}});
    const auto target = host({.model = "Newer", .require = {"fpu", "cx8", "mmx"}});

    const auto answer = compare_truth(host_model_guest(source), {target, {}}, nullptr);

    EXPECT_EQ(answer.verdict, Verdict::cannot);
    EXPECT_THAT(answer.missing, ElementsAre("amx-tile"));
    EXPECT_EQ(answer.map, "");
}

TEST_F(CpuTruthTest, DrawsNothingFromEmulation) {
    auto emulated = host({});
    emulated.virt_type = "qemu";

    for (const auto& answer : {ask(emulated, host({})), ask(host({}), emulated)}) {
        EXPECT_EQ(answer.verdict, Verdict::unknown);
        ASSERT_EQ(answer.reasons.size(), 1U);
        EXPECT_EQ(answer.reasons[0].code, ReasonCode::virt_type);
    }
}

TEST_F(CpuTruthTest, RefusesAnotherArchitecture) {
    auto arm = host({});
    arm.arch = "aarch64";
    arm.host_model.reset();

    const auto answer = ask(host({}), arm);

    EXPECT_EQ(answer.verdict, Verdict::cannot);
    EXPECT_EQ(answer.reasons.at(0).code, ReasonCode::arch);
    EXPECT_EQ(ask(arm, arm).verdict, Verdict::unknown);
}

TEST_F(CpuTruthTest, ComparesVmxDetailsOnlyWhenBothSidesListSome) {
    const auto silent = host({});
    const auto lists_ept = host({.require = {"vmx-ept"}});
    const auto lists_both = host({.require = {"vmx-ept", "vmx-vpid"}});

    EXPECT_EQ(ask(lists_both, silent).verdict, Verdict::can);
    EXPECT_THAT(ask(lists_both, lists_ept).missing, ElementsAre("vmx-vpid"));
    EXPECT_EQ(ask(lists_ept, lists_both).verdict, Verdict::can);
}

TEST_F(CpuTruthTest, TakesTheListOfSupportedFeaturesWhereThereIsOne) {
    auto target = host({.model = "Large"});
    target.supported_listed = true;
    target.supported = {"cx8", "fpu", "mmx"};

    EXPECT_THAT(ask(host({.model = "Small"}), target).missing, ElementsAre("sse"));
}

TEST_F(CpuTruthTest, HoldsALiveGuestToItsMachineType) {
    auto guest = host_model_guest(host({}));
    guest.machine = "pc-q35-9.0";
    const auto without = host({.machines = {"pc-q35-8.0", "q35"}});
    const auto with = host({.machines = {"pc-q35-8.0", "pc-q35-9.0"}});

    EXPECT_EQ(ask(guest, without).verdict, Verdict::cannot);
    EXPECT_EQ(ask(guest, without).reasons.at(0).code, ReasonCode::machine_type);
    EXPECT_EQ(ask(guest, with).verdict, Verdict::can);
    EXPECT_EQ(ask(guest, host({})).verdict, Verdict::can) << "no list, no claim";
}

TEST_F(CpuTruthTest, SaysThatAPassedThroughCpuCannotBeCompared) {
    GuestCpu guest{.mode = CpuMode::host_passthrough, .arch = "x86_64", .virt_type = "kvm"};

    const auto answer = ask(guest, host({}));

    EXPECT_EQ(answer.verdict, Verdict::unknown);
    EXPECT_EQ(answer.reasons.at(0).code, ReasonCode::not_comparable);
}

TEST_F(CpuTruthTest, ConcludesNoVendorFromTheNameOfAModel) {
    const GuestCpu on_some_host{.arch = "x86_64", .virt_type = "kvm", .model = "Small"};
    const auto amd = host({.model = "Other", .vendor = "AMD"});

    EXPECT_EQ(ask(on_some_host, amd).verdict, Verdict::unknown);
    EXPECT_EQ(ask(running_on(on_some_host, amd), amd).verdict, Verdict::can);
    EXPECT_EQ(ask(running_on(on_some_host, host({})), amd).verdict, Verdict::cannot);
}

TEST_F(CpuTruthTest, JudgesAPinnedTscByToleranceAndScaling) {
    auto guest = host_model_guest(host({}));
    guest.tsc_hz = 2'294'787'000;
    const HostFacts near{.tsc_hz = 2'295'300'000};
    const HostFacts far{.tsc_hz = 2'295'400'000};
    const HostFacts far_but_scalable{.tsc_hz = 2'295'400'000, .tsc_scalable = true};
    const HostFacts slower_but_scalable{.tsc_hz = 2'000'000'000, .tsc_scalable = true};

    EXPECT_EQ(ask(guest, host({}), near).verdict, Verdict::can);
    EXPECT_EQ(ask(guest, host({}), far).verdict, Verdict::cannot);
    EXPECT_EQ(ask(guest, host({}), far).reasons.at(0).code, ReasonCode::tsc);
    EXPECT_EQ(ask(guest, host({}), far_but_scalable).verdict, Verdict::can);
    EXPECT_EQ(ask(guest, host({}), slower_but_scalable).verdict, Verdict::cannot);
    EXPECT_EQ(ask(guest, host({}), {}).verdict, Verdict::unknown);
}

TEST(TscTest, ToleranceIsTwoHundredFiftyPerMillionInclusive) {
    EXPECT_TRUE(tsc_acceptable(1'000'250, 1'000'000, false));
    EXPECT_FALSE(tsc_acceptable(1'000'251, 1'000'000, false));
    EXPECT_TRUE(tsc_acceptable(999'750, 1'000'000, false));
    EXPECT_FALSE(tsc_acceptable(999'749, 1'000'000, false));
    EXPECT_TRUE(tsc_acceptable(1, 1'000'000, true));
    EXPECT_FALSE(tsc_acceptable(UINT64_MAX, 1, true));
    EXPECT_FALSE(tsc_acceptable(0, UINT64_MAX, false));
}

TEST(VerdictTest, CombinesAsTheDesignSays) {
    EXPECT_EQ(combine(Verdict::can, Verdict::can), Verdict::can);
    EXPECT_EQ(combine(Verdict::can, Verdict::unknown), Verdict::unknown);
    EXPECT_EQ(combine(Verdict::unknown, Verdict::cannot), Verdict::cannot);
    EXPECT_EQ(combine(Verdict::cannot, Verdict::can), Verdict::cannot);
}

}  // namespace
}  // namespace scout::migration
