// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cluster_side.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "aggregator/cluster_parts.h"
#include "aggregator/query_paths.h"
#include "base/lasting_task.h"
#include "base/logging.h"

namespace scout::aggregator {
namespace {

/// Of the 5 s that a stop may take.
constexpr std::chrono::milliseconds release_limit{1000};
/// A review holds a pod, perhaps with its predecessor; the API server takes objects of 3 MiB. It
/// keeps a connection that it does not need for 90 s. Users may be in hundreds of groups, each of
/// which is a header.
constexpr daemon::HttpLimits https_limits{.header_bytes = std::size_t{64} << 10U,
                                          .body_bytes = std::size_t{8} << 20U,
                                          .connections = 256,
                                          .idle = std::chrono::seconds{120}};

}  // namespace

ClusterSide::ClusterSide(asio::any_io_executor loop, ClusterSettings settings, const Clock& clock)
    : loop_(loop),
      clock_(clock),
      scope_(loop),
      parts_(std::make_unique<Parts>(loop, std::move(settings), clock)) {}

ClusterSide::~ClusterSide() = default;

void ClusterSide::on_certificate(std::function<void(const CertifiedKey&)> handler) {
    parts_->on_certificate = std::move(handler);
}

void ClusterSide::answer_users(Questions& questions) {
    parts_->queries = std::make_unique<QueryApi>(
        questions, [this](const auto& request) { return parts_->front_proxy.user_of(request); },
        parts_->rights);
}

void ClusterSide::answer_users(BlockingPool& pool) {
    auto& objects = parts_->objects;
    parts_->answers = std::make_unique<ClusterQuestions>(
        ClusterQuestions::Sources{.objects = objects,
                                  .settings = parts_->live,
                                  .history = parts_->history,
                                  .leads = [this] { return parts_->elector.leads(); }},
        parts_->levels, pool, clock_);
    answer_users(*parts_->answers);
    parts_->protection = std::make_unique<ProtectionCount>(
        loop_, objects, [this] { return parts_->elector.leads(); }, pool, clock_);
}

EvacuationDesk& ClusterSide::move_vms() {
    parts_->objects.follow_vms();
    parts_->mover = std::make_unique<Mover>(loop_, *parts_, clock_);
    return parts_->mover->desk;
}

LauncherStandings& ClusterSide::tell_standings() {
    parts_->objects.follow_vms();
    parts_->standings = std::make_unique<LauncherStandings>(loop_, parts_->objects.launchers);
    return *parts_->standings;
}

void ClusterSide::record_causes() {
    parts_->objects.follow_vms();
    parts_->causes = std::make_unique<Causes>(loop_, *parts_, clock_);
    parts_->live.on_change(
        [this] { parts_->history.keep_for(parts_->live.current().history_keep, clock_.wall()); });
}

void ClusterSide::follow(Registry& registry) {
    parts_->profiles.follow(registry);
    parts_->pressure.follow(registry);
    if (parts_->objects.follows_vms()) {
        parts_->relief = parts_->make_relief(loop_, registry, clock_);
    }
    if (parts_->answers != nullptr) {
        parts_->answers->hear(registry);
        parts_->protection->hear(registry);
    }
}

TokenOwners& ClusterSide::token_owners() {
    return parts_->owners;
}

AgentCertificates& ClusterSide::agent_certificates() {
    return parts_->agents;
}

Status ClusterSide::start() {
    if (auto serving = serve_https(); !serving) {
        return serving;
    }
    parts_->certificates.on_certificate([this](const auto& pair) { use(pair); });
    parts_->certificates.on_authority(
        [this](const auto& authority) { parts_->agents.use(authority); });
    parts_->objects.start(scope_);
    keep("leadership", [this] { return parts_->elector.run(); });
    keep("settings", [this] { return parts_->live.run(); });
    keep("level labels", [this] { return parts_->labels.run(); });
    keep("profiles of agents", [this] { return parts_->profiles.run(); });
    keep("events", [this] { return parts_->events.run(); });
    keep_what_was_asked_for();
    if (parts_->needs_certificate()) {
        keep("certificates", [this] { return parts_->certificates.run(); });
    }
    return {};
}

void ClusterSide::keep_what_was_asked_for() {
    if (auto* const mover = parts_->mover.get()) {
        keep("evacuations", [mover] { return mover->desk.run(); });
        keep("node hook", [mover] { return mover->hook.run(); });
    } else {
        parts_->live.tell_protection({.state = cluster::Protection::State::no,
                                      .reason = "NoAgents",
                                      .message = "this aggregator takes no orders of agents"});
    }
    if (auto* const relief = parts_->relief.get()) {
        keep("relief of nodes", [relief] { return relief->run(); });
    }
    if (auto* const standings = parts_->standings.get()) {
        keep("standings of launchers", [standings] { return standings->run(); });
    }
    if (auto* const causes = parts_->causes.get()) {
        keep("ends of launchers", [causes] { return causes->ends.run(); });
        keep("causes of migrations", [causes] { return causes->moves.run(); });
        keep("policies of migrations", [causes] { return causes->drift.run(); });
        keep("landings of migrations", [causes] { return causes->landings.run(); });
    }
    if (parts_->objects.follows_vms()) {
        keep("tuned policies", [this] { return parts_->tuned.run(); });
    }
    if (auto* const protection = parts_->protection.get();
        protection != nullptr && parts_->objects.follows_vms()) {
        keep("protection", [protection] { return protection->run(); });
    }
}

void ClusterSide::keep(std::string name, std::function<Task<>()> body) {
    auto task = name;
    scope_.spawn(std::move(name), [task = std::move(task), body = std::move(body)] {
        return keep_running(task, body);
    });
}

Status ClusterSide::serve_https() {
    if (parts_->https_address.empty()) {
        return {};
    }
    auto https = daemon::HttpServer::listen(loop_, parts_->https_address, https_limits,
                                            daemon::HttpSecurity::tls);
    if (!https) {
        return fail(std::move(https.error()).within("listen-https"));
    }
    parts_->https = std::move(*https);
    parts_->https->route("POST", "/first", [this](daemon::HttpRequest request) {
        return parts_->placement.serve(std::move(request));
    });
    parts_->objects.follow_vms();         // an Event is only about one that is there
    parts_->objects.follow_namespaces();  // whose labels may ask for more grace
    parts_->https->route("POST", "/grace", [this](daemon::HttpRequest request) {
        return parts_->grace.serve(std::move(request));
    });
    parts_->https->route("POST", "/target/move", [this](daemon::HttpRequest request) {
        return parts_->targets.serve_move(std::move(request));
    });
    parts_->https->route("POST", "/target/pod", [this](daemon::HttpRequest request) {
        return parts_->targets.serve_pod(std::move(request));
    });
    parts_->https->route("POST", "/policies", [this](daemon::HttpRequest request) {
        return parts_->policies.serve(std::move(request));
    });
    if (parts_->queries != nullptr) {
        serve_queries();
    }
    parts_->https->start();
    spdlog::info("answering the API server https={}", parts_->https->address());
    return {};
}

void ClusterSide::serve_queries() {
    const std::string root{query_root};
    for (const auto& path : {root, root + "/"}) {
        parts_->https->route("GET", path, [this](daemon::HttpRequest request) {
            return parts_->queries->serve(std::move(request));
        });
    }
    parts_->front_proxy.on_authorities([this](const std::string& pem) {
        if (const auto used = parts_->https->use_client_authorities(pem); !used) {
            spdlog::error("no front proxy can be believed reason={}",
                          log_value(used.error().message));
        }
    });
    keep("front proxy", [this] { return parts_->front_proxy.run(); });
}

void ClusterSide::use(const CertifiedKey& pair) {
    if (parts_->https != nullptr) {
        if (const auto used = parts_->https->use(pair); !used) {
            spdlog::error("the serving certificate cannot be used reason={}",
                          log_value(used.error().message));
            return;
        }
    }
    if (parts_->on_certificate) {
        parts_->on_certificate(pair);
    }
}

Task<> ClusterSide::stop() {
    if (parts_->https != nullptr) {
        co_await parts_->https->stop();
    }
    co_await scope_.close();
    if (parts_->mover != nullptr) {
        co_await parts_->mover->hook.stop();
        co_await parts_->mover->desk.stop();
    }
    co_await parts_->elector.release(release_limit);
    parts_->transport.close_idle();
    parts_->review_transport.close_idle();
    parts_->act_transport.close_idle();
}

std::uint16_t ClusterSide::https_port() const {
    return parts_->https == nullptr ? std::uint16_t{0} : parts_->https->port();
}

std::string lease_identity() {
    std::array<char, 256> host{};
    const bool known = ::gethostname(host.data(), host.size() - 1) == 0;
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx",
                  static_cast<unsigned long long>(random_seed()));
    return std::string(known ? host.data() : "host") + "_" + digits.data();
}

}  // namespace scout::aggregator
