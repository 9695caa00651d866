// SPDX-License-Identifier: Apache-2.0
// The cases of real use through the real program, on the documents that SCOUT_TEST_DATA names.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace scout::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* prefix = "x86_64-cpuid-";
constexpr const char* suffix = "-json.xml";

std::string text_list(const json::value& list) {
    std::string out;
    for (const auto& item : list.as_array()) {
        out += (out.empty() ? "" : ",") + std::string(item.as_string());
    }
    return out;
}

struct Answer {
    int code = -1;
    json::object object;
    std::string err;

    [[nodiscard]] std::string missing() const { return text_list(object.at("missing")); }
    [[nodiscard]] std::string first_code() const {
        return std::string(object.at("reasons").at(0).at("code").as_string());
    }
};

class RealDocuments {
public:
    explicit RealDocuments(fs::path data) : data_(std::move(data)) {}

    [[nodiscard]] Answer ask(std::vector<std::string> words) const {
        words.insert(words.end(),
                     {"--cpu-map", (data_ / "libvirt/cpu_map").string(), "-o", "json"});
        auto outcome = test::scoutctl(words);
        return {.code = outcome.code,
                .object = json::parse(outcome.out).as_object(),
                .err = std::move(outcome.err)};
    }
    [[nodiscard]] std::string cpu(const std::string& name) const {
        return (data_ / "libvirt/cpus" / (prefix + name + suffix)).string();
    }
    [[nodiscard]] std::string caps(const std::string& name) const {
        return (data_ / "libvirt/domaincaps" / (name + ".xml")).string();
    }
    [[nodiscard]] Answer compare(const std::string& a, const std::string& b) const {
        return ask({"compare", cpu(a), cpu(b)});
    }

private:
    fs::path data_;
};

struct Expected {
    const char* source;
    const char* target;
    int code;
    const char* missing;
};

/// Cases 1 to 5; 31: each no has a gate that lets it pass.
const std::vector<Expected> expectations{
    {"Ryzen-7-1800X-Eight-Core", "EPYC-7601-32-Core", 1, "svm"},
    {"EPYC-7601-32-Core", "Ryzen-7-1800X-Eight-Core", 1, "sha-ni"},
    {"Core-i7-7600U", "Core-i7-8550U", 1, "hle,rtm"},
    {"Core-i7-8550U", "Core-i7-7600U", 1, "arch-capabilities,md-clear,pschange-mc-no,stibp"},
    {"Xeon-E5-2609-v3", "Xeon-E5-2650-v4", 1, "spec-ctrl"},
    {"Xeon-E5-2650-v4", "Xeon-E5-2623-v4", 0, ""},
    {"Xeon-Gold-5115", "Xeon-Gold-6130", 0, ""},
    {"Xeon-Gold-6130", "Xeon-Gold-5115", 1,
     "arch-capabilities,md-clear,pku,skip-l1dfl-vmentry,ssbd,stibp,umip,vmx,xsaves"},
    {"Core-i7-3770", "Core-i7-2600", 1, "erms,f16c,fsgsbase,rdrand,smep"},
};

TEST(RealDocumentsTest, CasesOneToFiveHaveTheExactSetAndBothLayers) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const RealDocuments real(data);

    for (const auto& expected : expectations) {
        const auto answer = real.compare(expected.source, expected.target);
        const auto pair = std::string(expected.source) + " " + expected.target;
        EXPECT_EQ(answer.code, expected.code) << pair;
        EXPECT_EQ(answer.missing(), expected.missing) << pair;
        EXPECT_EQ(answer.object.at("verdict"), expected.code == 0 ? "can" : "cannot") << pair;
        EXPECT_NE(answer.object.at("gate"), "unknown") << pair;
        EXPECT_EQ(std::string(answer.object.at("map").as_string()),
                  (data / "libvirt/cpu_map").string())
            << pair;
    }
    const auto same_name = real.compare("Ryzen-7-1800X-Eight-Core", "EPYC-7601-32-Core").object;
    EXPECT_EQ(same_name.at("gate"), "pass");
    EXPECT_EQ(real.compare("Core-i7-7600U", "Core-i7-8550U").object.at("gate"), "pass");
}

TEST(RealDocumentsTest, CaseSevenAnUpgradedHost) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const RealDocuments real(data);
    const auto before = real.caps("qemu_8.0.0.x86_64");
    const auto after = real.caps("qemu_8.1.0.x86_64");

    const auto forth = real.ask({"compare", before, after});
    EXPECT_EQ(forth.code, 1);
    EXPECT_EQ(forth.missing(), "xsaves");
    EXPECT_EQ(real.ask({"compare", after, before}).missing(),
              "lfence-always-serializing,null-sel-clr-base");

    const auto impact = real.ask({"upgrade-impact", "--before", before, "--after", after});
    EXPECT_EQ(impact.code, 0);
    EXPECT_EQ(impact.object.at("hostModel").at("changed"), false);
    EXPECT_EQ(text_list(impact.object.at("missingAfter")), "xsaves");
    EXPECT_EQ(text_list(impact.object.at("missingBefore")),
              "lfence-always-serializing,null-sel-clr-base");
    EXPECT_NE(impact.object.at("advice").as_string().find("restart"), json::string::npos);
}

TEST(RealDocumentsTest, CaseEightLabelsOfAnUnusableHostModel) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const RealDocuments real(data);

    const auto answer = real.ask({"labels", real.caps("qemu_9.1.0.x86_64")});
    const auto& labels = answer.object.at("labels").as_object();

    EXPECT_EQ(answer.code, 0);
    EXPECT_TRUE(labels.contains("host-model-cpu.node.kubevirt.io/EPYC-Rome"));
    EXPECT_TRUE(labels.contains("cpu-model-migration.node.kubevirt.io/EPYC-Rome"));
    EXPECT_FALSE(labels.contains("cpu-model.node.kubevirt.io/EPYC-Rome"));
}

