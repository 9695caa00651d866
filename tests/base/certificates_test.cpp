// SPDX-License-Identifier: Apache-2.0
#include "base/certificates.h"

#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "base/openssl_handles.h"
#include "base/releaser.h"
#include "tests/support/verify_certificate.h"

namespace scout {
namespace {

using namespace std::chrono_literals;
using test::ExpectedCertificate;
using test::verify_certificate;
using testing::HasSubstr;

constexpr WallTime today = std::chrono::sys_days{std::chrono::year{2026} / 11 / 28};
constexpr Validity a_year{.from = today - 1h, .until = today + 24h * 365};

class CertificatesTest : public testing::Test {
protected:
    [[nodiscard]] CertifiedKey issue(CertificatePurpose purpose = CertificatePurpose::server,
                                     Validity validity = {today - 1h, today + 24h}) const {
        return issue_certificate(authority, {.common_name = "scout",
                                             .names = {"scout.default.svc", "127.0.0.1", "fd00::1"},
                                             .purpose = purpose,
                                             .validity = validity})
            .value();
    }
    [[nodiscard]] int judged(const CertifiedKey& pair, ExpectedCertificate expected = {}) const {
        expected.now = expected.now == WallTime{} ? today : expected.now;
        return verify_certificate(pair.chain, authority.chain, expected);
    }

    CertifiedKey authority = make_authority("an authority", a_year).value();
};

TEST_F(CertificatesTest, WhatIsIssuedVerifiesForItsNamesAndAddresses) {
    const auto pair = issue();

    EXPECT_EQ(judged(pair), X509_V_OK);
    EXPECT_EQ(judged(pair, {.name = "127.0.0.1"}), X509_V_OK);
    EXPECT_EQ(judged(pair, {.name = "fd00::1"}), X509_V_OK);
    EXPECT_EQ(judged(pair, {.name = "other.default.svc"}), X509_V_ERR_HOSTNAME_MISMATCH);
    EXPECT_EQ(judged(pair, {.name = "127.0.0.2"}), X509_V_ERR_IP_ADDRESS_MISMATCH);
    EXPECT_TRUE(check_key(pair));
    EXPECT_TRUE(check_signature(pair.chain, authority.chain));
}

TEST_F(CertificatesTest, HoldsForItsTimeOnly) {
    const auto pair = issue();

    EXPECT_EQ(judged(pair, {.now = today - 2h}), X509_V_ERR_CERT_NOT_YET_VALID);
    EXPECT_EQ(judged(pair, {.now = today + 25h}), X509_V_ERR_CERT_HAS_EXPIRED);
    EXPECT_EQ(validity_of(pair.chain).value(), (Validity{today - 1h, today + 24h}));
    EXPECT_EQ(validity_of(authority.chain).value(), a_year);
}

TEST_F(CertificatesTest, TimesBeyondTheTwoDigitYearsAreKept) {
    const WallTime later = std::chrono::sys_days{std::chrono::year{2051} / 1 / 1};

    const auto pair = issue(CertificatePurpose::server, {later - 24h * 730, later});

    EXPECT_EQ(validity_of(pair.chain).value(), (Validity{later - 24h * 730, later}));
}

TEST_F(CertificatesTest, ThePurposeIsPartOfIt) {
    const ExpectedCertificate as_client{.purpose = X509_PURPOSE_SSL_CLIENT};

    EXPECT_EQ(judged(issue(), as_client), X509_V_ERR_INVALID_PURPOSE);
    EXPECT_EQ(judged(issue(CertificatePurpose::client), as_client), X509_V_OK);
    EXPECT_EQ(judged(issue(CertificatePurpose::client)), X509_V_ERR_INVALID_PURPOSE);
    EXPECT_EQ(judged(issue(CertificatePurpose::both), as_client), X509_V_OK);
    EXPECT_EQ(judged(issue(CertificatePurpose::both)), X509_V_OK);
}

TEST_F(CertificatesTest, AnotherAuthorityOfTheSameNameIsNotTaken) {
    const auto other = make_authority("an authority", a_year).value();
    const auto pair = issue();

    EXPECT_NE(verify_certificate(pair.chain, other.chain, {.now = today}), X509_V_OK);
    const auto checked = check_signature(pair.chain, other.chain);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Errc::refused);
    EXPECT_TRUE(check_signature(pair.chain, other.chain + authority.chain));
}

TEST_F(CertificatesTest, WhatIsIssuedSignsNothing) {
    EXPECT_TRUE(check_authority(authority));
    const auto checked = check_authority(issue());
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message, HasSubstr("may sign none"));
}

TEST_F(CertificatesTest, AKeyOfAnotherCertificateIsFound) {
    const auto checked = check_key({.chain = issue().chain, .key = issue().key});

    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Errc::invalid);
    EXPECT_THAT(checked.error().message, HasSubstr("found another one"));
}

