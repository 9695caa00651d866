// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/levels.h"
#include "cluster/objects.h"
#include "migration/cpu_map.h"
#include "migration/upgrade_impact.h"

/// What the change of a node's CPU profile means. Pure.
namespace scout::cluster {

/// From the two profiles that the node's annotations name. The notes name VMIs, a bounded number:
/// those that run elsewhere and can no longer come to the node, whose labels before are worked out
/// of the profile; and those of host-model that started on it, if they were before the
/// change and lose targets by it. Objects do not tell the CPU of a running guest: it is assumed as
/// place_vmi() does it. Of `options` the layer does not matter. Errors: not_found for a node that
/// is none, that names no profile before, or whose profiles are not among the objects.
[[nodiscard]] Result<migration::UpgradeImpact> node_upgrade_impact(const Objects& objects,
                                                                   std::string_view node,
                                                                   const LevelOptions& options);

/// The change in one sentence for an Event: names, host-models, what of the features of guests is
/// lost and gained.
[[nodiscard]] std::string profile_change_note(const CpuProfile& before, const CpuProfile& now,
                                              const migration::CpuMap* map);

}  // namespace scout::cluster
