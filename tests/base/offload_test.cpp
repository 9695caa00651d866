// SPDX-License-Identifier: Apache-2.0
#include "base/offload.h"

#include <chrono>
#include <functional>
#include <future>
#include <new>
#include <string>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "tests/support/run_to_end.h"
#include "tests/support/wait_until.h"

namespace scout {
namespace {

using std::chrono::milliseconds;

/// A call that has not begun by the end of its time does not begin any more.
constexpr milliseconds begun_by_then{1'000};

Task<Result<int>> answer_on(BlockingPool* pool, milliseconds limit,
                            std::function<Result<int>()> work) {
    co_return co_await offload(*pool, limit, std::move(work));
}

Task<Result<int>> answer_on(BlockingPool* pool, milliseconds limit,
                            std::shared_future<int> answer) {
    return answer_on(pool, limit, [answer]() -> Result<int> { return answer.get(); });
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

    const auto result = test::run_to_end(loop, answer_on(&pool, begun_by_then, answer));

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::timed_out);
    EXPECT_EQ(pool.abandoned(), 1U);
    EXPECT_FALSE(pool.stop(milliseconds{10})) << "the thread is still in the call";
    never.set_value(1);  // lets the thread go, so that the test leaves nothing behind
    EXPECT_TRUE(test::wait_until([&pool] { return pool.busy() == 0; }));
}

TEST(OffloadTest, CallThatNobodyWaitsForAnyMoreIsNotBegun) {
    asio::io_context loop{1};
    BlockingPool pool(1);
    std::promise<int> busy;
    const auto wait = busy.get_future().share();
    ASSERT_TRUE(pool.post([wait] { wait.wait(); }));
    bool begun = false;
    auto work = [&begun]() -> Result<int> {
        begun = true;
        return 1;
    };

    const auto result = test::run_to_end(loop, answer_on(&pool, milliseconds{20}, work));

    EXPECT_EQ(result.error().code, Errc::timed_out);
    busy.set_value(1);
    EXPECT_TRUE(pool.stop(milliseconds{5'000}));
    EXPECT_FALSE(begun);
}

TEST(OffloadTest, CallThatThrowsIsAnError) {
    asio::io_context loop{1};
    BlockingPool pool(1);
    auto work = []() -> Result<int> { throw std::bad_alloc(); };

    const auto result = test::run_to_end(loop, answer_on(&pool, milliseconds{5'000}, work));

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::internal);
    EXPECT_NE(result.error().message.find("bad_alloc"), std::string::npos);
}

TEST(OffloadTest, LetsAnAbandonedCallComeHomeAfterTheLoopIsGone) {
    BlockingPool pool(1);
    std::promise<int> late;
    const auto answer = late.get_future().share();
    {
        asio::io_context loop{1};
        ASSERT_FALSE(test::run_to_end(loop, answer_on(&pool, begun_by_then, answer)));
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
