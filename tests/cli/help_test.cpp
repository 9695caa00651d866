// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace scout::cli {
namespace {

using test::scoutctl;

const std::vector<std::string> commands{
    "nodes",          "node",    "guests",  "protection", "pressure", "policy",    "migrate",
    "drain-plan",     "where",   "why-not", "why",        "stuck",    "matrix",    "baseline",
    "upgrade-impact", "compare", "profile", "labels",     "debug",    "completion"};

TEST(HelpTest, EveryCommandShowsExamplesAndExitCodes) {
    for (const auto& command : commands) {
        const auto outcome = scoutctl({command, "--help"});
        EXPECT_EQ(outcome.code, 0) << command;
        EXPECT_NE(outcome.out.find("Examples:"), std::string::npos) << command;
        EXPECT_NE(outcome.out.find("Exit codes:"), std::string::npos) << command;
        EXPECT_NE(outcome.out.find("scoutctl " + command), std::string::npos) << command;
    }
}

/// The words of scoutctl in a line of examples, without the shell around it.
std::vector<std::string> example_words(const std::string& line) {
    const std::string program = "scoutctl ";
    const auto start = line.rfind(program) + program.size();
    std::istringstream in(line.substr(start, line.find_first_of("|)", start) - start));
    return {std::istream_iterator<std::string>(in), {}};
}

std::vector<std::string> examples_of(const std::string& help) {
    std::vector<std::string> lines;
    std::istringstream in(help.substr(help.find("Examples:")));
    for (std::string line; std::getline(in, line) && !line.empty();) {
        if (line.find("scoutctl ") != std::string::npos) {
            lines.push_back(line);
        }
    }
    return lines;
}

bool asks_cluster(const std::string& command, const std::string& line) {
    const auto names = [&line](const char* word) { return line.find(word) != std::string::npos; };
    const bool moves = command == "migrate" && !names("--dry-run");
    const bool tunes = names("policy tune");
    return command == "debug" || moves || tunes || names("--live") || names("--cluster") ||
           names("kube:");
}

TEST(HelpTest, EveryExampleDoesWhatItSays) {
    const scout::test::TemporaryFolder folder;
    const auto data = test::small_documents();
    std::filesystem::copy(data / "hosts", folder.path() / "hosts");
    std::filesystem::copy(data / "mixed/labeller", folder.path() / "labeller");
    std::filesystem::copy(data / "cluster", folder.path() / "must-gather");
    std::filesystem::copy(data / "manifests", folder.path() / "policies");
    std::filesystem::copy(data / "moves/aimed.yaml", folder.path() / "move.yaml");
    for (const auto* name :
         {"host.xml", "n1.xml", "n2.xml", "n2-domcapabilities.xml", "old.xml", "new.xml"}) {
        std::filesystem::copy(data / "hosts/new.xml", folder.path() / name);
    }
    std::filesystem::copy(data / "mixed/guest.xml", folder.path() / "vm-7.xml");
    std::ifstream host(data / "hosts/new.xml");
    const std::string piped{std::istreambuf_iterator<char>(host), {}};
    const std::string labeller = "/var/lib/kubevirt-node-labeller";
    std::size_t tried = 0;
    for (const auto& command : commands) {
        for (const auto& line : examples_of(scoutctl({command, "--help"}).out)) {
            auto words = example_words(line);
            std::replace(words.begin(), words.end(), labeller, std::string("labeller"));
            words.insert(words.end(), {"--cpu-map", (data / "cpu_map").string()});

            const auto outcome = scoutctl(words, folder.path(), piped);

            const bool asked =
                outcome.err.find("aggregator.sock: no such socket") != std::string::npos ||
                (asks_cluster(command, line) &&
                 outcome.err.find("kubeconfig") != std::string::npos);
            EXPECT_TRUE(asked || (outcome.code != 2 && outcome.err.empty()))
                << line << ": " << outcome.code << ": " << outcome.err;
            ++tried;
        }
    }
    EXPECT_GT(tried, commands.size());
}

TEST(HelpTest, TheWholeIsShownWithItsExitCodes) {
    const auto outcome = scoutctl({"--help"});

    EXPECT_EQ(outcome.code, 0);
    for (const auto& command : commands) {
        EXPECT_NE(outcome.out.find("\n  " + command), std::string::npos) << command;
    }
    EXPECT_NE(outcome.out.find("cannot be compared"), std::string::npos);
}

TEST(HelpTest, TheVersionNamesTheCommit) {
    const auto outcome = scoutctl({"--version"});

    EXPECT_EQ(outcome.code, 0);
    EXPECT_TRUE(outcome.out.starts_with("scoutctl ")) << outcome.out;
    EXPECT_NE(outcome.out.find("(commit "), std::string::npos);
}

TEST(HelpTest, CompletionNamesEveryCommandAndOption) {
    for (const auto* shell : {"bash", "zsh", "fish"}) {
        const auto outcome = scoutctl({"completion", shell});
        ASSERT_EQ(outcome.code, 0) << shell;
        for (const auto& command : commands) {
            EXPECT_NE(outcome.out.find(command), std::string::npos) << shell << command;
        }
        EXPECT_NE(outcome.out.find("cpu-map"), std::string::npos) << shell;
        EXPECT_NE(outcome.out.find("table wide json yaml"), std::string::npos) << shell;
    }
}

TEST(HelpTest, CompletionTextsAreWhole) {
    const auto fish = scoutctl({"completion", "fish"}).out;
    const auto zsh = scoutctl({"completion", "zsh"}).out;

    EXPECT_NE(fish.find("'unix:/path or host:port (default: "), std::string::npos);
    EXPECT_NE(fish.find("libvirt’s cpu_map folder"), std::string::npos);
    EXPECT_NE(fish.find("can run (no argument: every node)'"), std::string::npos);
    EXPECT_NE(zsh.find("[unix\\:/path or host\\:port (default\\: "), std::string::npos);
}

TEST(HelpTest, BashCompletesCommandsOptionsAndValues) {
    const scout::test::TemporaryFolder folder;
    folder.write("completion", scoutctl({"completion", "bash"}).out);
    folder.write("try",
                 "source ./completion\n"
                 "complete_line() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _scoutctl; "
                 "echo \"${COMPREPLY[@]}\"; }\n"
                 "complete_line scoutctl up > got\n"
                 "complete_line scoutctl nodes -o js >> got\n"
                 "complete_line scoutctl compare --al >> got\n"
                 "complete_line scoutctl profile comple >> got\n"
                 "complete_line scoutctl completion f >> got\n");
    const auto command = "cd '" + folder.path().string() + "' && bash --norc ./try";
    ASSERT_EQ(std::system(command.c_str()), 0);

    folder.write("want", "upgrade-impact\njson\n--all\ncompletion\nfish\n");
    const auto same = "cd '" + folder.path().string() + "' && diff want got";
    EXPECT_EQ(std::system(same.c_str()), 0);
}

TEST(HelpTest, EveryShellThatIsHereCanReadItsScript) {
    const scout::test::TemporaryFolder folder;
    const std::vector<std::pair<std::string, std::string>> checks{
        {"bash", "bash -n"}, {"zsh", "zsh --no-exec"}, {"fish", "fish --no-execute"}};
    for (const auto& [shell, check] : checks) {
        if (::access(("/usr/bin/" + shell).c_str(), X_OK) == 0) {
            const auto script = folder.write(shell, scoutctl({"completion", shell}).out).string();
            EXPECT_EQ(std::system((check + " '" + script + "'").c_str()), 0) << shell;
        }
    }
}

}  // namespace
}  // namespace scout::cli
