// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "migration/guest.h"
#include "migration/pressure_report.h"
#include "migration/profile.h"

/// What the aggregator keeps of one node. Plain data, owned by the Registry.
namespace scout::aggregator {

/// A profile with its content address; nodes with equal profiles hold the same one.
struct StoredProfile {
    std::string digest;
    migration::Profile profile;
};
using SharedProfile = std::shared_ptr<const StoredProfile>;
using SharedCpu = std::shared_ptr<const migration::GuestCpu>;

enum class FoundBy : std::uint8_t { event, resync };

struct Guest {
    std::string uuid;
    std::string name;
    std::string state;  ///< as the agent tells it: "running", …
    std::int64_t since_unix_ms = 0;
    FoundBy found_by = FoundBy::event;
    std::uint64_t memory_kib = 0;
    SharedCpu cpu;          ///< null: not known
    std::string cpu_error;  ///< why it is not known; empty also while it has not been read

    friend bool operator==(const Guest& a, const Guest& b) {
        const bool same_cpu = a.cpu == b.cpu || (a.cpu && b.cpu && *a.cpu == *b.cpu);
        return a.uuid == b.uuid && a.name == b.name && a.state == b.state &&
               a.since_unix_ms == b.since_unix_ms && a.found_by == b.found_by &&
               a.memory_kib == b.memory_kib && a.cpu_error == b.cpu_error && same_cpu;
    }
};

/// A guest that is gone, and how that was found.
struct RemovedGuest {
    std::string uuid;
    FoundBy found_by = FoundBy::resync;
    std::int64_t since_unix_ms = 0;  ///< when it was seen; 0: not known
};

/// Everything but the guests that a report tells of a host.
struct HostReport {
    std::string profile_digest;  ///< empty: nothing could be probed, probe_error says why
    migration::HostFacts facts;
    std::string source;     ///< "embedded", "system", "labeller", …; "file" or "sample" here
    std::string yardstick;  ///< one sentence
    std::string probe_error;
    std::string guests_error;
    std::vector<std::string> notices;

    friend bool operator==(const HostReport&, const HostReport&) = default;
};

/// By how long ago the node was last heard of; documents are always fresh.
enum class Freshness : std::uint8_t { fresh, stale, gone };

/// A profile that a node had, and the last facts of the host that it was told with.
struct SeenProfile {
    SharedProfile profile;  ///< null: none seen
    migration::HostFacts facts;
};

/// What an agent told of its node's pressure.
struct SeenPressure {
    std::shared_ptr<const migration::PressureReport> report;  ///< null: nothing
    SteadyTime at{};
};

enum class NodeKind : std::uint8_t {
    agent,     ///< reported by an agent
    document,  ///< read from a file at the start; never ages
};

struct Node {
    std::string name;
    std::string host_identity;  ///< machine id; of documents their path
    std::string agent_version;
    NodeKind kind = NodeKind::agent;
    SteadyTime last_heard{};
    Freshness freshness = Freshness::fresh;  ///< as of the registry's last look
    HostReport host;
    SharedProfile profile;  ///< null: none told, or its body is still on the way
    SeenProfile latest;     ///< the last one that was there, for while `profile` is null
    SeenProfile before;     ///< the one that `latest` took the place of
    SeenPressure pressure;
    std::map<std::string, Guest, std::less<>> guests;  ///< by UUID
};

/// Never negative; zero for documents.
[[nodiscard]] std::chrono::milliseconds age(const Node& node, SteadyTime now);

}  // namespace scout::aggregator
