// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/clock.h"
#include "cluster/levels.h"
#include "cluster/objects.h"
#include "migration/label_check.h"

namespace scout::cluster {

/// migration::check_labels() of every Node object, with the obsolete models and the machine types
/// of the KubeVirt object that is in force; and the level labels against what the objects of this
/// moment come to. Pure.
[[nodiscard]] std::vector<migration::NodeFindings> check_labels(const Objects& objects,
                                                                WallTime now, LevelOptions options);

}  // namespace scout::cluster
