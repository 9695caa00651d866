// SPDX-License-Identifier: Apache-2.0
#include "migration/migration_settings.h"

#include <algorithm>
#include <limits>

namespace scout::migration {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;
constexpr std::uint64_t completion_unit = 1'000'000'000;

/// What is said goes over what was in force. `take`: (optional of what is said, member in force).
template <class Settings, class Take>
void overlay(const MigrationOverrides& said, Settings& settings, Take take) {
    take(said.allow_auto_converge, settings.allow_auto_converge);
    take(said.allow_post_copy, settings.allow_post_copy);
    take(said.allow_post_copy, settings.allow_workload_disruption);
    take(said.allow_workload_disruption, settings.allow_workload_disruption);
    take(said.bandwidth, settings.bandwidth);
    take(said.completion_per_gib, settings.completion_per_gib);
    take(said.progress, settings.progress);
    take(said.max_downtime, settings.max_downtime);
}

void overlay(const MigrationOverrides& said, MigrationSettings& settings) {
    overlay(said, settings,
            [](const auto& value, auto& in_force) { in_force = value.value_or(in_force); });
}

void overlay(const MigrationOverrides& said, SettingOrigin origin, SettingOrigins& origins) {
    overlay(said, origins, [origin](const auto& value, SettingOrigin& in_force) {
        in_force = value ? origin : in_force;
    });
}

}  // namespace

MigrationSettings settings_in_force(const MigrationOverrides& kubevirt,
                                    const MigrationOverrides* policy) {
    MigrationSettings settings;
    overlay(kubevirt, settings);
    if (policy != nullptr) {
        overlay(*policy, settings);
    }
    return settings;
}

std::string_view to_string(SettingOrigin origin) noexcept {
    switch (origin) {
        case SettingOrigin::built_in:
            return "default";
        case SettingOrigin::kubevirt:
            return "kubevirt";
        case SettingOrigin::policy:
            return "policy";
    }
    return "default";
}

SettingOrigins setting_origins(const MigrationOverrides& kubevirt,
                               const MigrationOverrides* policy) {
    SettingOrigins origins;
    overlay(kubevirt, SettingOrigin::kubevirt, origins);
    if (policy != nullptr) {
        overlay(*policy, SettingOrigin::policy, origins);
    }
    return origins;
}

std::optional<std::uint64_t> bandwidth_limit(const Quantity& bandwidth) noexcept {
    const auto bytes = bandwidth.rounded_down();
    if (bytes == 0) {
        return std::nullopt;
    }
    const auto half_up = bytes % mebibyte >= mebibyte / 2 ? 1U : 0U;
    return std::max<std::uint64_t>(1, bytes / mebibyte + half_up);
}

std::chrono::seconds completion_limit(const MigrationSettings& settings,
                                      std::uint64_t bytes) noexcept {
    const auto units =
        static_cast<std::int64_t>(bytes / completion_unit + (bytes % completion_unit != 0 ? 1 : 0));
    const auto each = std::max<std::int64_t>(0, settings.completion_per_gib.count());
    const bool fits = each == 0 || units <= std::numeric_limits<std::int64_t>::max() / each;
    return fits ? std::chrono::seconds{units * each} : std::chrono::seconds::max();
}

}  // namespace scout::migration
