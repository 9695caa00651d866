// SPDX-License-Identifier: Apache-2.0
#include "launcher/launcher_client.h"

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/task_scope.h"
#include "launcher/launcher_sockets.h"
#include "tests/launcher/domain_texts.h"
#include "tests/launcher/fake_launcher.h"
#include "tests/launcher/raw_listener.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait_until.h"
#include "wire/unary_channel.h"

namespace scout::launcher {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class LauncherClientTest : public testing::Test {
protected:
    [[nodiscard]] std::unique_ptr<LauncherClient> open(CallLimits limits = {}) {
        const auto found = find_launchers(pods.path()).value().at(0);
        return LauncherClient::open(home, connect_launcher(pods.path(), found).value(), limits)
            .value();
    }
    template <class T>
    T run(Task<T> task) {
        return test::run_until_done(loop, std::move(task));
    }

    test::TemporaryFolder pods;
    asio::io_context loop{1};
    wire::CallHome home{loop.get_executor()};
    SystemClock clock;
};

TEST_F(LauncherClientTest, ReadsWhatALauncherAnswers) {
    test::FakeLauncher launcher(pods.path(), "p1");
    launcher.answer(test::domain_text({.name = "vm-1"}));
    launcher.answer_stats(R"({"Name":"shop_vm-1","Memory":{"RSSSet":true,"RSS":5}})");
    launcher.set_dirty_rate(42);
    const auto client = open();

    const auto shaken = run(client->handshake());
    const auto domain = run(client->domain());
    const auto stats = run(client->stats());

    ASSERT_TRUE(shaken) << shaken.error().message;
    ASSERT_TRUE(domain) << domain.error().message;
    EXPECT_EQ((*domain)->name, "vm-1");
    EXPECT_EQ(stats.value()->rss_kib, 5U);
    EXPECT_EQ(run(client->dirty_rate()), 42U);
    EXPECT_EQ(run(client->qemu_version()), "QEMU 9.1.0");
    EXPECT_TRUE(run(client->ping()));
    EXPECT_EQ(launcher.authority(), "localhost");
}

TEST_F(LauncherClientTest, AnEmptyDomainIsNone) {
    test::FakeLauncher launcher(pods.path(), "p1");
    const auto client = open();

    EXPECT_FALSE(run(client->domain()).value());
    EXPECT_FALSE(run(client->stats()).value());
}

TEST_F(LauncherClientTest, HandshakeNeedsACommonVersion) {
    test::FakeLauncher launcher(pods.path(), "p1");
    const auto client = open();

    launcher.speak({2, 1});
    EXPECT_TRUE(run(client->handshake()));
    launcher.speak({2, 3});
    const auto refused = run(client->handshake());
    EXPECT_EQ(refused.error().code, Errc::refused);
    EXPECT_THAT(refused.error().message, HasSubstr("found 2, …"));
    launcher.speak({});
    EXPECT_THAT(run(client->handshake()).error().message, HasSubstr("found none"));
}

TEST_F(LauncherClientTest, TellsAnOldLauncherFromOneThatCannot) {
    test::FakeLauncher launcher(pods.path(), "p1");
    const auto client = open();

    launcher.fail_with({grpc::StatusCode::UNIMPLEMENTED, "unknown method"});
    EXPECT_EQ(run(client->stats()).error().code, Errc::not_found);
    launcher.fail_with(grpc::Status::OK);
    launcher.refuse("no dirty rate has been measured");
    const auto cannot = run(client->dirty_rate());
    EXPECT_EQ(cannot.error().code, Errc::unavailable);
    EXPECT_THAT(cannot.error().message, HasSubstr("no dirty rate has been measured"));
    EXPECT_EQ(run(client->ping()).error().code, Errc::unavailable);
    launcher.refuse("");
    launcher.set_dirty_rate(-1);
    EXPECT_EQ(run(client->dirty_rate()).error().code, Errc::invalid);
}

TEST_F(LauncherClientTest, DamagedAnswersAreErrors) {
    test::FakeLauncher launcher(pods.path(), "p1");
    const auto client = open();

    launcher.answer("{\"Spec\":");
    const auto domain = run(client->domain());

    EXPECT_EQ(domain.error().code, Errc::invalid);
    EXPECT_THAT(domain.error().message, HasSubstr("domain"));
}

TEST_F(LauncherClientTest, SilenceEndsAtTheLimit) {
    const test::RawListener silent(test::sockets_of(pods.path(), "p1") / "launcher-sock");
    const auto client = open({.handshake = 50ms, .call = 50ms, .dirty_rate = 50ms});
    const auto begun = clock.steady();

    EXPECT_EQ(run(client->handshake()).error().code, Errc::timed_out);
    EXPECT_EQ(run(client->domain()).error().code, Errc::timed_out);
    EXPECT_EQ(run(client->dirty_rate()).error().code, Errc::timed_out);
    EXPECT_LT(clock.steady() - begun, 5s);
}

TEST_F(LauncherClientTest, GarbageBreaksTheConnection) {
    const test::RawListener garbage(test::sockets_of(pods.path(), "p1") / "launcher-sock",
                                    "HTTP/1.1 400 Bad Request\r\n\r\n");
    const auto client = open();

    EXPECT_EQ(run(client->handshake()).error().code, Errc::unavailable);
    EXPECT_EQ(run(client->domain()).error().code, Errc::unavailable);
}

TEST_F(LauncherClientTest, OthersAreAnsweredWhileOneHangs) {
    test::FakeLauncher hanging(pods.path(), "p1");
    const auto stuck = open({.handshake = 10s, .call = 10s, .dirty_rate = 10s});
    std::filesystem::rename(pods.path() / "p1", pods.path() / "p3");
    test::FakeLauncher good(pods.path(), "p2");
    good.answer(test::domain_text({.name = "vm-2"}));
    const auto client = open();
    hanging.hang(true);
    TaskScope scope(loop.get_executor());
    std::optional<Errc> ended;
    const auto begun = clock.steady();
    auto story = [&]() -> Task<> {
        scope.spawn("stuck", [&]() -> Task<> {
            const auto answer = co_await stuck->domain();
            ended = answer ? Errc::internal : answer.error().code;
        });
        const auto domain = co_await client->domain();
        EXPECT_TRUE(domain && (*domain)->name == "vm-2");
        co_await scope.close();
    };
    run(story());

    EXPECT_EQ(ended, Errc::cancelled);
    EXPECT_LT(clock.steady() - begun, 5s);
}

TEST_F(LauncherClientTest, MayGoWhileACallIsUnderWay) {
    test::FakeLauncher hanging(pods.path(), "p1");
    hanging.hang(true);
    auto client = open();
    TaskScope scope(loop.get_executor());
    auto story = [&]() -> Task<> {
        scope.spawn("stuck", [&]() -> Task<> { static_cast<void>(co_await client->ping()); });
        asio::steady_timer soon(loop, 50ms);
        co_await soon.async_wait(as_result);
        client.reset();
        co_await scope.close();
    };
    run(story());

    EXPECT_TRUE(test::wait_until([&] { return hanging.asked() == 1; }));
}

TEST_F(LauncherClientTest, FiftyMegabytesAreNotWaitedFor) {
    test::FakeLauncher launcher(pods.path(), "p1");
    const auto client = open();
    launcher.answer(std::string(std::size_t{50} << 20U, 'x'));

    const auto domain = run(client->domain());

    EXPECT_EQ(domain.error().code, Errc::invalid);
    EXPECT_THAT(domain.error().message, HasSubstr("expected an answer of at most 4198400 bytes"));
    EXPECT_FALSE(run(client->ping())) << "the connection is over";
    const auto next = open();
    launcher.answer(test::domain_text({.name = "vm-1"}));
    EXPECT_TRUE(run(next->domain()));
}

TEST_F(LauncherClientTest, AnAnswerOfFourMegabytesIsTaken) {
    test::FakeLauncher launcher(pods.path(), "p1");
    const auto client = open();
    auto text = test::domain_text({.name = "vm-1"});
    text.resize(document_limit, ' ');
    launcher.answer(text);
    for (int i = 0; i < 3; ++i) {
        const auto domain = run(client->domain());
        ASSERT_TRUE(domain) << domain.error().message;
        EXPECT_EQ((*domain)->name, "vm-1");
    }
    launcher.answer(text + ' ');
    EXPECT_EQ(run(client->domain()).error().code, Errc::invalid);
}

}  // namespace
}  // namespace scout::launcher
