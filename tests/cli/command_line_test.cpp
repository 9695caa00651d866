// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/app.h"

namespace scout::cli {
namespace {

/// What the whole program says of a command line that it refuses.
std::string refusal(std::vector<std::string> words) {
    words.insert(words.begin(), "scoutctl");
    std::vector<const char*> argv;
    argv.reserve(words.size());
    for (const auto& word : words) {
        argv.push_back(word.c_str());
    }
    std::string told;
    const int code =
        run(static_cast<int>(argv.size()), argv.data(),
            {.colour = false,
             .progress = false,
             .open_fleet = [](const auto&, const auto&) { return fail(Errc::internal, "asked"); },
             .write = [](std::string_view) { return true; },
             .tell = [&told](std::string_view line) { told += line; }});
    EXPECT_EQ(code, exit_code::error) << told;
    return told;
}

TEST(CommandLineTest, UnknownCommandsAreNamedWithTheNearestOne) {
    EXPECT_EQ(
        refusal({"comapre", "a", "b"}),
        "scoutctl: unknown command 'comapre'; did you mean 'compare'?; see 'scoutctl --help'");
    EXPECT_TRUE(refusal({"frobnicate"})
                    .starts_with("scoutctl: unknown command 'frobnicate'; expected one of nodes, "
                                 "node, guests, protection, "));
    EXPECT_TRUE(refusal({}).starts_with("scoutctl: expected a command: nodes, node, "));
    EXPECT_TRUE(refusal({"-o", "json"}).starts_with("scoutctl: expected a command: "));
}

TEST(CommandLineTest, UnknownOptionsAreNamedWithTheNearestOne) {
    EXPECT_EQ(refusal({"nodes", "--agregator", "x"}),
              "scoutctl: unknown option '--agregator'; did you mean '--aggregator'?; see 'scoutctl "
              "nodes --help'");
    EXPECT_EQ(refusal({"compare", "--frobnicate=1", "a", "b"}),
              "scoutctl: unknown option '--frobnicate'; see 'scoutctl compare --help'");
    EXPECT_EQ(refusal({"--from", "a", "nodes"}),
              "scoutctl: option '--from' belongs behind the command, found in front of it; see "
              "'scoutctl nodes --help'");
    EXPECT_EQ(refusal({"node", "n1", "n2"}),
              "scoutctl: unexpected argument 'n2'; see 'scoutctl node --help'");
}

TEST(CommandLineTest, AnEmptyValueIsNeverPassedOver) {
    EXPECT_TRUE(refusal({"compare", "--output=", "json", "b"})
                    .starts_with("scoutctl: expected a value behind '--output='"));
    EXPECT_TRUE(refusal({"--config=", "nodes"}).starts_with("scoutctl: expected a value behind"));
    EXPECT_TRUE(refusal({"compare", "-o=", "json"}).starts_with("scoutctl: expected a value"));
    EXPECT_TRUE(refusal({"--config", "", "nodes"})
                    .starts_with("scoutctl: --config: expected a value, found an empty one"));
    EXPECT_TRUE(refusal({"compare", "", "b"}).starts_with("scoutctl: A: expected a value"));
    EXPECT_TRUE(refusal({"where", "vm", "--on", ""}).starts_with("scoutctl: --on: expected a"));
}

TEST(CommandLineTest, WhatStandsBehindTwoDashesIsNoOption) {
    EXPECT_EQ(refusal({"node", "--", "n="}).find("expected a value"), std::string::npos);
}

TEST(CommandLineTest, ValuesAreCountedInWords) {
    EXPECT_TRUE(
        refusal({"nodes", "-o"}).starts_with("scoutctl: --output: expected a value (table"));
    EXPECT_TRUE(refusal({"nodes", "-o", "json", "-o", "yaml"})
                    .starts_with("scoutctl: --output: expected once, found 2 times"));
}

TEST(CommandLineTest, LongWordsAreShortened) {
    const std::string huge(std::size_t{1} << 20U, 'x');
    EXPECT_LT(refusal({huge}).size(), 1000U);
    EXPECT_LT(refusal({"nodes", "--" + huge}).size(), 1000U);
    EXPECT_LT(refusal({"nodes", huge}).size(), 1000U);
    EXPECT_LT(refusal({"nodes", "-o", huge}).size(), 1000U);
    EXPECT_LT(refusal({"nodes", "--deadline", huge}).size(), 1000U);
}

}  // namespace
}  // namespace scout::cli
