// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/files.h"
#include "tests/kube/transport_fixture.h"
#include "tests/support/fake_clock.h"

namespace scout::kube {
namespace {

using test::FakeServer;
using test::Peer;
using test::SeenRequest;
using testing::HasSubstr;
using namespace std::chrono_literals;

bool say_ok(Peer& peer, const SeenRequest&) {
    peer.say(test::answer(200, "ok"));
    return true;
}

class KubeTlsTest : public TransportFixture {
protected:
    [[nodiscard]] FakeServer::Tls server_tls(const test::Authority::Spec& spec) const {
        return {.own = authority.make(spec)};
    }
    [[nodiscard]] ClusterAccess trusting_access(const FakeServer& server) const {
        auto access = access_to(server.port(), true);
        access.authority.text = authority.make("any", "").ca;
        return access;
    }
    /// Who wants a certificate of `clients`.
    [[nodiscard]] FakeServer::Tls tls_of_clients() const {
        auto tls = server_tls({.common_name = "api", .names = "IP:127.0.0.1"});
        tls.client_authority = clients.make("any", "").ca;
        return tls;
    }
    /// Authority, certificate and key of a client in the files ca.crt, tls.crt and tls.key.
    [[nodiscard]] ClusterAccess access_by_files(const FakeServer& server, const char* client) {
        const auto pem = clients.make(client, "");
        auto access = trusting_access(server);
        access.authority = {.text = {}, .file = folder.write("ca.crt", access.authority.text)};
        access.client_certificate.file = folder.write("tls.crt", pem.certificate);
        access.client_key.file = folder.write("tls.key", pem.key);
        return access;
    }
    /// The error of one request.
    [[nodiscard]] std::string refusal(const ClusterAccess& access) {
        HttpTransport transport(loop.get_executor(), access, clock);
        const auto answer = send(transport);
        EXPECT_FALSE(answer);
        EXPECT_EQ(answer ? Errc::internal : answer.error().code, Errc::unavailable);
        return message_of(answer);
    }
    [[nodiscard]] bool works(const ClusterAccess& access) {
        HttpTransport transport(loop.get_executor(), access, clock);
        const auto answer = send(transport);
        EXPECT_TRUE(answer) << answer.error().message;
        return answer && answer->body == "ok";
    }

