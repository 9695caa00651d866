// SPDX-License-Identifier: Apache-2.0
#include "aggregator/aggregator.h"

#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <spdlog/spdlog.h>

#include "aggregator/agents_port.h"
#include "aggregator/cluster_side.h"
#include "aggregator/document_nodes.h"
#include "aggregator/fleet_service.h"
#include "aggregator/grpc_server.h"
#include "aggregator/reports_service.h"
#include "aggregator/snapshot_keeper.h"
#include "base/logging.h"
#include "daemon/process_metrics.h"
#include "documents/cpu_map_files.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr auto map_limit = 20s;
constexpr auto documents_limit = 60s;
constexpr auto access_limit = 10s;
/// Of the 5 s that a stop may take.
constexpr auto last_write_limit = 2s;
constexpr auto shutdown_limit = 1s;
constexpr auto tick_interval = 1s;

}  // namespace

Aggregator::Aggregator(asio::io_context& loop, Pools pools, Config config, const Clock& clock)
    : loop_(loop),
      pool_(pools.work),
      answers_pool_(pools.answers),
      config_(std::move(config)),
      clock_(clock),
      scope_(loop.get_executor()) {}

Aggregator::~Aggregator() = default;

Task<Status> Aggregator::start() {
    health_.set("start", "not started yet");
    auto loaded = co_await load_fleet();
    if (!loaded) {
        co_return loaded;
    }
    if (auto serving = serve_http(); !serving) {
        co_return serving;
    }
    if (auto serving = serve_grpc(); !serving) {
        co_return serving;
    }
    if (config_.cluster) {
        auto joined = co_await join_cluster();
        if (!joined) {
            co_return joined;
        }
    }
    scope_.spawn("tick", [this] { return tick(); });
    if (snapshots_ != nullptr) {
        scope_.spawn("snapshots", [this] { return snapshots_->keep(); });
    }
    health_.set("start", "");
    serving_ = true;
    spdlog::info("serving grpc={} query_socket={} http={} nodes={}",
                 agents_ == nullptr ? grpc_endpoint().target() : "while leading",
                 log_value(config_.query_socket.string()), http_->address(),
                 fleet_->registry().nodes().size());
    co_return Status{};
}

Task<Status> Aggregator::load_fleet() {
    std::optional<std::filesystem::path> configured;
    if (!config_.cpu_map.empty()) {
        configured = config_.cpu_map;
    }
    auto read_map = [folder = std::move(configured)] { return documents::find_cpu_map(folder); };
    auto known = co_await offload(pool_, map_limit, std::move(read_map));
    if (!known) {
        co_return fail(std::move(known.error()).within("cpu-map"));
    }
    if (const auto& map = *known) {
        spdlog::info("cpu_map read folder={} models={}", log_value(map->name()),
                     map->models().size());
    } else {
        spdlog::warn(
            "no cpu_map: models can be compared only where documents are expanded "
            "looked_in={}",
            documents::installed_cpu_map);
    }
    RegistryOptions options;
    options.stale_after = config_.stale_after;
    options.gone_after = config_.gone_after;
    options.forget_after = config_.forget_after;
    fleet_ = std::make_unique<Fleet>(options, config_.machine_type, std::move(*known), clock_);
    for (const auto& path : config_.documents) {
        co_await load_documents(path, "file");
    }
    if (!config_.sample_documents.empty()) {
        co_await load_documents(config_.sample_documents.string(), "sample");
    }
    if (const auto path = config_.snapshot_path()) {
        snapshots_ =
            std::make_unique<SnapshotKeeper>(*path, config_.snapshot_every, *fleet_, pool_);
        auto restored = co_await snapshots_->load();
        co_return restored;
    }
    co_return Status{};
}

