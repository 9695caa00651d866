// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/result.h"
#include "kube/client.h"

namespace scout::aggregator {

/// For a write that only the leader may make, and that must not arrive when another one leads
/// already. `may_write_for`: as LeaderElector has it. Errors: unavailable (it does not lead).
[[nodiscard]] Result<kube::CallOptions> leader_call(std::chrono::milliseconds may_write_for,
                                                    std::chrono::milliseconds most);

}  // namespace scout::aggregator
