// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/result.h"
#include "cli/answers.h"
#include "cli/settings.h"
#include "cli/subject.h"
#include "fleet/fleet.h"

namespace scout::cli {

using fleet::Fleet;
using fleet::FleetSubject;

/// Opens the connection that the settings describe. Errors: what wire::parse_endpoint(),
/// check_security() and open_channel() refuse; nothing is sent yet.
[[nodiscard]] Result<std::unique_ptr<Fleet>> open_fleet(const Settings& settings);

}  // namespace scout::cli
