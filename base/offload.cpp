// SPDX-License-Identifier: Apache-2.0
#include "base/offload.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace scout {
namespace {

using Ended = asio::experimental::concurrent_channel<void(boost::system::error_code)>;

/// How a pool thread tells the waiting coroutine that the work is done. Both hold it; the channel
/// lives no longer than the coroutine and its loop, and work that comes home later finds it closed.
class EndSignal {
public:
    explicit EndSignal(Ended& channel) : channel_(&channel) {}

    /// Any thread. Somebody waits for the end: what nobody waits for need not begin.
    [[nodiscard]] bool is_awaited() {
        const std::lock_guard guard(lock_);
        return channel_ != nullptr;
    }

    /// Any thread. Nothing happens after close().
    void give() {
        const std::lock_guard guard(lock_);
        if (channel_ != nullptr) {
            channel_->try_send(boost::system::error_code{});
        }
    }

    /// Waits for a give() that is under way.
    void close() noexcept {
        const std::lock_guard guard(lock_);
        channel_ = nullptr;
    }

private:
    std::mutex lock_;
    Ended* channel_;
};

/// Closes the signal at the end of the waiting coroutine, however that ends.
class Closer {
public:
    explicit Closer(std::shared_ptr<EndSignal> signal) : signal_(std::move(signal)) {}
    ~Closer() { signal_->close(); }
    Closer(const Closer&) = delete;
    Closer& operator=(const Closer&) = delete;
    Closer(Closer&&) = delete;
    Closer& operator=(Closer&&) = delete;

private:
    std::shared_ptr<EndSignal> signal_;
};

}  // namespace

BlockingPool::BlockingPool(std::size_t threads)
    : size_(threads), threads_(std::make_unique<asio::thread_pool>(threads)) {}

BlockingPool::~BlockingPool() {
    static_cast<void>(stop(std::chrono::milliseconds{0}));
}

bool BlockingPool::post(std::function<void()> work) {
    if (!threads_ || counters_->waiting >= longest_queue) {
        return false;
    }
    ++counters_->waiting;
    asio::post(*threads_, [counters = counters_, work = std::move(work)] {
        --counters->waiting;
        ++counters->busy;
        work();
        --counters->busy;
    });
    return true;
}

bool BlockingPool::stop(std::chrono::milliseconds budget) {
    if (!threads_) {
        return true;
    }
    struct Joined {
        std::mutex lock;
        std::condition_variable signal;
        bool done = false;
    };
    auto joined = std::make_shared<Joined>();
    // The joiner owns the pool: if a call never returns, both stay behind and harm nobody.
    std::thread joiner([joined, pool = std::move(threads_)] {
        pool->join();
        const std::lock_guard guard(joined->lock);
        joined->done = true;
        joined->signal.notify_all();
    });
    joiner.detach();
    std::unique_lock guard(joined->lock);
    return joined->signal.wait_for(guard, budget, [&joined] { return joined->done; });
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): see the header
Task<Status> run_blocking(BlockingPool& pool, std::chrono::milliseconds limit,
                          std::function<void()> work) {
    using namespace asio::experimental::awaitable_operators;

    auto loop = co_await asio::this_coro::executor;
    Ended ended(loop, 1);
    auto signal = std::make_shared<EndSignal>(ended);
    const Closer closer(signal);
    auto job = [signal, work = std::move(work)] {
        if (signal->is_awaited()) {
            work();
            signal->give();
        }
    };
    if (!pool.post(std::move(job))) {
        co_return fail(Errc::unavailable,
                       "every thread for blocking calls is busy and others wait");
    }
    asio::steady_timer timer(loop, limit);
    const auto first = co_await (ended.async_receive(as_result) || timer.async_wait(as_result));
    const bool came_home = first.index() == 0;
    const auto error =
        came_home ? std::get<0>(std::get<0>(first)) : std::get<0>(std::get<1>(first));
    if (error) {
        co_return fail(Errc::cancelled, "the call was cancelled");
    }
    if (came_home) {
        co_return Status{};
    }
    pool.count_abandoned();
    co_return fail(Errc::timed_out, "no answer within " + std::to_string(limit.count()) + " ms");
}

}  // namespace scout
