// SPDX-License-Identifier: Apache-2.0
#include "base/task_scope.h"

#include <chrono>
#include <stdexcept>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <gtest/gtest.h>

#include "tests/support/run_to_end.h"

namespace scout {
namespace {

Task<> sleep_long(bool* cancelled) {
    const auto loop = co_await asio::this_coro::executor;
    asio::steady_timer timer(loop, std::chrono::hours{1});
    const auto [error] = co_await timer.async_wait(as_result);
    *cancelled = error == asio::error::operation_aborted;
}

Task<> throw_at_once() {
    throw std::runtime_error("broken");
    co_return;
}

TEST(TaskScopeTest, CloseCancelsEveryChildAndWaitsForIt) {
    asio::io_context loop{1};
    TaskScope scope(loop.get_executor());
    bool first = false;
    bool second = false;
    scope.spawn("first", [&first] { return sleep_long(&first); });
    scope.spawn("second", [&second] { return sleep_long(&second); });
    loop.poll();
    ASSERT_EQ(scope.running(), 2U);

    test::run_to_end(loop, scope.close());

    EXPECT_TRUE(first);
    EXPECT_TRUE(second);
    EXPECT_EQ(scope.running(), 0U);
}

TEST(TaskScopeTest, AChildThatThrowsHarmsNobodyElse) {
    asio::io_context loop{1};
    TaskScope scope(loop.get_executor());
    bool cancelled = false;
    scope.spawn("broken", throw_at_once);
    scope.spawn("fine", [&cancelled] { return sleep_long(&cancelled); });
    loop.poll();

    EXPECT_EQ(scope.running(), 1U);
    test::run_to_end(loop, scope.close());
    EXPECT_TRUE(cancelled);
}

TEST(TaskScopeTest, SurvivesAChildThatThrowsNoStdException) {
    asio::io_context loop{1};
    TaskScope scope(loop.get_executor());
    scope.spawn("odd", []() -> Task<> {
        throw 7;
        co_return;
    });

    EXPECT_NO_THROW(loop.poll());

    EXPECT_EQ(scope.running(), 0U);
}

TEST(TaskScopeTest, StartsNothingOnceItIsClosing) {
    asio::io_context loop{1};
    TaskScope scope(loop.get_executor());
    test::run_to_end(loop, scope.close());
    bool started = false;

    scope.spawn("late", [&started]() -> Task<> {
        started = true;
        return throw_at_once();
    });
    loop.restart();
    loop.poll();

    EXPECT_FALSE(started);
    EXPECT_EQ(scope.running(), 0U);
}

}  // namespace
}  // namespace scout
