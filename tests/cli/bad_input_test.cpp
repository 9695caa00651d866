// SPDX-License-Identifier: Apache-2.0
// The real program on what people and attackers hand it: a clear error, exit code 2, nothing lost.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace scout::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using test::scoutctl;
using test::small_documents;

std::string slurp(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class BadInputTest : public testing::Test {
protected:
    /// The document as A and as B of compare, and in every other command that reads one.
    void expect_refused(const std::string& path, const std::string& why) {
        const auto host = (small_documents() / "hosts/new.xml").string();
        const std::vector<std::vector<std::string>> commands{
            {"compare", path, host},
            {"compare", host, path},
            {"profile", path},
            {"labels", path},
            {"baseline", host, path},
            {"upgrade-impact", "--before", path, "--after", host},
            {"where", "file:" + path, "--on", host},
            {"why-not", host, path},
        };
        for (auto words : commands) {
            words.insert(words.end(), {"--cpu-map", (small_documents() / "cpu_map").string()});
            const auto outcome = scoutctl(words);
            EXPECT_EQ(outcome.code, 2) << words.front() << ": " << outcome.out;
            EXPECT_NE(outcome.err.find(why), std::string::npos)
                << words.front() << ": " << outcome.err;
            EXPECT_LT(outcome.err.size(), 2000U) << words.front();
        }
    }

    std::string write(const std::string& name, const std::string& text) const {
        return folder.write(name, text).string();
    }

    scout::test::TemporaryFolder folder;
    std::string good = slurp(small_documents() / "hosts/new.xml");
};

TEST_F(BadInputTest, TruncatedAtAnyLengthIsNeverACrash) {
    for (std::size_t length = 0; length < good.size(); length += 97) {
        const auto path = write("cut.xml", good.substr(0, length));
        const auto outcome = scoutctl({"profile", path});
        EXPECT_EQ(outcome.code, 2) << length;
        EXPECT_NE(outcome.err.find("cut.xml"), std::string::npos) << outcome.err;
    }
}

TEST_F(BadInputTest, TruncatedIsRefusedEverywhere) {
    expect_refused(write("cut.xml", good.substr(0, good.size() / 2)), "cut.xml");
}

TEST_F(BadInputTest, AHundredMegabytesAreRefusedUnread) {
    const auto path = write("huge.xml", good);
    fs::resize_file(path, std::uintmax_t{100} << 20U);

    expect_refused(path, "at most 4194304 bytes");
}

TEST_F(BadInputTest, DeepNestingIsRefused) {
    std::string deep;
    for (int level = 0; level < 100'000; ++level) {
        deep += "<a>";
    }
    expect_refused(write("deep.xml", deep), "deep.xml");
}

TEST_F(BadInputTest, EntityExpansionIsRefused) {
    const auto bomb = std::string("<!DOCTYPE d [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b ") +
                      "\"&a;&a;&a;&a;&a;&a;&a;&a;\">]>\n" + good;
    expect_refused(write("bomb.xml", bomb), "document type");
}

TEST_F(BadInputTest, AWrongEncodingIsRefused) {
    std::string wide("\xff\xfe", 2);
    for (const char c : good) {
        wide += {c, '\0'};
    }
    expect_refused(write("utf16.xml", wide), "utf16.xml");
    expect_refused(write("binary.xml", std::string("\x7f"
                                                   "ELF\0\0\1\2",
                                                   8)),
                   "binary.xml");
}

TEST_F(BadInputTest, ACapabilitiesDocumentIsRefusedWithThatReason) {
    expect_refused((small_documents() / "mixed/capabilities.xml").string(),
                   "virsh domcapabilities");
}

TEST_F(BadInputTest, AFifoIsRefusedWithoutWaiting) {
    const auto path = (folder.path() / "fifo").string();
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);

    expect_refused(path, "regular file");
}

TEST_F(BadInputTest, ALoopOfLinksIsRefused) {
    const auto path = folder.path() / "loop.xml";
    fs::create_symlink(path, path);

    const auto outcome = scoutctl({"profile", path.string()});

    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("loop.xml: Too many levels"), std::string::npos) << outcome.err;
}

