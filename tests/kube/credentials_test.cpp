// SPDX-License-Identifier: Apache-2.0
#include "kube/credentials.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>

#include "base/files.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"

namespace scout::kube {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class CredentialsTest : public testing::Test {
protected:
    [[nodiscard]] Result<Identity> current(Credentials& credentials) {
        return test::run_to_end(loop, credentials.current());
    }
    [[nodiscard]] bool renew(Credentials& credentials, std::uint64_t refused) {
        return test::run_to_end(loop, credentials.renew(refused)).value();
    }
    [[nodiscard]] std::string authorization(Credentials& credentials) {
        const auto identity = current(credentials);
        return identity ? identity->authorization : identity.error().message;
    }
    /// An access whose plugin is this shell script; each run leaves a line in the file "runs".
    [[nodiscard]] ClusterAccess with_plugin(const std::string& script) {
        ClusterAccess access{.origin = "a test"};
        access.server = parse_server_url("https://api:6443", false).value();
        access.exec = ExecPlugin{
            .api_version = std::string{exec_v1},
            .command = "sh",
            .arguments = {"-c", "echo run >> " + (folder.path() / "runs").string() + "\n" + script},
            .install_hint = "get it from us"};
        return access;
    }
    /// Prints the file "answer" as the plugin's.
    [[nodiscard]] ClusterAccess with_answer(const std::string& status) {
        set_answer(status);
        return with_plugin("cat " + (folder.path() / "answer").string());
    }
    void set_answer(const std::string& status) {
        folder.write("answer", R"({"apiVersion":"client.authentication.k8s.io/v1",)"
                               R"("kind":"ExecCredential","status":)" +
                                   status + "}");
    }
    [[nodiscard]] std::size_t runs() const {
        const auto text = read_file(folder.path() / "runs").value_or("");
        return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }

    asio::io_context loop;
    test::FakeClock clock;
    test::TemporaryFolder folder;
};

TEST_F(CredentialsTest, SendsATokenAsItStandsInTheAccess) {
    Credentials nobody({}, clock);
    EXPECT_EQ(authorization(nobody), "");

    Credentials credentials({.token = "abc"}, clock);
    EXPECT_EQ(authorization(credentials), "Bearer abc");
    EXPECT_FALSE(renew(credentials, current(credentials)->version));

    Credentials broken({.token = "a\r\nX: b"}, clock);
    EXPECT_EQ(current(broken).error().code, Errc::invalid);
}

TEST_F(CredentialsTest, ReadsTheTokenFileAgainAfterAMinute) {
    const auto file = folder.write("token", "one\n");
    Credentials credentials({.token_file = file}, clock);
    EXPECT_EQ(authorization(credentials), "Bearer one");

    folder.write("token", "two\n");
    clock.advance(59s);
    EXPECT_EQ(authorization(credentials), "Bearer one");
    clock.advance(1s);
    EXPECT_EQ(authorization(credentials), "Bearer two");
}

TEST_F(CredentialsTest, ReadsTheTokenFileAtOnceWhenTheServerRefusesIt) {
    const auto file = folder.write("token", "one");
    Credentials credentials({.token_file = file}, clock);
    const auto first = current(credentials).value();
    EXPECT_FALSE(renew(credentials, first.version)) << "it is still the same";

    folder.write("token", "two");
    EXPECT_TRUE(renew(credentials, first.version));

    EXPECT_EQ(authorization(credentials), "Bearer two");
    EXPECT_TRUE(renew(credentials, first.version)) << "somebody else's renewal counts";
}

TEST_F(CredentialsTest, KeepsTheLastTokenWhileTheFileCannotBeRead) {
    const auto file = folder.write("token", "one");
    Credentials credentials({.token_file = file}, clock);
    EXPECT_EQ(authorization(credentials), "Bearer one");

    std::filesystem::remove(file);
    clock.advance(2min);
    EXPECT_EQ(authorization(credentials), "Bearer one");
    folder.write("token", "");
    clock.advance(2min);
    EXPECT_EQ(authorization(credentials), "Bearer one");

    Credentials fresh({.token_file = folder.path() / "gone"}, clock);
    EXPECT_EQ(current(fresh).error().code, Errc::unavailable);
}

TEST_F(CredentialsTest, AsksThePluginOnceUntilItsCredentialExpires) {
    Credentials credentials(with_answer(R"({"token":"one","expirationTimestamp":")" +
                                        rfc3339(clock.wall() + 1h) + R"("})"),
                            clock);
    EXPECT_EQ(authorization(credentials), "Bearer one");
    clock.advance(59min);
    EXPECT_EQ(authorization(credentials), "Bearer one");
    EXPECT_EQ(runs(), 1U);

    set_answer(R"({"token":"two"})");
    clock.advance(2min);
    EXPECT_EQ(authorization(credentials), "Bearer two");
    clock.advance(1000h);
    EXPECT_EQ(authorization(credentials), "Bearer two");

    EXPECT_EQ(runs(), 2U);
}

TEST_F(CredentialsTest, AsksThePluginAgainWhenTheServerRefusesButNotInABurst) {
    Credentials credentials(with_answer(R"({"token":"one"})"), clock);
    const auto first = current(credentials).value();
    set_answer(R"({"token":"two"})");
    EXPECT_FALSE(renew(credentials, first.version)) << "it ran a moment ago";

    clock.advance(10s);
    EXPECT_TRUE(renew(credentials, first.version));

    EXPECT_EQ(authorization(credentials), "Bearer two");
    EXPECT_EQ(runs(), 2U);
}

