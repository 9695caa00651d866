// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <prometheus/registry.h>

#include "agent/aggregator_link.h"
#include "agent/metrics.h"
#include "agent/node_certificate.h"
#include "agent/pacer.h"
#include "agent/pressure_watch.h"
#include "agent/prober.h"
#include "agent/protection.h"
#include "agent/report_state.h"
#include "agent/reporter.h"
#include "agent/shutdown_watch.h"
#include "agent/snapshot.h"
#include "base/certificates.h"
#include "base/clock.h"
#include "base/offload.h"
#include "base/result.h"
#include "base/task_scope.h"
#include "daemon/health.h"
#include "daemon/http_server.h"
#include "daemon/run.h"
#include "libvirt_glue/hypervisor.h"

namespace scout::agent {

/// What the agent is made of; the adapters are chosen by main.
struct AgentParts {
    asio::any_io_executor loop;
    const Clock& clock;
    BlockingPool& pool;
    hypervisor::Hypervisor& probed;            ///< says what the host can run
    hypervisor::Hypervisor& watched;           ///< whose guests are watched; may be the same object
    AggregatorLink* link;                      ///< null: reports to nobody
    launcher::Launchers* launchers = nullptr;  ///< of the watched guests; null: they have none
};

struct AgentOptions {
    std::string node_name;
    std::string listen_http;   ///< empty: none
    std::string listen_https;  ///< empty: none; needs a link to an aggregator that signs
    ProberConfig prober;
    std::string guests_from = "libvirt";  ///< what is asked for guests, in errors about them
    ReportPolicy report;
    std::string hook_socket;                      ///< empty: none; needs launchers
    migration::MoveAssumptions assumed{};         ///< of moves, where nothing better is known
    std::optional<PressureConfig> pressure = {};  ///< none: the node's pressure is not looked at
    std::filesystem::path system_bus;             ///< that tells of shutdowns, if pressure is set
    std::uint64_t seed = 0;
};

/// The node's agent: probes, follows the guests, reports, and tells how it is. Loop thread.
class Agent final : public daemon::Service {
public:
    Agent(AgentOptions options, AgentParts parts);

    [[nodiscard]] Task<Status> start() override;
    [[nodiscard]] Task<> stop() override;

    /// Bound port of health and metrics; 0 without.
    [[nodiscard]] std::uint16_t http_port() const noexcept { return http_ ? http_->port() : 0; }
    /// The same with TLS.
    [[nodiscard]] std::uint16_t https_port() const noexcept { return https_ ? https_->port() : 0; }
    [[nodiscard]] const daemon::Health& health() const noexcept { return health_; }
    [[nodiscard]] const Snapshot& snapshot() const noexcept { return snapshot_; }
    /// Null: it is not looked at.
    [[nodiscard]] const PressureWatch* pressure() const noexcept { return pressure_.get(); }

private:
    [[nodiscard]] Status listen();
    [[nodiscard]] Result<std::unique_ptr<daemon::HttpServer>> serve(std::string_view address,
                                                                    daemon::HttpSecurity security);
    [[nodiscard]] Status use(const CertifiedKey& certificate, WallTime until);
    void spawn_all(std::string host_identity);
    void protect();
    void look_at_kubelet(const PressureConfig& config);
    void turned(bool shuts_down, std::optional<std::chrono::seconds> pods_get);
    /// Of a pod that is told to stop now and not deleted: what an eviction gives it if the kubelet
    /// evicts now, else what the node's shutdown gives. None: neither is known of.
    [[nodiscard]] std::optional<std::chrono::seconds> kubelet_grace(
        std::chrono::seconds pod_grace) const;
    void subscribe();
    [[nodiscard]] Task<> follow_changes();
    [[nodiscard]] Task<> watch_pool();
    void count_hypervisor();
    void refresh();
    [[nodiscard]] std::string guests_error() const;

    AgentOptions options_;
    AgentParts parts_;
    std::shared_ptr<prometheus::Registry> registry_;
    AgentMetrics metrics_;
    daemon::Health health_;
    Snapshot snapshot_;
    LoopPacer changes_;
    LoopPacer report_pacer_;
    Prober prober_;
    NodeCertificate certificate_;
    std::unique_ptr<Protection> protection_;
    std::unique_ptr<PressureWatch> pressure_;
    std::unique_ptr<ShutdownWatch> shutdown_;  ///< where the pressure is looked at
    std::unique_ptr<Reporter> reporter_;
    std::unique_ptr<daemon::HttpServer> http_;
    std::unique_ptr<daemon::HttpServer> https_;
    hypervisor::Subscription guest_events_;
    hypervisor::Subscription connection_events_;
    TaskScope scope_;
};

}  // namespace scout::agent
