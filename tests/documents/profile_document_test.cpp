// SPDX-License-Identifier: Apache-2.0
#include "documents/profile_document.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::documents {
namespace {

using migration::CpuMode;
using migration::ProfileOrigin;
using migration::Usable;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* host = R"(<?xml version='1.0' encoding='UTF-8'?>
<domainCapabilities>
  <domain>kvm</domain>
  <machine>pc-q35-9.0</machine>
  <arch>x86_64</arch>
  <cpu>
    <mode name='host-passthrough' supported='yes'/>
    <mode name='host-model' supported='yes'>
      <model fallback='forbid'>
        Large
      </model>
      <vendor>Intel</vendor>
      <maxphysaddr mode='passthrough' limit='46'/>
      <feature policy='require' name='ssbd'/>
      <feature policy='force' name='avx'/>
      <feature policy='disable' name='rtm'/>
      <feature policy='forbid' name='hle'/>
      <feature policy='optional' name='ignored'/>
    </mode>
    <mode name='custom' supported='yes'>
      <model usable='yes' vendor='Intel'>Small</model>
      <model usable='no' vendor='Intel'>Large</model>
      <model usable='unknown'>Odd</model>
      <model>Silent</model>
      <blockers model='Large'>
        <feature name='rtm'/>
        <feature name='hle'/>
      </blockers>
    </mode>
  </cpu>
</domainCapabilities>)";

TEST(ProfileDocumentTest, ReadsEveryFieldOfDomainCapabilities) {
    const auto profile = parse_profile(host).value();

    EXPECT_EQ(profile.origin, ProfileOrigin::domain_capabilities);
    EXPECT_EQ(profile.arch, "x86_64");
    EXPECT_EQ(profile.virt_type, "kvm");
    EXPECT_EQ(profile.vendor, "Intel");
    EXPECT_EQ(profile.asked_machine, "pc-q35-9.0");
    ASSERT_TRUE(profile.host_model);
    EXPECT_EQ(profile.host_model->name, "Large");
    EXPECT_THAT(profile.host_model->require, ElementsAre("avx", "ssbd"));
    EXPECT_THAT(profile.host_model->disable, ElementsAre("hle", "rtm"));
    EXPECT_EQ(profile.host_model->maxphysaddr->limit, 46U);
    EXPECT_EQ(profile.host_model->maxphysaddr->bits, std::nullopt);
    ASSERT_EQ(profile.models.size(), 4U);
    EXPECT_EQ(profile.models[0].name, "Large");
    EXPECT_EQ(profile.models[0].usable, Usable::no);
    EXPECT_THAT(profile.models[0].blockers, ElementsAre("hle", "rtm"));
    EXPECT_EQ(profile.models[1].usable, Usable::unknown);
    EXPECT_EQ(profile.models[2].usable, std::nullopt);
    EXPECT_EQ(profile.models[3].usable, Usable::yes);
    EXPECT_FALSE(profile.supported_listed);
}

TEST(ProfileDocumentTest, ReadsABareHostModelCpu) {
    const auto profile = parse_profile(R"(<cpu mode='custom' match='exact'>
      <model fallback='forbid'>Small</model><vendor>AMD</vendor>
      <feature policy='require' name='x2apic'/></cpu>)")
                             .value();

    EXPECT_EQ(profile.origin, ProfileOrigin::bare_cpu);
    EXPECT_EQ(profile.host_model->name, "Small");
    EXPECT_EQ(profile.vendor, "AMD");
    EXPECT_EQ(profile.arch, "");
}

TEST(ProfileDocumentTest, HasNoHostModelWhereLibvirtOffersNone) {
    const auto profile = parse_profile(
                             "<domainCapabilities><arch>aarch64</arch><cpu><mode name='host-model' "
                             "supported='no'/></cpu></domainCapabilities>")
                             .value();

    EXPECT_FALSE(profile.host_model);
}

struct Refusal {
    const char* name;
    std::string xml;
    const char* says;
};

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, SaysWhatWasExpectedAndWhatWasFound) {
    const auto document = parse_document(GetParam().xml);

    ASSERT_FALSE(document);
    EXPECT_EQ(document.error().code, Errc::invalid);
    EXPECT_THAT(document.error().message, HasSubstr(GetParam().says));
    EXPECT_THAT(document.error().message, HasSubstr("expected"));
}

