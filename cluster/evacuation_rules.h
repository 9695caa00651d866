// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/kubevirt.h"
#include "kube/objects/scout_config.h"
#include "migration/escalation.h"

/// Whether VMs are moved before their nodes kill them, and by which rules (design §6). Pure.
namespace scout::cluster {

enum class EvacuationMode : std::uint8_t {
    off,
    observe,  ///< what would be done is told
    act,
};
[[nodiscard]] std::string_view to_string(EvacuationMode mode) noexcept;  // "observe", …
[[nodiscard]] std::optional<EvacuationMode> evacuation_mode_named(std::string_view word) noexcept;

/// By whom the mode was chosen.
enum class ModeSource : std::uint8_t { scout_config, gate, default_value };
[[nodiscard]] std::string_view to_string(ModeSource source) noexcept;

struct EvacuationRules {
    EvacuationMode mode = EvacuationMode::observe;
    ModeSource mode_by = ModeSource::default_value;
    std::chrono::seconds reserve{10};   ///< 0 s … 1 h; for the guest's own shutdown
    std::chrono::seconds patience{60};  ///< 20 s … 10 min; with a leader that is not heard
    migration::Escalation escalation = migration::Escalation::none;
    bool hooks = false;  ///< KubeVirt lists the gate of its node hooks

    bool operator==(const EvacuationRules&) const = default;
};

/// Of KubeVirt's feature gates.
inline constexpr std::string_view evacuation_gate = "NodePressureEvictionLiveMigration";
inline constexpr std::string_view hooks_gate = "Plugins";

/// Listed as on, and not as off. Null: no gate is.
[[nodiscard]] bool lists_gate(const kube::KubeVirt* kubevirt, std::string_view gate);

/// Both may be null. What is wrong in the ScoutConfig is added to `faults`; the default is in its
/// place, but never a mode that does more than was asked for.
[[nodiscard]] EvacuationRules evacuation_rules(const kube::ScoutConfig* config,
                                               const kube::KubeVirt* kubevirt,
                                               std::vector<std::string>& faults);

/// What is in force in a few words, for people.
[[nodiscard]] std::string summary(const EvacuationRules& rules);

}  // namespace scout::cluster
