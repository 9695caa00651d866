// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "migration/pressure_report.h"
#include "virt_scout/v1/pressure.pb.h"

/// A node's pressure from and to the wire.
namespace scout::wire {

/// As much as from_wire() takes of it; texts that are no UTF-8 are mended.
[[nodiscard]] virt_scout::v1::NodePressure to_wire(const migration::PressureReport& report);

/// Errors: invalid (names the field), for what is too long, or a signal that there is not.
[[nodiscard]] Result<migration::PressureReport> from_wire(
    const virt_scout::v1::NodePressure& message);

}  // namespace scout::wire
