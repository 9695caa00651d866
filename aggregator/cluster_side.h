// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/cluster_objects.h"
#include "aggregator/cpu_profiles.h"
#include "aggregator/evacuation_desk.h"
#include "aggregator/hook_keeper.h"
#include "aggregator/launcher_ends.h"
#include "aggregator/migration_causes.h"
#include "aggregator/move_landings.h"
#include "aggregator/pod_admission.h"
#include "aggregator/policy_drift.h"
#include "aggregator/pressure_relief.h"
#include "aggregator/protection_count.h"
#include "aggregator/query_api.h"
#include "aggregator/serving_certificates.h"
#include "base/certificates.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "base/task_scope.h"
#include "cluster/levels.h"
#include "kube/access.h"
#include "kube/event_recorder.h"
#include "kube/reflector.h"

namespace scout {
class BlockingPool;
}  // namespace scout

namespace scout::aggregator {

class AgentCertificates;
class LauncherStandings;
class Registry;
class TokenOwners;

/// What is called by the API server.
struct HttpsSettings {
    std::string listen;  ///< address:port; empty: nothing is served
    /// Names and addresses of the certificate beside those of the Service.
    std::vector<std::string> names;
    std::optional<CertificateFiles> files;  ///< none: the certificate is our own
};

struct ClusterSettings {
    kube::ClusterAccess access;
    std::string space;     ///< namespace of the Lease
    std::string identity;  ///< in the Lease; one for each process start
    cluster::LevelOptions levels;
    HttpsSettings https;
    kube::ReflectorSettings following;  ///< of every kind; the seeds are our own
};

/// What /metrics and /readyz tell of the cluster.
struct ClusterFacts {
    bool leads = false;
    bool synced = false;
    std::vector<FollowedKind> kinds;
    std::string trouble;     ///< of all kinds; empty: the cluster is followed
    std::string leaderless;  ///< why no leader is known; empty: one is, or soon
    std::size_t nodes = 0;
    std::size_t nodes_by_profile = 0;      ///< that the truth layer knows by a CPUProfile
    std::size_t nodes_profile_unused = 0;  ///< that name one which does not fit their labels
    CpuProfilesCounters profiles;
    std::size_t labels_out_of_step = 0;
    std::uint64_t labels_written = 0;
    std::uint64_t labels_failed = 0;
    ServingFacts serving;                ///< empty: no certificate is needed
    std::uint64_t agents_certified = 0;  ///< certificates for agents
    AdmissionCounters placement;         ///< first placement
    AdmissionCounters grace;
    AdmissionCounters target_moves;  ///< migrations that carry a term
    AdmissionCounters target_pods;
    AdmissionCounters policy_lint;  ///< migration policies that are made or changed
    QueryCounters queries;
    EvacuationCounters evacuations;
    HookCounters hook;
    ReliefCounters relief;
    EndCounters launcher_ends{};
    MoveCounters migrations{};
    PolicyDriftCounters policies;
    LandingCounters landings;
    std::uint64_t causes_unwritten = 0;
    std::size_t history_entries = 0;
    std::size_t history_bytes = 0;
    kube::EventRecorderCounters events;
    std::optional<ProtectionCount::Counts> protection;  ///< none: not counted here
    std::uint64_t crowded_out = 0;  ///< questions for whose bodies there was no room
};

/// All that the aggregator does in a cluster: it follows the API server's objects, stands for
/// leadership and, as the leader, keeps the nodes' level labels and CPU profiles and tells why VMs
/// stopped and moved; whether it leads or not, it answers the API server about new pods, and users
/// by way of it. Loop thread; the clock, and the cpu_map of the settings, must outlive it.
class ClusterSide {
public:
    ClusterSide(asio::any_io_executor loop, ClusterSettings settings, const Clock& clock);
    ~ClusterSide();
    ClusterSide(const ClusterSide&) = delete;
    ClusterSide& operator=(const ClusterSide&) = delete;
    ClusterSide(ClusterSide&&) = delete;
    ClusterSide& operator=(ClusterSide&&) = delete;

    /// Called with each certificate that is served from then on; before start().
    void on_certificate(std::function<void(const CertifiedKey&)> handler);
    /// Who answers users; must outlive this. Before start(); without it their API is not served.
    void answer_users(Questions& questions);
    /// The same from the cluster's objects, which are followed for it then; work is done in the
    /// pool.
    void answer_users(BlockingPool& pool);
    /// By whom VMs are moved that agents name. Before start(), once; their objects are followed for
    /// it then. Without it none is.
    [[nodiscard]] EvacuationDesk& move_vms();
    /// Who tells agents what their launchers are ranked by. Before start(), once; launchers are
    /// followed for it then.
    [[nodiscard]] LauncherStandings& tell_standings();
    /// Finds out why launchers ended and who wanted migrations, whose objects are followed for it
    /// then, and records it. Before start(), once.
    void record_causes();
    /// Takes what agents report from now on, and moves VMs away from nodes that they expect to run
    /// short, if VMs are followed by now; before start(). This must outlive the registry's last
    /// change.
    void follow(Registry& registry);
    /// Whose the tokens of agents are.
    [[nodiscard]] TokenOwners& token_owners();
    /// What they are given to show to others.
    [[nodiscard]] AgentCertificates& agent_certificates();

    /// Begins; what fails is tried again and told by facts(). Errors: the HTTPS address cannot be
    /// bound.
    [[nodiscard]] Status start();
    /// Ends everything and lets another process lead at once.
    [[nodiscard]] Task<> stop();

    [[nodiscard]] ClusterFacts facts() const;
    /// That of HTTPS; 0: nothing is served.
    [[nodiscard]] std::uint16_t https_port() const;

private:
    struct Causes;
    struct Mover;
    struct Parts;

    /// A task of the scope that goes on after a fault.
    void keep(std::string name, std::function<Task<>()> body);
    /// Those that not every aggregator has.
    void keep_what_was_asked_for();
    [[nodiscard]] Status serve_https();
    void serve_queries();
    void use(const CertifiedKey& pair);

    asio::any_io_executor loop_;
    const Clock& clock_;
    TaskScope scope_;
    std::unique_ptr<Parts> parts_;
};

/// "POD_abc123": the host's name and something that no other start of this program has.
[[nodiscard]] std::string lease_identity();

}  // namespace scout::aggregator
