// SPDX-License-Identifier: Apache-2.0
// The HTTP server with TLS, and requests with bodies.
#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "base/certificates.h"
#include "base/clock.h"
#include "base/releaser.h"
#include "daemon/http_server.h"
#include "tests/daemon/http_client.h"
#include "tests/daemon/https_client.h"
#include "tests/support/run_to_end.h"

namespace scout::daemon {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;
using boost::system::error_code;
using test::get;
using test::talk;
using testing::HasSubstr;
using testing::StartsWith;
namespace ssl = asio::ssl;
using TlsStream = ssl::stream<tcp::socket>;
using Session = std::unique_ptr<SSL_SESSION, Releaser<SSL_SESSION_free>>;

constexpr auto a_while = 10ms;

std::string post(const std::string& path, const std::string& body) {
    return "POST " + path + " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n" +
           "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
           body;
}

Task<HttpAnswer> describe(HttpRequest request) {
    // Whoever is asked for something may have to wait for it.
    asio::steady_timer pause(co_await asio::this_coro::executor, 1ms);
    co_await pause.async_wait(as_result);
    co_return HttpAnswer{.body = request.method + " " + request.path + " ? " + request.query + " " +
                                 std::string{request.header("CONTENT-type")} + " " + request.body,
                         .headers = {{"X-Bytes", std::to_string(request.body.size())}}};
}

Task<HttpAnswer> name_client(HttpRequest request) {
    co_return HttpAnswer{.body = "client=[" + request.client + "]"};
}

class HttpsServerTest : public testing::Test {
protected:
    void listen(HttpLimits limits = {}, HttpSecurity security = HttpSecurity::tls) {
        server = HttpServer::listen(loop.get_executor(), "127.0.0.1:0", limits, security).value();
        server->route("POST", "/review", &describe);
        server->route("GET", "/who", &name_client);
        server->route("/hello", [] { return HttpAnswer{.body = "hello\n"}; });
        server->start();
    }
    void start(HttpLimits limits = {}) {
        listen(limits);
        ASSERT_TRUE(server->use(issue()));
    }
    [[nodiscard]] CertifiedKey issue(const std::string& name = "one") const {
        return issue_certificate(authority, {.common_name = name,
                                             .names = {name, "127.0.0.1"},
                                             .validity = {now() - 1h, now() + 1h}})
            .value();
    }
    [[nodiscard]] static WallTime now() { return SystemClock{}.wall(); }

    /// A TLS connection that expects the name; the error of the handshake.
    Task<error_code> connect(TlsStream* stream) const {
        const tcp::endpoint peer{asio::ip::address_v4::loopback(), server->port()};
        co_await stream->lowest_layer().async_connect(peer, asio::use_awaitable);
        const auto [error] = co_await stream->async_handshake(ssl::stream_base::client, as_result);
        co_return error;
    }
    [[nodiscard]] TlsStream client(const std::string& name = "one") {
        TlsStream stream(loop, client_context);
        stream.set_verify_callback(ssl::host_name_verification(name));
        return stream;
    }
    /// One request on a connection of its own: the answer's bytes, or why there is none.
    Task<std::string> exchange(std::string request, std::string name = "one") const {
        return test::talk_tls(server->port(), std::move(request), authority.chain, std::move(name));
    }
    static Task<std::string> say(TlsStream* stream, std::string request) {
        co_await asio::async_write(*stream, asio::buffer(request), as_result);
        std::string answer;
        co_await asio::async_read(*stream, asio::dynamic_buffer(answer), as_result);
        co_return answer;
    }
    template <class T>
    T run(Task<T> task) {
        return test::run_until_done(loop, std::move(task));
    }
    void TearDown() override { run(server->stop()); }

