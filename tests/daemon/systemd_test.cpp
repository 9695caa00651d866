// SPDX-License-Identifier: Apache-2.0
#include "daemon/systemd.h"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/daemon/notify_socket.h"
#include "tests/support/run_to_end.h"

namespace scout::daemon {
namespace {

using namespace std::chrono_literals;

Task<> pet_for(std::chrono::milliseconds time) {
    using namespace asio::experimental::awaitable_operators;
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await (pet_watchdog() || timer.async_wait(asio::use_awaitable));
}

TEST(SystemdTest, TellsReadyAndStoppingInTheManagersWords) {
    const test::NotifySocket manager;

    notify_ready("serving\n1 node");
    notify_stopping("bye");

    EXPECT_EQ(manager.next(), "READY=1\nSTATUS=serving 1 node");
    EXPECT_EQ(manager.next(), "STOPPING=1\nSTATUS=bye");
}

TEST(SystemdTest, PetsTheWatchdogFourTimesInItsInterval) {
    const test::NotifySocket manager;
    ::setenv("WATCHDOG_USEC", "80000", 1);
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    ASSERT_EQ(watchdog_interval(), 20ms);
    asio::io_context loop{1};

    test::run_to_end(loop, pet_for(200ms));

    int pets = 0;
    while (manager.poll() == "WATCHDOG=1") {
        ++pets;
    }
    EXPECT_GE(pets, 4);
    EXPECT_LE(pets, 11);
}

TEST(SystemdTest, IsSilentWithoutAManager) {
    asio::io_context loop{1};

    EXPECT_EQ(watchdog_interval(), std::nullopt);
    test::run_to_end(loop, pet_watchdog());
    notify_ready("nobody listens");
}

TEST(SystemdTest, LeavesTheWatchdogOfAnotherProcessAlone) {
    const test::NotifySocket manager;
    ::setenv("WATCHDOG_USEC", "80000", 1);
    ::setenv("WATCHDOG_PID", "1", 1);

    EXPECT_EQ(watchdog_interval(), std::nullopt);
}

}  // namespace
}  // namespace scout::daemon
