// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cluster/objects.h"
#include "migration/cpu_map.h"
#include "migration/label_check.h"

namespace scout::cluster {

/// migration::check_labels() of every Node object, with the obsolete models of the KubeVirt object
/// that is in force. `map` may be null. Pure.
[[nodiscard]] std::vector<migration::NodeFindings> check_labels(const Objects& objects,
                                                                const migration::CpuMap* map);

}  // namespace scout::cluster
