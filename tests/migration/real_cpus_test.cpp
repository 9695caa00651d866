// SPDX-License-Identifier: Apache-2.0
// Real CPUs and documents of others, read from the folder that SCOUT_TEST_DATA names.
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "documents/cpu_map_files.h"
#include "documents/node_documents.h"
#include "migration/upgrade_impact.h"
#include "tests/support/profiles.h"
#include "tests/support/test_data.h"

namespace scout::migration {
namespace {

using test::compare_hosts;
using testing::ElementsAre;
using testing::IsEmpty;

CpuMap real_map(const std::filesystem::path& data) {
    return documents::load_cpu_map(data / "libvirt/cpu_map").value();
}

Profile real_cpu(const std::filesystem::path& data, const std::string& name) {
    return documents::read_node_documents(data / "libvirt/cpus" /
                                          ("x86_64-cpuid-" + name + "-json.xml"))
        .value()
        .profile;
}

Profile real_host(const std::filesystem::path& data, const std::string& name) {
    return documents::read_node_documents(data / "libvirt/domaincaps" / name).value().profile;
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::stringstream stream(text + separator);
    for (std::string part; std::getline(stream, part, separator);) {
        parts.push_back(part);
    }
    return parts;
}

TEST(RealCpusTest, MatchEveryPairOfTheTable) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto map = real_map(data);
    std::ifstream table(data / "libvirt/expected/host-model-pairs.tsv");
    std::map<std::string, Profile> cpus;
    std::string line;
    std::getline(table, line);
    int pairs = 0;
    while (std::getline(table, line)) {
        const auto field = split(line, '\t');
        for (const auto& name : {field.at(0), field.at(1)}) {
            if (!cpus.contains(name)) {
                cpus.emplace(name, real_cpu(data, name));
            }
        }
        const auto answer = compare_hosts(cpus.at(field[0]), cpus.at(field[1]), map);
        const auto missing =
            field.at(6).empty() ? FeatureSet{} : make_feature_set(split(field[6], ','));
        EXPECT_EQ(answer.truth, field.at(5) == "ok" ? Verdict::can : Verdict::cannot) << line;
        EXPECT_EQ(answer.missing, missing) << line;
        ++pairs;
    }
    EXPECT_EQ(pairs, 870);
}

TEST(RealCpusTest, BothLayersAnswerTheFirstFiveCases) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto map = real_map(data);
    const auto cpu = [&](const char* name) { return real_cpu(data, name); };

    const auto ryzen =
        compare_hosts(cpu("Ryzen-7-1800X-Eight-Core"), cpu("EPYC-7601-32-Core"), map);
    EXPECT_THAT(ryzen.missing, ElementsAre("svm"));
    EXPECT_TRUE(ryzen.gap());
    const auto epyc = compare_hosts(cpu("EPYC-7601-32-Core"), cpu("Ryzen-7-1800X-Eight-Core"), map);
    EXPECT_THAT(epyc.missing, ElementsAre("sha-ni"));
    EXPECT_TRUE(epyc.gap());

    EXPECT_THAT(compare_hosts(cpu("Core-i7-7600U"), cpu("Core-i7-8550U"), map).missing,
                ElementsAre("hle", "rtm"));
    EXPECT_THAT(compare_hosts(cpu("Core-i7-8550U"), cpu("Core-i7-7600U"), map).missing,
                ElementsAre("arch-capabilities", "md-clear", "pschange-mc-no", "stibp"));
    EXPECT_THAT(compare_hosts(cpu("Xeon-E5-2609-v3"), cpu("Xeon-E5-2650-v4"), map).missing,
                ElementsAre("spec-ctrl"));
    EXPECT_EQ(compare_hosts(cpu("Xeon-E5-2650-v4"), cpu("Xeon-E5-2623-v4"), map).truth,
              Verdict::can);
    EXPECT_EQ(compare_hosts(cpu("Xeon-Gold-5115"), cpu("Xeon-Gold-6130"), map).truth, Verdict::can);
    const auto ivy = compare_hosts(cpu("Core-i7-3770"), cpu("Core-i7-2600"), map);
    EXPECT_THAT(ivy.missing, ElementsAre("erms", "f16c", "fsgsbase", "rdrand", "smep"));
    EXPECT_TRUE(ivy.gap()) << "nothing explicit is missing, so the labels let it through";
}

