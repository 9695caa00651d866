// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "migration/guest.h"

namespace scout::hypervisor {

/// `GuestState::state` while libvirt can't be asked.
inline constexpr std::string_view state_unknown = "unknown";

/// How something became known: libvirt said so when it happened, or a full list differed from what
/// was known. What resync finds may have happened any time before.
enum class FoundBy : std::uint8_t { event, resync };
[[nodiscard]] std::string_view to_string(FoundBy found_by) noexcept;

/// One guest as known on this host. Its identity is the UUID: a new UUID under an old name is
/// another guest.
struct GuestState {
    std::string uuid;  ///< lower case, with dashes
    std::string name;
    /// "running", "blocked", "paused", "shutdown" (going down), "shutoff", "crashed",
    /// "pmsuspended", "nostate" (libvirt's states), or "unknown" (libvirt can't be asked)
    std::string state;
    WallTime since{};  ///< when this state was first seen; for "unknown": when libvirt went away
    FoundBy found_by = FoundBy::resync;
    bool persistent = true;        ///< libvirt keeps its definition when it stops
    std::uint64_t memory_kib = 0;  ///< KiB, from its document
    /// From the live document; of a guest that is shut off: as it is defined, host-model not yet
    /// resolved. None: not read yet, or the document can't be used.
    std::optional<migration::GuestCpu> cpu;
    std::string cpu_error;  ///< why there is no `cpu`; empty also while not read yet

    friend bool operator==(const GuestState&, const GuestState&) = default;
};

enum class EventKind : std::uint8_t {
    added,                ///< defined or started here, or seen for the first time
    removed,              ///< neither running nor defined here any more
    state_changed,        ///< also to and from "unknown"
    updated,              ///< same state, other name, memory, CPU or persistence
    rebooted,             ///< by itself or on request
    migration_iteration,  ///< an outgoing migration began another pass over memory
    job_completed,        ///< a job (migration, dump, backup …) ended
    device_removed,       ///< a device left the guest
    agent_changed,        ///< the guest agent's channel opened or closed
};
/// "added", "state-changed", …: words of the JSON contract.
[[nodiscard]] std::string_view to_string(EventKind kind) noexcept;

/// What is known of a job that ended. Times in ms, sizes in bytes.
struct JobSummary {
    bool success = false;
    std::string operation;  ///< "migration-out", "migration-in", "save", …, "unknown"
    std::uint64_t elapsed_ms = 0;
    std::uint64_t downtime_ms = 0;
    std::uint64_t total_bytes = 0;
    std::uint64_t processed_bytes = 0;

    friend bool operator==(const JobSummary&, const JobSummary&) = default;
};

/// Something happened to a guest, or was found to have happened.
struct GuestEvent {
    EventKind kind = EventKind::state_changed;
    std::string uuid;
    std::string name;
    std::string state;  ///< after the event; of a removed guest: the last one known
    WallTime since{};   ///< of `state`; for `removed` and one-off kinds: when it was seen
    FoundBy found_by = FoundBy::event;
    std::string detail;  ///< for people: "booted", "migrated", the device's alias, "connected"
    std::uint64_t iteration = 0;    ///< migration_iteration: libvirt's count, from 1
    std::optional<JobSummary> job;  ///< job_completed

    friend bool operator==(const GuestEvent&, const GuestEvent&) = default;
};

}  // namespace scout::hypervisor
