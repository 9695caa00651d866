// SPDX-License-Identifier: Apache-2.0
#include "base/offload.h"

#include <chrono>
#include <future>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "tests/support/run_to_end.h"
#include "tests/support/wait_until.h"

namespace scout {
namespace {

using std::chrono::milliseconds;

Task<Result<int>> answer_on(BlockingPool* pool, milliseconds limit,
                            std::shared_future<int> answer) {
    auto work = [answer]() -> Result<int> { return answer.get(); };
    co_return co_await offload(*pool, limit, std::move(work));
}

TEST(OffloadTest, AnswersFromThePool) {
    asio::io_context loop{1};
    BlockingPool pool(1);
    std::promise<int> answer;
    answer.set_value(7);

    const auto result =
        test::run_to_end(loop, answer_on(&pool, milliseconds{5'000}, answer.get_future().share()));

    EXPECT_EQ(result.value(), 7);
    EXPECT_EQ(pool.abandoned(), 0U);
}

TEST(OffloadTest, AbandonsACallThatDoesNotReturnInTime) {
    asio::io_context loop{1};
    BlockingPool pool(1);
    std::promise<int> never;
    const auto answer = never.get_future().share();

    const auto result = test::run_to_end(loop, answer_on(&pool, milliseconds{20}, answer));

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::timed_out);
    EXPECT_EQ(pool.abandoned(), 1U);
    EXPECT_FALSE(pool.stop(milliseconds{10})) << "the thread is still in the call";
    never.set_value(1);  // lets the thread go, so that the test leaves nothing behind
    EXPECT_TRUE(test::wait_until([&pool] { return pool.busy() == 0; }));
}

TEST(OffloadTest, LetsAnAbandonedCallComeHomeAfterTheLoopIsGone) {
    BlockingPool pool(1);
    std::promise<int> late;
    const auto answer = late.get_future().share();
    {
        asio::io_context loop{1};
        ASSERT_FALSE(test::run_to_end(loop, answer_on(&pool, milliseconds{20}, answer)));
    }

    late.set_value(1);

    EXPECT_TRUE(pool.stop(milliseconds{5'000})) << "under AddressSanitizer: touches no freed loop";
}

TEST(OffloadTest, TakesNoMoreWorkWhileStuckThreadsKeepOthersWaiting) {
    asio::io_context loop{1};
    BlockingPool pool(1);
    std::promise<int> never;
    const auto answer = never.get_future().share();
    ASSERT_TRUE(pool.post([answer] { answer.wait(); }));
    // Until then a call still counts as waiting, and there is room for one more afterwards.
    ASSERT_TRUE(test::wait_until([&pool] { return pool.busy() == 1; }));
    std::uint64_t accepted = 1;
    while (accepted < 1'000 && pool.post([answer] { answer.wait(); })) {
        ++accepted;
    }

    const auto result = test::run_to_end(loop, answer_on(&pool, milliseconds{20}, answer));

    EXPECT_LE(accepted, BlockingPool::longest_queue + 1);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::unavailable);
    never.set_value(1);
    EXPECT_TRUE(pool.stop(milliseconds{5'000}));
}

TEST(OffloadTest, StopsCleanlyWhenEveryCallCameHome) {
    BlockingPool pool(2);
    std::promise<void> ran;
    ASSERT_TRUE(pool.post([&ran] { ran.set_value(); }));
    ran.get_future().wait();

    EXPECT_TRUE(pool.stop(milliseconds{5'000}));
    EXPECT_TRUE(pool.stop(milliseconds{0})) << "a second stop has nothing to wait for";
    EXPECT_FALSE(pool.post([] {})) << "nothing runs any more";
}

}  // namespace
}  // namespace scout
