// SPDX-License-Identifier: Apache-2.0
#include "agent/shutdown_watch.h"

#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/task_scope.h"
#include "tests/agent/fake_login_manager.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"

namespace scout::agent {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class ShutdownWatchTest : public testing::Test {
protected:
    void SetUp() override {
        bus = test::SystemBus::start();
        if (!bus) {
            GTEST_SKIP() << "no dbus-daemon here";
        }
    }
    void TearDown() override {
        if (watch) {
            test::run_until_done(loop, scope.close());
        }
    }
    void start() {
        watch = std::make_unique<ShutdownWatch>(
            ShutdownWatch::Parts{.loop = loop.get_executor(),
                                 .clock = clock,
                                 .registry = registry,
                                 .health = health,
                                 .system_bus = bus->socket(),
                                 .kubelet = [this] { return kubelet; },
                                 .turned =
                                     [this](bool begins, std::optional<std::chrono::seconds> left) {
                                         down = begins;
                                         begun = left;
                                     },
                                 .again = 50ms});
        scope.spawn("shutdown", [this] { return watch->run(); });
    }
    template <class Condition>
    bool reaches(Condition condition) {
        const auto until = std::chrono::steady_clock::now() + 10s;
        loop.restart();
        while (!condition() && std::chrono::steady_clock::now() < until) {
            loop.run_one_for(20ms);
        }
        return condition();
    }
    bool says(const char* text) {
        return reaches([this, text] { return health.text().find(text) != std::string::npos; });
    }
    bool knows_nothing_bad() {
        return reaches([this] { return health.text().find("node shutdown") == std::string::npos; });
    }

