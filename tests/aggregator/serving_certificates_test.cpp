// SPDX-License-Identifier: Apache-2.0
// Certificates that somebody else makes. Our own are in bed_serving_certificates_test.cpp.
#include "aggregator/serving_certificates.h"

#include <chrono>
#include <functional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/task_scope.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"
#include "tests/support/temporary_folder.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class ServingFilesTest : public testing::Test {
protected:
    ServingFilesTest() {
        certificates.on_certificate([this](const CertifiedKey& pair) { served.push_back(pair); });
    }
    void TearDown() override { test::run_until_done(loop, scope.close()); }

    [[nodiscard]] CertifiedKey issue() const {
        const auto now = clock.wall();
        const Validity validity{.from = now - 1h, .until = now + 1h};
        const auto authority = make_authority("somebody else", validity).value();
        return issue_certificate(authority,
                                 {.common_name = "a", .names = {"a"}, .validity = validity})
            .value();
    }
    void write(const CertifiedKey& pair) const {
        folder.write("tls.crt", pair.chain);
        folder.write("tls.key", pair.key);
    }
    void start() {
        scope.spawn("certificates", [this] { return certificates.run(); });
    }
    [[nodiscard]] bool run_until(const std::function<bool()>& condition) {
        const auto until = std::chrono::steady_clock::now() + 20s;
        loop.restart();
        while (!condition()) {
            if (loop.run_one_until(until) == 0) {
                return condition();
            }
        }
        return true;
    }

    asio::io_context loop{1};
    test::FakeClock clock;
    test::TemporaryFolder folder;
    test::ScriptedTransport nobody;
    kube::Client client{nobody, clock, {}};
    ServingCertificates certificates{
        loop.get_executor(),
        client,
        [] { return SteadyTime::max(); },
        {.space = "s",
         .names = {},
         .webhooks = {"w"},
         .files = CertificateFiles{folder.path() / "tls.crt", folder.path() / "tls.key"},
         .rules = {},
         .look_every = 5ms},
        clock};
    std::vector<CertifiedKey> served;
    TaskScope scope{loop.get_executor()};
};

TEST_F(ServingFilesTest, AreServedAndServedAnewWhenTheyChange) {
    const auto first = issue();
    const auto second = issue();
    write(first);
    start();
    ASSERT_TRUE(run_until([this] { return served.size() == 1; }));
    EXPECT_EQ(certificates.facts().serving_until, clock.wall() + 1h);

    write(second);
    ASSERT_TRUE(run_until([this] { return served.size() == 2; }));

    EXPECT_EQ(served, (std::vector{first, second}));
    EXPECT_EQ(certificates.facts().missing, "");
    EXPECT_TRUE(nobody.requests().empty()) << "nothing is made, nothing is written";
}

TEST_F(ServingFilesTest, ThatAreMissingAreWhyThereIsNone) {
    start();

    ASSERT_TRUE(run_until([this] { return !certificates.facts().trouble.empty(); }));
    EXPECT_THAT(certificates.facts().missing, HasSubstr("no serving certificate yet"));
    EXPECT_THAT(certificates.facts().missing, HasSubstr("tls.crt"));
    write(issue());
    ASSERT_TRUE(run_until([this] { return certificates.facts().missing.empty(); }));
}

TEST_F(ServingFilesTest, ThatDoNotFitTogetherLeaveTheLastOnesInForce) {
    write(issue());
    start();
    ASSERT_TRUE(run_until([this] { return served.size() == 1; }));

    folder.write("tls.key", issue().key);
    ASSERT_TRUE(run_until([this] { return !certificates.facts().trouble.empty(); }));

    EXPECT_THAT(certificates.facts().trouble, HasSubstr("expected the private key of the"));
    EXPECT_EQ(certificates.facts().missing, "");
    EXPECT_EQ(served.size(), 1U);
}

}  // namespace
}  // namespace scout::aggregator
