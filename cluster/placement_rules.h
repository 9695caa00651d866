// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/level_demands.h"

namespace scout::cluster {

/// Who asks for a level.
enum class DemandSource : std::uint8_t {
    kubevirt,      ///< the KubeVirt object, whose schema has the fields on a fork only
    scout_config,  ///< ours, for all other clusters
};

/// "the KubeVirt object", "ScoutConfig"
[[nodiscard]] std::string_view to_string(DemandSource source) noexcept;

/// The level that the first node of a host-model guest must have.
struct LevelRequirement {
    unsigned level = 0;  ///< 0 to 100
    DemandSource source{};

    bool operator==(const LevelRequirement&) const = default;
};

struct LevelPreference {
    unsigned level = 0;   ///< 0 to 100
    unsigned weight = 1;  ///< 1 to 100, as the scheduler weighs
    DemandSource source{};

    bool operator==(const LevelPreference&) const = default;
};

/// What holds of the demands that were made.
struct PlacementRules {
    std::optional<LevelRequirement> required;
    std::optional<LevelPreference> preferred;
    /// One sentence each: demands that are not applied, and those that another one outdoes.
    std::vector<std::string> faults;

    bool operator==(const PlacementRules&) const = default;
};

/// Each may be null. Of a demand that both objects make the KubeVirt object's holds, even if it is
/// at fault and so nothing is applied: which object decides must not hang on a typing error.
/// Pure.
[[nodiscard]] PlacementRules placement_rules(const kube::LevelDemands* kubevirt,
                                             const kube::LevelDemands* scout_config);

}  // namespace scout::cluster
