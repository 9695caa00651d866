// SPDX-License-Identifier: Apache-2.0
#include "base/shield.h"

#include <chrono>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include "base/alarm.h"
#include "base/child_process.h"
#include "base/task_scope.h"
#include "tests/support/run_to_end.h"

namespace scout {
namespace {

using namespace std::chrono_literals;

Task<int> answer_after(std::chrono::milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    const auto [error] = co_await timer.async_wait(as_result);
    co_return error ? -1 : 7;
}

/// Somebody who calls what must not be cut short, and then waits as everybody does.
class ShieldTest : public testing::Test {
protected:
    template <class Call>
    void spawn(Call call) {
        scope.spawn("caller", [this, call]() -> Task<> {
            co_await call();
            called = true;
            const bool goes_on = co_await alarm.wait(1h);
            cancelled = !goes_on;
        });
    }
    void run_until_called() {
        while (!called) {
            loop.run_one();
        }
    }

    asio::io_context loop{1};
    TaskScope scope{loop.get_executor()};
    Alarm alarm{loop.get_executor()};
    bool called = false;
    bool cancelled = false;
};

TEST_F(ShieldTest, EndsWhatItRunsThoughTheCallerIsCancelled) {
    int answer = 0;
    scope.spawn("caller", [&]() -> Task<> { answer = co_await shield(answer_after(50ms)); });
    loop.poll();

    test::run_to_end(loop, scope.close());

    EXPECT_EQ(answer, 7);
}

TEST_F(ShieldTest, LeavesTheCallerAsCancellableAsItWas) {
    spawn([]() -> Task<> { co_await shield(answer_after(0ms)); });
    run_until_called();

    test::run_to_end(loop, scope.close());

    EXPECT_TRUE(cancelled);
}

TEST_F(ShieldTest, WhoClosedAScopeCanStillBeCancelled) {
    TaskScope inner(loop.get_executor());
    inner.spawn("child", []() -> Task<> { co_await answer_after(1h); });
    spawn([&]() -> Task<> { co_await inner.close(); });
    run_until_called();

    test::run_to_end(loop, scope.close());

    EXPECT_TRUE(cancelled);
}

TEST_F(ShieldTest, WhoRanAProgramCanStillBeCancelled) {
    spawn([]() -> Task<> {
        ChildCommand command;
        command.argv = {"true"};
        const auto ran = co_await run_child(std::move(command));
        EXPECT_TRUE(ran) << ran.error().message;
    });
    run_until_called();

    test::run_to_end(loop, scope.close());

    EXPECT_TRUE(cancelled);
}

}  // namespace
}  // namespace scout
