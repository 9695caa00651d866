// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "migration/vm_protection.h"

namespace scout::cluster {

/// What an admin can do for a VM of which this is the answer; empty: nothing has to be done, or
/// nothing helps. `is_own`: the strategy is the VM's, and not the cluster's. Pure.
[[nodiscard]] std::string protection_advice(const migration::ProtectionFacts& facts,
                                            const migration::ProtectionAnswer& answer, bool is_own);

}  // namespace scout::cluster
