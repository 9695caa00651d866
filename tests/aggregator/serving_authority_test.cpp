// SPDX-License-Identifier: Apache-2.0
#include "aggregator/serving_authority.h"

#include <chrono>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509_vfy.h>

#include "aggregator/authority_objects.h"
#include "base/base64.h"
#include "tests/support/verify_certificate.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using test::verify_certificate;
using testing::HasSubstr;

constexpr WallTime first_day = std::chrono::sys_days{std::chrono::year{2026} / 11 / 28};
const std::vector<std::string> names{"scout", "scout.default.svc", "127.0.0.1"};
constexpr CertificateRules rules;

StoredAuthority made(const StoredAuthority& before, WallTime now) {
    return renew(before, now, rules).value();
}

bool is_accepted(const ServingCertificate& serving, const std::string& authorities, WallTime now) {
    return verify_certificate(serving.pair().chain, authorities, {.now = now}) == X509_V_OK;
}

TEST(ServingAuthorityTest, IsMadeOnceAndLeftAloneUntilTwoThirdsOfItsLife) {
    const auto authority = made({}, first_day);

    EXPECT_TRUE(check(authority));
    EXPECT_EQ(authority.previous, "");
    EXPECT_TRUE(is_right(authority, first_day + 24h * 243));
    EXPECT_FALSE(is_right(authority, first_day + 24h * 244));
    const auto next = made(authority, first_day + 24h * 244);
    EXPECT_EQ(next.previous, authority.current.chain);
    EXPECT_NE(next.current, authority.current);
}

TEST(ServingAuthorityTest, OneOfAClockThatWasAheadIsMadeAnew) {
    const auto authority = made({}, first_day + 24h * 30);

    const auto next = made(authority, first_day);

    EXPECT_EQ(next.previous, authority.current.chain);
    EXPECT_FALSE(is_right(authority, first_day));
    EXPECT_TRUE(is_right(next, first_day + 24h * 30))
        << "two leaders whose clocks differ must come to rest";
}

TEST(ServingAuthorityTest, ADamagedOneIsReplacedAndWhatPeersKnowIsKept) {
    const auto good = made({}, first_day);
    const auto other = made({}, first_day);
    const StoredAuthority no_key{.current = {.chain = good.current.chain, .key = {}},
                                 .previous = {}};
    const StoredAuthority mixed{.current = {.chain = good.current.chain, .key = other.current.key},
                                .previous = {}};
    const StoredAuthority rubbish{.current = {.chain = "rubbish", .key = good.current.key},
                                  .previous = good.current.chain};

    for (const auto& damaged : {no_key, mixed, rubbish}) {
        EXPECT_EQ(check(damaged).error().code, Errc::invalid);
        EXPECT_FALSE(is_right(damaged, first_day + 1h));
        const auto next = made(damaged, first_day + 1h);
        EXPECT_TRUE(check(next));
        EXPECT_EQ(next.previous, good.current.chain);
        EXPECT_EQ(bundle(next, first_day + 1h, rules), next.current.chain + good.current.chain);
    }
}

TEST(ServingAuthorityTest, ThePreviousOneStaysKnownForAWeekOrUntilItExpires) {
    const auto old = made({}, first_day);
    const auto later = first_day + 24h * 244;
    const auto next = made(old, later);
    const auto both = next.current.chain + old.current.chain;

    EXPECT_EQ(bundle(next, later, rules), both);
    EXPECT_EQ(bundle(next, later + 24h * 6, rules), both);
    EXPECT_EQ(bundle(next, later + 24h * 7, rules), next.current.chain);
    const auto last_day = first_day + 24h * 365;
    const auto late = made(old, last_day);
    EXPECT_EQ(bundle(late, last_day, rules), late.current.chain + old.current.chain);
    EXPECT_EQ(bundle(late, last_day + 1s, rules), late.current.chain);
}

TEST(ServingCertificateTest, LivesADayAndIsRenewedAtTwoThirds) {
    const auto authority = made({}, first_day);
    ServingCertificate serving(names, rules);

    EXPECT_TRUE(serving.follow(authority, first_day).value());
    EXPECT_FALSE(serving.follow(authority, first_day + 15h).value());
    EXPECT_TRUE(is_accepted(serving, authority.current.chain, first_day + 15h));
    EXPECT_TRUE(serving.follow(authority, first_day + 16h).value());
    EXPECT_EQ(serving.valid_until(), first_day + 40h);
}

TEST(ServingCertificateTest, IsTakenByPeersWhoseClocksAreBehind) {
    const auto authority = made({}, first_day);
    ServingCertificate serving(names, rules);
    ASSERT_TRUE(serving.follow(authority, first_day));

    EXPECT_TRUE(is_accepted(serving, authority.current.chain, first_day - 59min));
}

TEST(ServingCertificateTest, ChangesToANewAuthorityWhenAllHadTimeToLearnOfIt) {
    const auto day = first_day + 24h * 244;
    const auto old = made({}, first_day);
    ServingCertificate serving(names, rules);
    ASSERT_TRUE(serving.follow(old, day - 1h));

    const auto next = made(old, day);

    EXPECT_FALSE(serving.follow(next, day + 4min).value());
    EXPECT_TRUE(serving.follow(next, day + 5min).value());
    EXPECT_TRUE(is_accepted(serving, next.current.chain, day + 5min));
}

TEST(ServingCertificateTest, ChangesAtOnceWhenPeersDoNotKnowItsAuthority) {
    ServingCertificate serving(names, rules);
    ASSERT_TRUE(serving.follow(made({}, first_day), first_day));

    const auto other = made({}, first_day + 1min);

    EXPECT_TRUE(serving.follow(other, first_day + 1min).value());
    EXPECT_TRUE(is_accepted(serving, other.current.chain, first_day + 1min));
}

