// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cluster_token_owners.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/json/object.hpp>
#include <gmock/gmock.h>

#include "base/task_scope.h"
#include "tests/kube/signed_tokens.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using test::TokenSigner;
using testing::HasSubstr;

constexpr const char* confirmed =
    R"({"status":{"authenticated":true,"audiences":["virt-scout"],)"
    R"("user":{"username":"system:serviceaccount:scout:virt-scout-agent"}}})";

/// An API server that signs and reviews tokens, and holds its answers where a test wants that.
class FakeApi final : public kube::Transport {
public:
    explicit FakeApi(asio::io_context& loop) : release(loop, SteadyTime::max()) {}

    Task<Result<kube::HttpResponse>> send(kube::HttpRequest request,
                                          std::chrono::milliseconds /*limit*/) override {
        kube::HttpResponse response;
        response.head.status = status;
        if (request.target == "/openid/v1/jwks") {
            response.body = keys;
            co_return response;
        }
        reviews.push_back(request.body);
        most = std::max(most, ++under_way);
        if (held) {
            co_await release.async_wait(as_result);
        }
        --under_way;
        const auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) {
            co_return fail(Errc::cancelled, "given up");
        }
        response.body = review;
        if (away) {
            co_return fail(Errc::unavailable, "connection refused");
        }
        co_return response;
    }
    Task<Result<std::unique_ptr<kube::HttpStream>>> open(
        kube::HttpRequest /*request*/, std::chrono::milliseconds /*limit*/) override {
        co_return fail(Errc::cancelled, "no watches here");
    }

    asio::steady_timer release;
    std::string keys;
    std::string review = confirmed;
    unsigned status = 200;
    bool held = false;
    bool away = false;
    std::vector<std::string> reviews;
    std::size_t under_way = 0;
    std::size_t most = 0;
};

class ClusterTokenOwnersTest : public testing::Test {
protected:
    ClusterTokenOwnersTest() { api.keys = test::key_set({signer.published()}); }

    json::object claims() const { return test::claims_of_pod("n1", clock.wall()); }
    std::string token(int number = 0) const {
        auto said = claims();
        said["jti"] = std::to_string(number);
        return signer.sign(said);
    }
    Result<AgentIdentity> ask(const std::string& text) {
        return test::run_to_end(loop, owners.owner_of(text));
    }
    Error refusal(const std::string& text) {
        auto owner = ask(text);
        EXPECT_FALSE(owner);
        return owner ? Error{} : owner.error();
    }
    /// Asks in the background; the answers are counted.
    void ask_meanwhile(const std::string& text) {
        asio::co_spawn(loop, owners.owner_of(text),
                       [this](const std::exception_ptr&, const Result<AgentIdentity>& owner) {
                           ++(owner ? accepted : refused);
                       });
    }

    asio::io_context loop{1};
    test::FakeClock clock;
    FakeApi api{loop};
    kube::Client client{api, clock, {.rate = {.per_second = 1e6, .burst = 1e6}, .attempts = 1}};
    ClusterTokenOwners owners{loop.get_executor(), client, clock, {.space = "scout"}};
    TokenSigner signer{TokenSigner::Kind::p256, "key"};
    std::size_t accepted = 0;
    std::size_t refused = 0;
};

TEST_F(ClusterTokenOwnersTest, AsksTheApiServerOnceForEachToken) {
    const auto one = token(1);
    const auto other = token(2);
    for (int i = 0; i < 3; ++i) {
        const auto owner = ask(one);
        ASSERT_TRUE(owner) << owner.error().message;
        EXPECT_EQ(owner->node, "n1");
        EXPECT_EQ(owner->pod, "scout/agent-x");
    }
    ASSERT_TRUE(ask(other));

    ASSERT_EQ(api.reviews.size(), 2U);
    EXPECT_THAT(api.reviews[1], HasSubstr("\"token\":\"" + other + "\""));
    EXPECT_THAT(api.reviews[1], HasSubstr("\"audiences\":[\"virt-scout\"]"));
}

TEST_F(ClusterTokenOwnersTest, TokensThatAreRefusedHereCostTheApiServerNothing) {
    auto account = claims();
    account["kubernetes.io"].at("serviceaccount").at("name").as_string() = "other";
    auto space = claims();
    space["kubernetes.io"].at("namespace").as_string() = "default";
    auto unbound = claims();
    unbound["kubernetes.io"].as_object().erase("pod");
    auto homeless = claims();
    homeless["kubernetes.io"].as_object().erase("node");
    auto audience = claims();
    audience["aud"] = "other";

    for (const auto& [said, reason] :
         {std::pair{account,
                    "expected one of account scout/virt-scout-agent, found one of "
                    "scout/other: run the agent under that account"},
          std::pair{space, "found one of default/virt-scout-agent"},
          std::pair{unbound, "expected one that is bound to a pod on a node, found no pod in it"},
          std::pair{homeless, "found no node in it: project it into the agent's pod"},
          std::pair{audience, "found one for other"}}) {
        const auto error = refusal(signer.sign(said));
        EXPECT_EQ(error.code, Errc::refused);
        EXPECT_THAT(error.message, HasSubstr("token: "));
        EXPECT_THAT(error.message, HasSubstr(reason));
    }
    EXPECT_EQ(refusal("x").code, Errc::refused);
    const TokenSigner stranger{TokenSigner::Kind::p256, "key"};
    EXPECT_THAT(refusal(stranger.sign(claims())).message, HasSubstr("not one of key key"));
    EXPECT_TRUE(api.reviews.empty());
}

