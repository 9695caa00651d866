// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/task.h"

namespace scout::cli {

/// Runs one coroutine on a loop that nobody else runs, until it has ended, and answers its result.
/// What else the loop has to do waits for the next one.
template <class T>
[[nodiscard]] T run_task(asio::io_context& loop, Task<T> task) {
    std::optional<T> answer;
    std::exception_ptr thrown;
    loop.restart();
    asio::co_spawn(loop, std::move(task),
                   [&loop, &answer, &thrown](std::exception_ptr error, T value) {
                       thrown = std::move(error);
                       answer = std::move(value);
                       loop.stop();
                   });
    loop.run();
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the task has ended, so it is there
    return *std::move(answer);
}

}  // namespace scout::cli
