// SPDX-License-Identifier: Apache-2.0
#include "agent/protection.h"

#include <utility>

#include <boost/asio/steady_timer.hpp>

namespace scout::agent {
namespace {

/// An agent that has just started knows neither launchers nor rules, and would let go what the one
/// before held. So long nobody can call it, as if it had started that much later.
constexpr std::chrono::seconds rules_limit{3};
constexpr std::chrono::seconds launchers_limit{10};
constexpr std::chrono::milliseconds look{20};

}  // namespace

Protection::Protection(Options options, Parts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      metrics_(parts_.registry),
      evacuator_(options_.evacuations,
                 {.loop = parts_.loop,
                  .clock = parts_.clock,
                  .launchers = parts_.launchers,
                  .pool = parts_.pool,
                  .metrics = metrics_,
                  .marks_file = options_.state_dir.empty() ? std::filesystem::path{}
                                                           : options_.state_dir / "launcher-marks",
                  .tell = parts_.tell}),
      service_({.loop = parts_.loop,
                .clock = parts_.clock,
                .evacuator = evacuator_,
                .metrics = metrics_,
                .node = options_.evacuations.node}) {
    if (!options_.hook_socket.empty()) {
        server_.emplace(parts_.loop, options_.hook_socket, service_.service());
        server_->on_change([this](bool served) { evacuations().set_hook_served(served); });
    }
}

void Protection::spawn(TaskScope& scope) {
    scope.spawn("evacuations", [this] { return evacuator_.run(); });
    if (server_) {
        scope.spawn("node hook", [this] { return serve_hook(); });
    }
}

Task<> Protection::serve_hook() {
    const auto begun = parts_.clock.steady();
    asio::steady_timer timer(parts_.loop);
    const auto knows_enough = [this, begun] {
        const auto since = parts_.clock.steady() - begun;
        const bool rules = !parts_.has_leader || evacuator_.evacuations().rules().has_value();
        return evacuator_.remembers() && (rules || since >= rules_limit) &&
               (parts_.launchers.looked() || since >= launchers_limit);
    };
    while (!knows_enough()) {
        timer.expires_after(look);
        co_await timer.async_wait(as_result);
    }
    if (server_) {
        co_await server_->run();
    }
}

Task<> Protection::stop() {
    co_await service_.stop();
    if (server_) {
        co_await server_->stop(&parts_.pool);
    }
    co_await evacuator_.stop();
}

void Protection::tell(daemon::Health& health) const {
    const auto what = evacuator_.evacuations().text();
    if (!server_) {
        health.note("evacuation", "nothing is held: no hook-socket is set");
        return;
    }
    const bool served = server_->trouble().empty();
    health.note("evacuation", served ? what : "nothing is held: the node hook is not served");
    health.set("node hook", server_->trouble());
}

}  // namespace scout::agent
