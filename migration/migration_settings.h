// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "migration/quantity.h"

/// The numbers that one migration runs by (dossier §7, §8). Pure; any thread; nothing here fails.
namespace scout::migration {

/// What a KubeVirt object or a MigrationPolicy says of them. None: says nothing.
struct MigrationOverrides {
    std::optional<bool> allow_auto_converge;
    std::optional<bool> allow_post_copy;
    std::optional<bool> allow_workload_disruption;
    std::optional<Quantity> bandwidth;  ///< bytes per second
    std::optional<std::chrono::seconds> completion_per_gib;
    std::optional<std::chrono::seconds> progress;  ///< the KubeVirt object only
    std::optional<std::chrono::milliseconds> max_downtime;

    friend bool operator==(const MigrationOverrides&, const MigrationOverrides&) = default;
};

/// In force for one migration; as it stands, KubeVirt's defaults.
struct MigrationSettings {
    bool allow_auto_converge = false;
    bool allow_post_copy = false;
    /// The guest may be paused, or switched to post-copy, when time is up.
    bool allow_workload_disruption = false;
    Quantity bandwidth;  ///< bytes per second; see bandwidth_limit()
    std::chrono::seconds completion_per_gib{150};
    std::chrono::seconds progress{150};  ///< without any data moved: given up
    /// Obeyed only with the gate MigrationStallDetection; without it QEMU's own limit counts.
    std::chrono::milliseconds max_downtime{900};

    friend bool operator==(const MigrationSettings&, const MigrationSettings&) = default;
};

/// The defaults, over them what the KubeVirt object says, over that what the policy says that
/// matched. Where post-copy is set and disruption is not, in the same object, disruption follows.
[[nodiscard]] MigrationSettings settings_in_force(const MigrationOverrides& kubevirt,
                                                  const MigrationOverrides* policy);

/// Where a number in force comes from.
enum class SettingOrigin : std::uint8_t {
    built_in,  ///< KubeVirt's own default
    kubevirt,  ///< the KubeVirt object
    policy,    ///< the MigrationPolicy that matched
};

[[nodiscard]] std::string_view to_string(SettingOrigin origin) noexcept;  // "default", …

/// Of each setting of settings_in_force() for the same two.
struct SettingOrigins {
    SettingOrigin allow_auto_converge{};
    SettingOrigin allow_post_copy{};
    SettingOrigin allow_workload_disruption{};
    SettingOrigin bandwidth{};
    SettingOrigin completion_per_gib{};
    SettingOrigin progress{};
    SettingOrigin max_downtime{};

    friend bool operator==(const SettingOrigins&, const SettingOrigins&) = default;
};
[[nodiscard]] SettingOrigins setting_origins(const MigrationOverrides& kubevirt,
                                             const MigrationOverrides* policy);

/// What libvirt is told, in MiB per second: whole bytes, below 1 MiB/s one, else the nearest MiB.
/// None: no limit, for less than one byte per second is asked.
[[nodiscard]] std::optional<std::uint64_t> bandwidth_limit(const Quantity& bandwidth) noexcept;

/// How long it may take: per started 10⁹ bytes of the guest's memory, and of the local disks that
/// move along; zero: as long as it likes. When it is over the guest is switched to post-copy or
/// paused where allowed (paused for as long again), else the migration is aborted (dossier §8).
[[nodiscard]] std::chrono::seconds completion_limit(const MigrationSettings& settings,
                                                    std::uint64_t bytes) noexcept;

}  // namespace scout::migration
