// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "migration/eviction_order.h"
#include "migration/pressure_report.h"
#include "virt_scout/v1/pressure.pb.h"

/// A node's pressure, and what its launchers are ranked by, from and to the wire.
namespace scout::wire {

/// As much as from_wire() takes of it; texts that are no UTF-8 are mended.
[[nodiscard]] virt_scout::v1::NodePressure to_wire(const migration::PressureReport& report);

/// Errors: invalid (names the field), for what is too long, or a signal that there is not.
[[nodiscard]] Result<migration::PressureReport> from_wire(
    const virt_scout::v1::NodePressure& message);

/// So many launchers of one node are told and taken.
inline constexpr std::size_t most_standings = 1'000;

[[nodiscard]] virt_scout::v1::LauncherStandings to_wire(const migration::PodStandings& standings);
/// Never refused: more than the limit are passed over.
[[nodiscard]] migration::PodStandings from_wire(const virt_scout::v1::LauncherStandings& message);

}  // namespace scout::wire
