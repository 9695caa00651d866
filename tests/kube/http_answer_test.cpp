// SPDX-License-Identifier: Apache-2.0
#include "kube/http_answer.h"

#include <cstring>

#include <gtest/gtest.h>

namespace scout::kube {
namespace {

/// Gives the bytes in portions of that size.
Status feed(HttpAnswer& answer, std::string_view bytes, std::size_t portion) {
    while (!bytes.empty()) {
        const auto space = answer.space();
        const auto size = std::min({portion, space.size(), bytes.size()});
        std::memcpy(space.data(), bytes.data(), size);
        if (auto taken = answer.take(size); !taken) {
            return taken;
        }
        bytes.remove_prefix(size);
    }
    return {};
}

TEST(HttpAnswerTest, ReadsTheSameFromBytesInPortionsOfAnySize) {
    const std::string_view bytes =
        "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5;ext=1\r\nhello\r\n11\r\n, wonderful world\r\n0\r\nTrailer: x\r\n\r\n";
    for (const std::size_t portion : {1U, 2U, 3U, 7U, 64U, 1000U}) {
        HttpAnswer answer({});

        const auto fed = feed(answer, bytes, portion);

        ASSERT_TRUE(fed) << portion << ": " << fed.error().message;
        EXPECT_TRUE(answer.is_done()) << portion;
        EXPECT_TRUE(answer.leaves_connection()) << portion;
        EXPECT_EQ(answer.head().content_type, "a/b");
        EXPECT_EQ(answer.body(), "hello, wonderful world");
    }
}

TEST(HttpAnswerTest, PassesOverAnswersThatOnlyAnnounceOne) {
    HttpAnswer answer({});

    ASSERT_TRUE(feed(
        answer, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 5));
    EXPECT_FALSE(answer.has_head());
    ASSERT_TRUE(feed(answer, "HTTP/1.1 204 No Content\r\n\r\n", 5));

    EXPECT_TRUE(answer.is_done());
    EXPECT_EQ(answer.head().status, 204U);
}

TEST(HttpAnswerTest, AConnectionThatEndsBehindAnAnnouncementGaveNoAnswer) {
    HttpAnswer answer({});
    ASSERT_TRUE(feed(answer, "HTTP/1.1 001 Odd\r\n\r\nabc", 100));

    const auto ended = answer.end();

    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, Errc::unavailable);
    EXPECT_FALSE(answer.is_done());
}

TEST(HttpAnswerTest, AnAnswerWithoutALengthEndsWithTheConnection) {
    HttpAnswer answer({});
    ASSERT_TRUE(feed(answer, "HTTP/1.1 200 OK\r\n\r\nabc", 100));
    EXPECT_TRUE(answer.has_head());
    EXPECT_FALSE(answer.is_done());

    ASSERT_TRUE(answer.end());

    EXPECT_TRUE(answer.is_done());
    EXPECT_FALSE(answer.leaves_connection());
    EXPECT_EQ(answer.body(), "abc");
}

TEST(HttpAnswerTest, BytesBehindAnAnswerSpoilTheConnection) {
    HttpAnswer answer({});

    ASSERT_TRUE(feed(answer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200", 100));

    EXPECT_TRUE(answer.is_done());
    EXPECT_EQ(answer.body(), "ab");
    EXPECT_FALSE(answer.leaves_connection());
}

TEST(HttpAnswerTest, AServerThatWantsToCloseIsBelieved) {
    HttpAnswer answer({});

    ASSERT_TRUE(
        feed(answer, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 100));

    EXPECT_TRUE(answer.is_done());
    EXPECT_FALSE(answer.leaves_connection());
}

TEST(HttpAnswerTest, AnEndTooEarlyIsAnError) {
    for (const std::string_view bytes : {"", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nA: b\r\n",
                                         "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"}) {
        HttpAnswer answer({});
        ASSERT_TRUE(feed(answer, bytes, 100));

        const auto end = answer.end();

        ASSERT_FALSE(end) << bytes;
        EXPECT_EQ(end.error().code, Errc::unavailable);
        EXPECT_EQ(answer.has_begun(), !bytes.empty());
    }
}

TEST(HttpAnswerTest, ReadsRetryAfterInSecondsOnly) {
    const std::pair<std::string_view, std::optional<std::chrono::seconds>> cases[] = {
        {"3", std::chrono::seconds{3}},
        {"1000000000", std::chrono::seconds{60}},
        {"-3", std::nullopt},
        {"3 s", std::nullopt},
        {"99999999999999999999", std::nullopt},
        {"Fri, 31 Dec 1999 23:59:59 GMT", std::nullopt}};
    for (const auto& [text, expected] : cases) {
        HttpAnswer answer({});
        ASSERT_TRUE(feed(
            answer,
            "HTTP/1.1 429 X\r\nRetry-After: " + std::string{text} + "\r\nContent-Length: 0\r\n\r\n",
            100));
        EXPECT_EQ(answer.head().retry_after, expected) << text;
    }
}

TEST(HttpAnswerTest, KeepsSixteenWarningsAtMost) {
    HttpAnswer answer({});
    std::string bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
    for (int i = 0; i < 20; ++i) {
        bytes += "Warning: 299 - \"w" + std::to_string(i) + "\"\r\n";
    }

    ASSERT_TRUE(feed(answer, bytes + "\r\n", 1000));

    ASSERT_EQ(answer.head().warnings.size(), 16U);
    EXPECT_EQ(answer.head().warnings[3], "w3");
}

}  // namespace
}  // namespace scout::kube
