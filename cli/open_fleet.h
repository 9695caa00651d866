// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "cli/answers.h"
#include "cli/cluster_access.h"
#include "cli/settings.h"
#include "cli/subject.h"
#include "fleet/fleet.h"

namespace scout::cli {

using fleet::Fleet;
using fleet::FleetSubject;

/// Opens the connection that the settings describe, with `access` where they name the cluster's own
/// aggregator. Errors: what wire::parse_endpoint(), check_security() and open_channel() refuse, and
/// find_access(); nothing is sent yet. The clock outlives the fleet.
[[nodiscard]] Result<std::unique_ptr<Fleet>> open_fleet(const Settings& settings,
                                                        const AccessRequest& access,
                                                        const Clock& clock);

}  // namespace scout::cli
