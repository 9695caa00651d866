// SPDX-License-Identifier: Apache-2.0
#include "base/lasting_task.h"

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <spdlog/spdlog.h>

#include "base/logging.h"

namespace scout {
namespace {

constexpr std::chrono::seconds pause{5};

/// What went wrong; none: the body returned.
Task<std::optional<std::string>> failure_of(std::function<Task<>()> body) {
    try {
        co_await body();
        co_return std::nullopt;
    } catch (const boost::system::system_error& error) {
        if (error.code() == asio::error::operation_aborted) {
            throw;
        }
        co_return std::string{error.what()};
    } catch (const std::exception& error) {
        co_return std::string{error.what()};
    }
}

}  // namespace

Task<> keep_running(std::string name, std::function<Task<>()> body) {
    for (;;) {
        const auto failure = co_await failure_of(body);
        if (!failure) {
            co_return;
        }
        spdlog::error("task failed, it begins anew name={} error={}", log_value(name),
                      log_value(*failure));
        asio::steady_timer timer(co_await asio::this_coro::executor, pause);
        const auto [error] = co_await timer.async_wait(as_result);
        if (error) {
            co_return;
        }
    }
}

}  // namespace scout
