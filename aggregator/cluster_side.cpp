// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cluster_side.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <utility>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "aggregator/access_reviews.h"
#include "aggregator/agent_certificates.h"
#include "aggregator/cluster_questions.h"
#include "aggregator/cluster_token_owners.h"
#include "aggregator/front_proxy.h"
#include "aggregator/level_labels.h"
#include "aggregator/live_settings.h"
#include "aggregator/query_paths.h"
#include "base/logging.h"
#include "daemon/http_server.h"
#include "kube/client.h"
#include "kube/event_client.h"
#include "kube/event_recorder.h"
#include "kube/http_transport.h"
#include "kube/informer.h"
#include "kube/leader_elector.h"
#include "kube/lease_client.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/node.h"
#include "kube/objects/scout_config.h"

namespace scout::aggregator {
namespace {

/// Of the 5 s that a stop may take.
constexpr std::chrono::milliseconds release_limit{1000};
constexpr const char* lease_name = "virt-scout-aggregator";
/// daemonset/base/first-placement.yaml
constexpr const char* webhook_name = "virt-scout-first";
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

kube::ClientConfig calling(double per_second) {
    kube::ClientConfig config;
    config.rate.per_second = per_second;
    config.rate.burst = per_second;
    config.seed = random_seed();
    return config;
}

/// Labels have a rate of their own; this one is for what goes wrong.
constexpr double calls_per_second = 200;
/// After a restart all agents come at once: of 10,000 the last one waits ten seconds.
constexpr double reviews_per_second = 1000;

}  // namespace

/// What answers to users rest on beside nodes and KubeVirt, and who gives them.
struct ClusterSide::Answers {
    Answers(Parts& parts, BlockingPool& pool, const Clock& clock);

