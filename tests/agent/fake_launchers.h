// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "launcher/launchers.h"
#include "libvirt_glue/subscribers.h"

namespace scout::test {

[[nodiscard]] inline launcher::Domain domain_of(const std::string& vm, bool marked) {
    return {.name = vm,
            .space = "shop",
            .vmi_uid = "uid-" + vm,
            .uuid = "uuid-" + vm,
            .status = "Running",
            .reason = "Unknown",
            .marked = marked,
            .grace = std::chrono::seconds{30},
            .memory_kib = 1U << 20U};
}

/// Launchers whose words the test sets. Loop thread.
class FakeLaunchers final : public launcher::Launchers {
public:
    std::function<void()> on_ask;  ///< what they say then is in time
    bool hangs = false;            ///< ask_now() lasts until its limit
    unsigned asked = 0;

    void say(const std::string& pod, std::optional<launcher::Domain> domain) {
        std::erase(silent_, pod);
        words_[pod] = std::move(domain);
        publish();
    }
    /// Its socket is there, and nobody asked it yet.
    void appear(const std::string& pod) {
        words_.erase(pod);
        silent_.push_back(pod);
        publish();
    }

    [[nodiscard]] const launcher::LauncherTable& launchers() const noexcept override {
        return table_;
    }
    [[nodiscard]] bool looked() const noexcept override { return true; }
    [[nodiscard]] hypervisor::Subscription watch_launchers(
        std::function<void(const launcher::LauncherTable&)> handler) override {
        return news_.add(std::move(handler));
    }
    [[nodiscard]] Task<> ask_now(std::vector<std::string> /*pods*/,
                                 std::chrono::milliseconds limit) override {
        ++asked;
        if (hangs) {
            asio::steady_timer timer(co_await asio::this_coro::executor, limit);
            co_await timer.async_wait(as_result);
            co_return;
        }
        if (on_ask) {
            on_ask();
        }
        publish();
    }
    [[nodiscard]] Task<Result<std::optional<launcher::DomainStats>>> stats(
        std::string /*pod_uid*/) override {
        co_return numbers ? Result<std::optional<launcher::DomainStats>>{numbers}
                          : fail(Errc::unavailable, "no numbers");
    }
    [[nodiscard]] Task<Result<std::uint64_t>> dirty_rate(std::string /*pod_uid*/) override {
        ++rated;
        co_return rate ? Result<std::uint64_t>{*rate} : fail(Errc::unavailable, "no rate");
    }

    std::optional<launcher::DomainStats> numbers;  ///< of all; none: they tell none
    std::optional<std::uint64_t> rate;             ///< likewise
    unsigned rated = 0;                            ///< how often one was measured

private:
    void publish() {
        const auto now = clock_.steady();
        std::vector<launcher::LauncherSocket> sockets;
        const auto add = [&sockets](const std::string& pod) {
            sockets.push_back(
                {.pod_uid = pod, .state = launcher::SocketState::ready, .device = 1, .inode = 1});
        };
        for (const auto& [pod, domain] : words_) {
            add(pod);
        }
        for (const auto& pod : silent_) {
            add(pod);
        }
        table_.found(sockets, now);
        table_.ask_all(now);
        for (const auto& question : table_.take_due(now)) {
            if (const auto word = words_.find(question.socket.pod_uid); word != words_.end()) {
                table_.answered(question, word->second, now);
            } else {
                open_.insert_or_assign(question.socket.pod_uid, question);
            }
        }
        for (auto open = open_.begin(); open != open_.end();) {
            const auto word = words_.find(open->first);
            if (word == words_.end()) {
                ++open;
                continue;
            }
            table_.answered(open->second, word->second, now);
            open = open_.erase(open);
        }
        news_.tell(table_);
    }

    std::map<std::string, std::optional<launcher::Domain>> words_;
    std::vector<std::string> silent_;
    SystemClock clock_;
    std::map<std::string, launcher::Question> open_;  ///< that nobody answered yet
    launcher::LauncherTable table_{{.at_once = 1000}};
    hypervisor::Subscribers<launcher::LauncherTable> news_;
};

}  // namespace scout::test
