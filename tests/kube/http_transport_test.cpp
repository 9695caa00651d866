// SPDX-License-Identifier: Apache-2.0
#include "kube/http_transport.h"

#include <atomic>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
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

class HttpTransportTest : public TransportFixture {
protected:
    /// All at once, until all are answered.
    void send_eight(HttpTransport& transport) {
        int answered = 0;
        for (int i = 0; i < 8; ++i) {
            asio::co_spawn(loop, transport.send(get("/" + std::to_string(i)), long_enough),
                           [&answered](std::exception_ptr, const Answer& answer) {
                               EXPECT_TRUE(answer);
                               ++answered;
                           });
        }
        while (answered < 8) {
            loop.run_one();
        }
    }
};

FakeServer::Handler always(std::string bytes) {
    return [bytes = std::move(bytes)](Peer& peer, const SeenRequest&) {
        peer.say(bytes);
        return true;
    };
}

TEST_F(HttpTransportTest, SendsARequestAndReadsTheWholeAnswer) {
    FakeServer server(always(test::answer(
        201, R"({"a":1})", "Warning: 299 - \"\\\"v1\\\" is old\"\r\nRetry-After: 7\r\n")));
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);

    const auto answer = send(transport, {.method = "POST",
                                         .target = "/api/v1/x?dryRun=All",
                                         .content_type = "application/json",
                                         .body = "{}"});

    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->head.status, 201U);
    EXPECT_EQ(answer->head.content_type, "application/json");
    EXPECT_EQ(answer->head.retry_after, 7s);
    EXPECT_EQ(answer->head.warnings, std::vector<std::string>{"\"v1\" is old"});
    EXPECT_EQ(answer->body, R"({"a":1})");
    const auto seen = server.requests().at(0);
    EXPECT_EQ(seen.method, "POST");
    EXPECT_EQ(seen.target, "/api/v1/x?dryRun=All");
    EXPECT_EQ(seen.body, "{}");
    EXPECT_EQ(seen.headers.at("host"), "127.0.0.1:" + std::to_string(server.port()));
    EXPECT_EQ(seen.headers.at("content-type"), "application/json");
    EXPECT_EQ(seen.headers.at("accept"), "application/json");
    EXPECT_THAT(seen.headers.at("user-agent"), testing::StartsWith("virt-scout/"));
    EXPECT_FALSE(seen.headers.contains("authorization"));
    EXPECT_FALSE(seen.headers.contains("accept-encoding"));
}

TEST_F(HttpTransportTest, PutsThePrefixOfTheServerAndTheHeadersOfTheAccessInFront) {
    FakeServer server(always(test::answer(200, "")));
    auto access = access_to(server.port());
    access.server.prefix = "/k8s/clusters/c-1";
    access.token = "secret";
    access.impersonation = {{"Impersonate-User", "eve"}, {"Impersonate-Group", "a"}};
    HttpTransport transport(loop.get_executor(), access, clock);

    ASSERT_TRUE(send(transport));

    const auto seen = server.requests().at(0);
    EXPECT_EQ(seen.target, "/k8s/clusters/c-1/api");
    EXPECT_EQ(seen.headers.at("authorization"), "Bearer secret");
    EXPECT_EQ(seen.headers.at("impersonate-user"), "eve");
    EXPECT_EQ(seen.headers.at("impersonate-group"), "a");
}

TEST_F(HttpTransportTest, KeepsTheConnectionForTheNextRequest) {
    FakeServer server([](Peer& peer, const SeenRequest& seen) {
        peer.say(seen.target == "/chunked"
                     ? test::chunked_head() + test::chunk("ab") + test::chunk("c") + test::chunk("")
                     : test::answer(200, "abc"));
        return true;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);

    for (const auto* target : {"/plain", "/chunked", "/plain"}) {
        const auto answer = send(transport, get(target));
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->body, "abc");
    }

    EXPECT_EQ(server.connections(), 1U);
}

TEST_F(HttpTransportTest, ClosesAConnectionThatWasIdleForLong) {
    FakeServer server(always(test::answer(200, "")));
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock, {.idle = 50ms});
    ASSERT_TRUE(send(transport));

    // The idle timer is all that the loop has left to do.
    loop.run();

    ASSERT_TRUE(send(transport));
    EXPECT_EQ(server.connections(), 2U);
}

