// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/evacuation_acts.h"
#include "cluster/migration_numbers.h"
#include "cluster/settings_in_force.h"
#include "kube/objects/launcher_pod.h"
#include "migration/evacuation.h"
#include "virt_scout/v1/evacuation.pb.h"

/// What agents and the leader say of evacuations, from and to the messages of the wire
/// (proto/virt_scout/v1/evacuation.proto). What comes in is bounded.
namespace scout::aggregator {

namespace v1 = virt_scout::v1;

inline constexpr std::size_t evacuations_limit = 1000;  ///< of one node
inline constexpr std::size_t reason_limit = 1024;       ///< bytes

/// A launcher that an agent names.
struct NamedEvacuation {
    std::string space;
    std::string vmi;
    std::string vmi_uid;
    std::string pod_uid;
    std::optional<migration::EvacuationState> state;  ///< none: one that we do not know
    std::string reason;
    std::int64_t stop_by_unix_ms = 0;  ///< 0: not known
};

/// One that does not say of which launcher it is, or of a VMI that was named before it, is left
/// out. Errc::invalid names what is wrong: more than the limit, or a text that is too long.
[[nodiscard]] Result<std::vector<NamedEvacuation>> evacuations_from_wire(
    const v1::Evacuations& message);

/// None: not one of migration's.
[[nodiscard]] std::optional<migration::EvacuationStep> evacuation_step(std::string_view word);

[[nodiscard]] v1::EvacuationRules to_wire(const cluster::EvacuationRules& rules, bool stamp,
                                          std::string_view strategy);
[[nodiscard]] v1::VmiFacts to_wire(const migration::VmiFacts& facts, std::chrono::seconds grace);
[[nodiscard]] v1::MoveFacts to_wire(const migration::MoveFacts& facts);
[[nodiscard]] v1::PodFacts to_wire(const kube::LauncherPod& pod);
[[nodiscard]] v1::MigrationNumbers to_wire(const cluster::MigrationNumbers& numbers);
[[nodiscard]] v1::EvacuationResult::Outcome to_wire(migration::StepOutcome outcome);
/// "done", "would-evict", …
[[nodiscard]] std::string_view outcome_word(migration::StepOutcome outcome) noexcept;

}  // namespace scout::aggregator
