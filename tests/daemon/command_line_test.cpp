// SPDX-License-Identifier: Apache-2.0
#include "daemon/command_line.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace scout::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CommandLineTest : public testing::Test {
protected:
    std::optional<int> run(const std::vector<std::string>& arguments) {
        out.str("");
        err.str("");
        const Program program{.name = "scout-example",
                              .summary = "An example.",
                              .examples = "  scout-example --node-name a",
                              .default_config = folder.path() / "default.yaml"};
        const SettingList list{
            text_setting("node-name", "name of the node", name),
            bool_setting("plaintext", "no TLS", plain),
            choice_setting("count", "how many", count, {"3", "4", "5", "6", "7", "10"}),
            list_setting("cpu-map", "maps", maps),
        };
        auto validate = [this] {
            Faults faults;
            if (name.empty()) {
                faults.push_back({"node-name", "is needed"});
            }
            if (count == "10" && plain) {
                faults.push_back({"count", "10 needs TLS"});
            }
            return faults;
        };
        return configure(program, arguments, list, validate, out, err);
    }

    test::TemporaryFolder folder;
    std::string name = "unset";
    bool plain = false;
    std::string count = "3";
    std::vector<std::string> maps;
    std::ostringstream out;
    std::ostringstream err;
};

TEST_F(CommandLineTest, TakesDefaultsWhenThereIsNoFile) {
    EXPECT_EQ(run({}), std::nullopt);
    EXPECT_EQ(name, "unset");
}

TEST_F(CommandLineTest, LetsFlagsWinOverTheFileAndTheFileOverDefaults) {
    folder.write("default.yaml", "node-name: file\ncount: 5\n");

    EXPECT_EQ(run({"--node-name", "flag", "--plaintext"}), std::nullopt);

    EXPECT_EQ(name, "flag");
    EXPECT_EQ(count, "5");
    EXPECT_TRUE(plain);
}

TEST_F(CommandLineTest, ReadsTheFileOfConfigInsteadOfTheDefaultOne) {
    folder.write("default.yaml", "node-name: default\nplaintext: true\n");
    const auto other = folder.write("other.yaml", "count: 6\n");

    EXPECT_EQ(
        run({"--config", other.string(), "--plaintext=false", "--cpu-map=/a", "--cpu-map", "/b"}),
        std::nullopt);

    EXPECT_EQ(name, "unset");
    EXPECT_EQ(count, "6");
    EXPECT_FALSE(plain);
    EXPECT_THAT(maps, ElementsAre("/a", "/b"));
}

TEST_F(CommandLineTest, RefusesAFileThatIsNamedAndMissing) {
    EXPECT_EQ(run({"--config", (folder.path() / "absent.yaml").string()}), exit_bad_config);
    EXPECT_THAT(err.str(), HasSubstr("absent.yaml"));
}

TEST_F(CommandLineTest, EndsCheckConfigWithZeroForAGoodFileAndTwoForABadOne) {
    folder.write("default.yaml", "count: 6\n");
    EXPECT_EQ(run({"--check-config"}), 0);
    EXPECT_THAT(out.str(), HasSubstr("good"));

    folder.write("default.yaml", "cuont: 6\n");
    EXPECT_EQ(run({"--check-config"}), 2);
    EXPECT_THAT(err.str(), HasSubstr("unknown key 'cuont'; the nearest known key is 'count'"));
}

TEST_F(CommandLineTest, ListsFaultsOfFileFlagsAndWholeTogether) {
    folder.write("default.yaml", "node-name: \"\"\nwrong: 1\ncount: 10\n");

    EXPECT_EQ(run({"--cout", "4", "--frobnicate", "--plaintext", "stray"}), exit_bad_config);
    EXPECT_TRUE(plain);

    EXPECT_THAT(err.str(), HasSubstr("default.yaml:1: node-name: is needed"));
    EXPECT_THAT(err.str(), HasSubstr("default.yaml:2: unknown key 'wrong'"));
    EXPECT_THAT(err.str(), HasSubstr("default.yaml:3: count: 10 needs TLS"));
    EXPECT_THAT(err.str(), HasSubstr("unknown flag --cout; the nearest known one is --count"));
    EXPECT_THAT(err.str(), HasSubstr("unknown flag --frobnicate\n"));
    EXPECT_THAT(err.str(), HasSubstr("stray"));
}