TEST_F(BadInputTest, ANameOfAMegabyteIsRefusedInAShortSentence) {
    auto strange = good;
    strange.replace(strange.find("Alpha-v2"), 8, std::string(std::size_t{1} << 20U, 'A'));

    expect_refused(write("name.xml", strange), "name.xml");
}

TEST_F(BadInputTest, AFolderThatIsNoLabellersIsRefused) {
    const auto outcome = scoutctl({"profile", folder.path().string()});

    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("virsh_domcapabilities.xml"), std::string::npos) << outcome.err;
}

TEST_F(BadInputTest, AMissingFileIsNamed) {
    const auto outcome = scoutctl({"compare", "hosts/new.xml", "absent.xml", "-o", "json"});

    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("absent.xml"), std::string::npos);
    const auto answer = json::parse(outcome.out).as_object();
    EXPECT_EQ(answer.at("verdict"), "unknown");
    EXPECT_EQ(answer.at("reasons").at(0).at("code"), "document");
    EXPECT_EQ(answer.at("target"), "absent.xml");
}

TEST_F(BadInputTest, ALiveDomainIsNoTarget) {
    const auto outcome = scoutctl({"compare", "hosts/new.xml", "mixed/guest.xml", "-o", "json"});

    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("live domain"), std::string::npos);
    EXPECT_EQ(json::parse(outcome.out).at("reasons").at(0).at("code"), "document");
}

TEST_F(BadInputTest, CompareAllListsWhatItCannotUseAndGoesOn) {
    write("a.xml", good);
    write("b.xml", good);
    write("broken.xml", good.substr(0, 200));
    write("notes.txt", "\xff\xfe not xml \x1b[2J");
    ASSERT_EQ(::mkfifo((folder.path() / "fifo").c_str(), 0600), 0);

    const auto outcome = scoutctl({"compare", "--all", folder.path().string(), "--cpu-map",
                                   (small_documents() / "cpu_map").string(), "-o", "json"});

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto answer = json::parse(outcome.out).as_object();
    EXPECT_EQ(answer.at("documents").as_array().size(), 5U);
    EXPECT_EQ(answer.at("pairs").as_array().size(), 2U);
    for (const auto& document : answer.at("documents").as_array()) {
        EXPECT_EQ(document.at("usable").as_bool(), document.at("reason").is_null());
    }
}

TEST_F(BadInputTest, CompareAllShowsGateAndGapInColumns) {
    write("guest.xml",
          "<domain type='kvm' id='7'><os><type arch='x86_64'>hvm</type></os><cpu check='full'>"
          "<model>Alpha</model><vendor>Intel</vendor><maxphysaddr mode='emulate' bits='52'/>"
          "</cpu></domain>");
    std::filesystem::copy(small_documents() / "mixed/labeller", folder.path() / "labeller");

    const auto gap = scoutctl({"compare", "--all", folder.path().string(), "--cpu-map", "cpu_map"});
    const auto mixed = scoutctl({"compare", "--all", "mixed", "--cpu-map", "cpu_map"});

    EXPECT_EQ(gap.code, 0) << gap.err;
    EXPECT_NE(gap.out.find("VERDICT  GATE     GAP  PAIR, WHY\ncannot   pass     gap  "),
              std::string::npos)
        << gap.out;
    EXPECT_EQ(mixed.code, 0) << mixed.err;
    EXPECT_NE(
        mixed.out.find("cannot   unknown       mixed/guest.xml → mixed/labeller  missing rtm\n"),
        std::string::npos)
        << mixed.out;
    EXPECT_NE(mixed.out.find("left out: mixed/capabilities.xml: expected"), std::string::npos);
}

TEST_F(BadInputTest, CompareAllWantsAFolder) {
    EXPECT_EQ(scoutctl({"compare", "--all", "mixed/guest.xml"}).code, 2);
    EXPECT_EQ(scoutctl({"compare", "--all", "absent"}).code, 2);
    EXPECT_EQ(scoutctl({"compare", "--all", folder.path().string()}).code, 2);
    EXPECT_EQ(scoutctl({"compare", "--all", "hosts", "mixed/guest.xml"}).code, 2);
}

