// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "cli/session.h"

namespace scout::cli {

/// The whole of main(): runs the command line on this process's stdout and stderr. Answers the exit
/// code, also for what is thrown. The clock outlives the call.
[[nodiscard]] int run_on_terminal(int argc, char** argv, const Clock& clock, OpenFleet open_fleet);

/// Becomes `scoutctl-fleet`, which stands beside this program (or in ../libexec/virt-scout), with
/// the same arguments: loading gRPC takes several times as long as comparing two documents, so only
/// the commands that speak to an aggregator pay for it. Comes back with an error only.
[[nodiscard]] Result<std::unique_ptr<Fleet>> hand_over(char** argv);

}  // namespace scout::cli
