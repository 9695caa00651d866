// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

namespace scout::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 1s;
constexpr auto step = 120ms;

}  // namespace

Progress::Progress(std::string what, bool enabled) : what_(std::move(what)) {
    if (enabled) {
        thread_ = std::thread([this] { run(); });
    }
}

Progress::~Progress() {
    end();
}

void Progress::say(std::string what) {
    const std::lock_guard lock(mutex_);
    what_ = std::move(what);
}

void Progress::end() {
    {
        const std::lock_guard lock(mutex_);
        end_ = true;
    }
    ended_.notify_one();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Progress::run() {
    constexpr std::array<const char*, 4> signs{"|", "/", "-", "\\"};
    std::unique_lock lock(mutex_);
    const auto over = [this] { return end_; };
    if (ended_.wait_for(lock, patience, over)) {
        return;
    }
    std::size_t turn = 0;
    do {
        std::fprintf(stderr, "\r\x1b[K%s %s", signs.at(turn++ % signs.size()), what_.c_str());
        std::fflush(stderr);
    } while (!ended_.wait_for(lock, step, over));
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
}

}  // namespace scout::cli
