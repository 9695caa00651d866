// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/scout_config.h"

/// Whether VMs are moved away from nodes that are about to run short, before their launchers are
/// told to stop, and how many (design §6, "Before the mark"). Pure.
namespace scout::cluster {

enum class ReliefMode : std::uint8_t {
    observe,  ///< pressure is told, and nothing moved for it
    act,
};
[[nodiscard]] std::string_view to_string(ReliefMode mode) noexcept;  // "observe", "act"
[[nodiscard]] std::optional<ReliefMode> relief_mode_named(std::string_view word) noexcept;

struct ReliefRules {
    ReliefMode mode = ReliefMode::observe;
    unsigned moves_per_minute = 2;  ///< 1 … 60, of the whole cluster

    bool operator==(const ReliefRules&) const = default;
};

/// Null: there is none. What is wrong is added to `faults`; the default is in its place.
[[nodiscard]] ReliefRules relief_rules(const kube::ScoutConfig* config,
                                       std::vector<std::string>& faults);

/// What is in force in a few words, for people.
[[nodiscard]] std::string summary(const ReliefRules& rules);

}  // namespace scout::cluster
