// SPDX-License-Identifier: Apache-2.0
#include "kube/service_account_token.h"

#include <chrono>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "kube/signing_keys.h"
#include "tests/kube/signed_tokens.h"
#include "tests/support/fake_clock.h"

namespace scout::kube {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using test::TokenSigner;
using testing::ElementsAre;
using testing::HasSubstr;

std::string with_parts(const std::string& header, const std::string& claims) {
    return test::base64url(header) + "." + test::base64url(claims) + ".c2ln";
}

std::string reason(const Status& status) {
    EXPECT_FALSE(status);
    EXPECT_EQ(status ? Errc::internal : status.error().code, Errc::refused);
    return status ? "" : status.error().message;
}

std::string reason(const Result<ServiceAccountToken>& token) {
    return reason(token ? Status{} : fail(token.error()));
}

class ServiceAccountTokenTest : public testing::Test {
protected:
    json::object claims() const { return test::claims_of_pod("n1", clock.wall()); }
    json::object with(const char* name, const json::value& value) const {
        auto changed = claims();
        changed[name] = value;
        return changed;
    }
    Status check(const json::object& said) const {
        const auto token = parse_token(rsa.sign(said));
        return token ? check_claims(token->claims, "virt-scout", clock.wall())
                     : fail(token.error());
    }
    std::int64_t in(std::chrono::seconds time) const {
        return std::chrono::floor<std::chrono::seconds>(clock.wall().time_since_epoch() + time)
            .count();
    }

