// SPDX-License-Identifier: Apache-2.0
#include "daemon/stop_signals.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string_view>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

namespace scout::daemon {
namespace {

constexpr std::array signals{SIGTERM, SIGINT, SIGHUP};

// A signal handler reaches nothing but globals; these are all lock-free.
std::atomic<int> wake_descriptor{-1};
std::atomic<int> first_signal{0};
std::atomic<unsigned> stop_limit_s{5};
std::array<struct sigaction, signals.size()> former{};
struct sigaction former_alarm{};

void leave(std::string_view why) {
    static_cast<void>(!::write(STDERR_FILENO, why.data(), why.size()));
    ::_exit(1);
}

// Only async-signal-safe calls (signal-safety(7)) from here on.
void on_stop(int signal) {
    const int saved = errno;
    int none = 0;
    if (!first_signal.compare_exchange_strong(none, signal)) {
        leave("second signal: leaving at once\n");
    }
    ::alarm(stop_limit_s);
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_descriptor, &one, sizeof(one)));
    errno = saved;
}

void on_deadline(int /*signal*/) {
    leave("the clean stop took too long: leaving without it\n");
}

struct sigaction handler(void (*function)(int)) {
    struct sigaction action{};
    action.sa_handler = function;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    return action;
}

int make_eventfd() {
    const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) {
        throw std::system_error(errno, std::generic_category(), "eventfd");
    }
    return descriptor;
}

}  // namespace

StopSignals::StopSignals(const asio::any_io_executor& loop, std::chrono::seconds limit)
    : wake_(loop, make_eventfd()) {
    wake_descriptor = wake_.native_handle();
    first_signal = 0;
    stop_limit_s = static_cast<unsigned>(limit.count());
    const auto stop = handler(on_stop);
    for (std::size_t i = 0; i < signals.size(); ++i) {
        ::sigaction(signals[i], &stop, &former[i]);
        if (signals[i] == SIGHUP && former[i].sa_handler == SIG_IGN) {
            ::sigaction(SIGHUP, &former[i], nullptr);
        }
    }
    const auto deadline = handler(on_deadline);
    ::sigaction(SIGALRM, &deadline, &former_alarm);
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
}

// A deadline that runs stays: it covers the rest of the process, destructors included.
StopSignals::~StopSignals() {
    if (first_signal == 0) {
        for (std::size_t i = 0; i < signals.size(); ++i) {
            ::sigaction(signals[i], &former[i], nullptr);
        }
        ::sigaction(SIGALRM, &former_alarm, nullptr);
    }
    wake_descriptor = -1;
}

Task<int> StopSignals::wait() {
    if (first_signal == 0) {
        co_await wake_.async_wait(asio::posix::stream_descriptor::wait_read, as_result);
    }
    co_return first_signal.load();
}

}  // namespace scout::daemon
