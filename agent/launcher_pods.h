// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "agent/launcher_ranks.h"
#include "launcher/launchers.h"

namespace scout::agent {

/// Lists the launchers of this node as a PressureWatch wants them; empty without any (null). Loop
/// thread, while they live.
[[nodiscard]] std::function<std::vector<LauncherPod>()> launcher_pods(
    const launcher::Launchers* launchers);

}  // namespace scout::agent