    test::FakeClock clock;
    TokenSigner rsa{TokenSigner::Kind::rsa, "key-r"};
    TokenSigner p256{TokenSigner::Kind::p256, "key-e"};
    SigningKeys keys =
        SigningKeys::parse(test::key_set({rsa.published(), p256.published()})).value();
};

TEST_F(ServiceAccountTokenTest, SaysWhoseItIs) {
    const auto token = parse_token(rsa.sign(claims()));

    ASSERT_TRUE(token) << token.error().message;
    EXPECT_EQ(token->kind, SignatureKind::rs256);
    EXPECT_EQ(token->key_id, "key-r");
    EXPECT_THAT(token->claims.audiences, ElementsAre("virt-scout"));
    EXPECT_EQ(token->claims.space, "scout");
    EXPECT_EQ(token->claims.account, "virt-scout-agent");
    EXPECT_EQ(token->claims.pod, "agent-x");
    EXPECT_EQ(token->claims.node, "n1");
    EXPECT_EQ(token->claims.expires - token->claims.not_before, 1h);
    EXPECT_TRUE(check_claims(token->claims, "virt-scout", clock.wall()));
}

TEST_F(ServiceAccountTokenTest, BothKindsOfSignaturesAreVerified) {
    for (const auto* signer : {&rsa, &p256}) {
        const auto verified = keys.verify(parse_token(signer->sign(claims())).value());

        EXPECT_TRUE(verified) << verified.error().message;
    }
}

TEST_F(ServiceAccountTokenTest, ChangedTextsAndSignaturesAreRefused) {
    for (const auto* signer : {&rsa, &p256}) {
        const auto good = parse_token(signer->sign(claims())).value();
        auto text = good;
        text.signed_text.back() = text.signed_text.back() == 'A' ? 'B' : 'A';
        auto signature = good;
        signature.signature[5] = static_cast<char>(signature.signature[5] ^ 1);
        auto shorter = good;
        shorter.signature.pop_back();
        auto none = good;
        none.signature.clear();

        for (const auto& bad : {text, signature, shorter, none}) {
            EXPECT_THAT(reason(keys.verify(bad)), HasSubstr("its signature is not one of key"));
        }
    }
}

TEST_F(ServiceAccountTokenTest, AKeyOfAnotherClusterOrKindIsRefused) {
    const TokenSigner stranger{TokenSigner::Kind::rsa, "key-r"};
    const TokenSigner unknown{TokenSigner::Kind::rsa, "key-x"};

    EXPECT_THAT(reason(keys.verify(parse_token(stranger.sign(claims())).value())),
                HasSubstr("not one of key key-r"));
    EXPECT_THAT(reason(keys.verify(parse_token(unknown.sign(claims())).value())),
                HasSubstr("signed by key key-x, which is none of this cluster's"));
    const auto crossed = rsa.sign({{"alg", "ES256"}, {"kid", "key-r"}}, claims());
    EXPECT_FALSE(keys.verify(parse_token(crossed).value()));
}

TEST_F(ServiceAccountTokenTest, OnlySignaturesByPrivateKeysAreTaken) {
    for (const auto* algorithm : {"none", "HS256", "RS512", ""}) {
        const auto token = rsa.sign({{"alg", algorithm}, {"kid", "key-r"}}, claims());

        EXPECT_THAT(reason(parse_token(token)), HasSubstr("expected it signed by RS256 or ES256"));
    }
    EXPECT_THAT(reason(parse_token(rsa.sign({{"alg", "RS256"}}, claims()))), HasSubstr("kid"));
    const json::object critical{
        {"alg", "RS256"}, {"kid", "key-r"}, {"crit", json::array{"b64"}}, {"b64", false}};
    EXPECT_THAT(reason(parse_token(rsa.sign(critical, claims()))), HasSubstr("crit"));
}

TEST_F(ServiceAccountTokenTest, AnotherAudienceIsRefusedAndNamed) {
    EXPECT_TRUE(check(with("aud", "virt-scout")));
    EXPECT_TRUE(check(with("aud", json::array{"other", "virt-scout"})));

    EXPECT_THAT(reason(check(with("aud", json::array{"https://kubernetes.default.svc"}))),
                HasSubstr("expected one for audience virt-scout, found one for "
                          "https://kubernetes.default.svc"));
    EXPECT_THAT(reason(check(with("aud", json::array{}))), HasSubstr("found one for none"));
    EXPECT_THAT(reason(check(with("aud", json::array{1, nullptr}))), HasSubstr("audience"));
    EXPECT_THAT(reason(check(with("aud", 7))), HasSubstr("found one for none"));
}

TEST_F(ServiceAccountTokenTest, CountsOnlyWhileItIsInForce) {
    EXPECT_TRUE(check(with("exp", in(-29s))));
    EXPECT_TRUE(check(with("nbf", in(29s))));

    EXPECT_THAT(reason(check(with("exp", in(-31s)))), HasSubstr("it was in force until 2"));
    EXPECT_THAT(reason(check(with("nbf", in(32s)))), HasSubstr("it is in force from 2"));
}

TEST_F(ServiceAccountTokenTest, TimesMustBeTimes) {
    auto endless = claims();
    endless.erase("exp");
    EXPECT_THAT(reason(check(endless)), HasSubstr("expected a time as exp, found none"));
    for (const json::value& odd :
         {json::value(-1), json::value("soon"), json::value(1e300), json::value(INT64_MAX)}) {
        EXPECT_THAT(reason(check(with("exp", odd))), HasSubstr("expected a time as exp"));
        EXPECT_THAT(reason(check(with("nbf", odd))), HasSubstr("expected a time as nbf"));
    }
}

TEST_F(ServiceAccountTokenTest, WhatItDoesNotSayIsEmpty) {
    for (const json::value& said :
         {json::value(nullptr), json::value(json::object{}),
          json::value(json::object{{"pod", 1}, {"node", {{"name", 2}}}})}) {
        const auto token = parse_token(rsa.sign(with("kubernetes.io", said)));

        ASSERT_TRUE(token);
        EXPECT_EQ(token->claims.space + token->claims.account + token->claims.pod, "");
        EXPECT_EQ(token->claims.node, "");
    }
}

TEST_F(ServiceAccountTokenTest, TextsOfOtherFormsAreRefused) {
    const std::string header = R"({"alg":"RS256","kid":"key-r"})";
    for (const auto& text :
         {std::string{}, std::string{"."}, std::string{"a.b"}, std::string{"a.b.c.d"},
          std::string{"..."}, std::string(20'000, 'a'), with_parts("[]", "{}"),
          with_parts(header, "7"), with_parts(header, "{"), with_parts("", ""),
          with_parts(header, R"({"exp":1,"exp":)"),
          with_parts(header, std::string(3000, '[') + std::string(3000, ']')),
          with_parts(header, "{\"a\":" + std::string(3000, '[')),
          test::base64url(header) + "==." + test::base64url("{}") + ".c2ln"}) {
        EXPECT_THAT(reason(parse_token(text)), HasSubstr("expected"));
    }
    auto spelled = rsa.sign(claims());
    spelled.back() = '*';
    EXPECT_THAT(reason(parse_token(spelled)), HasSubstr("signature in base64url"));
}

TEST(SigningKeysTest, LeavesOutKeysItCannotUse) {
    const TokenSigner good{TokenSigner::Kind::p256, "good"};
    auto off_curve = good.published();
    off_curve["kid"] = "off";
    off_curve["x"] = test::base64url(std::string(32, '\x01'));
    auto other_use = good.published();
    other_use["kid"] = "use";
    other_use["use"] = "enc";
    auto other_algorithm = good.published();
    other_algorithm["kid"] = "alg";
    other_algorithm["alg"] = "ES512";
    const json::object small{{"kty", "RSA"}, {"kid", "small"}, {"n", "AQAB"}, {"e", "AQAB"}};
    const json::object huge{{"kty", "RSA"},
                            {"kid", "huge"},
                            {"n", test::base64url(std::string(5000, '\xff'))},
                            {"e", "AQAB"}};
    const json::object secret{{"kty", "oct"}, {"kid", "secret"}, {"k", "AQAB"}};

    const auto keys = SigningKeys::parse(test::key_set(
        {off_curve, other_use, other_algorithm, small, huge, secret, good.published()}));

    ASSERT_TRUE(keys) << keys.error().message;
    EXPECT_TRUE(keys->has("good"));
    for (const auto* left_out : {"off", "use", "alg", "small", "huge", "secret"}) {
        EXPECT_FALSE(keys->has(left_out)) << left_out;
    }
}

TEST(SigningKeysTest, OfSeveralKeysWithOneIdAnyMayHaveSigned) {
    const test::FakeClock clock;
    const TokenSigner first{TokenSigner::Kind::p256, "one"};
    const TokenSigner second{TokenSigner::Kind::p256, "one"};
    const auto claims = test::claims_of_pod("n1", clock.wall());

    const auto keys =
        SigningKeys::parse(test::key_set({first.published(), second.published()})).value();

    EXPECT_TRUE(keys.verify(parse_token(first.sign(claims)).value()));
    EXPECT_TRUE(keys.verify(parse_token(second.sign(claims)).value()));
}

TEST(SigningKeysTest, WhatIsNoSetOfKeysIsTold) {
    for (const std::string text :
         {"", "[]", "{}", R"({"keys":{}})", R"({"keys":[]})", R"({"keys":[1,null,{}]})"}) {
        const auto keys = SigningKeys::parse(text);

        ASSERT_FALSE(keys) << text;
        EXPECT_EQ(keys.error().code, Errc::invalid);
        EXPECT_THAT(keys.error().message, HasSubstr("expected"));
    }
    const std::vector<json::object> many(65, {{"kty", "EC"}});
    EXPECT_THAT(SigningKeys::parse(test::key_set(many)).error().message, HasSubstr("found more"));
}

}  // namespace
}  // namespace scout::kube