    asio::io_context loop{1};
    CertifiedKey authority =
        make_authority("tests", {.from = now() - 1h, .until = now() + 24h}).value();
    ssl::context client_context = [this] {
        ssl::context context(ssl::context::tls_client);
        context.add_certificate_authority(asio::buffer(authority.chain));
        context.set_verify_mode(ssl::verify_peer);
        return context;
    }();
    std::unique_ptr<HttpServer> server;
};

TEST_F(HttpsServerTest, AnswersWhoVerifiesItsCertificate) {
    start();

    EXPECT_THAT(run(exchange(get("/hello"))), HasSubstr("\r\n\r\nhello\n"));
    EXPECT_THAT(run(exchange(get("/hello"), "127.0.0.1")), HasSubstr("\r\n\r\nhello\n"));
    EXPECT_THAT(run(exchange(get("/hello"), "two")), StartsWith("no TLS: "));
}

TEST_F(HttpsServerTest, HandsABodyToItsHandler) {
    start();

    const auto answer = run(exchange(post("/review?dryRun=All", "{}")));

    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK"));
    EXPECT_THAT(answer, HasSubstr("X-Bytes: 2\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\n\r\nPOST /review ? dryRun=All application/json {}"));
}

TEST_F(HttpsServerTest, TakesMegabytesWhereItMay) {
    start({.body_bytes = 8U << 20U});

    const auto fits = run(exchange(post("/review", std::string(8U << 20U, 'x'))));
    const auto too_long = run(exchange(post("/review", std::string((8U << 20U) + 1, 'x'))));

    EXPECT_THAT(fits, HasSubstr("X-Bytes: 8388608\r\n"));
    EXPECT_THAT(too_long, StartsWith("HTTP/1.1 413"));
}

TEST_F(HttpsServerTest, BodiesOfAllConnectionsHaveABound) {
    start({.body_bytes = 1U << 20U, .all_bodies_bytes = 3U << 19U});
    const std::string head = "POST /review HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n";
    auto slow = client();
    const auto half = [&]() -> Task<> {
        co_await connect(&slow);
        const auto most = head + std::string((1U << 20U) - 2, 'x');
        co_await asio::async_write(slow, asio::buffer(most), as_result);
    };
    run(half());

    std::string answer;
    for (int i = 0; i < 1000 && answer.find("503") == std::string::npos; ++i) {
        answer = run(exchange(post("/review", std::string(1U << 20U, 'x'))));
    }
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 503"));
    EXPECT_GT(server->crowded_out(), 0U);
    EXPECT_THAT(run(exchange(post("/review", "small"))), HasSubstr("small"));

    const auto rest = "xx" + get("/hello");
    EXPECT_THAT(run(say(&slow, rest)), HasSubstr("hello"));
    EXPECT_THAT(run(exchange(post("/review", std::string(1U << 20U, 'x')))), HasSubstr("200 OK"));
}

TEST_F(HttpsServerTest, BodiesThatAreOnlyAnnouncedShutNobodyOut) {
    start({.body_bytes = 8U << 20U, .all_bodies_bytes = 8U << 20U});
    const std::string head = "POST /review HTTP/1.1\r\nContent-Length: 8388608\r\n\r\n";
    std::list<TlsStream> idle;
    for (int i = 0; i < 4; ++i) {
        idle.push_back(client());
        auto* one = &idle.back();
        const auto announce = [&]() -> Task<> {
            co_await connect(one);
            co_await asio::async_write(*one, asio::buffer(head), as_result);
        };
        run(announce());
    }

    EXPECT_THAT(run(exchange(post("/review", std::string(4U << 20U, 'x')))), HasSubstr("200 OK"));
}

TEST_F(HttpsServerTest, ABodyThatNobodyWantsIsRefusedBeforeItComes) {
    start({.body_bytes = 8U << 20U});

    const auto answer = run(exchange("POST /nothing HTTP/1.1\r\nContent-Length: 8388608\r\n\r\n"));

    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404"));
}

TEST_F(HttpsServerTest, ABodyHasLessTimeThanAQuietConnection) {
    start(
        {.body_bytes = 100, .body = std::chrono::milliseconds{20}, .idle = std::chrono::hours{1}});

    const auto answer = run(exchange("POST /review HTTP/1.1\r\nContent-Length: 50\r\n\r\nx"));

    EXPECT_EQ(answer, "");
}

TEST_F(HttpsServerTest, TellsTheMethodsThatAPathHas) {
    start();

    const auto answer = run(exchange(get("/review", "DELETE")));

    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405"));
    EXPECT_THAT(answer, HasSubstr("Allow: POST\r\n"));
    EXPECT_THAT(run(exchange(get("/hello", "PUT"))), HasSubstr("Allow: GET, HEAD\r\n"));
}

TEST_F(HttpsServerTest, NewConnectionsGetTheNewCertificateAndOpenOnesGoOn) {
    start();
    auto old = client();
    ASSERT_FALSE(run(connect(&old)));

    ASSERT_TRUE(server->use(issue("two")));

    EXPECT_THAT(run(exchange(get("/hello"), "two")), HasSubstr("hello"));
    EXPECT_THAT(run(exchange(get("/hello"), "one")), StartsWith("no TLS: "));
    EXPECT_THAT(run(say(&old, get("/hello"))), HasSubstr("hello"));
}

TEST_F(HttpsServerTest, AWrongPairIsRefusedAndTheLastOneStays) {
    start();

    const auto mixed = server->use({.chain = issue("two").chain, .key = issue("two").key});
    const auto rubbish = server->use({.chain = "rubbish", .key = issue().key});

    ASSERT_FALSE(mixed);
    EXPECT_EQ(mixed.error().code, Errc::invalid);
    EXPECT_THAT(mixed.error().message, HasSubstr("serving certificate: expected the private key"));
    ASSERT_FALSE(rubbish);
    EXPECT_THAT(run(exchange(get("/hello"))), HasSubstr("hello"));
}

TEST_F(HttpsServerTest, RefusesAllBeforeItHasACertificate) {
    listen();

    EXPECT_THAT(run(exchange(get("/hello"))), StartsWith("no TLS: "));
    EXPECT_EQ(run(talk(server->port(), get("/hello"))), "");
}

TEST_F(HttpsServerTest, RefusesTlsBefore12) {
    start();
    auto stream = client();
    SSL_set_min_proto_version(stream.native_handle(), TLS1_VERSION);
    SSL_set_max_proto_version(stream.native_handle(), TLS1_1_VERSION);

    EXPECT_TRUE(run(connect(&stream)));
}

TEST_F(HttpsServerTest, PlainHttpToTheTlsPortIsEnded) {
    start({.idle = 1h});

    EXPECT_THAT(run(talk(server->port(), get("/hello"))), testing::Not(HasSubstr("hello")));
    EXPECT_THAT(run(exchange(get("/hello"))), HasSubstr("hello"));
}

TEST_F(HttpsServerTest, AHandshakeThatStallsIsEndedAndCostsTheOthersNothing) {
    start({.idle = 100ms});
    tcp::socket silent(loop);
    silent.connect({asio::ip::address_v4::loopback(), server->port()});
    const std::string begin("\x16\x03\x01\x02", 4);
    asio::write(silent, asio::buffer(begin));

    EXPECT_THAT(run(exchange(get("/hello"))), HasSubstr("hello"));
    const auto ended = [&]() -> Task<> {
        std::string nothing;
        co_await asio::async_read(silent, asio::dynamic_buffer(nothing), as_result);
    };
    run(ended());
    while (server->connections() > 0) {
        loop.run_one_for(a_while);
    }
}

TEST_F(HttpsServerTest, AStopEndsHandlersThatStillWait) {
    listen({}, HttpSecurity::plain);
    bool waits = false;
    bool ended = false;
    const auto wait = [&](HttpRequest /*request*/) -> Task<HttpAnswer> {
        asio::steady_timer forever(loop, 1h);
        waits = true;
        co_await forever.async_wait(as_result);
        ended = true;
        co_return HttpAnswer{};
    };
    server->route("GET", "/wait", wait);
    std::string answer = "none yet";
    asio::co_spawn(
        loop, talk(server->port(), get("/wait")),
        [&answer](const std::exception_ptr&, std::string got) { answer = std::move(got); });
    while (!waits) {
        loop.run_one();
    }

    run(server->stop());

    EXPECT_TRUE(ended);
    EXPECT_EQ(server->connections(), 0U);
    while (!answer.empty()) {
        loop.run_one();
    }
}

TEST_F(HttpsServerTest, AHandlerThatThrowsEndsItsConnectionOnly) {
    listen({}, HttpSecurity::plain);
    server->route("GET", "/throw", [](HttpRequest /*request*/) -> Task<HttpAnswer> {
        throw std::runtime_error("broken");
        co_return HttpAnswer{};
    });

    EXPECT_EQ(run(talk(server->port(), get("/throw"))), "");
    EXPECT_THAT(run(talk(server->port(), get("/hello"))), HasSubstr("hello"));
}

/// Clients that show certificates.
class HttpsClientsTest : public HttpsServerTest {
protected:
    static constexpr auto unknown = "client=[]";

