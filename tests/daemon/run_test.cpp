// SPDX-License-Identifier: Apache-2.0
#include "daemon/run.h"

#include <csignal>
#include <stdexcept>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/offload.h"
#include "tests/daemon/notify_socket.h"

namespace scout::daemon {
namespace {

using namespace std::chrono_literals;

enum class Starting { at_once, fails, throws, never };
enum class Stopping { at_once, never, blocks_the_loop };

class ExampleService final : public Service {
public:
    ExampleService(Starting starting, Stopping stopping)
        : starting_(starting), stopping_(stopping) {}

    Task<Status> start() override {
        if (starting_ == Starting::never) {
            asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
            co_await timer.async_wait(as_result);
        } else if (starting_ == Starting::fails) {
            co_return fail(Errc::unavailable, "cannot listen");
        } else if (starting_ == Starting::throws) {
            throw std::runtime_error("thrown");
        }
        co_return Status{};
    }
    Task<> stop() override {
        stopped = true;
        if (stopping_ == Stopping::never) {
            asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
            co_await timer.async_wait(as_result);
        } else if (stopping_ == Stopping::blocks_the_loop) {
            std::this_thread::sleep_for(1h);
        }
    }

    bool stopped = false;

private:
    Starting starting_;
    Stopping stopping_;
};

/// Runs the service in a child, sends it the signals once it is up, and answers its exit code.
int exit_code(Starting starting, Stopping stopping, int signals, std::chrono::seconds limit = 5s) {
    const test::NotifySocket manager;
    const auto child = ::fork();
    if (child == 0) {
        asio::io_context loop{1};
        BlockingPool pool(1);
        ExampleService service(starting, stopping);
        const int code =
            run_service(loop, {&pool}, service, {.name = "example", .stop_limit = limit});
        ::_exit(service.stopped ? code : 99);
    }
    if (starting == Starting::at_once) {
        EXPECT_EQ(manager.next(), "READY=1\nSTATUS=ready");
    }
    for (int i = 0; i < signals; ++i) {
        ::kill(child, SIGTERM);
        if (i == 0) {
            EXPECT_EQ(manager.next(), "STOPPING=1\nSTATUS=stopping");
        }
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(RunTest, EndsWithZeroAfterACleanStop) {
    EXPECT_EQ(exit_code(Starting::at_once, Stopping::at_once, 1), 0);
}

TEST(RunTest, EndsWithOneAndStopsWhatBeganWhenTheStartFails) {
    EXPECT_EQ(exit_code(Starting::fails, Stopping::at_once, 0), 1);
    EXPECT_EQ(exit_code(Starting::throws, Stopping::at_once, 0), 1);
}

TEST(RunTest, LeavesByForceWhenTheStopHangs) {
    EXPECT_EQ(exit_code(Starting::at_once, Stopping::never, 1, 1s), 1);
    EXPECT_EQ(exit_code(Starting::at_once, Stopping::blocks_the_loop, 1, 1s), 1);
}

TEST(RunTest, LeavesAtOnceWithItsCodeWhenACallIsStuck) {
    const test::NotifySocket manager;
    const auto child = ::fork();
    if (child == 0) {
        asio::io_context loop{1};
        BlockingPool pool(1);
        ExampleService service(Starting::at_once, Stopping::at_once);
        const bool posted = pool.post([] { std::this_thread::sleep_for(1h); });
        auto at_once = [] { ::raise(SIGTERM); };
        static_cast<void>(run_service(loop, {&pool}, service, {.name = "example"}, at_once));
        ::_exit(posted ? 98 : 97);  // only _Exit() within run_service answers 0
    }
    int status = 0;
    ::waitpid(child, &status, 0);

    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(RunTest, LeavesAtOnceOnTheSecondSignalEvenIfTheLoopHangs) {
    const auto begun = std::chrono::steady_clock::now();

    EXPECT_EQ(exit_code(Starting::at_once, Stopping::blocks_the_loop, 2, 60s), 1);

    EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
}

TEST(RunTest, PetsTheWatchdogFromTheLoopAndStopsPettingWhenItHangs) {
    const test::NotifySocket manager;
    ::setenv("WATCHDOG_USEC", "40000", 1);
    const auto child = ::fork();
    if (child == 0) {
        asio::io_context loop{1};
        BlockingPool pool(1);
        ExampleService service(Starting::at_once, Stopping::blocks_the_loop);
        ::_exit(run_service(loop, {&pool}, service, {.name = "example", .stop_limit = 1s}));
    }
    int pets = 0;
    for (int i = 0; i < 8; ++i) {
        pets += manager.next() == "WATCHDOG=1" ? 1 : 0;
    }
    EXPECT_GE(pets, 6);

    ::kill(child, SIGTERM);
    while (manager.next() == "WATCHDOG=1") {
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(manager.poll(), "");
}

}  // namespace
}  // namespace scout::daemon
