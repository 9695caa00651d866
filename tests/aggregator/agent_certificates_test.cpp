// SPDX-License-Identifier: Apache-2.0
#include "aggregator/agent_certificates.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509_vfy.h>

#include "base/certificates.h"
#include "tests/support/fake_clock.h"
#include "tests/support/verify_certificate.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class AgentCertificatesTest : public testing::Test {
protected:
    /// As a peer judges it that knows the current authority and expects the name.
    [[nodiscard]] int judged(const std::string& chain, const std::string& name,
                             int purpose = X509_PURPOSE_SSL_SERVER) const {
        return scout::test::verify_certificate(
            chain, authority.current.chain,
            {.name = name, .now = clock.wall(), .purpose = purpose});
    }

    scout::test::FakeClock clock;
    CertificateRules rules;
    StoredAuthority authority = renew({}, clock.wall(), rules).value();
    SigningRequest asked = make_signing_request().value();
    AgentCertificates certificates{{"scout", "scout.default.svc", "*.scout.example"}, rules, clock};
};

TEST_F(AgentCertificatesTest, TheNodeIsTheOneNameOfItForADay) {
    certificates.use(authority);

    const auto chain = certificates.sign("n1.example", asked.request).value();

    EXPECT_EQ(judged(chain, "n1.example"), X509_V_OK);
    EXPECT_EQ(judged(chain, "n1.example", X509_PURPOSE_SSL_CLIENT), X509_V_OK);
    EXPECT_EQ(judged(chain, "n2.example"), X509_V_ERR_HOSTNAME_MISMATCH);
    EXPECT_EQ(validity_of(chain).value().until, clock.wall() + 24h);
    EXPECT_TRUE(check_key({.chain = chain, .key = asked.key}));
    EXPECT_EQ(certificates.count(), 1U);
}

TEST_F(AgentCertificatesTest, NoNodeIsGivenANameOfOurs) {
    certificates.use(authority);

    for (const auto* name : {"scout.default.svc", "scout", "n1.scout.example"}) {
        const auto refused = certificates.sign(name, asked.request);
        ASSERT_FALSE(refused) << name;
        EXPECT_EQ(refused.error().code, Errc::refused);
    }
    EXPECT_EQ(certificates.count(), 0U);
    EXPECT_TRUE(certificates.sign("n1", asked.request));
    EXPECT_TRUE(certificates.sign("a.n1.scout.example", asked.request));
}

TEST_F(AgentCertificatesTest, ThereIsNoneBeforeThereIsAnAuthority) {
    const auto refused = certificates.sign("n1", asked.request);

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::unavailable);
}

TEST_F(AgentCertificatesTest, ANewAuthoritySignsOnceAllHadTimeToLearnOfIt) {
    clock.advance(rules.authority_life * 2 / 3);
    authority = renew(authority, clock.wall(), rules).value();
    certificates.use(authority);

    const auto early = certificates.sign("n1", asked.request);
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, Errc::unavailable);

    clock.advance(rules.settle);
    EXPECT_EQ(judged(certificates.sign("n1", asked.request).value(), "n1"), X509_V_OK);
}

TEST_F(AgentCertificatesTest, RequestsThatProveNothingAreRefusedInWords) {
    certificates.use(authority);

    for (const auto& wrong : {std::string{}, std::string{"rubbish"}, authority.current.chain}) {
        EXPECT_THAT(certificates.sign("n1", wrong).error().message,
                    HasSubstr("expected a signing request in PEM form"));
    }
    const auto large = certificates.sign("n1", std::string(5000, 'a'));
    EXPECT_THAT(large.error().message, HasSubstr("at most 4096 bytes, found 5000"));
    const auto nowhere = certificates.sign("a b", asked.request);
    EXPECT_THAT(nowhere.error().message, HasSubstr("expected a DNS name"));
}

}  // namespace
}  // namespace scout::aggregator