TEST_F(CommandLineTest, TellsAKeyThatCouldNotBeReadOnlyOnce) {
    EXPECT_EQ(run({"--count=many"}), exit_bad_config);
    EXPECT_THAT(err.str(), HasSubstr("--count: expected 3, 4, 5, 6, 7 or 10, found many"));

    count = "10";
    plain = true;
    EXPECT_EQ(run({"--count=many"}), exit_bad_config);
    EXPECT_THAT(err.str(), Not(HasSubstr("needs TLS")));
}

TEST_F(CommandLineTest, ShowsHelpWithExamplesAndDefaultsAndTheVersionWithItsCommit) {
    EXPECT_EQ(run({"--help"}), 0);
    EXPECT_THAT(out.str(), HasSubstr("scout-example --node-name a"));
    EXPECT_THAT(out.str(), HasSubstr("TEXT=unset"));
    EXPECT_THAT(out.str(), HasSubstr("--check-config"));

    EXPECT_EQ(run({"--version"}), 0);
    EXPECT_THAT(out.str(), HasSubstr("(commit "));
}

TEST_F(CommandLineTest, RefusesAToggleThatIsNeitherTrueNorFalse) {
    EXPECT_EQ(run({"--plaintext=maybe"}), exit_bad_config);
    EXPECT_THAT(err.str(), HasSubstr("--plaintext"));
}

TEST_F(CommandLineTest, TakesAnEmptyValueAndNotTheNextWordForIt) {
    EXPECT_EQ(run({"--node-name=", "--count", "4"}), exit_bad_config);
    EXPECT_EQ(count, "4");
    EXPECT_THAT(err.str(), HasSubstr("node-name: is needed"));

    EXPECT_EQ(run({"--node-name=a", "--cpu-map=", "--cpu-map", "/b"}), std::nullopt) << err.str();
    EXPECT_THAT(maps, ElementsAre("", "/b"));

    EXPECT_EQ(run({"--plaintext=", "--node-name=a"}), exit_bad_config);
    EXPECT_THAT(err.str(), HasSubstr("--plaintext: expected true or false"));
}

TEST_F(CommandLineTest, RefusesAnEmptyNameOfTheFile) {
    folder.write("default.yaml", "node-name: default\n");

    for (const auto& arguments : {std::vector<std::string>{"--config", ""}, {"--config="}}) {
        EXPECT_EQ(run(arguments), exit_bad_config);
        EXPECT_THAT(err.str(), HasSubstr("--config: expected a file"));
        EXPECT_EQ(name, "unset");
    }
}

TEST_F(CommandLineTest, BlamesNoKeyForAFileThatCannotBeRead) {
    name.clear();
    const auto no_yaml = folder.write("broken.yaml", "node-name: [\n");

    for (const auto& file : {folder.path() / "absent.yaml", no_yaml}) {
        EXPECT_EQ(run({"--config", file.string(), "--count=11"}), exit_bad_config);
        EXPECT_THAT(err.str(), HasSubstr(file.filename().string()));
        EXPECT_THAT(err.str(), HasSubstr("--count: expected"));
        EXPECT_THAT(err.str(), Not(HasSubstr("is needed")));
    }
}

TEST_F(CommandLineTest, AsksForAMissingValueInOneSentence) {
    EXPECT_EQ(run({"--node-name"}), exit_bad_config);
    EXPECT_THAT(err.str(), HasSubstr("--node-name"));
}

}  // namespace
}  // namespace scout::daemon
