// SPDX-License-Identifier: Apache-2.0
#include "wire/endpoint.h"

#include <string>

#include <gtest/gtest.h>

namespace scout::wire {
namespace {

struct Good {
    std::string text;
    std::string target;
    bool local;
};

TEST(EndpointTest, EveryFormIsUnderstood) {
    for (const auto& [text, target, local] : {
             Good{"unix:/run/virt-scout/aggregator.sock", "unix:/run/virt-scout/aggregator.sock",
                  true},
             Good{"unix:///run/a.sock", "unix:/run/a.sock", true},
             Good{"127.0.0.1:9286", "127.0.0.1:9286", true},
             Good{"127.8.9.1:0", "127.8.9.1:0", true},
             Good{"[::1]:9286", "[::1]:9286", true},
             Good{"localhost:65535", "localhost:65535", true},
             Good{"localhost.example.org:1", "localhost.example.org:1", false},
             Good{"0.0.0.0:9286", "0.0.0.0:9286", false},
             Good{"[::]:9286", "[::]:9286", false},
             Good{"aggregator.example.org:9286", "aggregator.example.org:9286", false},
         }) {
        const auto endpoint = parse_endpoint(text);

        ASSERT_TRUE(endpoint) << text << ": " << endpoint.error().message;
        EXPECT_EQ(endpoint->target(), target);
        EXPECT_EQ(endpoint->is_local(), local) << text;
    }
}

TEST(EndpointTest, EveryWrongFormIsRefusedWithWhatWasExpected) {
    for (const std::string text : {"", "host", ":9286", "host:", "host:x", "host:70000", "host:-1",
                                   "host:1x", "::1:9286", "[::g]:1", "[]:1", "a b:1",
                                   "unix:", "unix:relative.sock", "/run/a.sock", "unix://host/a"}) {
        const auto endpoint = parse_endpoint(text);

        ASSERT_FALSE(endpoint) << text;
        EXPECT_EQ(endpoint.error().code, Errc::invalid) << text;
        EXPECT_NE(endpoint.error().message.find("expected"), std::string::npos) << text;
    }
}

TEST(EndpointTest, UnixPathMayHave107BytesAndNotOneMore) {
    const std::string longest = "/" + std::string(106, 'x');

    EXPECT_TRUE(parse_endpoint("unix:" + longest));
    const auto over = parse_endpoint("unix:" + longest + "y");
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().code, Errc::invalid);
    EXPECT_NE(over.error().message.find("1 to 107 bytes, found 108"), std::string::npos)
        << over.error().message;
}

Security plaintext() {
    Security security;
    security.plaintext = true;
    return security;
}

TEST(EndpointTest, PlaintextOnAnAddressThatIsNotLocalIsRefused) {
    for (const std::string text :
         {"0.0.0.0:9286", "[::]:9286", "192.0.2.7:9286", "host.example.org:9286"}) {
        const auto checked = check_security(parse_endpoint(text).value(), plaintext());

        ASSERT_FALSE(checked) << text;
        EXPECT_EQ(checked.error().code, Errc::refused);
        EXPECT_NE(checked.error().message.find("plaintext is refused"), std::string::npos);
    }
}

TEST(EndpointTest, PlaintextIsOnlyForWhoAsksForItByName) {
    const auto loopback = parse_endpoint("127.0.0.1:9286").value();

    EXPECT_TRUE(check_security(loopback, plaintext()));
    const auto silent = check_security(loopback, Security{});
    ASSERT_FALSE(silent);
    EXPECT_EQ(silent.error().code, Errc::refused);
    EXPECT_NE(silent.error().message.find("plaintext by name"), std::string::npos);
    EXPECT_TRUE(check_security(parse_endpoint("unix:/run/a.sock").value(), Security{}));
}

TEST(EndpointTest, TlsAndPlaintextTogetherAreRefused) {
    auto both = plaintext();
    both.tls = TlsFiles{.ca = "/ca", .certificate = "/c", .key = "/k"};

    EXPECT_FALSE(check_security(parse_endpoint("127.0.0.1:1").value(), both));
}

TEST(EndpointTest, TlsTakesAllThreeFilesOrNone) {
    EXPECT_FALSE(tls_files({}));
    Security security;
    security.tls = tls_files({.ca = "/ca", .certificate = {}, .key = {}});

    const auto checked = check_security(parse_endpoint("192.0.2.1:1").value(), security);

    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Errc::invalid);
    EXPECT_EQ(checked.error().message,
              "TLS takes tls-ca, tls-cert and tls-key together, expected also tls-cert tls-key");
}

TEST(EndpointTest, EachSideTakesItsOwnFilesAndNoOthers) {
    struct Case {
        TlsFiles files;
        std::string message;
    };
    const Case cases[] = {
        {{.ca = "/ca", .side = TlsSide::client}, ""},
        {{.ca = "/ca", .key = "/k", .side = TlsSide::client},
         "TLS takes tls-ca alone here, found also tls-key: leave that out"},
        {{.side = TlsSide::client}, "TLS takes tls-ca alone, expected also tls-ca"},
        {{.certificate = "/c", .key = "/k", .side = TlsSide::server}, ""},
        {{.ca = "/ca", .certificate = "/c", .key = "/k", .side = TlsSide::server},
         "TLS takes tls-cert and tls-key together here, found also tls-ca: leave that out"},
        {{.certificate = "/c", .side = TlsSide::server},
         "TLS takes tls-cert and tls-key together, expected also tls-key"}};
    for (const auto& one : cases) {
        Security security;
        security.tls = one.files;

        const auto checked = check_security(parse_endpoint("192.0.2.1:1").value(), security);

        EXPECT_EQ(checked ? "" : checked.error().message, one.message);
    }
}

TEST(EndpointTest, TlsFilesForAUnixSocketAreRefusedAndNotIgnored) {
    Security security;
    security.tls = TlsFiles{.ca = "/ca", .certificate = "/c", .key = "/k"};

    const auto checked = check_security(parse_endpoint("unix:/run/a.sock").value(), security);

    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Errc::refused);
    EXPECT_NE(checked.error().message.find("leave the TLS files out"), std::string::npos);
}

}  // namespace
}  // namespace scout::wire
