// SPDX-License-Identifier: Apache-2.0
// What commands on files do with the documents that they are given, through the real program.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace scout::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const std::string& document) {
    std::ifstream in(test::small_documents() / document, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The text with the one place of it changed.
std::string changed(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

test::Outcome ask(std::vector<std::string> words, const std::string& input = {}) {
    words.insert(words.end(), {"--cpu-map", "cpu_map"});
    return test::scoutctl(words, test::small_documents(), input);
}

boost::json::value json_of(std::vector<std::string> words, const std::string& input = {}) {
    words.insert(words.end(), {"-o", "json"});
    const auto outcome = ask(std::move(words), input);
    return boost::json::parse(outcome.out.empty() ? "null" : outcome.out);
}

TEST(StandardInputTest, IsADocumentWhereverOneIsTaken) {
    const auto input = text_of("hosts/old.xml");
    const std::vector<std::vector<std::string>> questions{
        {"compare", "hosts/old.xml", "hosts/new.xml"},
        {"compare", "hosts/new.xml", "hosts/old.xml"},
        {"profile", "hosts/old.xml"},
        {"labels", "hosts/old.xml"},
        {"upgrade-impact", "--before", "hosts/old.xml", "--after", "hosts/new.xml"},
        {"upgrade-impact", "--before", "hosts/new.xml", "--after", "hosts/old.xml"}};
    for (const auto& by_path : questions) {
        auto by_input = by_path;
        for (auto& word : by_input) {
            word = word == "hosts/old.xml" ? "-" : word;
        }
        auto expected = json_of(by_path).as_object();
        auto answer = json_of(by_input, input).as_object();

        for (const char* name : {"source", "target", "document"}) {
            if (expected.contains(name) && expected.at(name) == "hosts/old.xml") {
                EXPECT_EQ(answer.at(name), "-") << "as given";
                answer[name] = expected.at(name);
            }
        }
        EXPECT_EQ(answer, expected) << by_path.front();
    }
}

TEST(StandardInputTest, IsReadOnceAndWithinTheLimitsOfAFile) {
    const auto input = text_of("hosts/old.xml");
    for (const auto& words : {std::vector<std::string>{"compare", "-", "-"},
                              {"upgrade-impact", "--before", "-", "--after", "-"}}) {
        const auto twice = ask(words, input);
        EXPECT_EQ(twice.code, 2);
        EXPECT_THAT(twice.err, HasSubstr("expected - for one document at most"));
    }
    const auto large = ask({"profile", "-"}, std::string((4U << 20U) + 1, ' '));
    EXPECT_EQ(large.code, 2);
    EXPECT_THAT(large.err, HasSubstr("standard input: expected at most 4194304 bytes"));
    const auto nothing = ask({"profile", "-"});
    EXPECT_EQ(nothing.code, 2);
    EXPECT_THAT(nothing.err, HasSubstr("standard input: "));
}

TEST(NamedTwiceTest, IsOneDocumentHoweverItIsWritten) {
    const auto where = json_of({"where", "mixed/guest.xml", "--on", "hosts/old.xml", "hosts/",
                                "./hosts//new.xml", "mixed/labeller", "mixed/labeller/"});
    const auto matrix = json_of({"matrix", "--documents", "hosts/old.xml", "hosts/old.xml"});

    ASSERT_EQ(where.at("nodes").as_array().size(), 4U);
    EXPECT_EQ(where.at("nodes").at(1).at("node"), "hosts/old.xml") << "as it was written first";
    EXPECT_EQ(matrix.at("rows").as_array().size(), 1U);
}

TEST(NamedTwiceTest, IsForTheSystemToTell) {
    const scout::test::TemporaryFolder folder;
    const auto first = folder.write("x.xml", text_of("hosts/old.xml")).string();
    const auto other = folder.write("far/x.xml", text_of("hosts/new.xml")).string();
    folder.write("far/below/unused", "");
    const auto link = folder.path() / "link";
    std::filesystem::create_directory_symlink("far/below", link);
    const auto over_link = (link / ".." / "x.xml").string();

    const auto rows = [](const std::vector<std::string>& documents) {
        std::vector<std::string> words{"matrix", "--documents"};
        words.insert(words.end(), documents.begin(), documents.end());
        return json_of(words).at("rows").as_array().size();
    };

    const auto linked = (folder.path() / "linked.xml").string();
    std::filesystem::create_symlink("x.xml", linked);

    EXPECT_EQ(rows({first, over_link}), 2U) << "above a link is not the folder of the link";
    EXPECT_EQ(rows({first, linked}), 1U);
    EXPECT_EQ(rows({other, over_link}), 1U);
    EXPECT_EQ(rows({"mixed/labeller/.", "mixed/./labeller", "mixed/labeller/../labeller//"}), 1U);
}

TEST(FolderOfDocumentsTest, LosesNothingThatCannotBeRead) {
    const scout::test::TemporaryFolder folder;
    folder.write("a.xml", text_of("hosts/old.xml"));
    std::filesystem::create_symlink("nowhere", folder.path() / "lost.xml");

    const auto all = json_of({"compare", "--all", folder.path().string()});
    const auto baseline = ask({"baseline", folder.path().string()});

    ASSERT_EQ(all.at("documents").as_array().size(), 2U);
    EXPECT_EQ(all.at("documents").at(1).at("usable"), false);
    EXPECT_THAT(std::string(all.at("documents").at(1).at("reason").as_string()),
                HasSubstr("lost.xml: No such file"));
    EXPECT_EQ(baseline.code, 2);
}

TEST(LeftOutTest, TheSubjectsOwnDocumentIsSaidToBe) {
    const auto only = ask({"where", "hosts/old.xml", "--on", "./hosts/old.xml"});
    const auto answer = json_of({"where", "hosts/old.xml", "--on", "hosts"});

    EXPECT_EQ(only.code, 3);
    EXPECT_THAT(only.out, HasSubstr("./hosts/old.xml was left out: it is the document of the "));
    EXPECT_EQ(answer.at("nodes").as_array().size(), 2U);
    EXPECT_EQ(answer.at("notes").as_array().size(), 1U);
}

TEST(TiedGuestTest, IsNeverAPlainYes) {
    const scout::test::TemporaryFolder folder;
    const auto tied =
        folder.write("tied.xml", changed(text_of("mixed/guest.xml"), "</domain>",
                                         "<launchSecurity type='sev'/><devices><hostdev "
                                         "mode='subsystem' type='mdev'/></devices></domain>"));

    const auto compared = ask({"compare", tied.string(), "hosts/old.xml"});
    const auto where = json_of({"where", tied.string(), "--on", "hosts/old.xml"});

    EXPECT_EQ(compared.code, 3);
    EXPECT_THAT(compared.out, HasSubstr("truth not-comparable: not judged: the guest has hostdev "
                                        "mdev, launchSecurity sev; check that"));
    const auto& node = where.at("nodes").at(0);
    EXPECT_EQ(node.at("verdict"), "unknown");
    EXPECT_EQ(node.at("reasons").at(0).at("keys"),
              (boost::json::array{"hostdev mdev", "launchSecurity sev"}));
}

TEST(VcpusTest, OverTheMostOfTheMachineTypeCannotMove) {
    const scout::test::TemporaryFolder folder;
    const auto guest = folder.write(
        "large.xml", changed(text_of("mixed/guest.xml"), "<os>", "<vcpu>300</vcpu><os>"));
    const auto host = folder.write(
        "host.xml", changed(text_of("hosts/old.xml"), "</arch>", "</arch><vcpu max='288'/>"));

    const auto answer = ask({"compare", guest.string(), host.string()});

    EXPECT_EQ(answer.code, 1) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("truth machine-type: the guest may have 300 vCPUs, the "
                                      "target takes at most 288"));
}

TEST(ProfileTest, SaysWhetherItCanBeComparedAndWhyNot) {
    const auto comparable = json_of({"profile", "mixed/labeller"});
    const scout::test::TemporaryFolder folder;
    folder.write("virsh_domcapabilities.xml",
                 changed(text_of("mixed/labeller/virsh_domcapabilities.xml"),
                         "<model fallback='forbid'>Alpha-v2", "<model fallback='forbid'>Newest"));
    folder.write("supported_features.xml", text_of("mixed/labeller/supported_features.xml"));

    const auto target_only = json_of({"profile", folder.path().string()});
    const auto no_model =
        json_of({"profile", "-"},
                "<domainCapabilities><domain>kvm</domain><arch>x86_64</arch></domainCapabilities>");

    EXPECT_EQ(comparable.at("comparable"), true);
    EXPECT_TRUE(comparable.at("reason").is_null());
    EXPECT_EQ(target_only.at("comparable"), false);
    EXPECT_EQ(target_only.at("supportedFrom"), "listed");
    EXPECT_THAT(std::string(target_only.at("reason").as_string()),
                HasSubstr("its own host-model guests cannot: "));
    EXPECT_EQ(no_model.at("comparable"), false);
    EXPECT_THAT(std::string(no_model.at("reason").as_string()),
                HasSubstr("ask again with `virsh domcapabilities --virttype kvm`"));
}

TEST(LabelsTest, OfALoneCpuAreSaidToBeAssumed) {
    const auto bare = ask({"labels", "mixed/bare-cpu.xml"});
    const auto whole = ask({"labels", "mixed/labeller"});

    EXPECT_THAT(bare.out, HasSubstr("# assumed: known by a bare <cpu>"));
    EXPECT_THAT(whole.out, Not(HasSubstr("assumed")));
    EXPECT_EQ(json_of({"labels", "mixed/bare-cpu.xml"}).at("assumed"), true);
    EXPECT_EQ(json_of({"labels", "mixed/bare-cpu.xml"}).at("map"), "cpu_map");
    EXPECT_EQ(json_of({"labels", "mixed/labeller"}).at("assumed"), false);
}

}  // namespace
}  // namespace scout::cli