TEST(RealCpusTest, SeesWhatAnUpgradeOfOneHostTookAway) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto map = real_map(data);

    const auto before = real_host(data, "qemu_8.0.0.x86_64.xml");
    const auto after = real_host(data, "qemu_8.1.0.x86_64.xml");
    const auto impact = upgrade_impact({before, {}}, {after, {}}, &map);

    EXPECT_THAT(impact.missing_after, ElementsAre("xsaves"));
    EXPECT_THAT(impact.missing_before,
                ElementsAre("lfence-always-serializing", "null-sel-clr-base"));
    EXPECT_FALSE(impact.model_changed());
    EXPECT_THAT(impact.advice, testing::StartsWith("restart"));
}

TEST(RealCpusTest, AHostModelNeedNotBeAUsableModel) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto map = real_map(data);
    const auto profile = real_host(data, "qemu_9.1.0.x86_64.xml");

    const auto node = stock_node(labeller_labels(profile, {}, &map));

    EXPECT_THAT(node.host_models, ElementsAre("EPYC-Rome"));
    EXPECT_TRUE(contains(node.known_models, "EPYC-Rome"));
    EXPECT_FALSE(contains(node.usable_models, "EPYC-Rome"));
    EXPECT_EQ(node.required, profile.host_model->require);
}

TEST(RealCpusTest, LaunchSecurityIsLabelledAsTheLabellersOwnExamplesAre) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto kinds = [&data](const char* name) {
        return documents::read_node_documents(data / "kubevirt/node-labeller" / name)
            .value()
            .profile.launch_security;
    };

    EXPECT_THAT(kinds("domcapabilities_nosev.xml"), IsEmpty());
    EXPECT_THAT(kinds("domcapabilities_noseves.xml"), ElementsAre("sev"));
    EXPECT_THAT(kinds("domcapabilities_sev.xml"), ElementsAre("sev", "sev-es"));
    EXPECT_THAT(kinds("virsh_domcapabilities.xml"), ElementsAre("sev", "sev-es", "sev-snp"));
}

TEST(RealCpusTest, OtherDocumentsSayWhyTheyCannotBeCompared) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto map = real_map(data);

    const auto emulated = not_comparable(real_host(data, "qemu_9.0.0-tcg.x86_64.xml"));
    ASSERT_TRUE(emulated);
    EXPECT_EQ(emulated->code, ReasonCode::virt_type);

    const auto arm = real_host(data, "qemu_7.0.0.aarch64.xml");
    EXPECT_FALSE(arm.host_model);
    EXPECT_EQ(compare_hosts(arm, arm, map).truth, Verdict::unknown);

    const auto s390 = real_host(data, "qemu_8.1.0.s390x.xml");
    EXPECT_EQ(s390.host_model->name, "gen15a-base");
    EXPECT_EQ(s390.host_model->require.size(), 38U);
    EXPECT_EQ(s390.models.size(), 78U);
    EXPECT_EQ(std::count_if(s390.models.begin(), s390.models.end(),
                            [](const auto& model) { return model.usable == Usable::yes; }),
              50);
    EXPECT_EQ(compare_hosts(s390, s390, map).truth, Verdict::unknown);
}

TEST(RealCpusTest, IgnoresModelsThatDoNotSayWhetherTheyAreUsable) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto profile =
        documents::read_node_documents(
            data / "kubevirt/node-labeller/virsh_domcapabilities_nothing_usable.xml")
            .value()
            .profile;

    const auto node = stock_node(labeller_labels(profile, {}, nullptr));

    EXPECT_EQ(profile.host_model->require, (FeatureSet{"acpi", "ds", "ss"}));
    EXPECT_THAT(node.usable_models, IsEmpty());
    EXPECT_FALSE(contains(node.known_models, "fake-model-without-usable"));
    EXPECT_EQ(not_comparable(profile)->keys, std::vector<std::string>{"domain"})
        << "a fragment that names neither domain type nor architecture";
    EXPECT_TRUE(contains(node.known_models, "Haswell"));
    EXPECT_FALSE(contains(node.known_models, "486")) << "obsolete by the built-in list";
}

TEST(RealCpusTest, NoDocumentOfTheFolderBreaksTheReader) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto map = real_map(data);
    int profiles = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data)) {
        if (!entry.is_regular_file()) {
            continue;
        }
        const auto document = documents::read_document(entry.path());
        if (!document) {
            EXPECT_FALSE(document.error().message.empty());
            continue;
        }
        if (const auto* profile = std::get_if<Profile>(&*document)) {
            ++profiles;
            EXPECT_EQ(compare_hosts(*profile, *profile, map).truth == Verdict::cannot, false)
                << entry.path() << " does not fit on itself";
        }
    }
    EXPECT_GT(profiles, 150);
}

}  // namespace
}  // namespace scout::migration