    test::Authority authority{"the cluster"};
    test::Authority clients{"clients"};
};

TEST_F(KubeTlsTest, TalksToAServerWhoseAddressIsInItsCertificate) {
    FakeServer server(say_ok, server_tls({.common_name = "api", .names = "IP:127.0.0.1"}));

    EXPECT_TRUE(works(trusting_access(server)));

    EXPECT_EQ(server.requests().at(0).server_name, "") << "an address is no server name";
}

TEST_F(KubeTlsTest, RefusesACertificateForAnotherName) {
    FakeServer server(
        say_ok, server_tls({.common_name = "127.0.0.1", .names = "DNS:api.other,IP:10.0.0.1"}));

    const auto message = refusal(trusting_access(server));

    EXPECT_THAT(message, HasSubstr("expected a certificate for '127.0.0.1'"));
    EXPECT_THAT(message, HasSubstr("found one for api.other, 10.0.0.1"));
    EXPECT_TRUE(server.requests().empty());
}

TEST_F(KubeTlsTest, ExpectsTheNameThatTheAccessGives) {
    FakeServer server(say_ok, server_tls({.common_name = "api", .names = "DNS:api.cluster"}));
    auto access = trusting_access(server);
    access.tls_server_name = "api.cluster";

    EXPECT_TRUE(works(access));
    EXPECT_EQ(server.requests().at(0).server_name, "api.cluster");

    access.tls_server_name = "api.other";
    EXPECT_THAT(refusal(access), HasSubstr("expected a certificate for 'api.other'"));
}

TEST_F(KubeTlsTest, RefusesAnExpiredCertificateAndSaysSinceWhen) {
    FakeServer server(say_ok, server_tls({.common_name = "api",
                                          .names = "IP:127.0.0.1",
                                          .valid_from = -48h,
                                          .valid_until = -24h}));

    const auto message = refusal(trusting_access(server));

    EXPECT_THAT(message, HasSubstr("certificate has expired: valid until"));
}

TEST_F(KubeTlsTest, RefusesACertificateThatIsNotValidYet) {
    FakeServer server(
        say_ok, server_tls({.common_name = "api", .names = "IP:127.0.0.1", .valid_from = 1h}));

    EXPECT_THAT(refusal(trusting_access(server)), HasSubstr("is the clock right?"));
}

TEST_F(KubeTlsTest, RefusesAServerOfAnotherAuthority) {
    FakeServer server(say_ok, server_tls({.common_name = "api", .names = "IP:127.0.0.1"}));
    auto access = trusting_access(server);
    access.authority.text = test::Authority{"somebody else"}.make("any", "").ca;

    EXPECT_THAT(refusal(access), HasSubstr("the cluster"));

    access.authority.text.clear();
    EXPECT_THAT(refusal(access), HasSubstr("the cluster"));
}

TEST_F(KubeTlsTest, TakesAnyServerWhenAskedTo) {
    FakeServer server(say_ok, server_tls({.common_name = "api", .names = "DNS:other"}));
    auto access = access_to(server.port(), true);
    access.insecure = true;

    EXPECT_TRUE(works(access));
}

TEST_F(KubeTlsTest, SaysWhenTheServerSpeaksNoTls) {
    FakeServer server([](Peer& peer, const SeenRequest&) {
        peer.say("never");
        return false;
    });
    auto access = access_to(server.port(), true);
    HttpTransport transport(loop.get_executor(), access, clock);

    const auto answer = send(transport, get(), 2s);

    ASSERT_FALSE(answer);
    EXPECT_THAT(message_of(answer), HasSubstr("TLS handshake"));
}

TEST_F(KubeTlsTest, ShowsItsCertificate) {
    FakeServer server(say_ok, tls_of_clients());
    auto access = trusting_access(server);
    const auto mine = clients.make("scout", "");
    access.client_certificate.text = mine.certificate;
    access.client_key.text = mine.key;

    EXPECT_TRUE(works(access));
    EXPECT_EQ(server.requests().at(0).peer, "scout");

    access.client_certificate = {};
    access.client_key = {};
    HttpTransport without(loop.get_executor(), access, clock);
    const auto answer = send(without);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::unavailable);
}

TEST_F(KubeTlsTest, FollowsItsFilesWithoutARestart) {
    FakeServer server(say_ok, tls_of_clients());
    const auto access = access_by_files(server, "old");
    test::FakeClock time;
    HttpTransport transport(loop.get_executor(), access, time);
    ASSERT_TRUE(send(transport));

    // In the middle of a rotation certificate and key do not fit.
    const auto renewed = clients.make("new", "");
    folder.write("tls.crt", renewed.certificate);
    time.advance(11s);
    EXPECT_TRUE(send(transport));
    folder.write("tls.key", renewed.key);
    EXPECT_TRUE(send(transport)) << "files are not looked at with every request";
    EXPECT_EQ(server.requests().back().peer, "old");
    time.advance(11s);
    EXPECT_TRUE(send(transport));

    EXPECT_EQ(server.requests().back().peer, "new");
    EXPECT_EQ(server.connections(), 2U);
}

TEST_F(KubeTlsTest, AFileThatIsEmptyForAMomentChangesNothing) {
    FakeServer server(say_ok, tls_of_clients());
    const auto access = access_by_files(server, "own");
    test::FakeClock time;
    HttpTransport transport(loop.get_executor(), access, time, {.idle = 0ms});
    ASSERT_TRUE(send(transport));

    for (const auto* const name : {"ca.crt", "tls.crt", "tls.key"}) {
        const auto text = read_file(folder.path() / name).value();
        folder.write(name, "");
        time.advance(11s);
        EXPECT_TRUE(send(transport)) << name;
        EXPECT_EQ(server.requests().back().peer, "own") << name;
        folder.write(name, text);
    }
}

TEST_F(KubeTlsTest, AnEmptyAuthorityIsNotTakenForTheMachinesOwn) {
    FakeServer server(say_ok, server_tls({.common_name = "api", .names = "IP:127.0.0.1"}));
    auto access = access_to(server.port(), true);
    access.authority.file = folder.write("ca.crt", "");
    HttpTransport transport(loop.get_executor(), access, clock);
    const auto answer = send(transport);
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, ::testing::HasSubstr("empty file"));
}

