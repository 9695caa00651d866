// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/task.h"

namespace scout::test {

/// Runs one coroutine on the loop until the loop has no work left, and answers its result.
template <class T>
T run_to_end(asio::io_context& loop, Task<T> task) {
    std::exception_ptr thrown;
    loop.restart();
    if constexpr (std::is_void_v<T>) {
        asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error) { thrown = error; });
        loop.run();
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    } else {
        std::optional<T> answer;
        asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, T value) {
            thrown = error;
            answer.emplace(std::move(value));
        });
        loop.run();
        if (thrown) {
            std::rethrow_exception(thrown);
        }
        return std::move(answer.value());
    }
}

/// Runs one coroutine until it has ended, and leaves what else the loop has to do for later.
template <class T>
T run_until_done(asio::io_context& loop, Task<T> task) {
    std::exception_ptr thrown;
    bool done = false;
    const auto run = [&] {
        while (!done && loop.run_one() > 0) {
        }
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    };
    loop.restart();
    if constexpr (std::is_void_v<T>) {
        asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error) {
            thrown = error;
            done = true;
        });
        run();
    } else {
        std::optional<T> answer;
        asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, T value) {
            thrown = error;
            answer.emplace(std::move(value));
            done = true;
        });
        run();
        return std::move(answer.value());
    }
}

}  // namespace scout::test
