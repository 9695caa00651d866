// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cluster/cause_facts.h"
#include "cluster/records.h"

namespace scout::cluster {

/// Why it is not known what ended a launcher of a VM, though nothing that was read ends one: the
/// one that runs is not among it, or there are signs of an earlier one. Empty: neither. A VMI
/// never starts anew, so what is older than it is of a VMI before it. `launchers`: all that are
/// known of the VM. Pure.
[[nodiscard]] std::string unseen_end(const Records& records, const kube::VmiRecord& vmi,
                                     const std::vector<LauncherSeen>& launchers);

}  // namespace scout::cluster
