// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cluster_side.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <utility>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "aggregator/access_reviews.h"
#include "aggregator/agent_certificates.h"
#include "aggregator/cluster_objects.h"
#include "aggregator/cluster_questions.h"
#include "aggregator/cluster_token_owners.h"
#include "aggregator/evacuation_desk.h"
#include "aggregator/front_proxy.h"
#include "aggregator/grace_admission.h"
#include "aggregator/hook_keeper.h"
#include "aggregator/level_labels.h"
#include "aggregator/live_settings.h"
#include "aggregator/placement_admission.h"
#include "aggregator/query_paths.h"
#include "base/logging.h"
#include "daemon/http_server.h"
#include "kube/client.h"
#include "kube/event_client.h"
#include "kube/event_recorder.h"
#include "kube/http_transport.h"
#include "kube/leader_elector.h"
#include "kube/lease_client.h"

namespace scout::aggregator {
namespace {

/// Of the 5 s that a stop may take.
constexpr std::chrono::milliseconds release_limit{1000};
constexpr const char* lease_name = "virt-scout-aggregator";
/// daemonset/base/first-placement.yaml, daemonset/base/launcher-grace.yaml
constexpr std::array<const char*, 2> webhook_names{"virt-scout-first", "virt-scout-grace"};
/// daemonset/base/query.yaml
constexpr const char* api_service_name = "v1alpha1.query.virt-scout.io";
/// A review holds a pod, perhaps with its predecessor; the API server takes objects of 3 MiB. It
/// keeps a connection that it does not need for 90 s. Users may be in hundreds of groups, each of
/// which is a header.
constexpr daemon::HttpLimits https_limits{.header_bytes = std::size_t{64} << 10U,
                                          .body_bytes = std::size_t{8} << 20U,
                                          .connections = 256,
                                          .idle = std::chrono::seconds{120}};

std::uint64_t random_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32U) | device();
}

kube::ReflectorSettings reflecting(kube::ReflectorSettings settings) {
    settings.seed = random_seed();
    return settings;
}

kube::ClientConfig calling(double per_second, double urgent = 0) {
    kube::ClientConfig config;
    config.rate.per_second = per_second;
    config.rate.burst = per_second;
    config.rate.urgent_per_second = std::max(config.rate.urgent_per_second, urgent);
    config.rate.urgent_burst = std::max(config.rate.urgent_burst, 2 * urgent);
    config.seed = random_seed();
    return config;
}

/// Labels have a rate of their own; this one is for what goes wrong.
constexpr double calls_per_second = 200;
/// After a restart all agents come at once: of 10,000 the last one waits ten seconds.
constexpr double reviews_per_second = 1000;
/// A node has 50 VMs, or 200, that are all told to stop at once, and each needs ten calls or so.
constexpr double acts_per_second = 200;
constexpr std::size_t acts_at_once = 64;

}  // namespace

/// What moves VMs that their nodes are about to kill.
struct ClusterSide::Mover {
    Mover(const asio::any_io_executor& loop, Parts& parts, const Clock& clock);

    EvacuationDesk desk;
    HookKeeper hook;
};

struct ClusterSide::Parts {
    Parts(const asio::any_io_executor& loop, ClusterSettings settings, const Clock& clock)
        : https_address(settings.https.listen),
          levels(settings.levels),
          following(settings.following),
          transport(loop, settings.access, clock),
          client(transport, clock, calling(calls_per_second)),
          review_transport(loop, settings.access, clock),
          review_client(review_transport, clock, calling(reviews_per_second)),
          act_transport(loop, settings.access, clock, {.requests = acts_at_once}),
          act_client(act_transport, clock, calling(calls_per_second, acts_per_second)),
          objects(transport, clock, [&settings] { return reflecting(settings.following); }),
          lease(client, {.space = settings.space, .name = lease_name}),
          elector(lease, clock, {.identity = settings.identity}, random_seed()),
          live(loop,
               {.configs = objects.configs, .kubevirts = objects.kubevirts, .elector = elector},
               client, clock, cluster::level_settings(settings.levels)),
          event_port(client, {.instance = settings.identity}),
          events(loop, event_port, clock, random_seed()),
          profiles(loop,
                   {.nodes = objects.nodes,
                    .profiles = objects.cpu_profiles,
                    .elector = elector,
                    .events = events,
                    .map = settings.levels.map},
                   client, clock),
          labels(loop,
                 {.nodes = objects.nodes,
                  .kubevirts = objects.kubevirts,
                  .objects = objects.cpu_profiles,
                  .profiles = profiles,
                  .settings = live,
                  .elector = elector},
                 client, clock,
                 {.levels = std::move(settings.levels), .plan = {}, .seed = random_seed()}),
          placement({.levels = labels, .settings = live, .events = events}),
          grace(objects.namespaces),
          certificates(
              loop, client, [this] { return elector.may_write_until(); },
              {.space = settings.space,
               .names = std::move(settings.https.names),
               .webhooks = {webhook_names.begin(), webhook_names.end()},
               .api_services = {api_service_name},
               .files = std::move(settings.https.files),
               .seed = random_seed()},
              clock),
          agents(certificates.names(), CertificateRules{}, clock),
          owners(loop, review_client, clock, {.space = settings.space}),
          front_proxy(transport, clock, reflecting(settings.following)),
          rights(loop, review_client, clock) {}

    [[nodiscard]] bool needs_certificate() const {
        return https != nullptr || on_certificate != nullptr;
    }