    std::unique_ptr<test::SystemBus> bus;
    asio::io_context loop;
    TaskScope scope{loop.get_executor()};
    test::FakeClock clock;
    prometheus::Registry registry;
    daemon::Health health;
    std::optional<migration::NodeShutdown> kubelet{
        {.total = 60s, .critical = 10s, .by_priority = {}}};
    bool down = false;
    std::optional<std::chrono::seconds> begun;
    std::unique_ptr<ShutdownWatch> watch;
};

TEST_F(ShutdownWatchTest, APodHasTheShutdownsTimeWhileTheNodeShutsDownAndOnlyThen) {
    test::FakeLoginManager logind(bus->socket());
    start();
    ASSERT_TRUE(reaches([this] { return !watch->grace().has_value(); })) << health.text();
    EXPECT_TRUE(knows_nothing_bad()) << health.text();

    logind.prepare(true);
    ASSERT_TRUE(says("node shutdown: the node shuts down")) << health.text();
    EXPECT_TRUE(down);
    EXPECT_EQ(begun, 50s);
    EXPECT_EQ(watch->grace(), 50s);
    clock.advance(20s);
    EXPECT_EQ(watch->grace(), 30s);
    clock.advance(100s);
    EXPECT_EQ(watch->grace(), 0s);

    logind.prepare(false);
    ASSERT_TRUE(knows_nothing_bad()) << health.text();
    EXPECT_FALSE(down);
    EXPECT_EQ(watch->grace(), std::nullopt);
}

/// The kubelet gives its lock back when its pods have ended, and systemd ends the bus.
TEST_F(ShutdownWatchTest, WhatIsKnownOfAShutdownOutlivesTheLockAndTheBus) {
    auto logind = std::make_unique<test::FakeLoginManager>(bus->socket());
    start();
    ASSERT_TRUE(reaches([this] { return !watch->grace().has_value(); }));
    logind->prepare(true);
    ASSERT_TRUE(says("the node shuts down"));
    logind->set_kubelet_delays(false);
    loop.run_for(300ms);
    EXPECT_EQ(watch->grace(), 50s);
    logind.reset();
    bus->stop();
    loop.run_for(300ms);
    EXPECT_EQ(watch->grace(), 50s);
}

TEST_F(ShutdownWatchTest, AnAgentThatStartsInTheMiddleOfAShutdownSeesIt) {
    test::FakeLoginManager logind(bus->socket());
    logind.preparing = true;
    start();
    ASSERT_TRUE(says("the node shuts down"));
    EXPECT_EQ(begun, 50s);
}

/// And logind answered before the kubelet's configuration was read.
TEST_F(ShutdownWatchTest, WhatIsLeftIsToldOnceMoreWhenTheKubeletIsKnown) {
    test::FakeLoginManager logind(bus->socket());
    logind.preparing = true;
    const auto says_later = std::exchange(kubelet, std::nullopt);
    start();
    ASSERT_TRUE(says("the node shuts down"));
    ASSERT_EQ(begun, std::nullopt);

    kubelet = says_later;
    clock.advance(2s);
    watch->tell_again();
    EXPECT_TRUE(down);
    EXPECT_EQ(begun, 48s);

    begun.reset();
    logind.prepare(false);
    ASSERT_TRUE(reaches([this] { return !down; }));
    watch->tell_again();
    EXPECT_FALSE(down) << "it does not shut down any more";
}

TEST_F(ShutdownWatchTest, AKubeletWithoutALockGivesNothingWhateverItsConfigurationSays) {
    test::FakeLoginManager logind(bus->socket());
    logind.set_kubelet_delays(false);
    start();
    ASSERT_TRUE(says("holds no delay lock of logind")) << health.text();
    logind.prepare(true);
    ASSERT_TRUE(says("the node shuts down"));
    EXPECT_EQ(watch->grace(), std::nullopt);
    EXPECT_TRUE(down);
    EXPECT_EQ(begun, std::nullopt);
}

TEST_F(ShutdownWatchTest, AKubeletThatIsNotKnownIsNotJudged) {
    kubelet.reset();
    test::FakeLoginManager logind(bus->socket());
    logind.set_kubelet_delays(false);
    start();
    ASSERT_TRUE(reaches([this] { return watch->login().has_value(); }));
    EXPECT_TRUE(knows_nothing_bad()) << health.text();
    logind.prepare(true);
    ASSERT_TRUE(says("the node shuts down"));
    EXPECT_TRUE(down);
    EXPECT_EQ(begun, std::nullopt);
}

/// Of steps by priority logind has to wait for all, one after the other.
TEST_F(ShutdownWatchTest, StepsByPriorityAreHeldToLogindsLimitAndLockToo) {
    kubelet->total = 0s;
    kubelet->critical = 0s;
    kubelet->by_priority = {{.priority = 0, .grace = 300s}, {.priority = 10, .grace = 20s}};
    test::FakeLoginManager logind(bus->socket());
    logind.set_longest_delay(310s);
    start();
    ASSERT_TRUE(says("delay a shutdown by 320 s, but logind waits 310 s at most")) << health.text();
    logind.set_kubelet_delays(false);
    EXPECT_TRUE(says("holds no delay lock of logind")) << health.text();
}

TEST_F(ShutdownWatchTest, LogindWaitsNoLongerThanItsOwnLimit) {
    test::FakeLoginManager logind(bus->socket());
    logind.set_longest_delay(5s);
    start();
    ASSERT_TRUE(says("logind waits 5 s at most")) << health.text();
    logind.prepare(true);
    ASSERT_TRUE(says("the node shuts down"));
    EXPECT_EQ(watch->grace(), 5s);
    EXPECT_EQ(begun, 5s);
}

/// A lock that is taken later is seen without any signal.
TEST_F(ShutdownWatchTest, WhatNoSignalTellsIsAskedAgain) {
    test::FakeLoginManager logind(bus->socket());
    logind.set_kubelet_delays(false);
    start();
    ASSERT_TRUE(says("holds no delay lock"));
    logind.set_kubelet_delays(true);
    EXPECT_TRUE(knows_nothing_bad()) << health.text();
}

TEST_F(ShutdownWatchTest, WithoutLogindWhatAShutdownWouldGiveIsTaken) {
    start();
    ASSERT_TRUE(says("node shutdown: it would not be seen: logind: ")) << health.text();
    EXPECT_EQ(watch->grace(), 50s);
}

TEST_F(ShutdownWatchTest, AnAnswerThatIsRefusedIsTold) {
    test::FakeLoginManager logind(bus->socket());
    logind.refuses = true;
    start();
    EXPECT_TRUE(says("not for you")) << health.text();
    EXPECT_EQ(watch->grace(), 50s);
    logind.refuses = false;
    EXPECT_TRUE(knows_nothing_bad()) << health.text();
}

TEST_F(ShutdownWatchTest, ABusThatComesLaterIsFound) {
    const auto socket = bus->socket();
    std::filesystem::rename(socket, socket.string() + "-away");
    start();
    ASSERT_TRUE(says("it would not be seen: ")) << health.text();
    EXPECT_THAT(health.text(), HasSubstr(socket.string()));
    std::filesystem::rename(socket.string() + "-away", socket);
    test::FakeLoginManager logind(socket);
    EXPECT_TRUE(knows_nothing_bad()) << health.text();
    EXPECT_EQ(watch->grace(), std::nullopt);
}

}  // namespace
}  // namespace scout::agent
