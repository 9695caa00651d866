// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/clock.h"
#include "cluster/records.h"
#include "migration/stuck.h"

/// Marks and migrations of a cluster that are stuck, from its objects alone. Pure.
namespace scout::cluster {

/// In the order of namespaces and names; VMs that are fine are not there. `moves_known`: VMIMs are
/// among what was read, also where there is none.
[[nodiscard]] std::vector<migration::StuckAnswer> stuck_moves(const Records& records, WallTime now,
                                                              bool moves_known = true);

}  // namespace scout::cluster