    std::string https_address;
    cluster::LevelOptions levels;       ///< that were given
    kube::ReflectorSettings following;  ///< likewise
    kube::HttpTransport transport;
    kube::Client client;
    kube::HttpTransport review_transport;  ///< neither lease nor labels wait behind tokens
    kube::Client review_client;
    kube::HttpTransport act_transport;  ///< a VM that is about to be killed waits behind nobody
    kube::Client act_client;
    ClusterObjects objects;
    kube::ClientLease lease;
    kube::LeaderElector elector;
    LiveSettings live;
    kube::ClientEvents event_port;
    kube::EventRecorder events;
    CpuProfiles profiles;
    LevelLabels labels;
    PlacementAdmission placement;
    GraceAdmission grace;
    ServingCertificates certificates;
    AgentCertificates agents;
    ClusterTokenOwners owners;
    FrontProxy front_proxy;
    AccessReviews rights;
    std::unique_ptr<ClusterQuestions> answers;  ///< null: none, or somebody else's
    std::unique_ptr<Mover> mover;               ///< null: no VM is moved
    std::unique_ptr<QueryApi> queries;          ///< null: users are not answered
    std::unique_ptr<daemon::HttpServer> https;  ///< null: nothing is served
    std::function<void(const CertifiedKey&)> on_certificate;
};

ClusterSide::Mover::Mover(const asio::any_io_executor& loop, Parts& parts, const Clock& clock)
    : desk(loop,
           {.objects = {.kubevirts = parts.objects.kubevirts,
                        .vmis = parts.objects.vmis,
                        .migrations = parts.objects.migrations,
                        .launchers = parts.objects.launchers,
                        .policies = parts.objects.policies,
                        .namespaces = parts.objects.namespaces},
            .settings = parts.live,
            .elector = parts.elector,
            .events = parts.events},
           parts.act_client, clock, {.at_once = acts_at_once}),
      hook(loop,
           {.nodes = parts.objects.nodes,
            .vmis = parts.objects.vmis,
            .plugins = parts.objects.plugins,
            .settings = parts.live,
            .desk = desk,
            .elector = parts.elector},
           parts.act_client, clock) {}

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
        ClusterQuestions::Sources{.nodes = objects.nodes,
                                  .kubevirts = objects.kubevirts,
                                  .vmis = objects.vmis,
                                  .migrations = objects.migrations,
                                  .launchers = objects.launchers,
                                  .profiles = objects.cpu_profiles,
                                  .settings = parts_->live},
        parts_->levels, pool, clock_);
    answer_users(*parts_->answers);
}

EvacuationDesk& ClusterSide::move_vms() {
    parts_->objects.follow_moves();
    parts_->mover = std::make_unique<Mover>(loop_, *parts_, clock_);
    return parts_->mover->desk;
}

void ClusterSide::follow(Registry& registry) {
    parts_->profiles.follow(registry);
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
    scope_.spawn("leadership", [this] { return parts_->elector.run(); });
    scope_.spawn("settings", [this] { return parts_->live.run(); });
    scope_.spawn("level labels", [this] { return parts_->labels.run(); });
    scope_.spawn("profiles of agents", [this] { return parts_->profiles.run(); });
    scope_.spawn("events", [this] { return parts_->events.run(); });
    if (auto* const mover = parts_->mover.get()) {
        scope_.spawn("evacuations", [mover] { return mover->desk.run(); });
        scope_.spawn("node hook", [mover] { return mover->hook.run(); });
    } else {
        parts_->live.tell_protection({.state = cluster::Protection::State::no,
                                      .reason = "NoAgents",
                                      .message = "this aggregator takes no orders of agents"});
    }
    if (parts_->needs_certificate()) {
        scope_.spawn("certificates", [this] { return parts_->certificates.run(); });
    }
    return {};
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
    parts_->objects.follow_namespaces();  // whose labels may ask for more grace
    parts_->https->route("POST", "/grace", [this](daemon::HttpRequest request) {
        return parts_->grace.serve(std::move(request));
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
    scope_.spawn("front proxy", [this] { return parts_->front_proxy.run(); });
    if (parts_->answers != nullptr) {
        parts_->objects.follow_vms();
    }
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
        co_await parts_->mover->desk.stop();
    }
    co_await parts_->elector.release(release_limit);
    parts_->transport.close_idle();
    parts_->review_transport.close_idle();
    parts_->act_transport.close_idle();
}

ClusterFacts ClusterSide::facts() const {
    ClusterFacts facts;
    facts.leads = parts_->elector.leads();
    facts.synced = parts_->labels.synced();
    facts.kinds = parts_->objects.kinds();
    for (const auto& [plural, trouble] : facts.kinds) {
        facts.trouble += (facts.trouble.empty() || trouble.empty() ? "" : "; ") + trouble;
    }
    if (parts_->elector.holder().empty()) {
        facts.leaderless = parts_->elector.trouble();
    }
    facts.nodes = parts_->objects.nodes.size();
    facts.nodes_by_profile = parts_->labels.keeper().by_profile();
    facts.nodes_profile_unused = parts_->labels.keeper().profile_unused();
    facts.profiles = parts_->profiles.counters();
    facts.labels_out_of_step = parts_->labels.out_of_step();
    facts.labels_written = parts_->labels.counters().written;
    facts.labels_failed = parts_->labels.counters().failed;
    if (parts_->needs_certificate()) {
        facts.serving = parts_->certificates.facts();
    }
    facts.agents_certified = parts_->agents.count();
    facts.placement = parts_->placement.counters();
    facts.grace = parts_->grace.counters();
    if (parts_->queries != nullptr) {
        facts.queries = parts_->queries->counters();
    }
    if (const auto* const mover = parts_->mover.get()) {
        facts.evacuations = mover->desk.counters();
        facts.hook = mover->hook.counters();
    }
    facts.crowded_out = parts_->https == nullptr ? 0 : parts_->https->crowded_out();
    return facts;
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
