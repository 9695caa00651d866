// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/evacuation_rules.h"
#include "cluster/levels.h"
#include "cluster/placement_rules.h"
#include "cluster/policy_review.h"
#include "cluster/relief_rules.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/scout_config.h"
#include "migration/verdict.h"

/// What a process in a cluster works by: the ScoutConfig where it says something, else what the
/// process was given (design §4). Pure.
namespace scout::cluster {

/// Of the level labels; the members are those of LevelOptions and CountingRules.
struct LevelSettings {
    migration::Layer layer = migration::Layer::stock;
    std::string machine_type;
    std::chrono::milliseconds cordoned_for{};
    std::chrono::milliseconds not_ready_for{};

    bool operator==(const LevelSettings&) const = default;
};

[[nodiscard]] LevelSettings level_settings(const LevelOptions& options);
[[nodiscard]] LevelOptions with_settings(LevelOptions options, const LevelSettings& settings);

struct SettingsInForce {
    LevelSettings levels;
    PlacementRules placement;  ///< its faults are among those here
    EvacuationRules evacuation;
    ReliefRules relief;
    PolicyLintMode policy_lint = PolicyLintMode::warn;
    /// What became of launchers and migrations is told for so long; 0: not after they are gone.
    std::chrono::milliseconds history_keep = std::chrono::hours{24};
    /// What the ScoutConfig says and is not obeyed, with the reason; what was given is in its
    /// place. A served schema of ours lets none of them through, but for what another object says
    /// otherwise.
    std::vector<std::string> faults;

    bool operator==(const SettingsInForce&) const = default;
};

/// Both objects may be null: there is none. `kubevirt`: the one in force.
[[nodiscard]] SettingsInForce settings_in_force(const LevelSettings& given,
                                                const kube::ScoutConfig* config,
                                                const kube::KubeVirt* kubevirt);

/// What keeps VMs from being killed by their nodes at this moment, and why it does not.
struct Protection {
    enum class State : std::uint8_t { yes, no, unknown };
    State state = State::unknown;
    std::string reason = "Starting";  ///< in CamelCase
    std::string message = "the cluster is being read";

    bool operator==(const Protection&) const = default;
};

/// What is in force in one line, for people.
[[nodiscard]] std::string summary(const SettingsInForce& settings);

/// The server-side apply of a status that tells what is in force; empty if the object tells that
/// already. It is of this object alone: of another uid the API server answers 409.
[[nodiscard]] std::string status_body(const kube::ScoutConfig& config,
                                      const SettingsInForce& settings, const Protection& protection,
                                      WallTime now);

}  // namespace scout::cluster