TEST_F(BadInputTest, WhereNothingCanBeUsedTheAnswerIsAnError) {
    write("notes.txt", "not xml");
    write("deploy.yaml", "kind: Deployment\n");
    for (const auto& arguments :
         {std::vector<std::string>{"compare", "--all", folder.path().string()},
          std::vector<std::string>{"matrix", "--documents", folder.path().string()}}) {
        const auto outcome = scoutctl(arguments);
        EXPECT_EQ(outcome.code, 2) << arguments.front();
        EXPECT_NE(outcome.err.find("none of 2 files"), std::string::npos) << outcome.err;
        EXPECT_NE(outcome.out.find("notes.txt"), std::string::npos) << outcome.out;
    }
}

TEST_F(BadInputTest, ABadCpuMapIsAnErrorNotANo) {
    const auto absent = scoutctl({"compare", "hosts/old.xml", "hosts/old.xml", "--cpu-map", "no"});
    EXPECT_EQ(absent.code, 2);
    EXPECT_NE(absent.err.find("no"), std::string::npos);

    write("index.xml", "<cpus><arch name='x86'><include filename='../../x.xml'/></arch></cpus>");
    const auto escaping = scoutctl(
        {"compare", "hosts/old.xml", "hosts/old.xml", "--cpu-map", folder.path().string()});
    EXPECT_EQ(escaping.code, 2);
    EXPECT_EQ(escaping.out, "");
}

TEST_F(BadInputTest, AModelThatTheMapDoesNotKnowIsNotCompared) {
    auto strange = good;
    strange.replace(strange.find("Alpha-v2"), 8, "Unheard!");
    const auto outcome = scoutctl({"compare", write("strange.xml", strange), "hosts/new.xml",
                                   "--cpu-map", "cpu_map", "-o", "json"});

    EXPECT_EQ(outcome.code, 3);
    EXPECT_EQ(json::parse(outcome.out).at("verdict"), "unknown");
}

TEST_F(BadInputTest, ControlCharactersNeverReachTheTerminal) {
    auto evil = good;
    evil.replace(evil.find("Alpha-v2"), 8,
                 "\xc2\x9b"
                 "2J");
    const auto path = write("evil\x1b[31m.xml", evil);

    for (const auto* format : {"table", "wide"}) {
        const auto outcome = scoutctl({"profile", path, "-o", format});
        EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
        EXPECT_EQ(outcome.out.find("\xc2\x9b"), std::string::npos);
        EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos);
    }
}

TEST_F(BadInputTest, BadArgumentsSayWhereHelpIs) {
    const std::vector<std::vector<std::string>> lines{
        {},
        {"frobnicate"},
        {"compare"},
        {"compare", "hosts/new.xml"},
        {"compare", "hosts/new.xml", "hosts/old.xml", "mixed/guest.xml"},
        {"compare", "--frobnicate", "hosts/new.xml", "hosts/old.xml"},
        {"compare", "hosts/new.xml", "hosts/old.xml", "-o", "xml"},
        {"compare", "hosts/new.xml", "hosts/old.xml", "-o"},
        {"compare", "hosts/new.xml", "hosts/old.xml", "--config", "absent.yaml"},
        {"where"},
        {"where", std::string(100'000, 'a')},
        {"node"},
        {"node", "n1", "n2"},
        {"completion", "tcsh"},
        {"nodes", "--deadline", "soon"},
        {"nodes", "--aggregator", "nowhere"},
        {"nodes", "--aggregator", "unix:/" + std::string(200, 's')},
        {"nodes", "--aggregator", "192.0.2.1:9286"},
        {"nodes", "--aggregator", "192.0.2.1:9286", "--plaintext"},
        {"nodes", "--aggregator", "127.0.0.1:1", "--tls-ca", "only"},
        {"nodes", "--aggregator", "unix:/nonexistent/socket", "--deadline", "2s"},
    };
    for (const auto& words : lines) {
        const auto outcome = scoutctl(words);
        const auto line = words.empty() ? std::string("nothing") : words.back().substr(0, 80);
        EXPECT_EQ(outcome.code, 2) << line << ": " << outcome.out;
        EXPECT_EQ(outcome.out, "") << line;
        EXPECT_TRUE(outcome.err.starts_with("scoutctl: ")) << line << ": " << outcome.err;
        EXPECT_LT(outcome.err.size(), 1000U) << line;
    }
}

}  // namespace
}  // namespace scout::cli