TEST_F(ClusterTokenOwnersTest, WhatTheApiServerRefusesIsAskedAgainOnlyAfterAWhile) {
    api.review = R"({"status":{"authenticated":false,"error":"pod is gone"}})";
    const auto text = token();

    for (int i = 0; i < 3; ++i) {
        const auto error = refusal(text);
        EXPECT_EQ(error.code, Errc::refused);
        EXPECT_THAT(error.message, HasSubstr("the API server does not take it (\"pod is gone\")"));
    }
    EXPECT_EQ(api.reviews.size(), 1U);
    clock.advance(10s);
    api.review = confirmed;

    EXPECT_TRUE(ask(text));
}

TEST_F(ClusterTokenOwnersTest, TheApiServerMustAgreeOnAccountAndAudience) {
    for (const auto* review :
         {R"({"status":{"authenticated":true,"audiences":["virt-scout"],)"
          R"("user":{"username":"system:serviceaccount:scout:other"}}})",
          R"({"status":{"authenticated":true,)"
          R"("user":{"username":"system:serviceaccount:scout:virt-scout-agent"}}})"}) {
        api.review = review;
        EXPECT_EQ(refusal(token()).code, Errc::refused);
        clock.advance(10s);
    }
}

TEST_F(ClusterTokenOwnersTest, WithoutTheApiServerOnlyConfirmedTokensCount) {
    const auto known = token(1);
    ASSERT_TRUE(ask(known));
    api.away = true;

    const auto error = refusal(token(2));

    EXPECT_EQ(error.code, Errc::unavailable);
    EXPECT_THAT(error.message, HasSubstr("connection refused"));
    EXPECT_TRUE(ask(known));
    api.away = false;
    EXPECT_TRUE(ask(token(2)));
}

TEST_F(ClusterTokenOwnersTest, ARightThatIsMissingIsNamed) {
    ASSERT_TRUE(ask(token(1)));
    api.status = 403;
    api.review = test::status_json(403, "Forbidden");

    const auto error = refusal(token(2));

    EXPECT_EQ(error.code, Errc::unavailable);
    EXPECT_THAT(error.message, HasSubstr("create tokenreviews.authentication.k8s.io"));
}

TEST_F(ClusterTokenOwnersTest, AConfirmedTokenEndsWithItsTime) {
    const auto text = token();
    ASSERT_TRUE(ask(text));
    clock.advance(61min);

    EXPECT_THAT(refusal(text).message, HasSubstr("it was in force until"));
}

TEST_F(ClusterTokenOwnersTest, FewAreReviewedAtATimeAndAllAreAnswered) {
    api.held = true;
    for (int i = 0; i < 50; ++i) {
        ask_meanwhile(token(i));
    }
    loop.poll();
    EXPECT_EQ(api.under_way, 8U);

    api.held = false;
    api.release.cancel();
    loop.run();

    EXPECT_EQ(api.most, 8U);
    EXPECT_EQ(accepted, 50U);
}

TEST_F(ClusterTokenOwnersTest, OneTokenAtOnceIsReviewedOnce) {
    api.held = true;
    const auto text = token();
    for (int i = 0; i < 5; ++i) {
        ask_meanwhile(text);
    }
    loop.poll();

    api.release.cancel();
    loop.run();

    EXPECT_EQ(accepted, 5U);
    EXPECT_EQ(owners.reviews(), 1U);
}

TEST_F(ClusterTokenOwnersTest, ChecksThatAreGivenUpLeaveNothingBehind) {
    api.held = true;
    const auto text = token();
    TaskScope scope{loop.get_executor()};
    const auto ask_in_scope = [this, &text]() -> Task<> {
        const auto owner = co_await owners.owner_of(text);
        accepted += owner ? 1 : 0;
    };
    for (int i = 0; i < 20; ++i) {
        scope.spawn("check", ask_in_scope);
    }
    loop.poll();
    test::run_to_end(loop, scope.close());
    EXPECT_EQ(accepted, 0U);
    EXPECT_EQ(scope.running(), 0U);

    api.held = false;
    EXPECT_TRUE(ask(text));
}

TEST(RememberedReviewsTest, TheOutcomeThatEndsFirstMakesRoom) {
    const SteadyTime now{1h};
    RememberedReviews tokens{2};
    tokens.keep("a", {}, now + 10min);
    tokens.keep("b", fail(Errc::refused, "b"), now + 1min);

    tokens.keep("c", fail(Errc::refused, "c"), now + 2min);
    tokens.keep("d", fail(Errc::refused, "d"), now + 1min);

    EXPECT_EQ(tokens.size(), 2U);
    EXPECT_NE(tokens.find("a", now), nullptr);
    EXPECT_EQ(tokens.find("b", now), nullptr);
    EXPECT_EQ(tokens.find("c", now)->error().message, "c");
    EXPECT_EQ(tokens.find("d", now), nullptr) << "it is the first to end itself";
}

TEST(RememberedReviewsTest, AnOutcomeCountsUntilItsEndAndMayBeReplaced) {
    const SteadyTime now{1h};
    RememberedReviews tokens{2};
    tokens.keep("a", fail(Errc::refused, "no"), now + 10s);
    EXPECT_NE(tokens.find("a", now + 9s), nullptr);
    EXPECT_EQ(tokens.find("a", now + 10s), nullptr);

    tokens.keep("a", {}, now + 1h);

    EXPECT_EQ(tokens.size(), 1U);
    EXPECT_TRUE(tokens.find("a", now + 10s)->has_value());
}

}  // namespace
}  // namespace scout::aggregator
