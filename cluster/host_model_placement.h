// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/levels.h"
#include "cluster/objects.h"
#include "migration/comparison.h"

namespace scout::cluster {

/// Where a host-model guest can go that starts on this node now, from a cluster's objects alone:
/// both layers, and nodes that take no VMs now. `options.layer` does not matter here. Pure. Errors:
/// not_found, with the name that is nearest.
[[nodiscard]] Result<migration::Placement> place_host_model(const Objects& objects,
                                                            std::string_view node, WallTime now,
                                                            const LevelOptions& options);

}  // namespace scout::cluster
