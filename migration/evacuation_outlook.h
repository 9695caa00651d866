// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "migration/abort_time.h"
#include "migration/convergence.h"
#include "migration/evacuation.h"
#include "migration/eviction.h"
#include "migration/migration_settings.h"

/// What is thought of moving the VMs of launchers that were told to stop (design §6): how long they
/// have, how long a move takes at best, and which of many are begun soon enough. Sizes in bytes.
/// Pure; any thread; nothing here fails.
namespace scout::migration {

/// Where nothing better is known; for the best case, since a VM that is let go for a guess is lost.
struct MoveAssumptions {
    /// Bytes per second of the link, all of it. KubeVirt moves two VMs of a node at once, so half
    /// of it is what is expected; at worst it is a link of a tenth.
    std::uint64_t bandwidth = 1'250'000'000;
    /// From the request until the first page moves: scheduling, start of the target pod, hand-off.
    std::chrono::milliseconds setup{2'000};
};

/// What is known of one guest.
struct MoveSubject {
    StopTimes times;
    std::uint64_t memory = 0;                 ///< all that it has
    std::optional<std::uint64_t> resident;    ///< of that, what is in use
    std::optional<std::uint64_t> dirty_rate;  ///< bytes per second that it writes to
    CopiedDisks disks;                        ///< whole ones, also while its migration runs
    MigrationSettings settings;
    /// What QEMU may stop it for, where KubeVirt says it.
    std::optional<std::chrono::milliseconds> downtime;
    /// How long its migration runs already; none: it does not run.
    std::optional<std::chrono::milliseconds> running;
    std::optional<std::uint64_t> remaining;  ///< bytes that it has still to copy, as QEMU tells
    /// CopySpeed of the migration that runs; none: the assumed one.
    std::optional<std::uint64_t> copy_speed;
    AbortSubject abort;  ///< all but its memory
    bool pod_failed = false;
    bool liveness_kill = false;
    bool handler_stops = false;
    Escalation escalation = Escalation::none;
    bool escalated = false;   ///< its settings are those of a policy that was made for this move
    bool handed_off = false;  ///< its migration: other settings come too late for it
    /// Until when it must have ended, from now on; none: that is not known, and nothing is
    /// escalated.
    std::optional<std::chrono::milliseconds> left;
    /// To a device or a mount of its host: QEMU switches none of these to post-copy, and KubeVirt
    /// does not try with VFIO.
    bool tied = false;
};

/// All but Outlook::queued_in_time and next_evacuation. Without what is resident, or the rate of
/// writing, nothing of it is assumed. Of a migration that runs the duration is the rest: of what
/// remains, where that is told, else of the forecast. Of memory no more than is resident has to be
/// copied: QEMU counts pages that were never touched as remaining until it comes by.
[[nodiscard]] Outlook outlook_of(const MoveSubject& subject, const MoveAssumptions& assumed);

/// A whole move, without the time that it waits for others. Its optimistic course is that of
/// outlook_of(); the pessimistic one copies all of the memory.
[[nodiscard]] MigrationForecast forecast_of(const MoveSubject& subject,
                                            const MoveAssumptions& assumed);

/// One evacuation and the others of its node.
struct MoveCandidate {
    std::chrono::milliseconds duration{0};  ///< Outlook::duration
    std::chrono::milliseconds left{0};      ///< until a move of it must have ended
    bool wanted = true;    ///< KubeVirt would move it, and that would end; else it takes no place
    bool begun = false;    ///< its place is taken, whatever is decided
    bool running = false;  ///< and in use
};

/// Which of them KubeVirt begins soon enough, by moves_that_fit(). True for those that are not
/// wanted: they wait for nothing.
[[nodiscard]] std::vector<bool> queued_in_time(const std::vector<MoveCandidate>& candidates,
                                               unsigned slots);

}  // namespace scout::migration
