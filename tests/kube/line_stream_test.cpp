// SPDX-License-Identifier: Apache-2.0
#include "kube/line_stream.h"

#include <atomic>

#include <boost/asio/executor_work_guard.hpp>
#include <gmock/gmock.h>

#include "tests/kube/transport_fixture.h"
#include "tests/support/wait_until.h"

namespace scout::kube {
namespace {

using test::FakeServer;
using test::Peer;
using test::SeenRequest;
using testing::HasSubstr;
using namespace std::chrono_literals;

class LineStreamTest : public TransportFixture {};

/// Says the pieces as chunks of one answer, then ends it in order, or not.
FakeServer::Handler stream_of(std::vector<std::string> pieces, bool whole = true) {
    return [pieces = std::move(pieces), whole](Peer& peer, const SeenRequest&) {
        peer.say(test::chunked_head());
        for (const auto& piece : pieces) {
            peer.say(test::chunk(piece));
        }
        if (whole) {
            peer.say(test::chunk(""));
        }
        return false;
    };
}

TEST_F(LineStreamTest, GivesLinesHoweverTheyWereCut) {
    FakeServer server(stream_of({"o", "ne\ntw", "o\n\nfour\nfi", "ve", "\n"}));
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);

    const auto stream = open(transport);

    ASSERT_TRUE(stream) << stream.error().message;
    EXPECT_EQ((*stream)->head().status, 200U);
    for (const auto* expected : {"one", "two", "", "four", "five"}) {
        const auto line = next(**stream);
        ASSERT_TRUE(line && *line) << message_of(line);
        EXPECT_EQ(**line, expected);
    }
    const auto end = next(**stream);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_FALSE(*end);
}

TEST_F(LineStreamTest, GivesLinesThatAreLongerThanEveryBuffer) {
    const std::string large(300'000, 'x');
    FakeServer server(stream_of({large + "\n" + large.substr(1) + "\n"}));
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    const auto stream = open(transport);
    ASSERT_TRUE(stream);

    const auto first = next(**stream);
    ASSERT_TRUE(first && *first);
    EXPECT_EQ(**first, large);
    const auto second = next(**stream);

    ASSERT_TRUE(second && *second);
    EXPECT_EQ((*second)->size(), large.size() - 1);
}

TEST_F(LineStreamTest, BytesCanBeReadBehindALine) {
    FakeServer server(stream_of({"a\n"}));
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    const auto stream = open(transport);
    ASSERT_TRUE(stream);

    const auto line = next(**stream);

    ASSERT_TRUE(line && *line);
    unsigned sum = 0;
    for (std::size_t i = 0; i < json_padding; ++i) {
        sum += static_cast<unsigned char>((*line)->data()[(*line)->size() + i]);
    }
    EXPECT_GE(sum, static_cast<unsigned>('\n'));
}

TEST_F(LineStreamTest, RefusesALineWithoutAnEnd) {
    FakeServer server([](Peer& peer, const SeenRequest&) {
        peer.say(test::chunked_head());
        for (int i = 0; i < 40; ++i) {
            peer.say(test::chunk(std::string(10'000, 'x')));
        }
        peer.stay_silent();
        return false;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock,
                            {.line_bytes = 100'000});
    const auto stream = open(transport);
    ASSERT_TRUE(stream);

    const auto line = next(**stream);

    ASSERT_FALSE(line);
    EXPECT_EQ(line.error().code, Errc::invalid);
    EXPECT_THAT(message_of(line), HasSubstr("100000"));
}

TEST_F(LineStreamTest, NoticesSilenceAndTellsItFromAnEnd) {
    FakeServer server([](Peer& peer, const SeenRequest&) {
        peer.say(test::chunked_head() + test::chunk("one\ntw"));
        peer.stay_silent();
        return false;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    const auto stream = open(transport);
    ASSERT_TRUE(stream);
    ASSERT_TRUE(next(**stream));

    const auto line = next(**stream, soon);

    ASSERT_FALSE(line);
    EXPECT_EQ(line.error().code, Errc::timed_out);
}

TEST_F(LineStreamTest, TellsAnAnswerThatBrokeFromOneThatEnded) {
    struct Case {
        std::vector<std::string> pieces;
        bool whole;
        std::string expected;
    };
    const Case cases[] = {{{"one\n"}, false, "in the middle of its answer"},
                          {{"one\ntw"}, false, "in the middle of its answer"},
                          {{"one\ntw"}, true, "in the middle of a line"}};
    for (const auto& each : cases) {
        FakeServer server(stream_of(each.pieces, each.whole));
        HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
        const auto stream = open(transport);
        ASSERT_TRUE(stream);
        ASSERT_TRUE(next(**stream));

        const auto line = next(**stream);

        ASSERT_FALSE(line);
        EXPECT_EQ(line.error().code, Errc::unavailable);
        EXPECT_THAT(message_of(line), HasSubstr(each.expected));
    }
}

TEST_F(LineStreamTest, GivesTheRestOfAnErrorThatCameInsteadOfAStream) {
    FakeServer server([](Peer& peer, const SeenRequest&) {
        peer.say(test::answer(410, R"({"kind":"Status","reason":"Expired"})"));
        return true;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    const auto stream = open(transport);
    ASSERT_TRUE(stream);
    EXPECT_EQ((*stream)->head().status, 410U);

    const auto rest = test::run_until_done(loop, (*stream)->rest(long_enough));

    EXPECT_EQ(rest.value(), R"({"kind":"Status","reason":"Expired"})");
}

TEST_F(LineStreamTest, ALimitHoldsForTheWholeRest) {
    std::atomic<bool> gone{false};
    FakeServer server([&](Peer& peer, const SeenRequest&) {
        peer.say(test::chunked_head(500));
        while (!gone) {
            peer.say(test::chunk("x"));
            std::this_thread::sleep_for(10ms);
        }
        return false;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    const auto stream = open(transport);
    ASSERT_TRUE(stream);

    const auto rest = test::run_until_done(loop, (*stream)->rest(soon));
    gone = true;

    ASSERT_FALSE(rest);
    EXPECT_EQ(rest.error().code, Errc::timed_out);
}

/// Nothing is read ahead of who asks for lines: what waits is the server's, and the kernel's.
TEST_F(LineStreamTest, AReaderThatIsSlowerThanTheServerHoldsItUpAndLosesNothing) {
    constexpr int lines = 1024;
    const std::string rest(64U << 10U, 'x');
    std::atomic<int> said{0};
    FakeServer server([&](Peer& peer, const SeenRequest&) {
        peer.say(test::chunked_head());
        for (int i = 0; i < lines; ++i) {
            peer.say(test::chunk(std::to_string(i) + " " + rest + "\n"));
            ++said;
        }
        peer.say(test::chunk(""));
        return false;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    const auto stream = open(transport);
    ASSERT_TRUE(stream);
    EXPECT_EQ(**next(**stream), "0 " + rest);

    const auto work = asio::make_work_guard(loop);
    for (int before = -1; before != said;) {
        before = said;
        loop.restart();
        loop.run_for(soon);
    }
    EXPECT_LT(said, lines / 2);
    for (int i = 1; i < lines; ++i) {
        ASSERT_EQ(**next(**stream), std::to_string(i) + " " + rest);
    }
    EXPECT_FALSE(*next(**stream));
    EXPECT_EQ(said, lines);
}

TEST_F(LineStreamTest, DestroyingAStreamClosesItsConnection) {
    std::atomic<bool> closed{false};
    FakeServer server([&](Peer& peer, const SeenRequest&) {
        peer.say(test::chunked_head());
        peer.stay_silent();
        closed = true;
        return false;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock, {.streams = 1});
    {
        const auto stream = open(transport);
        ASSERT_TRUE(stream);
        const auto other = open(transport);
        ASSERT_FALSE(other);
        EXPECT_EQ(other.error().code, Errc::unavailable);
        EXPECT_THAT(message_of(other), HasSubstr("at most 1 streams"));
    }

    EXPECT_TRUE(test::wait_until([&] { return closed.load(); }));
    EXPECT_TRUE(open(transport));
}

TEST_F(LineStreamTest, AStreamGetsANewTokenToo) {
    FakeServer server([](Peer& peer, const SeenRequest& seen) {
        peer.say(seen.headers.at("authorization") == "Bearer new"
                     ? test::chunked_head() + test::chunk("fine\n")
                     : test::answer(401, ""));
        return true;
    });
    auto access = access_to(server.port());
    access.token_file = folder.write("token", "old");
    HttpTransport transport(loop.get_executor(), access, clock);
    const auto refused = open(transport);
    ASSERT_TRUE(refused);
    EXPECT_EQ((*refused)->head().status, 401U);
    folder.write("token", "new");

    const auto stream = open(transport);

    ASSERT_TRUE(stream);
    EXPECT_EQ(next(**stream).value(), "fine");
}

}  // namespace
}  // namespace scout::kube