TEST(ServingCertificateTest, StaysWhenTheAuthorityIsOfNoUse) {
    const auto authority = made({}, first_day);
    ServingCertificate serving(names, rules);
    ASSERT_TRUE(serving.follow(authority, first_day));
    const auto before = serving.pair();

    const auto late = serving.follow(authority, first_day + 24h * 366);

    ASSERT_FALSE(late);
    EXPECT_THAT(late.error().message, HasSubstr("expired at 2027-11-28"));
    EXPECT_EQ(serving.pair(), before);
}

/// Three years of a leader and a standby whose clock is behind, which look in every five days:
/// whoever asks either of them with the bundle of the moment is content.
TEST(ServingCertificateTest, YearsOfRotationAreNeverNoticed) {
    constexpr CertificateRules slow{.serving_life = 24h * 10, .overlap = 24h * 30};
    auto authority = made({}, first_day);
    ServingCertificate leading(names, slow);
    ServingCertificate standby(names, slow);
    unsigned renewals = 0;
    for (auto now = first_day; now < first_day + 24h * 365 * 3; now += 24h * 5) {
        if (!is_right(authority, now)) {
            authority = made(authority, now);
            ++renewals;
        }
        for (const auto later : {0min, 10min}) {
            ASSERT_TRUE(leading.follow(authority, now + later));
            ASSERT_TRUE(standby.follow(authority, now + later - 30min));
            const auto known = bundle(authority, now + later, slow);
            ASSERT_TRUE(is_accepted(leading, known, now + later)) << rfc3339(now + later);
            ASSERT_TRUE(is_accepted(standby, known, now + later)) << rfc3339(now + later);
        }
    }
    EXPECT_EQ(renewals, 4U);
}

TEST(AuthorityObjectsTest, ASecretIsReadAsItWasWritten) {
    auto authority = made({}, first_day);
    authority.previous = "previous";

    const auto read =
        parse_authority_secret(authority_secret_json({.space = "s", .name = "n"}, authority));

    EXPECT_EQ(read.value().authority, authority);
    EXPECT_EQ(parse_authority_secret("{}").value().authority, StoredAuthority{});
    EXPECT_EQ(parse_authority_secret(R"({"data":{"ca.crt":"!","ca.key":7}})").value().authority,
              StoredAuthority{});
    EXPECT_FALSE(parse_authority_secret("[]"));
    EXPECT_FALSE(parse_authority_secret("{"));
}

TEST(AuthorityObjectsTest, ARenewalTakesAwayAPreviousThatIsNone) {
    const AuthoritySecret found{.version = "7", .authority = {}};

    const auto patch = boost::json::parse(
        authority_secret_patch(found, {.current = {.chain = "c", .key = "k"}, .previous = {}}));

    EXPECT_EQ(patch.at("metadata").at("resourceVersion").as_string(), "7");
    EXPECT_TRUE(patch.at("data").at("ca-previous.crt").is_null());
    EXPECT_EQ(patch.at("data").at("ca.crt").as_string(), base64_encode("c"));
}

TEST(AuthorityObjectsTest, OnlyWebhooksThatDifferArePatchedAndOnlyOnThisObject) {
    const std::string known = base64_encode("bundle");
    const std::string configuration = R"({"metadata":{"uid":"u"},"webhooks":[
        {"name":"a","clientConfig":{"caBundle":")" +
                                      known + R"("}},
        {"name":"b","clientConfig":{"service":{}}},
        {"name":"c","clientConfig":{"caBundle":"b3RoZXI="}}]})";

    const auto patch = boost::json::parse(webhook_patch(configuration, "bundle").value());

    EXPECT_EQ(patch, boost::json::parse(R"([
        {"op":"test","path":"/metadata/uid","value":"u"},
        {"op":"test","path":"/webhooks/1/name","value":"b"},
        {"op":"add","path":"/webhooks/1/clientConfig/caBundle","value":")" +
                                        known + R"("},
        {"op":"test","path":"/webhooks/2/name","value":"c"},
        {"op":"add","path":"/webhooks/2/clientConfig/caBundle","value":")" +
                                        known + R"("}])"));
}

TEST(AuthorityObjectsTest, AConfigurationThatKnowsTheBundleIsLeftAlone) {
    const auto with = [](const std::string& webhooks) {
        return webhook_patch(R"({"metadata":{"uid":"u"})" + webhooks + "}", "bundle").value();
    };

    EXPECT_EQ(with(""), "");
    EXPECT_EQ(with(R"(,"webhooks":[])"), "");
    EXPECT_EQ(with(R"(,"webhooks":[7,{"name":"a","clientConfig":{"caBundle":")" +
                   base64_encode("bundle") + R"("}}])"),
              "");
}

TEST(AuthorityObjectsTest, AnApiServiceIsPatchedUntilItKnowsTheBundle) {
    const std::string known = base64_encode("bundle");

    EXPECT_EQ(boost::json::parse(
                  api_service_patch(R"({"metadata":{"uid":"u"},"spec":{"group":"g"}})", "bundle")
                      .value()),
              boost::json::parse(R"([{"op":"test","path":"/metadata/uid","value":"u"},
                  {"op":"add","path":"/spec/caBundle","value":")" +
                                 known + R"("}])"));
    EXPECT_EQ(api_service_patch(R"({"spec":{"caBundle":")" + known + R"("}})", "bundle").value(),
              "");
    EXPECT_FALSE(api_service_patch("[]", "bundle"));
}

}  // namespace
}  // namespace scout::aggregator
