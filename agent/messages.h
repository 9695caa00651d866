// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/snapshot.h"

/// What agent and aggregator say to each other, as plain structs (proto/virt_scout/v1/report.proto
/// says what each means; agent/report_stream.cpp carries them).
namespace scout::agent {

struct HelloMessage {
    std::string node;
    std::string host_identity;
    std::string agent_version;
    std::string instance;  ///< of this start of the agent: "PID-random"
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

using Message = std::variant<HelloMessage, FullMessage, DeltaMessage, HeartbeatMessage,
                             ProfileMessage, SigningRequestMessage>;

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

using Request = std::variant<Welcome, WantProfile, WantFull, SignedCertificate>;

}  // namespace scout::agent
