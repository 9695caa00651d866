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

/// Starts one coroutine, lets `drive(done)` run the loop, and answers the result.
template <class T, class Drive>
T run_task(asio::io_context& loop, Task<T> task, Drive drive) {
    std::exception_ptr thrown;
    bool done = false;
    const auto run = [&] {
        drive(done);
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

/// Runs one coroutine on the loop until the loop has no work left, and answers its result.
template <class T>
T run_to_end(asio::io_context& loop, Task<T> task) {
    return run_task(loop, std::move(task), [&loop](const bool& /*done*/) { loop.run(); });
}

/// Runs one coroutine until it has ended, and leaves what else the loop has to do for later.
template <class T>
T run_until_done(asio::io_context& loop, Task<T> task) {
    return run_task(loop, std::move(task), [&loop](const bool& done) {
        while (!done && loop.run_one() > 0) {
        }
    });
}

}  // namespace scout::test
