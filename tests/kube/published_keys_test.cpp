// SPDX-License-Identifier: Apache-2.0
#include "kube/published_keys.h"

#include <chrono>
#include <string>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>

#include "tests/kube/signed_tokens.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::kube {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class PublishedKeysTest : public testing::Test {
protected:
    Result<std::shared_ptr<const SigningKeys>> ask(const std::string& id) {
        return test::run_to_end(loop, published.with(id));
    }
    static std::string set_of(const std::string& id) {
        return test::key_set({test::TokenSigner{test::TokenSigner::Kind::p256, id}.published()});
    }

    asio::io_context loop{1};
    test::FakeClock clock;
    test::ScriptedTransport transport;
    Client client{transport, clock, {.attempts = 1}};
    PublishedKeys published{client, clock};
};

TEST_F(PublishedKeysTest, AreReadOnceForAllTokensOfKnownKeys) {
    transport.then_body(200, set_of("a"));

    EXPECT_TRUE(ask("a").value()->has("a"));
    clock.advance(1h);
    EXPECT_TRUE(ask("a").value()->has("a"));

    ASSERT_EQ(transport.requests().size(), 1U);
    EXPECT_EQ(transport.requests()[0].target, "/openid/v1/jwks");
}

TEST_F(PublishedKeysTest, AnUnknownKeyHasThemReadAgainAtMostOnceInTenSeconds) {
    transport.then_body(200, set_of("a"));
    transport.then_body(200, set_of("b"));
    ASSERT_TRUE(ask("a"));

    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(ask("b").value()->has("b"));
    }
    EXPECT_EQ(transport.requests().size(), 1U);
    clock.advance(10s);
    EXPECT_TRUE(ask("b").value()->has("b"));
    EXPECT_EQ(transport.requests().size(), 2U);
}

TEST_F(PublishedKeysTest, AServerThatDoesNotAnswerCostsNoKeysThatAreKnown) {
    transport.then_body(200, set_of("a"));
    transport.then_body(403, test::status_json(403, "Forbidden"));
    ASSERT_TRUE(ask("a"));
    clock.advance(10s);

    EXPECT_THAT(ask("b").error().message, HasSubstr("403")) << "it may be there by now";
    EXPECT_TRUE(ask("a"));
}

TEST_F(PublishedKeysTest, WithoutAnyKeysTheReasonIsTold) {
    transport.then_body(403, test::status_json(403, "Forbidden"));
    transport.then_body(200, "<html>");
    transport.then_body(200, set_of("a"));

    EXPECT_THAT(ask("a").error().message,
                HasSubstr("signing keys of the cluster: get /openid/v1/jwks"));
    EXPECT_THAT(ask("a").error().message, HasSubstr("403"));
    clock.advance(1s);
    EXPECT_THAT(ask("a").error().message, HasSubstr("expected a set"));
    clock.advance(1s);
    EXPECT_TRUE(ask("a"));
}

TEST_F(PublishedKeysTest, TokensThatComeMeanwhileWaitForTheSameRead) {
    transport.then_body(200, set_of("a"));
    int answered = 0;

    for (int i = 0; i < 3; ++i) {
        asio::co_spawn(loop, published.with("a"),
                       [&answered](const std::exception_ptr&, const auto& keys) {
                           answered += keys && (*keys)->has("a") ? 1 : 0;
                       });
    }
    loop.run();

    EXPECT_EQ(answered, 3);
    EXPECT_EQ(transport.requests().size(), 1U);
}

}  // namespace
}  // namespace scout::kube
