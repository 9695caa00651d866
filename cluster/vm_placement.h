// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "migration/comparison.h"
#include "migration/cpu_map.h"
#include "migration/guest.h"
#include "migration/named_target.h"
#include "migration/target_pod.h"

/// Where VMIs of a cluster can go, from its objects alone. Pure.
namespace scout::cluster {

class SchedulingView;

/// "NAMESPACE/NAME", or the name alone where there is no namespace.
[[nodiscard]] std::string full_name(const kube::ObjectMeta& meta);

/// The VMI of that name, "NAMESPACE/NAME" or uid; on that node, if one is given. Errors: not_found,
/// with the name that is nearest; invalid if several fit, with their names.
[[nodiscard]] Result<const kube::Vmi*> find_vmi(const Objects& objects, std::string_view name,
                                                std::string_view node = {});

/// Both layers for every node but its own. Stock layer: what its next target pod will ask for
/// (migration/target_pod.h), nodes that take no VMs now, and what keeps the VMI itself from being
/// migrated. Truth layer: objects do not tell the CPU of a running guest, so that of a host-model
/// guest is taken from its selectors or, before its first migration, from the labels of its node; a
/// note says so. What kube-scheduler goes by is judged where the objects have their `scheduling`;
/// else a note says that it is not. `map` may be null. The placement's subject is
/// "NAMESPACE/NAME". `wish`: what its migration asks for besides. `view`: of these objects, where
/// many VMIs are asked about; null: one is made.
[[nodiscard]] migration::Placement place_vmi(const Objects& objects, const kube::Vmi& vmi,
                                             WallTime now, const migration::CpuMap* map,
                                             const migration::MoveWish& wish = {},
                                             const SchedulingView* view = nullptr);

/// What keeps the VMI from being migrated at all (dossier §4.5); none: nothing does.
[[nodiscard]] std::optional<migration::Reason> why_not_movable(const kube::Vmi& vmi);

/// Labels that the VMI's next target pod asks for, whatever its migration adds: all but the vendor,
/// which KubeVirt adds only where none is asked for yet (dossier §5.4, step 4).
[[nodiscard]] migration::Labels own_selectors(const Objects& objects, const kube::Vmi& vmi);

/// VMIs as KubeVirt would migrate them, as place_vmi() takes them, for questions about many. Refers
/// to the objects.
class MovingVms {
public:
    explicit MovingVms(const Objects& objects);

    /// All but the labels of its node, which VMIs of a node share.
    [[nodiscard]] migration::MovingVm without_source(const kube::Vmi& vmi) const;
    [[nodiscard]] std::optional<migration::Labels> labels_of(std::string_view node) const;
    /// It is of host-model, and its next migration goes by what the labels of its node say then.
    [[nodiscard]] bool goes_by_node(const kube::Vmi& vmi) const;

private:
    const Objects& objects_;
    std::unordered_multimap<std::string_view, const kube::LauncherPod*> launchers_;  ///< by VMI
    std::unordered_map<std::string_view, const kube::Node*> nodes_;                  ///< by name
};

}  // namespace scout::cluster
