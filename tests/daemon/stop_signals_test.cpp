// SPDX-License-Identifier: Apache-2.0
#include "daemon/stop_signals.h"

#include <array>
#include <csignal>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace scout::daemon {
namespace {

using namespace std::chrono_literals;

void (*handler_of(int signal))(int) {
    struct sigaction action{};
    ::sigaction(signal, nullptr, &action);
    return action.sa_handler;
}

TEST(StopSignalsTest, LeavesAHangUpIgnoredAsNohupAskedFor) {
    const auto former = std::signal(SIGHUP, SIG_IGN);
    {
        asio::io_context loop;
        const StopSignals signals(loop.get_executor(), 5s);

        EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
        EXPECT_NE(handler_of(SIGTERM), SIG_DFL);
    }
    static_cast<void>(std::signal(SIGHUP, former));
}

TEST(StopSignalsTest, GivesTheOldHandlersBack) {
    const std::array before{handler_of(SIGTERM), handler_of(SIGINT), handler_of(SIGHUP)};
    {
        asio::io_context loop;
        const StopSignals signals(loop.get_executor(), 5s);

        EXPECT_NE(handler_of(SIGHUP), before[2]);
    }
    EXPECT_EQ((std::array{handler_of(SIGTERM), handler_of(SIGINT), handler_of(SIGHUP)}), before);
}

}  // namespace
}  // namespace scout::daemon
