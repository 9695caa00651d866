// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/objects/level_demands.h"
#include "kube/objects/meta.h"

namespace scout::kube {

class JsonObject;

/// virt-scout.io/v1alpha1 ScoutConfig (daemonset/base/crds/scoutconfigs.yaml) as it is written:
/// what is absent is empty, and values that the served schema may not have checked are the
/// reader's to check.
struct ScoutConfig {
    /// The one that is in force.
    static constexpr std::string_view name_in_force = "default";

    ObjectMeta meta;
    std::int64_t generation = 0;

    SharedText layer;         ///< of the level labels
    SharedText machine_type;  ///< of the levels
    SharedText cordoned_for;  ///< a duration
    SharedText not_ready_for;
    LevelDemands placement;
    SharedText evacuation_mode;        ///< off, observe, act
    SharedText evacuation_escalation;  ///< none, auto-converge, post-copy, pause
    std::optional<std::int64_t> evacuation_reserve;
    std::optional<std::int64_t> evacuation_patience;
    SharedText pressure_mode;  ///< observe, act
    std::optional<std::int64_t> pressure_moves_per_minute;
    SharedText policy_lint;   ///< off, warn, refuse
    SharedText history_keep;  ///< a duration

    std::int64_t observed_generation = 0;
    std::vector<Condition> conditions;

    bool operator==(const ScoutConfig&) const = default;
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<ScoutConfig> decode_scout_config(JsonObject& object);

}  // namespace scout::kube
