// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/task.h"

namespace scout {

/// Runs the task to its end even if the caller is cancelled meanwhile; the caller sees that
/// afterwards, and can be cancelled as before. asio's reset_cancellation_state() is no way to do
/// this within a call: it holds for all the frames of the coroutine, until its end.
template <class T>
Task<T> shield(Task<T> task) {
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    const auto loop = co_await asio::this_coro::executor;
    auto unreached = asio::bind_cancellation_slot(asio::cancellation_slot{}, asio::use_awaitable);
    if constexpr (std::is_void_v<T>) {
        co_await asio::co_spawn(loop, std::move(task), std::move(unreached));
        co_await asio::this_coro::throw_if_cancelled(throws);
    } else {
        auto answer = co_await asio::co_spawn(loop, std::move(task), std::move(unreached));
        co_await asio::this_coro::throw_if_cancelled(throws);
        co_return answer;
    }
}

}  // namespace scout
