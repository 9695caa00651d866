// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include <chrono>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "agent/host_identity.h"
#include "agent/launcher_pods.h"
#include "agent/node_reading.h"
#include "base/logging.h"
#include "base/version.h"
#include "daemon/loop_lag.h"
#include "daemon/process_metrics.h"

namespace scout::agent {
namespace {

/// Events of one moment become one report.
constexpr std::chrono::milliseconds gather{100};
constexpr std::chrono::seconds pool_look{1};
constexpr unsigned looks_until_exhausted = 10;

}  // namespace

Agent::Agent(AgentOptions options, AgentParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      registry_(std::make_shared<prometheus::Registry>()),
      metrics_(*registry_),
      changes_(parts_.loop, parts_.clock),
      report_pacer_(parts_.loop, parts_.clock),
      prober_(
          options_.prober,
          {.loop = parts_.loop,
           .hypervisor = parts_.probed,
           .pool = parts_.pool,
           .clock = parts_.clock,
           .metrics = metrics_},
          [this] { changes_.wake(); }, options_.seed),
      certificate_(parts_.clock,
                   [this](const auto& pair, WallTime until) { return use(pair, until); }),
      scope_(parts_.loop) {
    health_.set("probe", "the first probe is still going on");
    if (options_.pressure) {
        look_at_kubelet(*options_.pressure);
    }
}

void Agent::look_at_kubelet(const PressureConfig& config) {
    pressure_ = std::make_unique<PressureWatch>(
        config, PressureWatch::Parts{.loop = parts_.loop,
                                     .pool = parts_.pool,
                                     .clock = parts_.clock,
                                     .registry = *registry_,
                                     .health = health_,
                                     .launchers = launcher_pods(parts_.launchers),
                                     .login = [this] { return shutdown_->login(); },
                                     .tell = [this] { report_pacer_.wake(); },
                                     .kubelet_looked_at = [this] { shutdown_->tell_again(); }});
    shutdown_ = std::make_unique<ShutdownWatch>(ShutdownWatch::Parts{
        .loop = parts_.loop,
        .clock = parts_.clock,
        .registry = *registry_,
        .health = health_,
        .system_bus = options_.system_bus,
        .kubelet = [this] { return pressure_->shutdown(); },
        .turned = [this](
                      bool begins,
                      std::optional<std::chrono::seconds> pods_get) { turned(begins, pods_get); }});
}

void Agent::turned(bool shuts_down, std::optional<std::chrono::seconds> pods_get) {
    if (!protection_ || !pressure_->has_looked_at_kubelet()) {
        return;  // it is told again once that is known
    }
    if (shuts_down) {
        const auto kubelet = pressure_->shutdown();
        protection_->evacuations().node_shuts_down(
            pods_get, kubelet && migration::handler_stops_with_vms(*kubelet));
    } else {
        protection_->evacuations().node_stays();
    }
}

Task<Status> Agent::start() {
    if (auto listening = listen(); !listening) {
        co_return listening;
    }
    auto work = [config = options_.prober] {
        return host_identity(config.host_root, config.state_dir);
    };
    auto identity = co_await offload(parts_.pool, file_limit, std::move(work));
    if (!identity) {
        co_return fail(std::move(identity.error()).within("state-dir"));
    }
    subscribe();
    spawn_all(std::move(*identity));
    co_return Status{};
}

Status Agent::listen() {
    if (!options_.listen_http.empty()) {
        auto server = serve(options_.listen_http, daemon::HttpSecurity::plain);
        if (!server) {
            return fail(std::move(server.error()).within("listen-http"));
        }
        http_ = *std::move(server);
    }
    if (!options_.listen_https.empty()) {
        auto server = serve(options_.listen_https, daemon::HttpSecurity::tls);
        if (!server) {
            return fail(std::move(server.error()).within("listen-https"));
        }
        https_ = *std::move(server);
    }
    return {};
}

Result<std::unique_ptr<daemon::HttpServer>> Agent::serve(std::string_view address,
                                                         daemon::HttpSecurity security) {
    auto server = daemon::HttpServer::listen(parts_.loop, address, {}, security);
    if (!server) {
        return server;
    }
    daemon::serve_health(
        **server, health_,
        {registry_, std::make_shared<daemon::ProcessMetrics>(parts_.clock.wall())});
    (*server)->start();
    spdlog::info("health and metrics address={} tls={}", (*server)->address(),
                 security == daemon::HttpSecurity::tls);
    return server;
}

Status Agent::use(const CertifiedKey& certificate, WallTime until) {
    auto used = https_->use(certificate);
    if (used) {
        const auto seconds = std::chrono::duration<double>(until.time_since_epoch());
        metrics_.serving_certificate_expires.Add({}).Set(seconds.count());
    }
    return used;
}

void Agent::subscribe() {
    auto on_guest = [this](const hypervisor::GuestEvent& event) {
        spdlog::debug("guest event kind={} uuid={} state={}", hypervisor::to_string(event.kind),
                      log_value(event.uuid), log_value(event.state));
        if (event.kind == hypervisor::EventKind::removed) {
            snapshot_.remove(
                {.uuid = event.uuid, .found_by = event.found_by, .since = event.since});
        }
        changes_.wake();
    };
    guest_events_ = parts_.watched.subscribe(std::move(on_guest));
    auto on_connection = [this](const hypervisor::Connection& connection) {
        spdlog::info("guests reach={} reason={}", hypervisor::to_string(connection.reach),
                     log_value(connection.reason));
        changes_.wake();
    };
    connection_events_ = parts_.watched.watch_connection(std::move(on_connection));
}

void Agent::spawn_all(std::string host_identity) {
    scope_.spawn("hypervisor", [this] { return parts_.watched.run(); });
    scope_.spawn("prober", [this] { return prober_.run(); });
    scope_.spawn("labeller watch", [this] { return prober_.watch_labeller(); });
    scope_.spawn("changes", [this] { return follow_changes(); });
    scope_.spawn("pool watch", [this] { return watch_pool(); });
    if (pressure_) {
        scope_.spawn("pressure", [this] { return pressure_->run(); });
        scope_.spawn("shutdown", [this] { return shutdown_->run(); });
    }
    scope_.spawn("loop lag", [this] {
        return daemon::watch_loop_lag(&parts_.clock, &metrics_.loop_lag_seconds);
    });
    protect();
    if (parts_.link == nullptr) {
        spdlog::warn("no aggregator-address is set: this agent reports to nobody");
        return;
    }
    HelloMessage hello{.node = options_.node_name,
                       .host_identity = std::move(host_identity),
                       .agent_version = version,
                       .instance = std::to_string(::getpid()) + "-" + std::to_string(options_.seed),
                       .follows_launchers = protection_ != nullptr,
                       .ranks_launchers = pressure_ != nullptr && parts_.launchers != nullptr};
    Reporter::Parts reporting{.snapshot = snapshot_,
                              .link = *parts_.link,
                              .pacer = report_pacer_,
                              .metrics = metrics_,
                              .certificate = https_ ? &certificate_ : nullptr,
                              .evacuations = protection_ ? &protection_->evacuations() : nullptr,
                              .pressure = pressure_ ? &pressure_->teller() : nullptr};
    if (hello.ranks_launchers) {
        reporting.take_standings = [this](migration::PodStandings standings) {
            pressure_->take(std::move(standings));
        };
    }
    reporter_ = std::make_unique<Reporter>(std::move(hello), options_.report, std::move(reporting),
                                           options_.seed);
    scope_.spawn("reporter", [this] { return reporter_->run(); });
}

std::optional<std::chrono::seconds> Agent::kubelet_grace(std::chrono::seconds pod_grace) const {
    if (!pressure_) {
        return std::nullopt;
    }
    const auto evicted = pressure_->pressure().kubelet_grace(pod_grace);
    return evicted ? evicted : shutdown_->grace();
}

void Agent::protect() {
    if (parts_.launchers == nullptr) {
        return;
    }
    Protection::Options options{.evacuations = {.node = options_.node_name,
                                                .assumed = options_.assumed,
                                                .kubelet_grace =
                                                    [this](std::chrono::seconds pod_grace) {
                                                        return kubelet_grace(pod_grace);
                                                    },
                                                .hook = !options_.hook_socket.empty()},
                                .hook_socket = options_.hook_socket,
                                .state_dir = options_.prober.state_dir};
    protection_ = std::make_unique<Protection>(
        std::move(options), Protection::Parts{.loop = parts_.loop,
                                              .clock = parts_.clock,
                                              .pool = parts_.pool,
                                              .launchers = *parts_.launchers,
                                              .registry = *registry_,
                                              .has_leader = parts_.link != nullptr,
                                              .tell = [this] { report_pacer_.wake(); }});
    protection_->tell(health_);
    protection_->spawn(scope_);
}

Task<> Agent::stop() {
    health_.set("agent", "stopping");
    guest_events_.reset();
    connection_events_.reset();
    co_await scope_.close();
    if (protection_) {
        co_await protection_->stop();
    }
    for (auto* server : {http_.get(), https_.get()}) {
        if (server != nullptr) {
            co_await server->stop();
        }
    }
}

Task<> Agent::follow_changes() {
    asio::steady_timer timer(parts_.loop);
    for (;;) {
        refresh();
        co_await changes_.wait_until(SteadyTime::max());
        timer.expires_after(gather);
        co_await timer.async_wait(as_result);
    }
}

/// A pool without a free thread for a while is full of calls that do not return.
Task<> Agent::watch_pool() {
    asio::steady_timer timer(parts_.loop);
    unsigned full_looks = 0;
    for (;;) {
        full_looks = parts_.pool.busy() >= parts_.pool.size() ? full_looks + 1 : 0;
        health_.set("pool", full_looks < looks_until_exhausted
                                ? std::string{}
                                : "all " + std::to_string(parts_.pool.size()) +
                                      " threads are stuck in calls that do not return");
        metrics_.abandoned_calls.Set(static_cast<double>(parts_.pool.abandoned()));
        count_hypervisor();
        if (protection_) {
            protection_->tell(health_);
        }
        timer.expires_after(pool_look);
        co_await timer.async_wait(as_result);
    }
}

void Agent::count_hypervisor() {
    auto sum = parts_.watched.counters();
    if (&parts_.probed != &parts_.watched) {
        const auto other = parts_.probed.counters();
        sum.reconnects += other.reconnects;
        sum.resyncs += other.resyncs;
        sum.stuck_calls += other.stuck_calls;
        sum.lost_events += other.lost_events;
    }
    metrics_.hypervisor.take(sum);
}

void Agent::refresh() {
    auto host = prober_.host();
    host.guests_error = guests_error();
    if (prober_.probed()) {
        health_.note("this host's hypervisor gave no usable answer", host.probe_error);
    }
    bool changed = snapshot_.set_host(std::move(host));
    if (auto guests = parts_.watched.guests()) {
        changed = snapshot_.set_guests(std::move(*guests)) || changed;
    }
    const auto reach = parts_.watched.connection().reach;
    if (reach != hypervisor::Reach::not_kept) {
        metrics_.hypervisor_connected.Add({}).Set(reach == hypervisor::Reach::connected ? 1 : 0);
    }
    metrics_.guests.Set(static_cast<double>(snapshot_.guests().size()));
    if (prober_.probed() && !snapshot_.complete()) {
        health_.set("probe", "");
        snapshot_.set_complete();
        changed = true;
    }
    if (changed && reporter_) {
        reporter_->changed();
    }
}

std::string Agent::guests_error() const {
    const auto connection = parts_.watched.connection();
    const std::string since = rfc3339(connection.since);
    switch (connection.reach) {
        case hypervisor::Reach::not_kept:
        case hypervisor::Reach::connected:
            return {};
        case hypervisor::Reach::connecting:
            return options_.guests_from + " has not been reached yet" +
                   (connection.reason.empty() ? "" : ": " + connection.reason);
        case hypervisor::Reach::unreachable:
            return options_.guests_from + " is away since " + since + ": " + connection.reason;
    }
    return {};
}

}  // namespace scout::agent
