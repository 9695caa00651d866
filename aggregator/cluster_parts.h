// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "aggregator/access_reviews.h"
#include "aggregator/agent_certificates.h"
#include "aggregator/cause_history.h"
#include "aggregator/cluster_objects.h"
#include "aggregator/cluster_questions.h"
#include "aggregator/cluster_side.h"
#include "aggregator/cluster_token_owners.h"
#include "aggregator/evacuation_desk.h"
#include "aggregator/front_proxy.h"
#include "aggregator/grace_admission.h"
#include "aggregator/hook_keeper.h"
#include "aggregator/launcher_ends.h"
#include "aggregator/launcher_standings.h"
#include "aggregator/level_labels.h"
#include "aggregator/live_settings.h"
#include "aggregator/migration_causes.h"
#include "aggregator/move_landings.h"
#include "aggregator/placement_admission.h"
#include "aggregator/policy_admission.h"
#include "aggregator/policy_drift.h"
#include "aggregator/pressure_events.h"
#include "aggregator/pressure_relief.h"
#include "aggregator/target_admission.h"
#include "aggregator/tuned_policies.h"
#include "daemon/http_server.h"
#include "kube/client.h"
#include "kube/event_client.h"
#include "kube/event_recorder.h"
#include "kube/http_transport.h"
#include "kube/leader_elector.h"
#include "kube/lease_client.h"

// What a ClusterSide is made of; for its own sources.

namespace scout::aggregator {

/// One that no other start of this program has.
[[nodiscard]] std::uint64_t random_seed();

/// What moves VMs that their nodes are about to kill.
struct ClusterSide::Mover {
    Mover(const asio::any_io_executor& loop, Parts& parts, const Clock& clock);

    EvacuationDesk desk;
    HookKeeper hook;
};

/// What finds out why launchers ended, who wanted migrations, by which policies they go, and
/// whether they lead where they were to.
struct ClusterSide::Causes {
    Causes(const asio::any_io_executor& loop, Parts& parts, const Clock& clock);

    kube::Client client;
    LauncherEnds ends;
    MigrationCauses moves;
    PolicyDrift drift;
    MoveLandings landings;
};

struct ClusterSide::Parts {
    Parts(const asio::any_io_executor& loop, ClusterSettings settings, const Clock& clock);

    [[nodiscard]] std::unique_ptr<PressureRelief> make_relief(const asio::any_io_executor& loop,
                                                              Registry& registry,
                                                              const Clock& clock);
    [[nodiscard]] bool needs_certificate() const {
        return https != nullptr || on_certificate != nullptr;
    }

    std::string https_address;
    cluster::LevelOptions levels;         ///< that were given
    kube::ReflectorSettings following;    ///< likewise
    kube::HttpTransport lease_transport;  ///< the lease waits behind nothing
    kube::Client lease_client;
    kube::HttpTransport transport;
    kube::Client client;
    kube::HttpTransport review_transport;  ///< labels do not wait behind tokens
    kube::Client review_client;
    kube::HttpTransport act_transport;  ///< a VM that is about to be killed waits behind nobody
    kube::Client act_client;
    ClusterObjects objects;
    kube::ClientLease lease;
    kube::LeaderElector elector;
    LiveSettings live;
    kube::ClientEvents event_port;
    kube::EventRecorder events;
    PressureEvents pressure;
    CpuProfiles profiles;
    LevelLabels labels;
    PlacementAdmission placement;
    GraceAdmission grace;
    TargetAdmission targets;
    PolicyAdmission policies;
    TunedPolicies tuned;
    ServingCertificates certificates;
    AgentCertificates agents;
    ClusterTokenOwners owners;
    FrontProxy front_proxy;
    AccessReviews rights;
    CauseHistory history;
    std::unique_ptr<ClusterQuestions> answers;     ///< null: none, or somebody else's
    std::unique_ptr<ProtectionCount> protection;   ///< likewise
    std::unique_ptr<Mover> mover;                  ///< null: no VM is moved
    std::unique_ptr<LauncherStandings> standings;  ///< null: agents are told none
    std::unique_ptr<Causes> causes;                ///< null: they are not looked into
    std::unique_ptr<PressureRelief> relief;        ///< null: none is moved for what is expected
    std::unique_ptr<QueryApi> queries;             ///< null: users are not answered
    std::unique_ptr<daemon::HttpServer> https;     ///< null: nothing is served
    std::function<void(const CertifiedKey&)> on_certificate;
};

}  // namespace scout::aggregator
