// SPDX-License-Identifier: Apache-2.0
#include "cluster/watched_records.h"

namespace scout::cluster {

/// Of one that ended well nothing was kept but that it did.
kube::PodRecord record_of(const kube::LauncherPod& pod) {
    if (pod.ending) {
        return *pod.ending;
    }
    kube::PodRecord record;
    record.meta = pod.meta;
    record.vmi_name = pod.vmi_name;
    record.vmi_uid = pod.vmi_uid;
    record.migration_uid = pod.migration_uid;
    record.node = pod.node;
    record.phase = pod.phase;
    record.deletion = pod.deletion;
    record.deletion_grace = pod.deletion_grace;
    if (pod.phase == "Succeeded") {
        record.containers.push_back({.name = kube::SharedText{"compute"},
                                     .memory_limit = {},
                                     .exit_code = 0,
                                     .reason = kube::SharedText{"Completed"},
                                     .finished = pod.ended});
    }
    return record;
}

kube::VmiRecord record_of(const kube::Vmi& vmi) {
    kube::VmiRecord record;
    record.meta = vmi.meta;
    record.eviction_source = vmi.eviction_source;
    if (vmi.labels.contains("kubevirt.io/outdatedLauncherImage")) {
        record.outdated_launcher = kube::SharedText{};
    }
    record.eviction_strategy = vmi.eviction_strategy;
    record.phase = vmi.phase;
    record.reason = vmi.reason;
    record.node = vmi.node;
    record.evacuation_node = vmi.evacuation_node;
    record.conditions = vmi.conditions;
    record.active_pods = vmi.active_pods;
    if (vmi.migration) {
        static_cast<kube::MigrationState&>(record.move.emplace()) = *vmi.migration;
    }
    record.controlled = vmi.controlled;
    record.deletion = vmi.deletion;
    if (vmi.ended) {
        record.phases.push_back({.phase = vmi.phase, .at = *vmi.ended});
    }
    return record;
}

kube::MoveRecord record_of(const kube::Migration& move, const kube::Vmi& vmi) {
    kube::MoveRecord record;
    record.meta = move.meta;
    record.annotations = move.annotations;
    record.vmi_name = move.vmi_name;
    record.priority = move.priority;
    record.phase = move.phase;
    record.conditions = move.conditions;
    record.creation = move.creation;
    record.deletion = move.deletion;
    if (vmi.migration && vmi.migration->uid == move.meta.uid) {
        static_cast<kube::MigrationState&>(record.state.emplace()) = *vmi.migration;
        if (move.is_final() && vmi.migration->end) {
            record.phases.push_back({.phase = move.phase, .at = *vmi.migration->end});
        }
    }
    return record;
}

kube::NodeRecord record_of(const kube::Node& node) {
    kube::NodeRecord record;
    record.meta = node.meta;
    record.schedulable = kube::SharedText{node.labels.find("kubevirt.io/schedulable").value_or("")};
    record.unschedulable = node.unschedulable;
    record.taints = node.taints;
    record.conditions = node.conditions;
    return record;
}

}  // namespace scout::cluster