/// What cannot be read is told, and the rest goes on.
Task<> Aggregator::load_documents(std::string path, std::string source) {
    auto read = [path] { return read_document_nodes(path); };
    const auto nodes = co_await offload(pool_, documents_limit, std::move(read));
    if (!nodes) {
        spdlog::error("documents are left out path={} reason={}", log_value(path),
                      log_value(nodes.error().message));
        co_return;
    }
    std::size_t unusable = 0;
    for (const auto& node : *nodes) {
        if (!node.error.empty()) {
            ++unusable;
            spdlog::warn("document cannot be used path={} reason={}", log_value(node.path),
                         log_value(node.error));
        }
        auto added = add_document_node(node, source, clock_.steady(), fleet_->registry());
        if (!added) {
            spdlog::error("document is left out reason={}", log_value(added.error().message));
        }
    }
    spdlog::info("documents read path={} nodes={} unusable={}", log_value(path), nodes->size(),
                 unusable);
}

ClusterSettings Aggregator::cluster_settings(kube::ClusterAccess access, std::string space) const {
    std::optional<CertificateFiles> files;
    if (!config_.tls_cert.empty()) {
        files = {.certificate = config_.tls_cert, .key = config_.tls_key};
    }
    return {.access = std::move(access),
            .space = std::move(space),
            .identity = lease_identity(),
            .levels = {.layer = config_.level_layer(),
                       .machine_type = config_.machine_type,
                       .map = fleet_->matrix().map(),
                       .counting = {}},
            .https = {.listen = config_.listen_https,
                      .names = config_.https_names,
                      .files = std::move(files)}};
}

Task<Status> Aggregator::join_cluster() {
    auto places = config_.access_places;
    places.kubeconfig.chosen = config_.kubeconfig;
    places.options.context = config_.context;
    auto find = [places] { return kube::find_access(places); };
    auto access = co_await offload(pool_, access_limit, std::move(find));
    if (!access) {
        co_return fail(std::move(access.error()).within("cluster"));
    }
    auto space = config_.cluster_namespace.empty() ? access->space : config_.cluster_namespace;
    if (space.empty()) {
        co_return fail(Errc::invalid, "expected cluster-namespace, the namespace of the Lease: " +
                                          access->origin + " names none");
    }
    spdlog::info("following a cluster server={} namespace={} labels={}", access->server.url,
                 log_value(space), config_.level_labels);
    auto settings = cluster_settings(std::move(*access), std::move(space));
    cluster_ = std::make_unique<ClusterSide>(loop_.get_executor(), std::move(settings), clock_);
    cluster_->answer_users(answers_pool_);
    cluster_->record_causes();
    cluster_->follow(fleet_->registry());
    if (config_.takes_tokens()) {
        await_agents();
    }
    auto started = cluster_->start();
    tell_cluster_health();
    co_return started;
}

void Aggregator::await_agents() {
    // Its text was checked with the rest of the configuration.
    agents_ = std::make_unique<AgentsPort>(
        loop_.get_executor(), pool_, *fleet_, cluster_->token_owners(),
        cluster_->agent_certificates(),
        AgentsPort::Settings{.endpoint = wire::parse_endpoint(config_.listen_grpc).value(),
                             .security = config_.security(),
                             .writes_certificate = config_.tls_cert.empty()},
        &cluster_->move_vms(), &cluster_->tell_standings());
    cluster_->on_certificate([this](const auto& pair) { agents_->use(pair); });
    scope_.spawn("agents", [this] { return agents_->run(); });
}

/// A cluster that is away does not make the answers unready once it has been seen.
void Aggregator::tell_cluster_health() {
    const auto facts = cluster_->facts();
    health_.set("cluster", facts.synced            ? std::string{}
                           : facts.trouble.empty() ? "nodes and KubeVirt have not been read yet"
                                                   : facts.trouble);
    health_.note("cluster", facts.synced ? facts.trouble : std::string{});
    health_.set("leadership", facts.leaderless);
    health_.set("certificate", facts.serving.missing);
    if (agents_ != nullptr) {
        agents_->should_be_open(facts.leads);
        health_.set("agents", agents_->trouble());
    }
}