    void SetUp() override {
        start();
        ASSERT_TRUE(server->use_client_authorities(clients.chain));
    }
    [[nodiscard]] CertifiedKey certify(const CertifiedKey& by, CertificatePurpose purpose,
                                       Validity validity) const {
        return issue_certificate(by,
                                 {.common_name = "proxy", .purpose = purpose, .validity = validity})
            .value();
    }
    [[nodiscard]] CertifiedKey certify(const CertifiedKey& by) const {
        return certify(by, CertificatePurpose::client, {now() - 1h, now() + 1h});
    }
    /// From now on every connection shows it; an empty one: none.
    void show(const CertifiedKey& certificate) {
        shown = certificate;
        ASSERT_EQ(SSL_CTX_set_min_proto_version(client_context.native_handle(), version), 1);
        ASSERT_EQ(SSL_CTX_set_max_proto_version(client_context.native_handle(), version), 1);
    }
    [[nodiscard]] TlsStream stream() {
        auto stream = client();
        if (!shown.chain.empty()) {
            ssl::context holder(ssl::context::tls_client);
            holder.use_certificate_chain(asio::buffer(shown.chain));
            holder.use_private_key(asio::buffer(shown.key), ssl::context::pem);
            SSL* const handle = stream.native_handle();
            EXPECT_EQ(SSL_use_certificate(handle, SSL_CTX_get0_certificate(holder.native_handle())),
                      1);
            EXPECT_EQ(SSL_use_PrivateKey(handle, SSL_CTX_get0_privatekey(holder.native_handle())),
                      1);
        }
        return stream;
    }
    /// One question on a connection that stays.
    static Task<std::string> ask(TlsStream* stream) {
        const std::string request = "GET /who HTTP/1.1\r\nHost: test\r\n\r\n";
        co_await asio::async_write(*stream, asio::buffer(request), as_result);
        std::string answer;
        co_await asio::async_read_until(*stream, asio::dynamic_buffer(answer), ']', as_result);
        co_return answer.substr(std::min(answer.find("client="), answer.size()));
    }
    [[nodiscard]] std::string who() {
        auto peer = stream();
        EXPECT_FALSE(run(connect(&peer)));
        return run(ask(&peer));
    }