TEST(RealDocumentsTest, CaseNineEmulationIsNotKvm) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const RealDocuments real(data);
    const auto kvm = real.caps("qemu_9.0.0.x86_64");
    const auto tcg = real.caps("qemu_9.0.0-tcg.x86_64");

    for (const auto& answer : {real.ask({"compare", tcg, kvm}), real.ask({"compare", kvm, tcg})}) {
        EXPECT_EQ(answer.code, 3);
        EXPECT_EQ(answer.object.at("verdict"), "unknown");
        EXPECT_EQ(answer.first_code(), "virt-type");
    }
    const auto profile = real.ask({"profile", tcg});
    EXPECT_EQ(profile.object.at("domain"), "qemu");
    EXPECT_EQ(profile.object.at("comparable"), false);
    EXPECT_TRUE(profile.object.at("reason").is_string());
}

TEST(RealDocumentsTest, CaseTenOtherArchitectures) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const RealDocuments real(data);

    const auto arm = real.ask({"profile", real.caps("qemu_7.0.0.aarch64")}).object;
    EXPECT_TRUE(arm.at("hostModel").is_null());
    EXPECT_EQ(arm.at("comparable"), false);
    for (const auto& model : arm.at("models").as_array()) {
        EXPECT_EQ(model.at("usable"), "unknown");
    }
    const auto main_frame = real.ask({"profile", real.caps("qemu_8.1.0.s390x")}).object;
    std::size_t usable = 0;
    for (const auto& model : main_frame.at("models").as_array()) {
        usable += model.at("usable") == "yes" ? 1U : 0U;
    }
    EXPECT_EQ(main_frame.at("hostModel").at("name"), "gen15a-base");
    EXPECT_EQ(main_frame.at("hostModel").at("require").as_array().size(), 38U);
    EXPECT_EQ(usable, 50U);
    EXPECT_EQ(main_frame.at("models").as_array().size(), 78U);

    const auto nothing = real.ask(
        {"profile",
         (data / "kubevirt/node-labeller/virsh_domcapabilities_nothing_usable.xml").string()});
    EXPECT_EQ(nothing.object.at("hostModel").at("name"), "Skylake-Client-IBRS");
    EXPECT_EQ(nothing.object.at("hostModel").at("require").as_array().size(), 3U);
}

TEST(RealDocumentsTest, EveryDocumentOfLibvirtIsAnsweredWithoutACrash) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const RealDocuments real(data);

    const auto answer = real.ask({"compare", "--all", (data / "libvirt/domaincaps").string()});

    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_GT(answer.object.at("documents").as_array().size(), 60U);
    const auto matrix = real.ask({"matrix", "--documents", (data / "libvirt/domaincaps").string()});
    EXPECT_EQ(matrix.code, 0) << matrix.err;
}

using Pair = std::pair<std::string, std::string>;

/// What the table says of each pair, as "verdict:missing".
std::map<Pair, std::string> read_table(const fs::path& file) {
    std::map<Pair, std::string> table;
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
        std::vector<std::string> cells;
        std::istringstream fields(line);
        for (std::string cell; std::getline(fields, cell, '\t');) {
            cells.push_back(cell);
        }
        cells.resize(8);
        table[{cells[0], cells[1]}] = (cells[5] == "ok" ? "can:" : "cannot:") + cells[6];
    }
    return table;
}

std::string cpu_name(const json::value& path) {
    auto name = fs::path(std::string(path.as_string())).filename().string();
    name.erase(0, std::string(prefix).size());
    return name.substr(0, name.size() - std::string(suffix).size());
}

TEST(RealDocumentsTest, AnotherArchitectureIsNoUpgradeAndTheAdviceSaysSo) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const RealDocuments real(data);

    const auto answer = real.ask({"upgrade-impact", "--before", real.caps("qemu_8.1.0.x86_64"),
                                  "--after", real.caps("qemu_8.1.0.s390x")});

    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(answer.object.at("comparable"), false);
    const std::string advice(answer.object.at("advice").as_string());
    EXPECT_NE(advice.find("x86_64"), std::string::npos) << advice;
    EXPECT_NE(advice.find("s390x"), std::string::npos) << advice;
}

TEST(RealDocumentsTest, CaseSixAllPairsOfTheTableMatch) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const RealDocuments real(data);
    const scout::test::TemporaryFolder folder;
    for (const auto& file : fs::directory_iterator(data / "libvirt/cpus")) {
        if (file.path().filename().string().ends_with(suffix)) {
            fs::create_symlink(file.path(), folder.path() / file.path().filename());
        }
    }

    const auto answer = real.ask({"compare", "--all", folder.path().string()});

    ASSERT_EQ(answer.code, 0) << answer.err;
    const auto table = read_table(data / "libvirt/expected/host-model-pairs.tsv");
    const auto& pairs = answer.object.at("pairs").as_array();
    ASSERT_EQ(table.size(), 870U);
    ASSERT_EQ(pairs.size(), table.size());
    for (const auto& pair : pairs) {
        const Pair names{cpu_name(pair.at("source")), cpu_name(pair.at("target"))};
        EXPECT_EQ(std::string(pair.at("verdict").as_string()) + ":" + text_list(pair.at("missing")),
                  table.at(names))
            << names.first << " " << names.second;
    }
}

}  // namespace
}  // namespace scout::cli