std::string nested(int levels) {
    std::string xml;
    for (int i = 0; i < levels; ++i) {
        xml += "<a>";
    }
    for (int i = 0; i < levels; ++i) {
        xml += "</a>";
    }
    return xml;
}

std::string bare_cpu(const std::string& attributes, const std::string& features = "") {
    return "<cpu " + attributes + "><model>Small</model>" + features + "</cpu>";
}

INSTANTIATE_TEST_SUITE_P(
    Documents, RefusalTest,
    testing::Values(
        Refusal{"Empty", "", "one root"},
        Refusal{"Truncated", std::string{host}.substr(0, 500), "line"},
        Refusal{"Text", "hello", "text: hello"}, Refusal{"TwoRoots", "<cpu/><cpu/>", "one root"},
        Refusal{"Deep", nested(100), "levels"}, Refusal{"VeryDeep", nested(200'000), "levels"},
        Refusal{"Huge", std::string(5U << 20U, ' '), "bytes"},
        Refusal{"Entities",
                "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><cpu>&b;</cpu>",
                "DOCTYPE"},
        Refusal{"Utf16", std::string("\xff\xfe<\0c\0p\0u\0/\0>\0", 14), "UTF-8"},
        Refusal{"Latin1", "<cpu><model>\xe9</model></cpu>", "UTF-8"},
        Refusal{"Nul", std::string("<cpu>\0</cpu>", 12), "UTF-8"},
        Refusal{"Capabilities", "<capabilities><host/></capabilities>", "virsh domcapabilities"},
        Refusal{"HostCpu", "<cpu><arch>x86_64</arch><model>Small</model><feature name='ht'/></cpu>",
                "host CPU"},
        Refusal{"Encoding",
                "<?xml version='1.0' encoding='ISO-8859-1'?><cpu><model>A</model></cpu>",
                "encoding iso-8859-1"},
        Refusal{"Passthrough", bare_cpu("mode='host-passthrough'"), "found host-passthrough"},
        Refusal{"Maximum", bare_cpu("mode='maximum'"), "found maximum"},
        Refusal{"BogusMode", bare_cpu("mode='bogus'"), "found bogus"},
        Refusal{"Strict", bare_cpu("match='strict'"), "found strict"},
        Refusal{"Minimum", bare_cpu("match='minimum'"), "live XML of the running guest"},
        Refusal{"Forbid", bare_cpu("", "<feature policy='forbid' name='avx'/>"), "forbidden"},
        Refusal{"Optional", bare_cpu("", "<feature policy='optional' name='avx'/>"), "optional"},
        Refusal{"CpuWithoutModel", "<cpu mode='custom'><vendor>AMD</vendor></cpu>", "<model>"},
        Refusal{"Other", "<network/>", "<network>"},
        Refusal{"Memory", "<domain type='kvm'><memory unit='furlong'>1</memory></domain>",
                "<memory>"},
        Refusal{"MemoryOverflow",
                "<domain type='kvm'><memory unit='TiB'>18446744073709551615</memory></domain>",
                "<memory>"}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(ProfileDocumentTest, FindsTheLaunchSecurityThatTheLabellerFinds) {
    const auto kinds = [](const std::string& features) {
        return parse_profile("<domainCapabilities><features>" + features +
                             "</features></domainCapabilities>")
            .value()
            .launch_security;
    };
    const std::string snp =
        "<launchSecurity supported='yes'><enum name='sectype'><value>sev</value>"
        "<value>sev-snp</value></enum></launchSecurity>";
    const std::string with_es = "<sev supported='yes'><maxESGuests>15</maxESGuests></sev>";

    EXPECT_THAT(kinds(""), testing::IsEmpty());
    EXPECT_THAT(kinds("<sev supported='no'><maxESGuests>15</maxESGuests></sev>" + snp),
                testing::IsEmpty());
    EXPECT_THAT(kinds("<sev supported='yes'><maxESGuests>0</maxESGuests></sev>" + snp),
                ElementsAre("sev"));
    EXPECT_THAT(kinds(with_es), ElementsAre("sev", "sev-es"));
    EXPECT_THAT(kinds(with_es + snp), ElementsAre("sev", "sev-es", "sev-snp"));
    EXPECT_THAT(kinds("<tdx supported='yes'/><s390-pv supported='no'/>"), ElementsAre("tdx"));
    EXPECT_THAT(kinds("<s390-pv supported='yes'/>"), ElementsAre("s390-pv"));
}

TEST(DomainDocumentTest, ReadsALiveGuest) {
    const auto document = parse_document(R"(<domain type='kvm' id='3'>
      <name>db-1</name><uuid>067416a0-7a68-447b-90e8-9010bc51f36d</uuid>
      <memory unit='MiB'>512</memory>
      <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>
      <cpu mode='custom' match='exact' check='full'><model fallback='forbid'>Small</model>
        <vendor>Intel</vendor><feature policy='require' name='ssbd'/>
        <feature policy='disable' name='rtm'/></cpu>
      <clock offset='utc'><timer name='pit'/><timer name='tsc' frequency='2294787000'/></clock>
      </domain>)");

    const auto& guest = std::get<LiveDomain>(document.value());

    EXPECT_EQ(guest.name, "db-1");
    EXPECT_EQ(guest.uuid, "067416a0-7a68-447b-90e8-9010bc51f36d");
    EXPECT_EQ(guest.memory_kib, 512U * 1024U);
    EXPECT_EQ(guest.cpu.mode, CpuMode::custom);
    EXPECT_EQ(guest.cpu.machine, "pc-q35-7.2");
    EXPECT_EQ(guest.cpu.tsc_hz, 2'294'787'000U);
    EXPECT_THAT(guest.cpu.require, ElementsAre("ssbd"));
    EXPECT_THAT(guest.cpu.disable, ElementsAre("rtm"));
}

TEST(DomainDocumentTest, TellsHowTheCpuWasAskedFor) {
    const auto mode = [](const std::string& cpu) {
        return parse_domain("<domain type='kvm'>" + cpu + "</domain>").value().cpu.mode;
    };

    EXPECT_EQ(mode(""), CpuMode::unstated);
    EXPECT_EQ(mode("<cpu/>"), CpuMode::unstated);
    EXPECT_EQ(mode("<cpu mode='host-model'/>"), CpuMode::host_model);
    EXPECT_EQ(mode("<cpu mode='host-passthrough'/>"), CpuMode::host_passthrough);
    EXPECT_EQ(mode("<cpu mode='maximum'/>"), CpuMode::host_passthrough);
    EXPECT_EQ(mode("<cpu><model>Small</model></cpu>"), CpuMode::custom);
}

TEST(DomainDocumentTest, DoubtsWhatOnlyTheStartOfTheGuestSettles) {
    const auto doubt = [](const std::string& cpu, const std::string& domain = " id='3'") {
        return parse_domain("<domain type='kvm'" + domain + "><cpu " + cpu +
                            "<model>Small</model></cpu></domain>")
            .value()
            .cpu.doubt;
    };
    const std::string optional = "<feature policy='optional' name='avx'/>";
    const std::string forbid = "<feature policy='forbid' name='avx'/>";

    EXPECT_EQ(doubt("match='exact' check='full'>"), "");
    EXPECT_EQ(doubt("match='exact' check='partial'>"), "");
    EXPECT_EQ(doubt("match='strict' check='full'>" + forbid), "");
    EXPECT_EQ(doubt("check='full'>", ""), "");
    EXPECT_THAT(doubt("match='strict' check='partial'>"), HasSubstr("match='strict'"));
    EXPECT_THAT(doubt("match='minimum'>"), HasSubstr("match='minimum'"));
    EXPECT_THAT(doubt("check='partial'>" + forbid), HasSubstr("forbidden"));
    EXPECT_THAT(doubt("check='none'>" + optional), HasSubstr("optional"));
    EXPECT_THAT(doubt("check='full'>" + optional, ""), HasSubstr("optional"));
    EXPECT_THAT(doubt("mode='host-model' check='partial'>"), HasSubstr("host-model"));
    EXPECT_THAT(doubt("check='none'>", ""), HasSubstr("no id"));
    EXPECT_FALSE(parse_domain("<domain><cpu match='any'/></domain>"));
}

TEST(DomainDocumentTest, TellsVcpusAndWhatTiesTheGuestToItsHost) {
    const auto cpu = [](const std::string& inside) {
        return parse_domain("<domain type='kvm'>" + inside + "</domain>").value().cpu;
    };

    EXPECT_EQ(cpu("").vcpus, 0U);
    EXPECT_EQ(cpu("").ties, migration::FeatureSet{});
    EXPECT_EQ(cpu("<vcpu placement='static' current='2'>16</vcpu>").vcpus, 16U);
    const auto tied = cpu(R"(<launchSecurity type='sev'/><devices>
      <hostdev mode='subsystem' type='pci'/><hostdev mode='subsystem' type='mdev'/>
      <hostdev mode='subsystem' type='pci'/><hostdev mode='capabilities' type='newest'/>
      <interface type='hostdev'/><interface type='vdpa'/><interface type='ethernet'/>
      <filesystem type='mount'/><shmem name='a'/><disk type='file'/></devices>)");
    EXPECT_THAT(tied.ties.value(),
                ElementsAre("filesystem", "hostdev", "hostdev mdev", "hostdev pci",
                            "interface hostdev", "interface vdpa", "launchSecurity sev", "shmem"));
}

TEST(DomainDocumentTest, RepeatsNoFreeTextOfWhatTiesTheGuest) {
    const auto ties = [](const std::string& type) {
        return parse_domain("<domain type='kvm'><launchSecurity " + type + "/><devices><hostdev " +
                            type + "/><interface " + type + "/></devices></domain>")
            .value()
            .cpu.ties.value();
    };

    for (const auto& type :
         {std::string{}, std::string{"type=''"}, "type='" + std::string(250, 'x') + "'"}) {
        EXPECT_THAT(ties(type), ElementsAre("hostdev", "launchSecurity")) << type;
    }
}

TEST(ProfileDocumentTest, TellsTheMostVcpusOfTheMachineTypeThatWasAskedFor) {
    const auto most = [](const std::string& vcpu) {
        return parse_profile("<domainCapabilities>" + vcpu + "</domainCapabilities>")
            .value()
            .max_vcpus;
    };

    EXPECT_EQ(most("<vcpu max='288'/>"), 288U);
    EXPECT_EQ(most("<vcpu/>"), std::nullopt);
    EXPECT_EQ(most(""), std::nullopt);
}

TEST(ProfileDocumentTest, TakesOneListOfBlockersForEachModel) {
    const auto parse = [](int lists) {
        std::string xml =
            "<domainCapabilities><cpu><mode name='custom' supported='yes'><model>A</model>";
        for (int i = 0; i < lists; ++i) {
            xml += "<blockers model='A'><feature name='f" + std::to_string(i) + "'/></blockers>";
        }
        return parse_profile(xml + "</mode></cpu></domainCapabilities>");
    };

    EXPECT_THAT(parse(1).value().models.at(0).blockers, ElementsAre("f0"));
    EXPECT_THAT(parse(60'000).error().message, HasSubstr("one <blockers> of each model"));
}

TEST(CapabilitiesDocumentTest, ReadsTscNumaAndMachineTypes) {
    const auto host_facts = parse_capabilities(R"(<capabilities><host>
      <cpu><arch>x86_64</arch><counter name='tsc' frequency='2294787000' scaling='no'/></cpu>
      <topology><cells num='2'><cell id='0'/><cell id='1'/></cells></topology></host>
      <guest><arch name='x86_64'><machine canonical='pc-q35-7.2'>q35</machine>
        <machine>pc-q35-7.2</machine><domain type='kvm'/></arch></guest>
      </capabilities>)")
                                .value();

    EXPECT_EQ(host_facts.arch, "x86_64");
    EXPECT_EQ(host_facts.facts.tsc_hz, 2'294'787'000U);
    EXPECT_FALSE(host_facts.facts.tsc_scalable);
    EXPECT_EQ(host_facts.facts.numa_cells, 2U);
    EXPECT_THAT(host_facts.machines, ElementsAre("pc-q35-7.2", "q35"));
    EXPECT_FALSE(parse_capabilities(host));
}

TEST(SupportedFeaturesTest, CountsRequiredOnesAndThoseWithoutAPolicy) {
    const auto features = parse_supported_features(R"(<cpu mode='custom'><model>Small</model>
      <feature policy='require' name='vmx'/><feature name='te'/>
      <feature policy='disable' name='rtm'/></cpu>)");

    EXPECT_THAT(features.value(), ElementsAre("te", "vmx"));
}

}  // namespace
}  // namespace scout::documents
