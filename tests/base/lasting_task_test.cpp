// SPDX-License-Identifier: Apache-2.0
#include "base/lasting_task.h"

#include <chrono>
#include <stdexcept>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <gtest/gtest.h>

#include "base/task_scope.h"
#include "tests/support/run_to_end.h"

namespace scout {
namespace {

using namespace std::chrono_literals;

Task<> throw_once(int* begun) {
    if (++*begun == 1) {
        throw std::runtime_error("broken");
    }
    co_return;
}

TEST(LastingTaskTest, BeginsAnewAfterAFaultAndEndsWithItsBody) {
    asio::io_context loop{1};
    int begun = 0;
    test::run_to_end(loop, keep_running("twice", [&begun] { return throw_once(&begun); }));
    EXPECT_EQ(begun, 2);
}

TEST(LastingTaskTest, IsCancelledWhileItWaits) {
    asio::io_context loop{1};
    TaskScope scope(loop.get_executor());
    int begun = 0;
    scope.spawn("task",
                [&begun] { return keep_running("task", [&begun] { return throw_once(&begun); }); });
    loop.poll();
    ASSERT_EQ(begun, 1);
    ASSERT_EQ(scope.running(), 1U);

    test::run_to_end(loop, scope.close());

    EXPECT_EQ(scope.running(), 0U);
    EXPECT_EQ(begun, 1);
}

}  // namespace
}  // namespace scout
