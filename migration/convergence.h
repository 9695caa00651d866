// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "migration/migration_settings.h"

/// Whether a live migration will end, how, and when: pre-copy as QEMU does it, under the limits
/// that virt-launcher keeps (dossier §8). Sizes in bytes, rates in bytes per second. Pure; any
/// thread; nothing here fails.
namespace scout::migration {

/// A value that is known to lie between two others.
struct Range {
    std::uint64_t least = 0;
    std::uint64_t likely = 0;
    std::uint64_t most = 0;

    friend bool operator==(const Range&, const Range&) = default;
};

/// Disks that a migration copies along.
struct CopiedDisks {
    Range bytes;                ///< from what is known to be in use to all that they can hold
    std::uint64_t counted = 0;  ///< what the launcher's completion limit counts of them

    friend bool operator==(const CopiedDisks&, const CopiedDisks&) = default;
};

struct MigrationLoad {
    Range memory;      ///< pages that are not zero: from what is resident to all of the guest's
    Range dirty_rate;  ///< what the guest writes to; the same page twice in a second counts once
    Range bandwidth;   ///< of the link, whatever the policy allows
    CopiedDisks disks;
    std::chrono::milliseconds setup{0};  ///< until the launcher is asked to migrate
    /// From then until the first page moves: libvirt starts QEMU on the target. The launcher's
    /// limits count from its beginning.
    std::chrono::milliseconds start{0};
};

enum class MigrationEnd : std::uint8_t {
    converged,  ///< by itself: what was left fitted into the pause
    post_copy,  ///< switched when the completion limit was over
    paused,     ///< the guest was stopped for the rest when the limit was over
    aborted,    ///< given up at the limit; the guest stays
    never,      ///< neither ends nor is given up
};
[[nodiscard]] std::string_view to_string(MigrationEnd end) noexcept;  // "converged", "post-copy", …

/// How one migration goes under one set of assumptions. `never` has no duration.
struct MigrationCourse {
    MigrationEnd end = MigrationEnd::never;
    std::chrono::milliseconds duration{0};  ///< until the guest runs on the target, or is given up
    std::chrono::milliseconds downtime{0};  ///< of the guest
    unsigned passes = 0;                    ///< over its memory
    unsigned throttle = 0;  ///< percent of its CPU time that auto-converge took away in the end

    [[nodiscard]] bool moved() const noexcept {
        return end != MigrationEnd::aborted && end != MigrationEnd::never;
    }

    friend bool operator==(const MigrationCourse&, const MigrationCourse&) = default;
};

struct MigrationForecast {
    MigrationCourse optimistic;  ///< least to move, least written, most bandwidth
    MigrationCourse expected;
    MigrationCourse pessimistic;

    friend bool operator==(const MigrationForecast&, const MigrationForecast&) = default;
};

/// `downtime` is what QEMU may stop the guest for: max_downtime of the settings where that is
/// obeyed, else none for QEMU's default of 300 ms.
[[nodiscard]] MigrationForecast forecast(
    const MigrationLoad& load, const MigrationSettings& settings,
    std::optional<std::chrono::milliseconds> downtime = std::nullopt);

}  // namespace scout::migration
