// SPDX-License-Identifier: Apache-2.0
#include "base/alarm.h"

#include <chrono>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "base/task_scope.h"
#include "tests/support/run_to_end.h"

namespace scout {
namespace {

constexpr std::chrono::hours never{1};

class AlarmTest : public ::testing::Test {
protected:
    void start() {
        scope.spawn("sleeper", [this] { return wait(); });
    }
    Task<> wait() {
        const bool goes_on = co_await alarm.wait(longest);
        slept = goes_on;
    }
    Task<> close() { co_await scope.close(); }

    asio::io_context loop{1};
    TaskScope scope{loop.get_executor()};
    Alarm alarm{loop.get_executor()};
    std::chrono::milliseconds longest = never;
    std::optional<bool> slept;
};

TEST_F(AlarmTest, EndsASleep) {
    start();
    loop.poll();
    ASSERT_FALSE(slept);

    alarm.ring();
    test::run_to_end(loop, close());

    EXPECT_EQ(slept, true);
}

TEST_F(AlarmTest, IsHeardByTheNextSleepAndOnlyByThat) {
    alarm.ring();
    start();
    loop.poll();
    EXPECT_EQ(slept, true);

    slept.reset();
    start();
    loop.restart();
    loop.poll();
    EXPECT_FALSE(slept);
    test::run_to_end(loop, close());
}

TEST_F(AlarmTest, TellsACancelledSleeperToStop) {
    start();
    loop.poll();

    test::run_to_end(loop, close());

    EXPECT_EQ(slept, false);
}

TEST_F(AlarmTest, EndsByItself) {
    longest = std::chrono::milliseconds{1};
    start();
    loop.run();

    EXPECT_EQ(slept, true);
    test::run_to_end(loop, close());
}

}  // namespace
}  // namespace scout