TEST_F(HttpTransportTest, DoesNotUseAConnectionAgainThatTheServerHasClosed) {
    FakeServer server([](Peer& peer, const SeenRequest&) {
        peer.say(test::answer(200, ""));
        return false;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);

    EXPECT_TRUE(send(transport));
    ASSERT_TRUE(test::wait_until([&server] { return server.closed() == 1; }));
    EXPECT_TRUE(send(transport, {.method = "POST", .target = "/api"}));

    EXPECT_EQ(server.requests().size(), 2U);
}

/// Answers the first request of a connection and closes at the second, as a server does whose
/// idle time runs out at that moment.
bool answer_first_only(Peer& peer, const SeenRequest& seen, std::atomic<unsigned>& last) {
    const bool first = last.exchange(seen.connection) != seen.connection;
    if (first) {
        peer.say(test::answer(200, ""));
    }
    return first;
}

TEST_F(HttpTransportTest, SendsAGetOnceMoreWhenTheKeptConnectionClosesUnderIt) {
    std::atomic<unsigned> last{0};
    FakeServer server(
        [&](Peer& peer, const SeenRequest& seen) { return answer_first_only(peer, seen, last); });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    ASSERT_TRUE(send(transport));

    EXPECT_TRUE(send(transport));

    EXPECT_EQ(server.connections(), 2U);
    EXPECT_EQ(server.requests().size(), 3U);
}

TEST_F(HttpTransportTest, WhatWasKeptIsGivenUpWhenOneOfThemSaysNothing) {
    std::atomic<int> arrived = 0;
    FakeServer server([&arrived](Peer& peer, const SeenRequest& seen) {
        if (seen.target == "/dead") {
            peer.stay_silent();
            return false;
        }
        // No answer before all eight are there, so that each has a connection of its own.
        ++arrived;
        EXPECT_TRUE(test::wait_until([&arrived] { return arrived >= 8; }));
        peer.say(test::answer(200, ""));
        return true;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    send_eight(transport);
    ASSERT_EQ(server.connections(), 8U);

    const auto dead = send(transport, get("/dead"), soon);
    ASSERT_FALSE(dead);
    EXPECT_EQ(dead.error().code, Errc::timed_out);
    ASSERT_TRUE(send(transport));

    EXPECT_EQ(server.connections(), 9U);
}

TEST_F(HttpTransportTest, NeverSendsAPostTwice) {
    std::atomic<unsigned> last{0};
    FakeServer server(
        [&](Peer& peer, const SeenRequest& seen) { return answer_first_only(peer, seen, last); });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    ASSERT_TRUE(send(transport));

    const auto answer = send(transport, {.method = "POST", .target = "/api"});

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::unavailable);
    EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(HttpTransportTest, AFreshConnectionThatClosesWithoutAnAnswerIsAnError) {
    FakeServer server([](Peer&, const SeenRequest&) { return false; });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);

    const auto answer = send(transport);

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::unavailable);
    EXPECT_THAT(message_of(answer), HasSubstr("closed without an answer"));
    EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(HttpTransportTest, TellsATruncatedAnswer) {
    FakeServer server([](Peer& peer, const SeenRequest&) {
        peer.say(test::chunked_head() + "5\r\nabc");
        return false;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);

    const auto answer = send(transport);

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::unavailable);
    EXPECT_THAT(message_of(answer), HasSubstr("in the middle of its answer"));
}

TEST_F(HttpTransportTest, GivesUpOnAServerThatSaysNothing) {
    FakeServer server([](Peer& peer, const SeenRequest&) {
        peer.stay_silent();
        return false;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);

    const auto answer = send(transport, get(), soon);

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::timed_out);
    EXPECT_THAT(message_of(answer), HasSubstr("300 ms"));
    EXPECT_THAT(message_of(answer), HasSubstr("http://127.0.0.1"));
}

TEST_F(HttpTransportTest, GivesUpOnAnAnswerThatTricklesBeyondTheLimit) {
    std::atomic<bool> gone{false};
    FakeServer server([&](Peer& peer, const SeenRequest&) {
        peer.say(test::chunked_head());
        while (!gone) {
            peer.say(test::chunk("x"));
            std::this_thread::sleep_for(10ms);
        }
        return false;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);

    const auto answer = send(transport, get(), soon);
    gone = true;

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::timed_out);
}

TEST_F(HttpTransportTest, RefusesWhatIsTooLargeOrNoHttp) {
    struct Case {
        std::string bytes;
        std::string expected;
    };
    const Case cases[] = {
        {test::answer(200, std::string(2000, 'x')), "at most 1000 bytes"},
        {test::chunked_head() + test::chunk(std::string(2000, 'x')), "at most 1000 bytes"},
        {"HTTP/1.1 200 OK\r\nX: " + std::string(3000, 'x') + "\r\n\r\n", "at most 2000 bytes"},
        {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "expected an HTTP answer"},
        {test::answer(200, "x", "Content-Encoding: gzip\r\n"), "compressed"},
        {test::chunked_head() + "1;" + std::string(40'000, 'x'), "without an end"}};
    for (const auto& each : cases) {
        FakeServer server(always(each.bytes));
        HttpTransport transport(loop.get_executor(), access_to(server.port()), clock,
                                {.head_bytes = 2000, .body_bytes = 1000});

        const auto answer = send(transport);

        ASSERT_FALSE(answer) << each.expected;
        EXPECT_EQ(answer.error().code, Errc::invalid) << answer.error().message;
        EXPECT_THAT(message_of(answer), HasSubstr(each.expected));
    }
}

TEST_F(HttpTransportTest, RefusesARequestThatWouldBecomeTwo) {
    FakeServer server(always(test::answer(200, "")));
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    for (const std::string target : {"/a b", "/a\r\nX: y", "", "a"}) {
        const auto answer = send(transport, get(target));
        ASSERT_FALSE(answer) << target;
        EXPECT_EQ(answer.error().code, Errc::invalid);
    }
    EXPECT_FALSE(send(transport, {.target = "/", .content_type = "a\r\nb"}));
    EXPECT_EQ(server.connections(), 0U);
}

TEST_F(HttpTransportTest, NamesTheServerThatRefusesConnections) {
    std::uint16_t port = 0;
    {
        const FakeServer gone([](Peer&, const SeenRequest&) { return false; });
        port = gone.port();
    }
    HttpTransport transport(loop.get_executor(), access_to(port), clock);

    const auto answer = send(transport);

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::unavailable);
    EXPECT_THAT(message_of(answer), HasSubstr("port " + std::to_string(port)));
    EXPECT_THAT(message_of(answer), HasSubstr("Connection refused"));
}

TEST_F(HttpTransportTest, LetsNoMoreRequestsOutThanAgreed) {
    std::atomic<int> under_way{0};
    std::atomic<int> most{0};
    FakeServer server([&](Peer& peer, const SeenRequest&) {
        most = std::max<int>(most, ++under_way);
        std::this_thread::sleep_for(20ms);
        --under_way;
        peer.say(test::answer(200, ""));
        return true;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock, {.requests = 2});

    send_eight(transport);

    EXPECT_LE(most, 2);
    EXPECT_EQ(transport.connected(), 2U);
}

TEST_F(HttpTransportTest, ServesRequestsThatWaitInTheirOrder) {
    FakeServer server(always(test::answer(200, "")));
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock, {.requests = 1});

    send_eight(transport);

    std::string order;
    for (const auto& seen : server.requests()) {
        order += seen.target;
    }
    EXPECT_EQ(order, "/0/1/2/3/4/5/6/7");
}

TEST_F(HttpTransportTest, ARequestThatFindsNoPlaceInTimeSaysSo) {
    FakeServer server([](Peer& peer, const SeenRequest&) {
        peer.stay_silent();
        return false;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock, {.requests = 1});
    std::optional<Answer> first;
    asio::co_spawn(loop, transport.send(get(), 800ms),
                   [&](std::exception_ptr, Answer answer) { first = std::move(answer); });

    const auto second = send(transport, get(), soon);

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::timed_out);
    EXPECT_THAT(message_of(second), HasSubstr("all 1 connections were busy"));
    loop.run();
    EXPECT_EQ(first->error().code, Errc::timed_out);
}

TEST_F(HttpTransportTest, ACancelledRequestEndsAtOnceAndLeavesItsPlace) {
    std::atomic<bool> asked{false};
    FakeServer server([&](Peer& peer, const SeenRequest& seen) {
        if (seen.target == "/ok") {
            peer.say(test::answer(200, ""));
            return true;
        }
        asked = true;
        peer.stay_silent();
        return false;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock, {.requests = 1});
    asio::cancellation_signal cancel;
    std::optional<Answer> cancelled;
    asio::co_spawn(
        loop, transport.send(get("/silent"), long_enough),
        asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr, Answer answer) {
            cancelled = std::move(answer);
        }));
    while (!asked) {
        loop.run_one_for(5ms);
    }

    cancel.emit(asio::cancellation_type::terminal);
    loop.run();

    ASSERT_TRUE(cancelled);
    ASSERT_FALSE(*cancelled);
    EXPECT_EQ(cancelled->error().code, Errc::cancelled);
    EXPECT_TRUE(send(transport, get("/ok")));
}

TEST_F(HttpTransportTest, ReadsANewTokenFromItsFileWhenTheServerRefusesTheOldOne) {
    FakeServer server([](Peer& peer, const SeenRequest& seen) {
        peer.say(seen.headers.at("authorization") == "Bearer new" ? test::answer(200, "fine")
                                                                  : test::answer(401, "who?"));
        return true;
    });
    auto access = access_to(server.port());
    access.token_file = folder.write("token", "old\n");
    HttpTransport transport(loop.get_executor(), access, clock);

    const auto refused = send(transport);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->head.status, 401U);
    EXPECT_EQ(refused->body, "who?");
    EXPECT_EQ(server.requests().size(), 1U) << "the same token is not tried twice";

    folder.write("token", "new\n");
    const auto answer = send(transport, {.method = "POST", .target = "/api", .body = "{}"});

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->head.status, 200U);
    EXPECT_EQ(answer->body, "fine");
    EXPECT_EQ(server.requests().size(), 3U);
    EXPECT_EQ(server.requests().back().body, "{}");
}

}  // namespace
}  // namespace scout::kube