TEST_F(CredentialsTest, AllCallersWaitForOneRun) {
    Credentials credentials(with_answer(R"({"token":"one"})"), clock);
    int done = 0;
    for (int i = 0; i < 5; ++i) {
        asio::co_spawn(loop, credentials.current(),
                       [&done](std::exception_ptr, const Result<Identity>& identity) {
                           done += identity && identity->authorization == "Bearer one" ? 1 : 0;
                       });
    }
    loop.run();

    EXPECT_EQ(done, 5);
    EXPECT_EQ(runs(), 1U);
}

TEST_F(CredentialsTest, ACallerThatGoesAwayLeavesTheRunToTheNext) {
    Credentials credentials(
        with_plugin("test -e " + (folder.path() / "go").string() + " || exec sleep 300; cat " +
                    (folder.path() / "answer").string()),
        clock);
    set_answer(R"({"token":"one"})");
    asio::cancellation_signal cancel;
    asio::co_spawn(loop, credentials.current(),
                   asio::bind_cancellation_slot(
                       cancel.slot(), [](std::exception_ptr, const Result<Identity>&) {}));
    std::string second;
    while (runs() == 0) {
        loop.run_one_for(5ms);
    }
    asio::co_spawn(loop, credentials.current(),
                   [&second](std::exception_ptr, const Result<Identity>& identity) {
                       second = identity ? identity->authorization : identity.error().message;
                   });
    loop.poll();

    folder.write("go", "");
    cancel.emit(asio::cancellation_type::terminal);
    loop.run();

    EXPECT_EQ(second, "Bearer one");
    EXPECT_EQ(runs(), 2U);
}

TEST_F(CredentialsTest, TakesAClientCertificateFromThePlugin) {
    Credentials credentials(
        with_answer(R"({"clientCertificateData":"cert","clientKeyData":"key"})"), clock);

    const auto identity = current(credentials);

    ASSERT_TRUE(identity) << identity.error().message;
    EXPECT_EQ(identity->authorization, "");
    ASSERT_TRUE(identity->certificate);
    EXPECT_EQ(identity->certificate->certificate, "cert");
    EXPECT_EQ(identity->certificate->key, "key");
}

TEST_F(CredentialsTest, TellsThePluginAboutTheCluster) {
    auto access =
        with_plugin("echo \"$EXTRA $KUBERNETES_EXEC_INFO\" > " + (folder.path() / "info").string());
    access.exec->gets_cluster = true;
    access.exec->environment = {"EXTRA=extra"};
    access.authority.text = "ca";
    access.tls_server_name = "kubernetes";
    Credentials credentials(access, clock);

    EXPECT_FALSE(current(credentials));

    const auto info = read_file(folder.path() / "info").value();
    EXPECT_EQ(
        info,
        "extra {\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
        "\"spec\":{\"interactive\":false,\"cluster\":{\"server\":\"https://api:6443\","
        "\"tls-server-name\":\"kubernetes\",\"certificate-authority-data\":\"Y2E=\"}}}\n");
}

TEST_F(CredentialsTest, ATokenThatNoRequestCanCarryIsAFailedRunToo) {
    Credentials failing(
        with_plugin(R"(printf '%s' '{"apiVersion":"client.authentication.k8s.io/v1",)"
                    R"("kind":"ExecCredential","status":{"token":"a
b"}}')"),
        clock);
    EXPECT_FALSE(current(failing));
    EXPECT_FALSE(current(failing));
    EXPECT_EQ(runs(), 1U);
}

TEST_F(CredentialsTest, SaysHowThePluginFailed) {
    Credentials failing(with_plugin("echo 'log in first' >&2; exit 3"), clock);
    const auto failed = current(failing);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Errc::unavailable);
    EXPECT_THAT(failed.error().message, HasSubstr("log in first"));
    EXPECT_THAT(failed.error().message, HasSubstr("get it from us"));
    EXPECT_THAT(failed.error().message, HasSubstr("a test"));

    EXPECT_FALSE(current(failing));
    EXPECT_EQ(runs(), 1U) << "those who wait do not each try another run";
    clock.advance(11s);
    EXPECT_FALSE(current(failing));
    EXPECT_EQ(runs(), 2U);

    const std::pair<std::string, std::string> outputs[] = {
        {"not json", "expected an ExecCredential object"},
        {"[]", "expected an ExecCredential object"},
        {R"({"kind":"Pod"})", "kind: expected ExecCredential"},
        {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"})",
         "apiVersion: expected client.authentication.k8s.io/v1, found"},
        {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"})",
         "expected a status"}};
    for (const auto& [output, expected] : outputs) {
        const auto credential = parse_exec_credential(output, exec_v1);
        ASSERT_FALSE(credential) << output;
        EXPECT_EQ(credential.error().code, Errc::invalid);
        EXPECT_THAT(credential.error().message, HasSubstr(expected));
    }
    const std::pair<std::string, std::string> statuses[] = {
        {"{}", "a token or a client certificate, found none"},
        {R"({"clientKeyData":"key"})", "found one of them"},
        {R"({"token":"a","expirationTimestamp":"soon"})", "expirationTimestamp"},
        {R"({"token":"a b"})", "no token has"}};
    for (const auto& [status, expected] : statuses) {
        Credentials credentials(with_answer(status), clock);
        EXPECT_THAT(authorization(credentials), HasSubstr(expected));
    }
}

}  // namespace
}  // namespace scout::kube
