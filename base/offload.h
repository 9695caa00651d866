// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/result.h"
#include "base/task.h"

namespace scout {

/// A few threads for calls that block (libvirt, file systems of others). A call that never returns
/// costs one thread and shows in abandoned(); nothing waits for it, not even stop().
class BlockingPool {
public:
    explicit BlockingPool(std::size_t threads);
    ~BlockingPool();
    BlockingPool(const BlockingPool&) = delete;
    BlockingPool& operator=(const BlockingPool&) = delete;
    BlockingPool(BlockingPool&&) = delete;
    BlockingPool& operator=(BlockingPool&&) = delete;

    /// Runs the function on some pool thread. It must own all that it touches. False, and nothing
    /// is run, after stop() and while `longest_queue` calls wait already: stuck threads must not
    /// pile up work.
    [[nodiscard]] bool post(std::function<void()> work);
    static constexpr std::uint64_t longest_queue = 64;

    /// Calls whose caller gave up waiting, since the start. Any thread.
    [[nodiscard]] std::uint64_t abandoned() const noexcept { return counters_->abandoned; }
    void count_abandoned() noexcept { ++counters_->abandoned; }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Threads that are in a call. Any thread.
    [[nodiscard]] std::uint64_t busy() const noexcept { return counters_->busy; }

    /// Waits up to the budget for running work; true if all threads came home. Threads that did
    /// not are left behind: the process may still exit.
    [[nodiscard]] bool stop(std::chrono::milliseconds budget);

private:
    struct Counters {
        std::atomic<std::uint64_t> abandoned{0};
        std::atomic<std::uint64_t> busy{0};
        std::atomic<std::uint64_t> waiting{0};
    };
    std::shared_ptr<Counters> counters_ = std::make_shared<Counters>();
    std::size_t size_;
    std::unique_ptr<asio::thread_pool> threads_;
};

/// Where the answer of an offloaded call goes while somebody waits for it. It outlives neither
/// the waiting coroutine nor its loop: a call that comes home later finds it closed.
template <class Channel>
class AnswerSlot {
public:
    explicit AnswerSlot(Channel& channel) : channel_(&channel) {}

    /// Any thread. Nothing happens after close().
    template <class Answer>
    void deliver(std::shared_ptr<Answer> answer) {
        const std::lock_guard guard(lock_);
        if (channel_ != nullptr) {
            channel_->try_send(boost::system::error_code{}, std::move(answer));
        }
    }

    /// Waits for a delivery that is under way.
    void close() noexcept {
        const std::lock_guard guard(lock_);
        channel_ = nullptr;
    }

    /// Closes the slot at the end of the waiting coroutine, however that ends.
    class Closer {
    public:
        explicit Closer(std::shared_ptr<AnswerSlot> slot) : slot_(std::move(slot)) {}
        ~Closer() { slot_->close(); }
        Closer(const Closer&) = delete;
        Closer& operator=(const Closer&) = delete;
        Closer(Closer&&) = delete;
        Closer& operator=(Closer&&) = delete;

    private:
        std::shared_ptr<AnswerSlot> slot_;
    };

private:
    std::mutex lock_;
    Channel* channel_;
};

/// Runs a blocking call `Fn: () -> Result<T>` on the pool and waits for it, but no longer than the
/// limit: then the call is abandoned, not awaited (Errc::timed_out); Errc::unavailable if the pool
/// takes no more. Fn owns all that it touches, for it may outlive the caller and the loop. Name the
/// lambda before the co_await (docs/decisions/0004).
/// The pool must outlive the coroutine: it is stopped after every scope is closed.
template <class Fn>
// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): see the line above
auto offload(BlockingPool& pool, std::chrono::milliseconds limit, Fn fn)
    -> Task<std::invoke_result_t<Fn&>> {
    using Answer = std::invoke_result_t<Fn&>;
    using Channel = asio::experimental::concurrent_channel<void(boost::system::error_code,
                                                                std::shared_ptr<Answer>)>;
    using namespace asio::experimental::awaitable_operators;

    auto loop = co_await asio::this_coro::executor;
    Channel channel(loop, 1);
    auto slot = std::make_shared<AnswerSlot<Channel>>(channel);
    const typename AnswerSlot<Channel>::Closer closer(slot);
    const bool accepted = pool.post([slot, work = std::move(fn)]() mutable {
        slot->deliver(std::make_shared<Answer>(work()));
    });
    if (!accepted) {
        co_return fail(Errc::unavailable,
                       "every thread for blocking calls is busy and others wait");
    }
    asio::steady_timer timer(loop, limit);
    auto outcome = co_await (channel.async_receive(as_result) || timer.async_wait(as_result));
    if (outcome.index() == 0) {
        auto& [error, answer] = std::get<0>(outcome);
        if (!error) {
            co_return std::move(*answer);
        }
        co_return fail(Errc::cancelled, "the call was cancelled");
    }
    if (std::get<0>(std::get<1>(outcome))) {
        co_return fail(Errc::cancelled, "the call was cancelled");
    }
    pool.count_abandoned();
    co_return fail(Errc::timed_out, "no answer within " + std::to_string(limit.count()) + " ms");
}

}  // namespace scout
