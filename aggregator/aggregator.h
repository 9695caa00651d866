// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "aggregator/config.h"
#include "aggregator/fleet.h"
#include "aggregator/metrics.h"
#include "base/clock.h"
#include "base/offload.h"
#include "base/task_scope.h"
#include "daemon/health.h"
#include "daemon/http_server.h"
#include "daemon/run.h"
#include "wire/endpoint.h"

namespace scout::aggregator {

class AgentsPort;
class ClusterSide;
class FleetService;
class GrpcServer;
class ReportsService;
class SnapshotKeeper;
struct ClusterSettings;

/// The aggregator, with or without a cluster: everything built in start(), ended in stop(). Loop
/// thread; clock, loop and pools outlive it.
class Aggregator final : public daemon::Service {
public:
    struct Pools {
        BlockingPool& work;
        BlockingPool& answers;  ///< to users, which may take seconds
    };

    Aggregator(asio::io_context& loop, Pools pools, Config config, const Clock& clock);
    ~Aggregator() override;
    Aggregator(const Aggregator&) = delete;
    Aggregator& operator=(const Aggregator&) = delete;
    Aggregator(Aggregator&&) = delete;
    Aggregator& operator=(Aggregator&&) = delete;

    [[nodiscard]] Task<Status> start() override;
    [[nodiscard]] Task<> stop() override;

    /// Where agents and users find it, with the ports that were bound; after start(). Without a
    /// server that is there from the start the endpoint is empty.
    [[nodiscard]] wire::Endpoint grpc_endpoint() const;
    [[nodiscard]] std::uint16_t http_port() const;

private:
    [[nodiscard]] Task<Status> load_fleet();
    [[nodiscard]] Task<> load_documents(std::string path, std::string source);
    [[nodiscard]] ClusterSettings cluster_settings(kube::ClusterAccess access,
                                                   std::string space) const;
    [[nodiscard]] Task<Status> join_cluster();
    void await_agents();
    void tell_cluster_health();
    [[nodiscard]] Status serve_grpc();
    [[nodiscard]] Status serve_agents_and_questions();
    [[nodiscard]] Status serve_http();
    [[nodiscard]] Task<> tick();
    [[nodiscard]] MetricFacts facts() const;

    asio::io_context& loop_;
    BlockingPool& pool_;
    BlockingPool& answers_pool_;
    Config config_;
    const Clock& clock_;
    TaskScope scope_;
    daemon::Health health_;
    bool serving_ = false;  ///< start() has succeeded
    std::unique_ptr<Fleet> fleet_;
    std::unique_ptr<SnapshotKeeper> snapshots_;
    std::unique_ptr<ReportsService> reports_;
    std::unique_ptr<FleetService> questions_;
    std::vector<std::shared_ptr<GrpcServer>> servers_;
    std::unique_ptr<daemon::HttpServer> http_;
    std::unique_ptr<ClusterSide> cluster_;  ///< null without a cluster
    std::unique_ptr<AgentsPort> agents_;    ///< where they show tokens, else null
};

}  // namespace scout::aggregator
