// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include "base/clock.h"
#include "fleet/fleet.h"
#include "kube/access.h"

namespace scout::cli {

/// Asks the aggregators of a cluster through its API server, as the user of the access. The clock
/// outlives it. Errors of its calls: refused, with the right that is missing; not_found also where
/// the cluster has no query API; invalid for what only an aggregator's own address answers.
[[nodiscard]] std::unique_ptr<fleet::Fleet> open_api_fleet(const kube::ClusterAccess& access,
                                                           const Clock& clock,
                                                           std::chrono::milliseconds deadline);

}  // namespace scout::cli
