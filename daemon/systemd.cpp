// SPDX-License-Identifier: Apache-2.0
#include "daemon/systemd.h"

#include <cstdint>
#include <string>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <systemd/sd-daemon.h>

namespace scout::daemon {
namespace {

// A manager that cannot be told is no reason to fail: it will notice by itself.
void notify(const std::string& state) {
    static_cast<void>(sd_notify(0, state.c_str()));
}

/// One line, as the protocol separates its assignments by line ends.
std::string status_line(std::string_view status) {
    std::string line = "STATUS=";
    for (const char c : status) {
        line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return line;
}

}  // namespace

void notify_ready(std::string_view status) {
    notify("READY=1\n" + status_line(status));
}

void notify_stopping(std::string_view status) {
    notify("STOPPING=1\n" + status_line(status));
}

std::optional<std::chrono::microseconds> watchdog_interval() {
    std::uint64_t limit_us = 0;
    if (sd_watchdog_enabled(0, &limit_us) <= 0 || limit_us < 4) {
        return std::nullopt;
    }
    return std::chrono::microseconds{limit_us / 4};
}

Task<> pet_watchdog() {
    const auto interval = watchdog_interval();
    if (!interval) {
        co_return;
    }
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (;;) {
        notify("WATCHDOG=1");
        timer.expires_after(*interval);
        const auto [error] = co_await timer.async_wait(as_result);
        if (error) {
            co_return;
        }
    }
}

}  // namespace scout::daemon
