// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/clock.h"
#include "base/offload.h"
#include "base/task_scope.h"
#include "libvirt_glue/libvirt_hypervisor.h"

namespace scout::libvirt_glue {

/// A hypervisor that runs on a loop of its own, and all that it told.
class LiveHypervisor {
public:
    explicit LiveHypervisor(const LibvirtConfig& config)
        : hypervisor(make_hypervisor(config, loop.get_executor(), pool, clock)),
          scope_(loop.get_executor()),
          events_(hypervisor->subscribe(
              [this](const hypervisor::GuestEvent& event) { seen.push_back(event); })),
          connections_(hypervisor->watch_connection(
              [this](const hypervisor::Connection& now) { reaches.push_back(now.reach); })) {
        scope_.spawn("hypervisor", [this] { return hypervisor->run(); });
    }

    ~LiveHypervisor() {
        stop();
        // Before the loop goes: a call that comes back hands its answer to it.
        static_cast<void>(pool.stop(std::chrono::seconds{10}));
    }
    LiveHypervisor(const LiveHypervisor&) = delete;
    LiveHypervisor& operator=(const LiveHypervisor&) = delete;
    LiveHypervisor(LiveHypervisor&&) = delete;
    LiveHypervisor& operator=(LiveHypervisor&&) = delete;

    /// Turns the loop until the condition holds; false after a minute (busy machines ask QEMU
    /// slowly).
    bool run_until(const std::function<bool()>& condition) {
        const auto deadline = clock.steady() + std::chrono::minutes{1};
        while (!condition()) {
            if (clock.steady() > deadline) {
                return false;
            }
            loop.restart();
            loop.run_one_for(std::chrono::milliseconds{20});
        }
        return true;
    }

    bool run_until_connected() {
        return run_until(
            [this] { return hypervisor->connection().reach == hypervisor::Reach::connected; });
    }

    /// Turns the loop until an event of that look was seen: "state-changed web paused event".
    bool run_until_told(const std::string& line) {
        return run_until([this, &line] {
            const auto all = told();
            return std::find(all.begin(), all.end(), line) != all.end();
        });
    }

    /// The same without its last word, whoever found it: after an event a guest is read again, and
    /// that may see a change before its event comes.
    bool run_until_found(const std::string& look) {
        return run_until([this, &look] {
            const auto all = told();
            return std::any_of(all.begin(), all.end(), [&look](const std::string& line) {
                return line.starts_with(look + ' ');
            });
        });
    }

    template <class T>
    T ask(Task<T> task) {
        std::optional<T> answer;
        asio::co_spawn(loop, std::move(task),
                       [&](std::exception_ptr, T value) { answer = std::move(value); });
        run_until([&] { return answer.has_value(); });
        return std::move(answer.value());
    }

    /// Everything told since the start, one line an event.
    [[nodiscard]] std::vector<std::string> told() const {
        std::vector<std::string> lines;
        for (const auto& event : seen) {
            lines.push_back(std::string(to_string(event.kind)) + ' ' + event.name + ' ' +
                            event.state + ' ' + std::string(to_string(event.found_by)));
        }
        return lines;
    }

    /// The first event of that look. What the loop told after it in the same turn does not matter.
    [[nodiscard]] const hypervisor::GuestEvent& event(const std::string& line) const {
        const auto all = told();
        const auto at = std::find(all.begin(), all.end(), line) - all.begin();
        return seen.at(static_cast<std::size_t>(at));
    }

    [[nodiscard]] const hypervisor::GuestState* guest(const std::string& name) {
        known_ = hypervisor->guests().value_or(std::vector<hypervisor::GuestState>{});
        for (const auto& one : known_) {
            if (one.name == name) {
                return &one;
            }
        }
        return nullptr;
    }

    void stop() {
        if (stopped_) {
            return;
        }
        stopped_ = true;
        bool done = false;
        asio::co_spawn(loop, scope_.close(), [&](std::exception_ptr) { done = true; });
        run_until([&] { return done; });
    }

    asio::io_context loop{1};
    BlockingPool pool{2};
    SystemClock clock;
    std::unique_ptr<hypervisor::Hypervisor> hypervisor;
    std::vector<hypervisor::GuestEvent> seen;
    std::vector<hypervisor::Reach> reaches;

private:
    TaskScope scope_;
    hypervisor::Subscription events_;
    hypervisor::Subscription connections_;
    std::vector<hypervisor::GuestState> known_;
    bool stopped_ = false;
};

}  // namespace scout::libvirt_glue