TEST_F(KubeTlsTest, FollowsANewAuthority) {
    FakeServer server(say_ok, server_tls({.common_name = "api", .names = "IP:127.0.0.1"}));
    const test::Authority next{"the next"};
    auto access = access_to(server.port(), true);
    access.authority.file = folder.write("ca.crt", authority.make("any", "").ca);
    test::FakeClock time;
    HttpTransport transport(loop.get_executor(), access, time, {.idle = 0ms});
    ASSERT_TRUE(send(transport));
    server.use_certificate({.own = next.make("api", "")});
    ASSERT_FALSE(send(transport));

    folder.write("ca.crt", next.make("any", "").ca);
    time.advance(11s);

    EXPECT_TRUE(send(transport));
}

TEST_F(KubeTlsTest, NamesThePartThatIsNoPem) {
    const auto pem = authority.make("scout", "");
    const auto broken = folder.write("broken.crt", "no PEM");
    ClusterAccess access = access_to(1, true);
    access.authority.file = broken;
    HttpTransport no_authority(loop.get_executor(), access, clock);
    EXPECT_THAT(message_of(send(no_authority)), HasSubstr("certificate authority"));
    EXPECT_THAT(message_of(send(no_authority)), HasSubstr("broken.crt"));

    access.authority = {.text = pem.ca, .file = {}};
    access.client_certificate.text = pem.certificate;
    access.client_key.text = authority.make("other", "").key;
    HttpTransport no_pair(loop.get_executor(), access, clock);
    const auto answer = send(no_pair);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::invalid);
    EXPECT_THAT(message_of(answer), HasSubstr("client key"));
}

TEST_F(KubeTlsTest, GoesThroughAProxy) {
    FakeServer server(say_ok, server_tls({.common_name = "api", .names = "IP:127.0.0.1"}));
    FakeServer proxy([&server](Peer& peer, const SeenRequest&) {
        peer.say("HTTP/1.1 200 Connection established\r\n\r\n");
        peer.tunnel(server.port());
        return false;
    });
    auto access = trusting_access(server);
    access.proxy =
        parse_proxy_url("http://user:p%40ss@127.0.0.1:" + std::to_string(proxy.port())).value();

    EXPECT_TRUE(works(access));

    const auto asked = proxy.requests().at(0);
    EXPECT_EQ(asked.method, "CONNECT");
    EXPECT_EQ(asked.target, "127.0.0.1:" + std::to_string(server.port()));
    EXPECT_EQ(asked.headers.at("proxy-authorization"), "Basic dXNlcjpwQHNz");
    EXPECT_FALSE(server.requests().at(0).headers.contains("proxy-authorization"));
}

TEST_F(KubeTlsTest, SaysWhatAProxyAnsweredInsteadOfConnecting) {
    FakeServer proxy([](Peer& peer, const SeenRequest&) {
        peer.say(test::answer(407, "who are you?"));
        return true;
    });
    auto access = access_to(6443, true);
    access.proxy = parse_proxy_url("http://127.0.0.1:" + std::to_string(proxy.port())).value();

    const auto message = refusal(access);

    EXPECT_THAT(message, HasSubstr("proxy 127.0.0.1:" + std::to_string(proxy.port())));
    EXPECT_THAT(message, HasSubstr("HTTP 407"));
    EXPECT_THAT(message, HasSubstr("127.0.0.1:6443"));
}

}  // namespace
}  // namespace scout::kube