    CertifiedKey clients =
        make_authority("clients", {.from = now() - 1h, .until = now() + 24h}).value();
    CertifiedKey shown;
    int version = TLS1_3_VERSION;
};

TEST_F(HttpsClientsTest, TellsWhoShowedACertificateAndServesWhoShowedNone) {
    for (const int each : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        version = each;
        show(certify(clients));
        EXPECT_EQ(who(), "client=[proxy]");
        show({});
        EXPECT_EQ(who(), unknown);
    }
}

TEST_F(HttpsClientsTest, ACertificateThatDoesNotVerifyIsAsNone) {
    const auto strangers =
        make_authority("clients", {.from = now() - 1h, .until = now() + 24h}).value();
    for (const int each : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        version = each;
        show(certify(strangers));
        EXPECT_EQ(who(), unknown) << "of an authority of the same name";
        show(certify(clients, CertificatePurpose::client, {now() - 2h, now() - 1h}));
        EXPECT_EQ(who(), unknown) << "expired";
        show(certify(clients, CertificatePurpose::client, {now() + 1h, now() + 2h}));
        EXPECT_EQ(who(), unknown) << "of tomorrow";
        show(certify(clients, CertificatePurpose::server, {now() - 1h, now() + 1h}));
        EXPECT_EQ(who(), unknown) << "of a server";
        show(certify(authority));
        EXPECT_EQ(who(), unknown) << "of the authority of servers";
    }
}

TEST_F(HttpsClientsTest, OpenConnectionsFollowTheAuthorities) {
    show(certify(clients));
    auto peer = stream();
    ASSERT_FALSE(run(connect(&peer)));
    EXPECT_EQ(run(ask(&peer)), "client=[proxy]");

    ASSERT_TRUE(server->use_client_authorities(authority.chain));
    EXPECT_EQ(run(ask(&peer)), unknown);
    ASSERT_TRUE(server->use_client_authorities(authority.chain + clients.chain));
    EXPECT_EQ(run(ask(&peer)), "client=[proxy]");
    ASSERT_TRUE(server->use_client_authorities(""));
    EXPECT_EQ(run(ask(&peer)), unknown);
}

TEST_F(HttpsClientsTest, WithoutReadableAuthoritiesNobodyIsKnown) {
    show(certify(clients));
    const auto half = clients.chain.substr(0, clients.chain.size() / 2);
    for (const auto& pem : {std::string{"rubbish"}, half, clients.chain + half}) {
        const auto used = server->use_client_authorities(pem);
        ASSERT_FALSE(used);
        EXPECT_EQ(used.error().code, Errc::invalid);
        EXPECT_THAT(used.error().message,
                    StartsWith("authorities of clients: expected certificates in PEM form"));
        EXPECT_EQ(who(), unknown);
    }
}

TEST_F(HttpsClientsTest, NoSessionIsResumedSoThatEachConnectionProvesItsClient) {
    for (const int each : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        version = each;
        show(certify(clients));
        auto first = stream();
        ASSERT_FALSE(run(connect(&first)));
        ASSERT_EQ(run(ask(&first)), "client=[proxy]");
        const Session session{SSL_get1_session(first.native_handle())};

        show({});
        auto second = stream();
        SSL_set_session(second.native_handle(), session.get());
        ASSERT_FALSE(run(connect(&second)));
        EXPECT_EQ(run(ask(&second)), unknown);
        EXPECT_EQ(SSL_session_reused(second.native_handle()), 0);
    }
}

}  // namespace
}  // namespace scout::daemon