Status Aggregator::serve_grpc() {
    questions_ = std::make_unique<FleetService>(loop_.get_executor(), *fleet_);
    if (!config_.takes_tokens()) {
        if (auto serving = serve_agents_and_questions(); !serving) {
            return serving;
        }
    }
    if (config_.query_socket.empty()) {
        return {};
    }
    wire::Endpoint socket;
    socket.unix_path = config_.query_socket.string();
    // Who may ask need not be one who may report.
    auto questions = GrpcServer::start(loop_.get_executor(), socket, {}, {questions_.get()});
    if (!questions) {
        return fail(std::move(questions.error()).within("query-socket"));
    }
    servers_.push_back(std::move(*questions));
    return {};
}

/// Outside of a cluster both come by one address.
Status Aggregator::serve_agents_and_questions() {
    const auto security = config_.security();
    reports_ = std::make_unique<ReportsService>(loop_.get_executor(), *fleet_,
                                                security.tls ? Proof::certificate : Proof::none);
    const auto endpoint = wire::parse_endpoint(config_.listen_grpc);
    if (!endpoint) {
        return fail(endpoint.error());
    }
    auto server = GrpcServer::start(loop_.get_executor(), *endpoint, security,
                                    {reports_.get(), questions_.get()});
    if (!server) {
        return fail(std::move(server.error()).within("listen-grpc"));
    }
    servers_.push_back(std::move(*server));
    return {};
}

Status Aggregator::serve_http() {
    auto http = daemon::HttpServer::listen(loop_.get_executor(), config_.listen_http);
    if (!http) {
        return fail(std::move(http.error()).within("listen-http"));
    }
    http_ = std::move(*http);
    daemon::serve_health(*http_, health_,
                         {std::make_shared<daemon::ProcessMetrics>(clock_.wall()),
                          std::make_shared<FleetMetrics>([this] { return facts(); })});
    http_->start();
    return {};
}

Task<> Aggregator::tick() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (;;) {
        timer.expires_after(tick_interval);
        const auto [error] = co_await timer.async_wait(as_result);
        if (error) {
            co_return;
        }
        fleet_->registry().tick(clock_.steady());
        if (reports_ != nullptr) {
            reports_->tick();
        }
        if (agents_ != nullptr) {
            agents_->tick();
        }
        if (cluster_ != nullptr) {
            tell_cluster_health();
        }
    }
}

Task<> Aggregator::stop() {
    health_.set("start", "stopping");
    // First: a stop that is cut short must not lose what is known. One that could not start must
    // not overwrite what the one that runs has written.
    if (snapshots_ != nullptr && serving_) {
        co_await snapshots_->write(last_write_limit);
    }
    // Who stops does not begin to lead, and another one leads at once.
    if (cluster_ != nullptr) {
        co_await cluster_->stop();
    }
    if (reports_ != nullptr) {
        co_await reports_->stop();
    }
    if (questions_ != nullptr) {
        questions_->stop();
    }
    static_cast<void>(co_await GrpcServer::end(servers_, &pool_, shutdown_limit));
    co_await scope_.close();
    if (http_ != nullptr) {
        co_await http_->stop();
    }
}

wire::Endpoint Aggregator::grpc_endpoint() const {
    return servers_.empty() ? wire::Endpoint{} : servers_.front()->endpoint();
}

std::uint16_t Aggregator::http_port() const {
    return http_ == nullptr ? std::uint16_t{0} : http_->port();
}

MetricFacts Aggregator::facts() const {
    auto facts = facts_of(*fleet_);
    if (reports_ != nullptr) {
        facts.agent_streams = reports_->sessions().size();
        facts.reports = reports_->sessions().counters();
    }
    if (agents_ != nullptr) {
        facts.agent_streams = agents_->streams();
        facts.reports = agents_->counters();
    }
    if (questions_ != nullptr) {
        facts.watchers = questions_->watchers();
        facts.watchers_too_slow = questions_->too_slow();
    }
    if (snapshots_ != nullptr) {
        facts.snapshots = snapshots_->counters();
    }
    if (cluster_ != nullptr) {
        facts.cluster = cluster_->facts();
    }
    return facts;
}

}  // namespace scout::aggregator