TEST_F(CertificatesTest, DamagedTextSaysWhatWasExpected) {
    const auto half = authority.chain.substr(0, authority.chain.size() / 2);
    const CertificateRequest request{
        .common_name = "a", .names = {"a"}, .validity = {today, today + 1h}};

    EXPECT_THAT(validity_of(half).error().message, HasSubstr("expected a certificate in PEM form"));
    EXPECT_THAT(check_key({authority.chain, "rubbish"}).error().message,
                HasSubstr("expected a private key in PEM form"));
    EXPECT_THAT(check_signature(authority.chain, "").error().message,
                HasSubstr("expected certificates of authorities"));
    const auto issued = issue_certificate({half, authority.key}, request);
    ASSERT_FALSE(issued);
    EXPECT_EQ(issued.error().code, Errc::invalid);
    EXPECT_THAT(issued.error().message, HasSubstr("certificate authority: expected"));
}

TEST_F(CertificatesTest, NamesThatNoCertificateCanHaveAreRefused) {
    for (const auto* wrong : {"", "a b", "a,DNS:b", "höhe", "::1::"}) {
        const auto issued = issue_certificate(
            authority, {.common_name = "a", .names = {wrong}, .validity = {today, today + 1h}});
        ASSERT_FALSE(issued) << wrong;
        EXPECT_THAT(issued.error().message, HasSubstr("expected a DNS name or an address"));
    }
    EXPECT_FALSE(make_authority("", a_year));
    EXPECT_FALSE(make_authority(std::string(65, 'a'), a_year));
    EXPECT_FALSE(make_authority("\xff", a_year));
}

TEST_F(CertificatesTest, ASignedRequestHasTheNamesThatTheSignerGives) {
    const auto asked = make_signing_request().value();
    const auto chain = sign_request(authority, asked.request,
                                    {.common_name = "a",
                                     .names = {"scout.default.svc"},
                                     .purpose = CertificatePurpose::both,
                                     .validity = {today - 1h, today + 24h}})
                           .value();

    EXPECT_TRUE(check_key({.chain = chain, .key = asked.key}));
    EXPECT_EQ(judged({.chain = chain, .key = asked.key}), X509_V_OK);
    EXPECT_EQ(judged({.chain = chain, .key = asked.key}, {.name = "other"}),
              X509_V_ERR_HOSTNAME_MISMATCH);
}

/// A request for the key, signed by another one.
std::string request_of(EVP_PKEY* key, EVP_PKEY* signer) {
    const std::unique_ptr<X509_REQ, Releaser<X509_REQ_free>> request{X509_REQ_new()};
    const openssl::Bio text{BIO_new(BIO_s_mem())};
    X509_REQ_set_pubkey(request.get(), key);
    X509_REQ_sign(request.get(), signer, EVP_sha256());
    PEM_write_bio_X509_REQ(text.get(), request.get());
    char* data = nullptr;
    const auto size = BIO_get_mem_data(text.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}

TEST_F(CertificatesTest, RequestsThatProveNothingAreNotSigned) {
    const openssl::Key ours{EVP_EC_gen("P-256")};
    const openssl::Key other{EVP_EC_gen("P-256")};
    const openssl::Key weak{EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{1024})};
    const openssl::Key large{EVP_EC_gen("P-521")};
    const auto why = [this](const std::string& request) {
        const auto done =
            sign_request(authority, request,
                         {.common_name = "a", .names = {"a"}, .validity = {today, today + 1h}});
        return done ? std::string{"signed"} : done.error().message;
    };

    EXPECT_EQ(why(request_of(ours.get(), ours.get())), "signed");
    EXPECT_THAT(why(request_of(ours.get(), other.get())), HasSubstr("another signer"));
    EXPECT_THAT(why(request_of(weak.get(), weak.get())), HasSubstr("found another key"));
    EXPECT_THAT(why(request_of(large.get(), large.get())), HasSubstr("found another key"));
    EXPECT_THAT(why(""), HasSubstr("expected a signing request"));
    EXPECT_THAT(why(authority.chain), HasSubstr("expected a signing request"));
}

TEST_F(CertificatesTest, IsDueWhenTwoThirdsAreOverAndWhenItLiesAhead) {
    const Validity validity{.from = today, .until = today + 24h};

    EXPECT_FALSE(is_due(validity, today));
    EXPECT_FALSE(is_due(validity, today + 16h - 1s));
    EXPECT_TRUE(is_due(validity, today + 16h));
    EXPECT_TRUE(is_due(validity, today - 1s));
}

TEST_F(CertificatesTest, ASecretIsGoneAfterCleansing) {
    std::string secret = "secret";

    cleanse(secret);

    EXPECT_EQ(secret, "");
}

}  // namespace
}  // namespace scout
