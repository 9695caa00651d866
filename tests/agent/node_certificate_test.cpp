// SPDX-License-Identifier: Apache-2.0
#include "agent/node_certificate.h"

#include <chrono>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/certificates.h"
#include "tests/support/fake_clock.h"

namespace scout::agent {
namespace {

using namespace std::chrono_literals;

class NodeCertificateTest : public testing::Test {
protected:
    [[nodiscard]] SignedCertificate answer(const std::string& request,
                                           std::chrono::seconds life = 24h) const {
        auto chain = sign_request(authority, request,
                                  {.common_name = "a",
                                   .names = {"n1"},
                                   .validity = {clock.wall() - 1h, clock.wall() + life}});
        return {.chain = *std::move(chain), .error = {}};
    }

    test::FakeClock clock;
    CertifiedKey authority =
        make_authority("tests", {clock.wall() - 1h, clock.wall() + 24h * 365}).value();
    std::optional<CertifiedKey> served;
    WallTime until;
    NodeCertificate certificate{clock, [this](const CertifiedKey& pair, WallTime end) {
                                    served = pair;
                                    until = end;
                                    return Status{};
                                }};
};

TEST_F(NodeCertificateTest, IsAskedForOnceAndServedWithItsKey) {
    const auto request = certificate.next();
    ASSERT_TRUE(request);
    EXPECT_FALSE(certificate.next());

    certificate.take(answer(request->pem));

    ASSERT_TRUE(served);
    EXPECT_TRUE(check_key(*served));
    EXPECT_EQ(until, clock.wall() + 24h);
    clock.advance(15h);
    EXPECT_FALSE(certificate.next());
}

TEST_F(NodeCertificateTest, IsRenewedWithAnotherKeyWhenTwoThirdsAreOver) {
    certificate.take(answer(certificate.next().value().pem));
    const auto first = served.value();
    clock.advance(16h);

    const auto request = certificate.next();

    ASSERT_TRUE(request);
    EXPECT_EQ(served, first) << "served until there is another one";
    certificate.take(answer(request->pem));
    EXPECT_NE(served.value().key, first.key);
    EXPECT_TRUE(check_key(*served));
}

TEST_F(NodeCertificateTest, IsAskedForAgainAMinuteAfterNoAnswerOrARefusal) {
    const auto request = certificate.next();
    certificate.take({.chain = {}, .error = "the authority was renewed just now"});
    clock.advance(59s);
    EXPECT_FALSE(certificate.next());
    clock.advance(1s);
    EXPECT_TRUE(certificate.next());
    clock.advance(1min);
    EXPECT_TRUE(certificate.next());
    EXPECT_FALSE(served);
}

TEST_F(NodeCertificateTest, WhatIsForAnotherKeyIsNotServed) {
    certificate.take({.chain = authority.chain, .error = {}});
    const auto first = certificate.next().value();
    certificate.take(answer(make_signing_request().value().request));
    certificate.take({.chain = "rubbish", .error = {}});
    EXPECT_FALSE(served);

    certificate.take(answer(first.pem));
    EXPECT_TRUE(served);
}

}  // namespace
}  // namespace scout::agent