    kube::Informer<kube::Vmi> vmis;
    kube::Informer<kube::Migration> migrations;
    kube::Informer<kube::LauncherPod> launchers;
    ClusterQuestions questions;
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
          nodes(transport, clock, {.resource = kube::resources::nodes(), .selection = {}},
                &kube::decode_node, reflecting(settings.following)),
          kubevirts(transport, clock, {.resource = kube::resources::kubevirts(), .selection = {}},
                    &kube::decode_kubevirt, reflecting(settings.following)),
          configs(transport, clock, {.resource = kube::resources::scout_configs(), .selection = {}},
                  &kube::decode_scout_config, reflecting(settings.following)),
          cpu_profiles(transport, clock,
                       {.resource = kube::resources::cpu_profiles(), .selection = {}},
                       &cluster::decode_cpu_profile, reflecting(settings.following)),
          lease(client, {.space = settings.space, .name = lease_name}),
          elector(lease, clock, {.identity = settings.identity}, random_seed()),
          live(loop, {.configs = configs, .kubevirts = kubevirts, .elector = elector}, client,
               clock, cluster::level_settings(settings.levels)),
          event_port(client, {.instance = settings.identity}),
          events(loop, event_port, clock, random_seed()),
          profiles(loop,
                   {.nodes = nodes,
                    .profiles = cpu_profiles,
                    .elector = elector,
                    .events = events,
                    .map = settings.levels.map},
                   client, clock),
          labels(loop,
                 {.nodes = nodes,
                  .kubevirts = kubevirts,
                  .objects = cpu_profiles,
                  .profiles = profiles,
                  .settings = live,
                  .elector = elector},
                 client, clock,
                 {.levels = std::move(settings.levels), .plan = {}, .seed = random_seed()}),
          placement({.levels = labels, .settings = live, .events = events}),
          certificates(
              loop, client, [this] { return elector.may_write_until(); },
              {.space = settings.space,
               .names = std::move(settings.https.names),
               .webhooks = {webhook_name},
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
    kube::Informer<kube::Node> nodes;
    kube::Informer<kube::KubeVirt> kubevirts;
    kube::Informer<kube::ScoutConfig> configs;
    kube::Informer<cluster::CpuProfile> cpu_profiles;
    kube::ClientLease lease;
    kube::LeaderElector elector;
    LiveSettings live;
    kube::ClientEvents event_port;
    kube::EventRecorder events;
    CpuProfiles profiles;
    LevelLabels labels;
    PlacementAdmission placement;
    ServingCertificates certificates;
    AgentCertificates agents;
    ClusterTokenOwners owners;
    FrontProxy front_proxy;
    AccessReviews rights;
    std::unique_ptr<Answers> answers;           ///< null: none, or somebody else's
    std::unique_ptr<QueryApi> queries;          ///< null: users are not answered
    std::unique_ptr<daemon::HttpServer> https;  ///< null: nothing is served
    std::function<void(const CertifiedKey&)> on_certificate;
};

ClusterSide::Answers::Answers(Parts& parts, BlockingPool& pool, const Clock& clock)
    : vmis(parts.transport, clock,
           {.resource = kube::resources::virtual_machine_instances(), .selection = {}},
           &kube::decode_vmi, reflecting(parts.following)),
      migrations(parts.transport, clock,
                 {.resource = kube::resources::migrations(), .selection = {}},
                 &kube::decode_migration, reflecting(parts.following)),
      launchers(
          parts.transport, clock,
          {.resource = kube::resources::pods(), .selection = {.labels = kube::launcher_selector}},
          &kube::decode_launcher_pod, reflecting(parts.following)),
      questions({.nodes = parts.nodes,
                 .kubevirts = parts.kubevirts,
                 .vmis = vmis,
                 .migrations = migrations,
                 .launchers = launchers,
                 .profiles = parts.cpu_profiles,
                 .settings = parts.live},
                parts.levels, pool, clock) {}

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
    parts_->answers = std::make_unique<Answers>(*parts_, pool, clock_);
    answer_users(parts_->answers->questions);
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
    scope_.spawn("nodes", [this] { return parts_->nodes.run(); });
    scope_.spawn("kubevirts", [this] { return parts_->kubevirts.run(); });
    scope_.spawn("scoutconfigs", [this] { return parts_->configs.run(); });
    scope_.spawn("cpuprofiles", [this] { return parts_->cpu_profiles.run(); });
    scope_.spawn("leadership", [this] { return parts_->elector.run(); });
    scope_.spawn("settings", [this] { return parts_->live.run(); });
    scope_.spawn("level labels", [this] { return parts_->labels.run(); });
    scope_.spawn("profiles of agents", [this] { return parts_->profiles.run(); });
    scope_.spawn("events", [this] { return parts_->events.run(); });
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
    if (auto* const answers = parts_->answers.get()) {
        scope_.spawn("vmis", [answers] { return answers->vmis.run(); });
        scope_.spawn("migrations", [answers] { return answers->migrations.run(); });
        scope_.spawn("launchers", [answers] { return answers->launchers.run(); });
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
    co_await parts_->elector.release(release_limit);
    parts_->transport.close_idle();
    parts_->review_transport.close_idle();
}

std::vector<FollowedKind> ClusterSide::kinds() const {
    const auto followed = [](const kube::Reflector& reflector) {
        return FollowedKind{.plural = reflector.resource().plural, .trouble = reflector.trouble()};
    };
    std::vector<FollowedKind> kinds{
        followed(parts_->nodes.reflector()), followed(parts_->kubevirts.reflector()),
        followed(parts_->configs.reflector()), followed(parts_->cpu_profiles.reflector())};
    if (const auto* const answers = parts_->answers.get()) {
        kinds.push_back(followed(answers->vmis.reflector()));
        kinds.push_back(followed(answers->migrations.reflector()));
        kinds.push_back(followed(answers->launchers.reflector()));
    }
    return kinds;
}

ClusterFacts ClusterSide::facts() const {
    ClusterFacts facts;
    facts.leads = parts_->elector.leads();
    facts.synced = parts_->labels.synced();
    facts.kinds = kinds();
    for (const auto& [plural, trouble] : facts.kinds) {
        facts.trouble += (facts.trouble.empty() || trouble.empty() ? "" : "; ") + trouble;
    }
    if (parts_->elector.holder().empty()) {
        facts.leaderless = parts_->elector.trouble();
    }
    facts.nodes = parts_->nodes.size();
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
    if (parts_->queries != nullptr) {
        facts.queries = parts_->queries->counters();
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
