// SPDX-License-Identifier: Apache-2.0
#include "daemon/run.h"

#include <cstdlib>
#include <exception>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "base/offload.h"
#include "base/task_scope.h"
#include "base/version.h"
#include "daemon/stop_signals.h"
#include "daemon/systemd.h"

namespace scout::daemon {
namespace {

constexpr int exit_failed = 1;
constexpr std::chrono::milliseconds pool_limit{500};

/// The whole life of one service on the loop.
class Runner {
public:
    Runner(asio::io_context& loop, Service& service, const RunOptions& options,
           const std::function<void()>& on_ready)
        : service_(service),
          options_(options),
          on_ready_(on_ready),
          signals_(loop.get_executor(), options.stop_limit),
          scope_(loop.get_executor()) {}

    Task<int> run() {
        scope_.spawn("watchdog", [] { return pet_watchdog(); });
        const int code = co_await start_and_wait();
        notify_stopping("stopping");
        co_await service_.stop();
        co_await scope_.close();
        spdlog::info("stopped program={}", options_.name);
        co_return code;
    }

private:
    /// What start() throws would be lost in the race with the signals.
    Task<Status> start() {
        try {
            co_return co_await service_.start();
        } catch (const std::exception& error) {
            co_return fail(Errc::internal, error.what());
        }
    }

    /// A signal during the start ends it: what it waits for may never come.
    Task<int> start_and_wait() {
        using namespace asio::experimental::awaitable_operators;
        spdlog::info("starting program={} version={} commit={}", options_.name, version, commit);
        auto outcome = co_await (start() || signals_.wait());
        if (outcome.index() == 1) {
            spdlog::info("stopping during the start signal={}", std::get<1>(outcome));
            co_return 0;
        }
        if (const auto& started = std::get<0>(outcome); !started) {
            spdlog::error("cannot start program={} error={}", options_.name,
                          log_value(started.error().message));
            co_return exit_failed;
        }
        spdlog::info("ready program={}", options_.name);
        notify_ready("ready");
        if (on_ready_) {
            on_ready_();
        }
        const int signal = co_await signals_.wait();
        spdlog::info("stopping signal={}", signal);
        co_return 0;
    }

    Service& service_;
    const RunOptions& options_;
    const std::function<void()>& on_ready_;
    StopSignals signals_;
    TaskScope scope_;
};

/// Nothing is destroyed under the feet of a thread that is stuck in a call.
void stop_pool(BlockingPool& pool, int code) {
    if (!pool.stop(pool_limit)) {
        spdlog::warn("leaving a call behind that does not return");
        spdlog::shutdown();
        std::_Exit(code);
    }
}

}  // namespace

int run_service(asio::io_context& loop, const std::vector<BlockingPool*>& pools, Service& service,
                const RunOptions& options, const std::function<void()>& on_ready) {
    Runner runner(loop, service, options, on_ready);
    int code = exit_failed;
    std::exception_ptr thrown;
    auto done = [&loop, &code, &thrown](const std::exception_ptr& error, int answer) {
        thrown = error;
        code = answer;
        loop.stop();
    };
    asio::co_spawn(loop, runner.run(), std::move(done));
    loop.run();
    for (auto* const pool : pools) {
        stop_pool(*pool, code);
    }
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    return code;
}

}  // namespace scout::daemon
