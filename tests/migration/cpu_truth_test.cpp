// SPDX-License-Identifier: Apache-2.0
#include "migration/cpu_truth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profiles.h"

namespace scout::migration {
namespace {

using test::host;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A live guest of model Small.
GuestCpu live_guest() {
    return {.arch = "x86_64", .virt_type = "kvm", .vendor = "Intel", .model = "Small"};
}

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

TEST_F(CpuTruthTest, DrawsNothingFromDocumentsThatDoNotSayWhatTheyAreOf) {
    auto no_domain = host({});
    no_domain.virt_type.clear();
    auto no_arch = host({});
    no_arch.arch.clear();
    auto bare = host({});
    bare.origin = ProfileOrigin::bare_cpu;
    bare.arch.clear();
    bare.virt_type.clear();
    auto fragment = bare;
    fragment.origin = ProfileOrigin::domain_capabilities;
    auto guest = live_guest();
    guest.arch.clear();

    const auto says = [](const TruthAnswer& answer, const char* key) {
        return answer.verdict == Verdict::unknown && answer.reasons.size() == 1 &&
               answer.reasons[0].code == ReasonCode::not_comparable &&
               answer.reasons[0].keys == std::vector<std::string>{key};
    };
    EXPECT_TRUE(says(ask(host({}), no_domain), "domain"));
    EXPECT_TRUE(says(ask(no_domain, host({})), "domain"));
    EXPECT_TRUE(says(ask(host({}), no_arch), "arch"));
    EXPECT_TRUE(says(ask(no_arch, host({})), "arch"));
    EXPECT_TRUE(says(ask(fragment, host({})), "domain"));
    EXPECT_TRUE(says(ask(guest, host({})), "arch"));
    EXPECT_EQ(ask(bare, host({})).verdict, Verdict::can) << "a bare <cpu> names neither";
    EXPECT_EQ(ask(host({}), bare).verdict, Verdict::can);
}

TEST_F(CpuTruthTest, HoldsAGuestToAnAddressWidthThatItInsistsOn) {
    auto guest = live_guest();
    guest.address_bits = 46;
    auto target = host({});
    const auto with = [&target](MaxPhysAddr element) {
        target.host_model->maxphysaddr = std::move(element);
        return target;
    };

    EXPECT_EQ(ask(guest, target).verdict, Verdict::unknown) << "the width is not told";
    EXPECT_EQ(ask(guest, with({.mode = "passthrough", .bits = {}, .limit = 46})).verdict,
              Verdict::can);
    const auto narrow = ask(guest, with({.mode = "passthrough", .bits = {}, .limit = 39}));
    EXPECT_EQ(narrow.verdict, Verdict::cannot);
    EXPECT_EQ(narrow.reasons.at(0).code, ReasonCode::feature);
    EXPECT_THAT(narrow.reasons.at(0).keys, ElementsAre("maxphysaddr"));
    EXPECT_THAT(narrow.missing, IsEmpty());
    EXPECT_EQ(ask(guest, with({.mode = "emulate", .bits = 45, .limit = {}})).verdict,
              Verdict::cannot);
    EXPECT_EQ(ask(with({.mode = "emulate", .bits = 48, .limit = {}}),
                  with({.mode = "passthrough", .bits = {}, .limit = 46}))
                  .verdict,
              Verdict::cannot);
    EXPECT_EQ(ask(with({.mode = "passthrough", .bits = {}, .limit = 48}),
                  with({.mode = "passthrough", .bits = {}, .limit = 46}))
                  .verdict,
              Verdict::can)
        << "what is passed through follows the host";
}

TEST_F(CpuTruthTest, ShowsWhatDecidesBeforeWhatCouldNotBeTold) {
    auto guest = live_guest();
    guest.tsc_hz = 1;
    guest.machine = "pc-q35-9.0";
    guest.model = "Large";

    const auto answer = ask(guest, host({.model = "Small", .vendor = "", .machines = {"q35"}}));

    ASSERT_EQ(answer.reasons.size(), 3U);
    EXPECT_EQ(answer.verdict, Verdict::cannot);
    EXPECT_EQ(answer.reasons[0].code, ReasonCode::machine_type);
    EXPECT_EQ(answer.reasons[1].code, ReasonCode::feature);
    EXPECT_EQ(answer.reasons[2].code, ReasonCode::tsc) << "not known, so it decides nothing";
}

TEST_F(CpuTruthTest, SaysOfEveryDoubtWhatItSpeaksOf) {
    auto passed_through = live_guest();
    passed_through.mode = CpuMode::host_passthrough;
    auto no_host_model = host({});
    no_host_model.host_model.reset();
    auto no_model = live_guest();
    no_model.model.clear();

    EXPECT_THAT(ask(passed_through, host({})).reasons.at(0).keys, ElementsAre("host-passthrough"));
    EXPECT_THAT(ask(live_guest(), no_host_model).reasons.at(0).keys, ElementsAre("host-model"));
    EXPECT_THAT(ask(no_model, host({})).reasons.at(0).keys, ElementsAre("model"));
    EXPECT_THAT(ask(host({.model = "Newest"}), host({})).reasons.at(0).keys, ElementsAre("Newest"));
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

TEST_F(CpuTruthTest, TakesTwoUnstatedVendorsForNoAgreementButOnS390x) {
    const auto nameless = host({.model = "Generic", .vendor = ""});
    auto ibm = host({.model = "Generic", .vendor = "", .require = {"esan3", "zarch"}});
    ibm.arch = "s390x";

    EXPECT_EQ(ask(nameless, nameless).verdict, Verdict::unknown);
    EXPECT_EQ(ask(ibm, ibm).verdict, Verdict::can);
}

TEST_F(CpuTruthTest, ConcludesNoVendorFromTheNameOfAModel) {
    const GuestCpu on_some_host{.arch = "x86_64", .virt_type = "kvm", .model = "Small"};
    const auto amd = host({.model = "Other", .vendor = "AMD"});

    EXPECT_EQ(ask(on_some_host, amd).verdict, Verdict::unknown);
    EXPECT_EQ(ask(on_some_host, host({})).verdict, Verdict::unknown)
        << "the map's vendor is that of the model, not of the host that runs the guest";
    EXPECT_EQ(ask(running_on(on_some_host, host({})), host({})).verdict, Verdict::can);
    EXPECT_EQ(ask(running_on(on_some_host, amd), amd).verdict, Verdict::can);
    EXPECT_EQ(ask(running_on(on_some_host, host({})), amd).verdict, Verdict::cannot);
}

TEST_F(CpuTruthTest, IsCertainOfNoGuestThatTheDocumentLeavesOpen) {
    auto guest = live_guest();
    guest.doubt = "features are optional in the document";

    const auto answer = ask(guest, host({}));

    EXPECT_EQ(answer.verdict, Verdict::unknown);
    EXPECT_THAT(answer.reasons.at(0).text, HasSubstr("optional in the document"));
    EXPECT_EQ(ask(guest, host({.model = "Other", .vendor = "AMD"})).verdict, Verdict::cannot);
}

TEST_F(CpuTruthTest, TakesADocumentThatLacksFeaturesOfItsModelForUnexpanded) {
    auto guest = live_guest();
    guest.model = "Large";
    guest.require = {"cx8", "fpu", "mmx"};

    EXPECT_THAT(ask(guest, host({})).missing, ElementsAre("aes", "avx"));
    guest.disable = {"aes", "avx", "sse"};
    EXPECT_EQ(ask(guest, host({})).verdict, Verdict::can);
    EXPECT_EQ(effective_features(guest, &map).origin, SetOrigin::expanded);
}

TEST_F(CpuTruthTest, LetsNoGuestWithInvtscAwayUnlessItsTscIsPinned) {
    const auto target = host({.require = {"invtsc"}});
    auto guest = live_guest();
    guest.require = {"invtsc"};

    EXPECT_EQ(ask(guest, target).verdict, Verdict::cannot);
    EXPECT_EQ(ask(guest, target).reasons.at(0).code, ReasonCode::tsc);
    guest.tsc_hz = 2'000'000'000;
    EXPECT_EQ(ask(guest, target, {.tsc_hz = 2'000'000'000}).verdict, Verdict::can);
    EXPECT_EQ(ask(target, target).verdict, Verdict::can) << "of a host-model only an ability";
}

/// Domain capabilities list it; libvirt starts no host-model guest with it.
TEST_F(CpuTruthTest, AsksForNoInvtscOfAHostModelGuest) {
    const auto with = host({.require = {"aes", "invtsc"}});
    const auto without = host({.require = {"aes"}});

    EXPECT_EQ(ask(with, without).verdict, Verdict::can);
    auto guest = live_guest();
    guest.require = {"invtsc"};
    guest.tsc_hz = 2'000'000'000;
    const HostFacts facts{.tsc_hz = 2'000'000'000};
    EXPECT_EQ(ask(guest, with, facts).verdict, Verdict::can) << "the host offers it";
    EXPECT_THAT(ask(guest, without, facts).missing, ElementsAre("invtsc"));
}

TEST_F(CpuTruthTest, WhatTheGuestPerhapsHasIsNoFirmNo) {
    auto guest = live_guest();
    guest.require = {"aes", "arat", "avx"};
    guest.lost = {"arat"};

    const auto open = ask(guest, host({.model = "Large"}));
    EXPECT_EQ(open.verdict, Verdict::unknown);
    EXPECT_THAT(open.missing, IsEmpty());
    ASSERT_EQ(open.reasons.size(), 1U);
    EXPECT_THAT(open.reasons[0].text, HasSubstr("the guest may have arat since its start"));

    const auto firm = ask(guest, host({.model = "Small"}));
    EXPECT_EQ(firm.verdict, Verdict::cannot);
    EXPECT_THAT(firm.missing, AllOf(Contains("avx"), Not(Contains("arat"))));
    EXPECT_EQ(ask(guest, host({.model = "Large", .require = {"arat"}})).verdict, Verdict::can);
}

TEST_F(CpuTruthTest, TellsGenerationsOfS390xByTheirModels) {
    const auto mainframe = [](const char* model, std::vector<std::string> usable) {
        auto out = host({.model = model,
                         .vendor = "",
                         .require = {"esan3", "vx", "zarch"},
                         .usable = std::move(usable)});
        out.arch = "s390x";
        return out;
    };
    const auto newer = mainframe("gen16a-base", {"gen16a-base", "z13-base"});
    const auto older = mainframe("z13-base", {"z13-base"});

    EXPECT_EQ(ask(newer, older).verdict, Verdict::unknown);
    EXPECT_EQ(ask(newer, older).reasons.at(0).code, ReasonCode::model);
    EXPECT_EQ(ask(older, newer).verdict, Verdict::can);
    EXPECT_EQ(ask(older, mainframe("z13-base", {})).verdict, Verdict::can);
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

TEST_F(CpuTruthTest, MoreVcpusThanTheMachineTypeTakesCannotRunThere) {
    auto guest = live_guest();
    auto target = host({.model = "Small"});
    guest.machine = "pc-q35-7.2";
    guest.vcpus = 300;
    EXPECT_EQ(ask(guest, target).verdict, Verdict::can) << "the most is not told";
    target.asked_machine = "pc-q35-7.2";
    target.max_vcpus = 300;
    EXPECT_EQ(ask(guest, target).verdict, Verdict::can);
    target.max_vcpus = 288;

    const auto answer = ask(guest, target);
    guest.machine = "pc-i440fx-7.2";
    const auto another_type = ask(guest, target);

    EXPECT_EQ(answer.verdict, Verdict::cannot);
    EXPECT_EQ(answer.reasons.front().code, ReasonCode::machine_type);
    EXPECT_THAT(answer.reasons.front().text, HasSubstr("300 vCPUs, the target takes at most 288"));
    EXPECT_EQ(another_type.verdict, Verdict::unknown);
    EXPECT_THAT(another_type.reasons.front().text, HasSubstr("of the guest, pc-i440fx-7.2"));
}

TEST_F(CpuTruthTest, WhatTiesAGuestToItsHostIsNeverAPlainYes) {
    auto guest = live_guest();
    guest.ties = FeatureSet{"hostdev mdev", "launchSecurity sev"};

    const auto answer = ask(guest, host({.model = "Small"}));
    const auto lacking = ask(guest, host({.model = "Small", .disable = {"sse"}}));

    EXPECT_EQ(answer.verdict, Verdict::unknown);
    ASSERT_EQ(answer.reasons.size(), 1U);
    EXPECT_EQ(answer.reasons[0].code, ReasonCode::not_comparable);
    EXPECT_THAT(answer.reasons[0].text,
                HasSubstr("not judged: the guest has hostdev mdev, launchSecurity sev; check"));
    EXPECT_THAT(answer.reasons[0].keys, ElementsAre("hostdev mdev", "launchSecurity sev"));
    EXPECT_EQ(lacking.verdict, Verdict::cannot);
}

TEST_F(CpuTruthTest, TheProfileIsAnotherWhereTheMostVcpusDiffer) {
    auto profile = host({});
    const auto not_told = digest(profile);
    profile.max_vcpus = 288;
    const auto told = digest(profile);
    profile.max_vcpus = 255;

    EXPECT_NE(told, not_told);
    EXPECT_NE(told, digest(profile));
}

}  // namespace
}  // namespace scout::migration
