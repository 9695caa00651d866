// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

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

/// Runs the work on the pool and waits for its end, but no longer than the limit: then it is
/// abandoned, not awaited, and not begun if it had not (Errc::timed_out); Errc::unavailable if the
/// pool takes no more. The work owns all that it touches, for it may outlive the caller and the
/// loop.
/// The pool must outlive the coroutine: it is stopped after every scope is closed.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): see the line above
Task<Status> run_blocking(BlockingPool& pool, std::chrono::milliseconds limit,
                          std::function<void()> work);

/// The same for a call with an answer, `Fn: () -> Result<T>` that can be copied: its own errors and
/// those of run_blocking() come back alike, and what it throws, of memory that is over, as
/// Errc::internal. Name the lambda before the co_await (docs/decisions/0004).
template <class Fn>
// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): as run_blocking()
auto offload(BlockingPool& pool, std::chrono::milliseconds limit, Fn fn)
    -> Task<std::invoke_result_t<Fn&>> {
    using Answer = std::invoke_result_t<Fn&>;
    auto answer = std::make_shared<std::optional<Answer>>();
    std::function<void()> work = [answer, fn = std::move(fn)]() mutable {
        try {
            answer->emplace(fn());
        } catch (const std::exception& fault) {
            answer->emplace(fail(Errc::internal, std::string{"unexpected: "} + fault.what()));
        }
    };
    auto ran = co_await run_blocking(pool, limit, std::move(work));
    if (!ran) {
        co_return fail(std::move(ran.error()));
    }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the work has run, so it is there
    co_return std::move(**answer);
}

}  // namespace scout
