// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <string>

#include <gmock/gmock.h>

#include "cli/render_table.h"

namespace scout::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

cluster::CauseStory long_story() {
    cluster::CauseStory story;
    story.vmi = "shop/db";
    story.pod = "virt-launcher-db-abcde";
    story.node = "n1";
    story.answer = {.cause = migration::Cause::node_pressure,
                    .resource = {},
                    .evidence = {"pod event a", "pod event b", "pod event c", "pod event d",
                                 "contradiction: the evidence allows more than one cause"},
                    .certain = false,
                    .ended = true};
    for (int i = 0; i < 50; ++i) {
        cluster::PastMove move;
        move.name = "m" + std::to_string(i);
        move.phase = "Failed";
        move.failure = "no\nroom";
        story.moves.push_back(move);
    }
    return story;
}

std::ptrdiff_t lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
}

TEST(WhyTextTest, TellsTheStoryInFiveLinesHoweverMuchIsKept) {
    const auto text = to_table(long_story(), TableStyle{});

    EXPECT_EQ(lines(text), 5) << text;
    EXPECT_THAT(text,
                HasSubstr("pod event a; pod event b; pod event c; contradiction: the evidence "
                          "allows more than one cause; 1 more with -o wide"));
    EXPECT_THAT(text, HasSubstr("m0: Failed (no\\nroom), wanted by user; 49 more with -o wide"));
}

TEST(WhyTextTest, OfWhatIsCertainWhatDecidesIsEnough) {
    auto story = long_story();
    story.answer.certain = true;
    story.answer.evidence.pop_back();
    story.moves.clear();

    const auto text = to_table(story, TableStyle{});

    EXPECT_EQ(lines(text), 4) << text;
    EXPECT_THAT(text, HasSubstr("pod event a; 3 more with -o wide"));
}

/// An act is told in the place of a migration before it, or after the end that it preceded.
TEST(WhyTextTest, OfAnActAndAMigrationTheOneThatTellsMoreHasTheLine) {
    const WallTime noon{std::chrono::hours{24 * 365}};
    auto story = long_story();
    story.moves.resize(1);
    story.acts = {{.at = noon + 9s, .reason = "LauncherEnded", .text = "it ended"},
                  {.at = noon, .reason = "EvacuationGivenUp", .text = "too late"}};
    const auto told = [&story] { return to_table(story, TableStyle{}); };

    story.moves[0].created = noon - 1s;
    EXPECT_EQ(lines(told()), 5) << told();
    EXPECT_THAT(told(),
                HasSubstr("virt-scout:   gave up at 1971-01-01T00:00:00Z: too late; 2 more"));
    story.moves[0].created = noon + 1s;
    EXPECT_EQ(lines(told()), 5) << told();
    EXPECT_THAT(told(), HasSubstr("wanted by user; 2 more with -o wide"));
    story.ended = noon;
    EXPECT_THAT(told(), HasSubstr("gave up at"));
    story.answer.evidence.clear();
    EXPECT_EQ(lines(told()), 5) << "there is room for both" << told();
}

TEST(WhyTextTest, OfAnEndThatOnlyVirtScoutSawThatIsSaid) {
    auto story = long_story();
    story.moves.clear();
    story.acts = {{.at = {}, .reason = "LauncherEnded", .text = "it ended"}};
    EXPECT_EQ(lines(to_table(story, TableStyle{})), 4);

    story.answer.cause = migration::Cause::unknown;
    EXPECT_THAT(to_table(story, TableStyle{}), HasSubstr("virt-scout:   LauncherEnded: it ended"));
}

TEST(WhyTextTest, WideHasAll) {
    TableStyle style;
    style.wide = true;

    EXPECT_EQ(lines(to_table(long_story(), style)), 58);
}

}  // namespace
}  // namespace scout::cli
