// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cause_history.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using migration::Cause;

const WallTime begin{std::chrono::hours{500'000}};

KeptEnd an_end(const std::string& vm, const std::string& pod, Cause cause = Cause::node_pressure) {
    return {.space = "shop",
            .vmi_name = vm,
            .pod = pod,
            .pod_uid = "uid of " + pod,
            .node = "n1",
            .phase = "Failed",
            .ended = begin,
            .answer = {.cause = cause, .resource = {}, .evidence = {"it was low"}}};
}

KeptMove a_move(const std::string& vm, const std::string& name, WallTime created) {
    KeptMove kept{.space = "shop", .vmi_name = vm, .uid = "uid of " + name, .move = {}};
    kept.move.name = name;
    kept.move.created = created;
    return kept;
}

TEST(CauseHistoryTest, TellsTheLastEndOfAVmAndThatOfAPod) {
    CauseHistory history;
    history.put(an_end("web", "a"), begin);
    auto second = an_end("web", "b", Cause::liveness);
    second.ended = begin + 1s;
    history.put(std::move(second), begin + 1s);
    history.put(an_end("db", "c"), begin + 2s);
    history.put(an_end("web", "z"), begin + 3s);

    ASSERT_NE(history.last_end("shop", "web"), nullptr);
    EXPECT_EQ(history.last_end("shop", "web")->pod, "b");
    ASSERT_NE(history.end_of_pod("shop", "a"), nullptr);
    EXPECT_EQ(history.end_of_pod("shop", "a")->answer.cause, Cause::node_pressure);
    EXPECT_EQ(history.last_end("other", "web"), nullptr);
    EXPECT_EQ(history.end_of_pod("shop", "d"), nullptr);
}

TEST(CauseHistoryTest, WhatIsToldAgainTakesThePlaceOfWhatWasTold) {
    CauseHistory history;
    history.put(a_move("web", "m", begin), begin);
    const auto bytes = history.bytes();
    auto ended = a_move("web", "m", begin);
    ended.move.mode = "PostCopy";
    history.put(std::move(ended), begin + 1s);

    EXPECT_EQ(history.size(), 1U);
    EXPECT_GE(history.bytes(), bytes);
    ASSERT_EQ(history.moves("shop", "web").size(), 1U);
    EXPECT_EQ(history.moves("shop", "web").front().mode, "PostCopy");
    ASSERT_NE(history.move("uid of m"), nullptr);
    EXPECT_EQ(history.move("uid of x"), nullptr);
}

TEST(CauseHistoryTest, MovesComeYoungestFirstAndNotMoreThanAnAnswerHolds) {
    CauseHistory history;
    for (int i = 0; i < 60; ++i) {
        history.put(a_move("web", "m" + std::to_string(i), begin + i * 1s), begin + i * 1s);
    }
    const auto moves = history.moves("shop", "web");

    ASSERT_EQ(moves.size(), CauseHistory::most_moves);
    EXPECT_EQ(moves.front().name, "m59");
    EXPECT_EQ(moves.back().name, "m10");
}

TEST(CauseHistoryTest, WhatIsTooOldGoes) {
    CauseHistory history;
    history.keep_for(1h, begin);
    history.put(an_end("web", "a"), begin);
    history.put(an_end("db", "b"), begin + 30min);
    history.expire(begin + 1h);

    EXPECT_EQ(history.last_end("shop", "web"), nullptr);
    EXPECT_NE(history.last_end("shop", "db"), nullptr);
    history.keep_for(0s, begin + 1h);
    EXPECT_EQ(history.size(), 0U);
    EXPECT_EQ(history.bytes(), 0U);
    history.put(an_end("web", "a"), begin + 2h);
    EXPECT_EQ(history.size(), 0U);
}

TEST(CauseHistoryTest, TheOldestGoesWhenThereAreTooManyOrTheyAreTooLarge) {
    CauseHistory few({.entries = 2, .bytes = 1U << 20U});
    for (const auto* pod : {"a", "b", "c"}) {
        few.put(an_end("web", pod), begin);
    }
    EXPECT_EQ(few.size(), 2U);
    EXPECT_EQ(few.end_of_pod("shop", "a"), nullptr);

    CauseHistory small({.entries = 1000, .bytes = 10'000});
    for (int i = 0; i < 100; ++i) {
        auto end = an_end("web", "p" + std::to_string(i));
        end.answer.evidence.assign(100, std::string(100'000, 'x'));
        small.put(std::move(end), begin);
        EXPECT_LE(small.bytes(), 10'000U);
    }
    ASSERT_NE(small.end_of_pod("shop", "p99"), nullptr);
    const auto& evidence = small.end_of_pod("shop", "p99")->answer.evidence;
    EXPECT_EQ(evidence.size(), 8U);
    EXPECT_EQ(evidence.front().size(), 512U);
}

TEST(CauseHistoryTest, NoCharacterIsCutInTheMiddle) {
    CauseHistory history;
    auto end = an_end("web", "a");
    end.answer.evidence = {std::string(511, 'x') + "\u00e4\u00e4"};
    history.put(std::move(end), begin);

    EXPECT_EQ(history.end_of_pod("shop", "a")->answer.evidence.front(), std::string(511, 'x'));
}

}  // namespace
}  // namespace scout::aggregator
