// SPDX-License-Identifier: Apache-2.0
// Documents that are damaged, or that say one thing twice: refused with the place named, never read
// as if the damage were not there.
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "documents/profile_document.h"

namespace scout::documents {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Domain capabilities with this inside the host-model after its `<model>`.
std::string host_with(const std::string& inside) {
    return "<domainCapabilities><domain>kvm</domain><arch>x86_64</arch><cpu>"
           "<mode name='host-model' supported='yes'><model>Small</model>" +
           inside + "</mode></cpu></domainCapabilities>";
}

/// A live guest with these children of its `<cpu>`, and with these beside it.
std::string guest_with(const std::string& in_cpu, const std::string& beside = "") {
    return "<domain type='kvm'><os><type arch='x86_64'>hvm</type></os><cpu mode='custom'>"
           "<model>Small</model>" +
           in_cpu + "</cpu>" + beside + "</domain>";
}

std::string policy(const char* value) {
    return std::string{"<feature name='avx' policy='"} + value + "'/>";
}

struct Fault {
    const char* name;
    std::string xml;
    std::string says;
};

class FaultTest : public testing::TestWithParam<Fault> {};

TEST_P(FaultTest, IsNamed) {
    const auto document = parse_document(GetParam().xml);

    ASSERT_FALSE(document);
    EXPECT_EQ(document.error().code, Errc::invalid);
    EXPECT_THAT(document.error().message, HasSubstr(GetParam().says));
    EXPECT_LT(document.error().message.size(), 1000U);
}

const std::string long_name(1U << 20U, 'x');

INSTANTIATE_TEST_SUITE_P(
    Features, FaultTest,
    testing::Values(
        Fault{"GuestPolicy", guest_with(policy("mandatory")), "feature 'avx', found mandatory"},
        Fault{"HostPolicy", host_with(policy("")), "feature 'avx', found \"\""},
        Fault{"GuestBothWays", guest_with(policy("require") + policy("disable")),
              "one policy of feature 'avx'"},
        Fault{"HostBothWays", host_with(policy("disable") + "<feature name='avx'/>"),
              "one policy of feature 'avx'"},
        Fault{"WrongCase", guest_with("<feature name='avx' Policy='disable'/>"),
              "found attribute Policy"},
        Fault{"Wrapped", guest_with("<features><feature name='avx'/></features>"),
              "found one in <features>"},
        Fault{"HostWrapped", host_with("<a><b><feature name='avx'/></b></a>"), "found one in <b>"},
        Fault{"Text", guest_with("avx"), "found text: avx"},
        Fault{"HostText", host_with("<![CDATA[avx]]>"), "found text: avx"},
        Fault{"Nameless", guest_with("<feature policy='require'/>"), "name in every <feature>"}),
    [](const auto& param_info) { return param_info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    References, FaultTest,
    testing::Values(
        Fault{"Zero", guest_with("<feature name='x2apic&#0;avx'/>"), "&#0;avx"},
        Fault{"Surrogate", guest_with("<feature name='&#xD800;'/>"), "characters that XML has"},
        Fault{"TooLarge", guest_with("<feature name='&#x110000;'/>"), "characters that XML has"},
        Fault{"Endless", guest_with("<feature name='&#99999999999999999999;'/>"), "in line 1"},
        Fault{"Open", guest_with("<feature name='&#65'/>"), "characters that XML has"},
        Fault{"AtTheEnd", guest_with("") + "&#", "characters that XML has"}),
    [](const auto& param_info) { return param_info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Numbers, FaultTest,
    testing::Values(
        Fault{"Tsc", guest_with("", "<clock><timer name='tsc' frequency='2294787000 Hz'/></clock>"),
              "frequency of <timer>"},
        Fault{"TscEmpty", guest_with("", "<clock><timer name='tsc' frequency=''/></clock>"),
              "frequency of <timer>"},
        Fault{"GuestBits", guest_with("<maxphysaddr mode='emulate' bits='many'/>"),
              "bits of <maxphysaddr>"},
        Fault{"HostLimit", host_with("<maxphysaddr mode='passthrough' limit='-1'/>"),
              "limit of <maxphysaddr>"},
        Fault{"NoBits", host_with("<maxphysaddr mode='emulate' bits='0'/>"), "from 1 to 64"},
        Fault{"AddressMode", host_with("<maxphysaddr mode='guess'/>"), "found guess"},
        Fault{"CpuMode", "<domain type='kvm'><cpu mode='weird'/></domain>", "found weird"},
        Fault{"Supported",
              "<domainCapabilities><cpu><mode name='host-model' supported='damaged'/></cpu>"
              "</domainCapabilities>",
              "supported='yes' or 'no' in <mode>, found damaged"},
        Fault{"SupportedSev",
              "<domainCapabilities><features><sev supported=''/></features></domainCapabilities>",
              "in <sev>"},
        Fault{"SupportedTdx",
              "<domainCapabilities><features><tdx supported='1'/></features></domainCapabilities>",
              "in <tdx>, found 1"},
        Fault{"Usable",
              "<domainCapabilities><cpu><mode name='custom' supported='yes'><model usable='maybe'>"
              "A</model></mode></cpu></domainCapabilities>",
              "in <model>, found maybe"},
        Fault{"GuestVcpus", guest_with("", "<vcpu>many</vcpu>"),
              "<vcpu> as a whole number from 1 to 4294967295, found many"},
        Fault{"NoVcpus", guest_with("", "<vcpu>0</vcpu>"), "found 0"},
        Fault{"HostVcpus", "<domainCapabilities><vcpu max='-1'/></domainCapabilities>",
              "max of <vcpu> as a whole number from 1 to 4294967295, found -1"},
        Fault{"EsGuests",
              "<domainCapabilities><features><sev supported='yes'><maxESGuests>lots"
              "</maxESGuests></sev></features></domainCapabilities>",
              "<maxESGuests>"}),
    [](const auto& param_info) { return param_info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Twice, FaultTest,
    testing::Values(
        Fault{"TextAfter", guest_with("") + "and more", "found text: \"and more\""},
        Fault{"CdataAfter", guest_with("") + "<![CDATA[x]]>", "found text: x"},
        Fault{"TextBefore", "x" + guest_with(""), "found text: x"},
        Fault{"RootAfter", guest_with("") + guest_with(""), "one root element, found 2"},
        Fault{"Attribute", guest_with("<feature name='avx' policy='disable' policy='require'/>"),
              "found policy twice in <feature>"},
        Fault{"GuestModel", guest_with("<model>Large</model>"), "one <model> in <cpu>"},
        Fault{"GuestVendor", guest_with("<vendor>AMD</vendor><vendor>Intel</vendor>"),
              "one <vendor> in <cpu>"},
        Fault{"GuestCpu", guest_with("", "<cpu mode='host-passthrough'/>"),
              "one <cpu> in <domain>"},
        Fault{"GuestOs", guest_with("", "<os/>"), "one <os> in <domain>"},
        Fault{"GuestClock", guest_with("", "<clock/><clock/>"), "one <clock> in <domain>"},
        Fault{"GuestVcpusTwice", guest_with("", "<vcpu>1</vcpu><vcpu>2</vcpu>"),
              "one <vcpu> in <domain>"},
        Fault{"GuestDevices", guest_with("", "<devices/><devices><hostdev/></devices>"),
              "one <devices> in <domain>"},
        Fault{"GuestTimer",
              guest_with("", "<clock><timer name='tsc'/><timer name='tsc' frequency='1'/></clock>"),
              "one <timer name='tsc'> in <clock>"},
        Fault{"GuestWidth", guest_with("<maxphysaddr mode='passthrough'/><maxphysaddr/>"),
              "one <maxphysaddr> in <cpu>"},
        Fault{"GuestMemory", guest_with("", "<memory>1</memory><memory>2</memory>"),
              "one <memory> in <domain>"},
        Fault{"HostModel", host_with("<model>Large</model>"), "one <model> in <mode>"},
        Fault{"HostMode", host_with("</mode><mode name='host-model' supported='no'>"),
              "one <mode name='host-model'> in <cpu>"},
        Fault{"HostCpu", host_with("</mode></cpu><cpu><mode>"),
              "one <cpu> in <domainCapabilities>"},
        Fault{"HostArch",
              "<domainCapabilities><arch>x86_64</arch><arch>s390x</arch></domainCapabilities>",
              "one <arch> in <domainCapabilities>"},
        Fault{"HostDomain",
              "<domainCapabilities><domain>qemu</domain><domain>kvm</domain></domainCapabilities>",
              "one <domain> in <domainCapabilities>"},
        Fault{"NamedModel",
              host_with("</mode><mode name='custom' supported='yes'><model usable='yes'>A</model>"
                        "<model usable='no'>A</model>"),
              "one <model> A"},
        Fault{"BareModel", "<cpu><model>A</model><model>B</model></cpu>", "one <model> in <cpu>"}),
    [](const auto& param_info) { return param_info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Names, FaultTest,
    testing::Values(
        Fault{"Feature", guest_with("<feature name='" + long_name + "'/>"),
              "253 bytes in <feature>"},
        Fault{"Model", "<cpu><model>" + long_name + "</model></cpu>", "found 1048576"},
        Fault{"Vendor", host_with("<vendor>" + long_name + "</vendor>"), "253 bytes in <vendor>"},
        Fault{"Root", "<" + long_name + "/>", "found <xxx"},
        Fault{"Policy", guest_with(policy(long_name.c_str())), "found xxx"},
        Fault{"Trailing", guest_with("") + long_name, "found text: xxx"},
        Fault{"Escape", "<cpu><model>A\x1b[31m</model></cpu>", "\\x1b[31m"},
        Fault{"NoModel",
              "<domainCapabilities><cpu><mode name='host-model' supported='yes'><model/>"
              "</mode></cpu></domainCapabilities>",
              "name of a <model>"}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(FeatureTest, WithoutAPolicyIsRequiredAndMayBeRepeated) {
    const std::string features =
        "<feature name='avx'/><feature policy='require' name='avx'/><feature name='aes'/>"
        "<feature policy='disable' name='rtm'/><feature policy='disable' name='rtm'/>"
        "<feature policy='optional' name='pdpe1gb'/>";

    const auto guest = parse_domain(guest_with(features)).value().cpu;
    const auto host = parse_profile(host_with(features)).value().host_model.value();

    EXPECT_THAT(guest.require, ElementsAre("aes", "avx"));
    EXPECT_THAT(guest.disable, ElementsAre("rtm"));
    EXPECT_EQ(host.require, guest.require);
    EXPECT_EQ(host.disable, guest.disable);
}

TEST(FeatureTest, IsTakenFromABareCpuThatSaysHowItMatches) {
    const auto bare =
        parse_profile("<cpu match='exact'><model>Small</model><feature name='avx'/></cpu>");

    EXPECT_THAT(bare.value().host_model->require, ElementsAre("avx"));
}

TEST(NumberTest, NoFrequencyAndZeroAreNotPinned) {
    const auto hz = [](const std::string& timer) {
        return parse_domain(guest_with("", "<clock>" + timer + "</clock>")).value().cpu.tsc_hz;
    };

    EXPECT_EQ(hz("<timer name='tsc'/>"), std::nullopt);
    EXPECT_EQ(hz("<timer name='tsc' frequency='0'/>"), std::nullopt);
    EXPECT_EQ(hz("<timer name='hpet' frequency='x'/><timer name='tsc' frequency='5'/>"), 5U);
}

TEST(NumberTest, OnlyAnEmulatedAddressWidthBindsTheGuest) {
    const auto bits = [](const std::string& element) {
        return parse_domain(guest_with(element)).value().cpu.address_bits;
    };

    EXPECT_EQ(bits("<maxphysaddr mode='emulate' bits='46'/>"), 46U);
    EXPECT_EQ(bits("<maxphysaddr mode='emulate'/>"), std::nullopt);
    EXPECT_EQ(bits("<maxphysaddr mode='passthrough' limit='46'/>"), std::nullopt);
    EXPECT_EQ(bits(""), std::nullopt);
}

TEST(NameTest, IsReadAcrossComments) {
    EXPECT_EQ(parse_profile("<cpu><model> Sky<!-- -->lake </model></cpu>").value().host_model->name,
              "Skylake");
}

TEST(CapabilitiesFaultTest, NamesWhatCannotBeRead) {
    const auto message = [](const std::string& in_cpu) {
        const auto host = parse_capabilities("<capabilities><host><cpu>" + in_cpu +
                                             "</cpu></host></capabilities>");
        return host ? std::string{} : host.error().message;
    };

    EXPECT_EQ(message("<counter name='tsc' frequency='5'/>"), "");
    EXPECT_THAT(message("<counter name='tsc' frequency='fast'/>"), HasSubstr("frequency of"));
    EXPECT_THAT(message("<counter name='tsc' frequency='5' scaling='maybe'/>"), HasSubstr("maybe"));
    EXPECT_THAT(message("<counter name='tsc' frequency='5'/><counter name='tsc' frequency='6'/>"),
                HasSubstr("one <counter name='tsc'>"));
    EXPECT_THAT(message("<arch>x86_64</arch><arch>s390x</arch>"), HasSubstr("one <arch>"));
}

TEST(SupportedFeaturesFaultTest, RefusesAFeatureThatIsSupportedAndNot) {
    EXPECT_FALSE(
        parse_supported_features("<cpu>" + policy("require") + policy("disable") + "</cpu>"));
}

}  // namespace
}  // namespace scout::documents
