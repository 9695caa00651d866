// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <gmock/gmock.h>

#include "cli/render_table.h"

namespace scout::cli {
namespace {

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

TEST(WhyTextTest, WideHasAll) {
    TableStyle style;
    style.wide = true;

    EXPECT_EQ(lines(to_table(long_story(), style)), 58);
}

}  // namespace
}  // namespace scout::cli
