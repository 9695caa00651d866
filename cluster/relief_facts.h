// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/objects/migration.h"
#include "kube/objects/node.h"
#include "kube/objects/vmi.h"
#include "migration/node_selector.h"
#include "migration/pressure_relief.h"

/// What the cluster's objects say of moves ahead of pressure, and the migration that one of them is
/// (decision 0016). Pure.
namespace scout::cluster {

/// On a migration that was made ahead of pressure: the node that it relieves.
inline constexpr std::string_view relieved_node_annotation = "virt-scout.io/relieves-node";

/// Why a VMI must not or cannot be moved, whatever its node is short of. `strategy`: that of the
/// KubeVirt object, for a VMI without.
[[nodiscard]] std::optional<migration::ReliefHold> relief_hold(const kube::Vmi& vmi,
                                                               std::string_view strategy);

/// When it came to the node on which it runs; none: by no migration, as far as told.
[[nodiscard]] std::optional<WallTime> arrival_of(const kube::Vmi& vmi);

/// Ready, not cordoned, and schedulable for KubeVirt. Taints are left to the scheduler: VMs may
/// tolerate them.
[[nodiscard]] bool takes_vms(const kube::Node& node);
/// The kubelet says that it is under pressure.
[[nodiscard]] bool is_strained(const kube::Node& node);

/// Made ahead of pressure, by its name, which nobody can change.
[[nodiscard]] bool is_relief(const kube::Migration& migration);

/// Not handed off: KubeVirt waits, or schedules its target pod (dossier §6.2, §6.5). One in a phase
/// that nobody knows is none. `vmi` may be null.
[[nodiscard]] bool can_be_taken_back(const kube::Migration& migration, const kube::Vmi* vmi);
/// KubeVirt waits until its target pod is scheduled. One without this phase may have such a pod
/// too: with hotplugged volumes it stays Pending.
[[nodiscard]] bool is_scheduling(const kube::Migration& migration);

/// The migration as JSON for the API server, which makes up the rest of its name. Its target must
/// be none of the nodes `pressed`. For a KubeVirt that does not know terms it lacks what stands for
/// it: with_sentinel() of cluster/move_object.h.
[[nodiscard]] std::string relief_object(const migration::ReliefMove& move,
                                        const std::vector<std::string>& pressed);

}  // namespace scout::cluster
