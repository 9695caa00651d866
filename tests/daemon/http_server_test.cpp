// SPDX-License-Identifier: Apache-2.0
#include "daemon/http_server.h"

#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/daemon/http_client.h"
#include "tests/support/run_to_end.h"

namespace scout::daemon {
namespace {

using namespace std::chrono_literals;
using test::get;
using test::talk;
using testing::HasSubstr;
using testing::StartsWith;

class HttpServerTest : public testing::Test {
protected:
    void start(HttpLimits limits = {}) {
        server = HttpServer::listen(loop.get_executor(), "127.0.0.1:0", limits).value();
        server->route("/hello", [] { return HttpAnswer{.body = "hello\n"}; });
        server->start();
    }
    Task<std::string> exchange(std::string request) {
        auto answer = co_await talk(server->port(), std::move(request));
        co_await server->stop();
        co_return answer;
    }
    std::string ask(std::string request) {
        return test::run_to_end(loop, exchange(std::move(request)));
    }

    asio::io_context loop{1};
    std::unique_ptr<HttpServer> server;
};

TEST_F(HttpServerTest, AnswersGetOnTheBoundPort) {
    start();
    ASSERT_NE(server->port(), 0);

    const auto answer = ask(get("/hello?x=1"));

    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK"));
    EXPECT_THAT(answer, HasSubstr("\r\n\r\nhello\n"));
    EXPECT_EQ(server->connections(), 0U);
}

TEST_F(HttpServerTest, APathWithASlashAtItsEndStandsForAllBelowIt) {
    server = HttpServer::listen(loop.get_executor(), "127.0.0.1:0").value();
    for (const char* path : {"/a/", "/a/b", "/a/b/"}) {
        server->route("GET", path, [path](HttpRequest request) -> Task<HttpAnswer> {
            co_return HttpAnswer{.body = request.path + " by " + path};
        });
    }
    server->start();
    const auto ask_on = [this](const std::string& path) {
        return test::run_until_done(loop, talk(server->port(), get(path)));
    };

    EXPECT_THAT(ask_on("/a/c/d?x=/"), HasSubstr("/a/c/d by /a/"));
    EXPECT_THAT(ask_on("/a/bc"), HasSubstr("/a/bc by /a/"));
    EXPECT_THAT(ask_on("/a/b"), HasSubstr("/a/b by /a/b"));
    EXPECT_THAT(ask_on("/a/b/c"), HasSubstr("/a/b/c by /a/b/"));
    EXPECT_THAT(ask_on("/a"), StartsWith("HTTP/1.1 404"));
    EXPECT_THAT(ask(get("/a/x", "PUT")), StartsWith("HTTP/1.1 405"));
}

TEST_F(HttpServerTest, AnswersHeadWithTheLengthAndNoBody) {
    start();

    const auto answer = ask(get("/hello", "HEAD"));

    EXPECT_THAT(answer, HasSubstr("Content-Length: 6"));
    EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, RefusesOtherMethodsAndPaths) {
    start();
    EXPECT_THAT(ask(get("/hello", "POST")), HasSubstr("405"));
    start();
    EXPECT_THAT(ask(get("/other")), HasSubstr("404"));
}

TEST_F(HttpServerTest, RefusesALongHeaderALongBodyAndRubbish) {
    start();
    EXPECT_THAT(ask("GET /hello HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n\r\n"),
                HasSubstr("431"));
    start();
    EXPECT_THAT(ask("GET /hello HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"), HasSubstr("413"));
    start();
    EXPECT_THAT(ask("\x16\x03\x01 this is no HTTP\r\n\r\n"), HasSubstr("400"));
}

TEST_F(HttpServerTest, KeepsAConnectionForSeveralRequests) {
    start();

    const auto answer = ask("GET /hello HTTP/1.1\r\nHost: t\r\n\r\n" + get("/hello"));

    EXPECT_THAT(answer, HasSubstr("hello\nHTTP/1.1 200 OK"));
}

TEST_F(HttpServerTest, EndsAConnectionThatSaysNothing) {
    start({.idle = 50ms});

    EXPECT_EQ(ask("GET /hel"), "");
}

TEST_F(HttpServerTest, EndsAConnectionWhoseRequestNeverEnds) {
    start({.idle = 100ms});
    auto drip = [&]() -> Task<> {
        asio::ip::tcp::socket socket(loop);
        const asio::ip::tcp::endpoint peer{asio::ip::address_v4::loopback(), server->port()};
        co_await socket.async_connect(peer, asio::use_awaitable);
        boost::system::error_code error;
        for (int i = 0; i < 1000 && !error; ++i) {
            asio::steady_timer pause(loop, 10ms);
            co_await pause.async_wait(as_result);
            const auto [failed, sent] =
                co_await asio::async_write(socket, asio::buffer("x", 1), as_result);
            error = failed;
        }
        EXPECT_TRUE(error) << "each byte must not buy more time";
        co_await server->stop();
    };

    test::run_to_end(loop, drip());
}

TEST_F(HttpServerTest, AnswersAHeaderOfMegabytesBeforeItCloses) {
    start();

    const auto answer = ask("GET /hello HTTP/1.1\r\nX: " + std::string(5 << 20, 'x'));

    EXPECT_THAT(answer, StartsWith("HTTP/1.1 431"));
    EXPECT_THAT(answer, HasSubstr("Connection: close"));
}

TEST_F(HttpServerTest, AProbeGetsThroughWhileIdleConnectionsFillEveryPlace) {
    start({.connections = 2, .idle = 10s});
    auto silent = [&]() -> Task<> {
        std::vector<asio::ip::tcp::socket> sockets;
        for (int i = 0; i < 5; ++i) {
            sockets.emplace_back(loop);
            const asio::ip::tcp::endpoint peer{asio::ip::address_v4::loopback(), server->port()};
            co_await sockets.back().async_connect(peer, asio::use_awaitable);
        }
        const auto answer = co_await talk(server->port(), get("/hello"));
        EXPECT_THAT(answer, HasSubstr("hello"));
        EXPECT_LE(server->connections(), 2U);
        co_await server->stop();
    };

    test::run_to_end(loop, silent());

    EXPECT_EQ(server->connections(), 0U);
}

TEST_F(HttpServerTest, SaysInOneSentenceThatThePortIsInUse) {
    start();

    const auto second = HttpServer::listen(loop.get_executor(), server->address());

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::unavailable);
    EXPECT_THAT(second.error().message, HasSubstr("in use"));
    EXPECT_THAT(second.error().message, HasSubstr(server->address()));
    test::run_to_end(loop, server->stop());
}

TEST(ListenAddressTest, TakesLiteralAddressesOnly) {
    EXPECT_EQ(parse_listen_address("127.0.0.1:80").value().port(), 80);
    EXPECT_TRUE(parse_listen_address("[::1]:0").value().address().is_v6());
    EXPECT_TRUE(parse_listen_address("localhost:1").value().address().is_loopback());
    for (const auto* wrong : {"", "9291", ":9291", "::1:80", "host:80", "127.0.0.1:65536",
                              "127.0.0.1:", "127.0.0.1:8x", "[127.0.0.1]:80"}) {
        EXPECT_FALSE(parse_listen_address(wrong)) << wrong;
    }
}

}  // namespace
}  // namespace scout::daemon
