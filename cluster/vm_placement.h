// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "migration/comparison.h"
#include "migration/cpu_map.h"

/// Where VMIs of a cluster can go, from its objects alone. Pure.
namespace scout::cluster {

/// The VMI of that name, "NAMESPACE/NAME" or uid; on that node, if one is given. Errors: not_found,
/// with the name that is nearest; invalid if several fit, with their names.
[[nodiscard]] Result<const kube::Vmi*> find_vmi(const Objects& objects, std::string_view name,
                                                std::string_view node = {});

/// Both layers for every node but its own. Stock layer: what its next target pod will ask for
/// (migration/target_pod.h), nodes that take no VMs now, and what keeps the VMI itself from being
/// migrated. Truth layer: objects do not tell the CPU of a running guest, so that of a host-model
/// guest is taken from its selectors or, before its first migration, from the labels of its node; a
/// note says so. Affinity, other taints than a cordon's and resources are not judged; a note says
/// that too. `map` may be null. The placement's subject is "NAMESPACE/NAME".
[[nodiscard]] migration::Placement place_vmi(const Objects& objects, const kube::Vmi& vmi,
                                             WallTime now, const migration::CpuMap* map);

}  // namespace scout::cluster
