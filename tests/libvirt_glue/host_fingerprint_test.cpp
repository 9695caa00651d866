// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/host_fingerprint.h"

#include <string>

#include <gmock/gmock.h>

#include "tests/support/temporary_folder.h"

namespace scout::hypervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

HostFingerprint sample() {
    HostFingerprint host;
    host.microcode = "0x1";
    host.kernel = "6.1.0-18-amd64";
    host.bios = "1.2 (02/03/2024)";
    host.source = "qemu:///embed";
    host.software = "libvirt 9.0.0, hypervisor 7.2.19";
    host.profile_digest = "aa";
    return host;
}

TEST(HostFingerprintTest, ReadsBelowTheRootFolder) {
    const test::TemporaryFolder root;
    root.write("proc/cpuinfo", "processor\t: 0\nmicrocode\t: 0x2007006\n\nmicrocode : 0x9\n");
    root.write("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    root.write("sys/class/dmi/id/bios_version", "U32 v2.62\n");
    root.write("sys/class/dmi/id/bios_date", "02/09/2023\n");

    const auto host = read_host_fingerprint(root.path());

    EXPECT_EQ(host.microcode, "0x2007006");
    EXPECT_EQ(host.kernel, "6.1.0-18-amd64");
    EXPECT_EQ(host.bios, "U32 v2.62 (02/09/2023)");
}

TEST(HostFingerprintTest, LeavesEmptyWhatTheHostDoesNotSay) {
    const test::TemporaryFolder root;
    root.write("proc/cpuinfo", "processor : 0\nFeatures : fp asimd\n");

    EXPECT_EQ(read_host_fingerprint(root.path()), HostFingerprint{});
}

TEST(HostFingerprintTest, NamesAChangeAndWhatItMeansForLabels) {
    auto now = sample();
    now.microcode = "0x2";
    now.profile_digest = "bb";

    const auto changes = describe_changes(sample(), now);

    EXPECT_THAT(changes, ElementsAre(AllOf(StartsWith("microcode changed 0x1 -> 0x2: "),
                                           HasSubstr("until virt-handler restarts")),
                                     HasSubstr("what the hypervisor can run here changed")));
}

TEST(HostFingerprintTest, TellsAProfileThatChangedWithoutAnyKnownCause) {
    auto now = sample();
    now.profile_digest = "bb";

    EXPECT_THAT(describe_changes(sample(), now), ElementsAre(HasSubstr("did not: look for")));
}

TEST(HostFingerprintTest, FindsNoChangeInUnknownFactsOrBetweenSources) {
    auto now = sample();
    now.microcode.clear();
    EXPECT_THAT(describe_changes(sample(), now), IsEmpty());
    EXPECT_THAT(describe_changes(sample(), sample()), IsEmpty());

    now = sample();
    now.kernel = "6.12";
    now.source = "qemu:///system";
    EXPECT_THAT(describe_changes(sample(), now), IsEmpty());
}

TEST(HostFingerprintTest, ReadsBackWhatItWrote) {
    const auto text = format_fingerprint(sample());

    EXPECT_EQ(parse_fingerprint(text).value(), sample());
}

TEST(HostFingerprintTest, RefusesADamagedState) {
    const auto text = format_fingerprint(sample());

    for (const auto& damaged :
         {std::string(), text.substr(0, text.size() / 2), std::string("[]"),
          std::string(R"({"version":2})"), std::string(R"({"version":1,"microcode":3})"),
          std::string(200'000, '['), std::string(1'000'000, ' ')}) {
        const auto state = parse_fingerprint(damaged);
        ASSERT_FALSE(state);
        EXPECT_EQ(state.error().code, Errc::invalid);
    }
}

}  // namespace
}  // namespace scout::hypervisor
