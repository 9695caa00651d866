// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/snapshot.h"
#include "base/clock.h"
#include "migration/evacuation.h"
#include "migration/eviction_order.h"
#include "migration/migration_settings.h"
#include "migration/pressure_report.h"

/// What agent and aggregator say to each other, as plain structs (proto/virt_scout/v1/report.proto
/// and evacuation.proto say what each means; agent/report_stream.cpp carries them).
namespace scout::agent {

struct HelloMessage {
    std::string node;
    std::string host_identity;
    std::string agent_version;
    std::string instance;  ///< of this start of the agent: "PID-random"
    bool follows_launchers = false;
    bool ranks_launchers = false;
};

struct FullMessage {
    std::uint64_t sequence = 0;
    HostPart host;
    std::vector<hypervisor::GuestState> guests;
    bool more = false;  ///< guests are left for deltas
};

struct DeltaMessage {
    std::uint64_t sequence = 0;
    std::optional<HostPart> host;
    std::vector<hypervisor::GuestState> changed;
    std::vector<RemovedGuest> removed;
    bool more = false;  ///< guests are left for the next delta
};

struct HeartbeatMessage {
    std::uint64_t sequence = 0;  ///< of the last full report or delta
};

struct ProfileMessage {
    std::string digest;
    std::shared_ptr<const migration::Profile> profile;
};

struct SigningRequestMessage {
    std::string pem;
};

/// One launcher that was told to stop.
struct EvacuationLine {
    std::string space;
    std::string vmi;
    std::string vmi_uid;
    std::string pod_uid;
    migration::EvacuationState state{};
    std::string reason;
    WallTime stop_by{};  ///< until when its guest must have begun to stop
};

struct EvacuationsMessage {
    std::vector<EvacuationLine> lines;
    bool hook_served = false;  ///< virt-handler is answered here
};

struct EvacuationOrderMessage {
    std::uint64_t id = 0;
    std::string vmi_uid;
    migration::EvacuationOrder order;
};

struct PressureMessage {
    migration::PressureReport report;
};

using Message = std::variant<HelloMessage, FullMessage, DeltaMessage, HeartbeatMessage,
                             ProfileMessage, SigningRequestMessage, EvacuationsMessage,
                             EvacuationOrderMessage, PressureMessage>;

struct Welcome {
    std::string aggregator_version;
};
struct WantProfile {
    std::string digest;
};
struct WantFull {};
struct SignedCertificate {
    std::string chain;  ///< PEM
    std::string error;  ///< why there is none
};

enum class EvacuationMode : std::uint8_t { off, observe, act };
[[nodiscard]] std::string_view to_string(EvacuationMode mode) noexcept;

struct EvacuationRules {
    EvacuationMode mode = EvacuationMode::off;
    bool stamp = false;
    std::string eviction_strategy;  ///< of the KubeVirt object
    std::chrono::seconds reserve{10};
    std::chrono::seconds patience{60};
    migration::Escalation escalation = migration::Escalation::none;
};

struct ToldVmi {
    migration::VmiFacts facts;
    std::chrono::seconds grace{0};
};

struct ToldPod {
    std::string name;
    std::string phase;
    std::optional<std::chrono::seconds> grace;
    std::optional<std::chrono::seconds> deletion_grace;
    std::optional<std::chrono::seconds> launcher_grace;
};

struct EvacuationFacts {
    std::string vmi_uid;
    std::optional<ToldVmi> vmi;
    std::optional<std::vector<migration::MoveFacts>> moves;  ///< all; none: not known
    std::optional<ToldPod> pod;
    migration::MigrationSettings numbers;
    std::optional<std::chrono::milliseconds> downtime;  ///< if obeyed
    migration::CopiedDisks disks;                       ///< nothing is known to be in use of them
    bool escalated = false;  ///< the numbers are of a policy that was made for this move
    unsigned slots = 1;
    /// Before then KubeVirt begins no evacuation of it; none: it does not wait.
    std::optional<WallTime> next_evacuation;
};

struct EvacuationResult {
    std::uint64_t id = 0;
    migration::StepOutcome outcome = migration::StepOutcome::unavailable;
    std::string text;
    std::optional<ToldVmi> vmi;
    std::vector<migration::MoveFacts> moves;
    bool liveness_kill = false;  ///< of read-vmi: Events say so
};

using Request = std::variant<Welcome, WantProfile, WantFull, SignedCertificate, EvacuationRules,
                             EvacuationFacts, EvacuationResult, migration::PodStandings>;

}  // namespace scout::agent
