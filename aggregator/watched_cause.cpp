// SPDX-License-Identifier: Apache-2.0
#include "aggregator/watched_cause.h"

#include "cluster/cause_facts.h"
#include "cluster/watched_records.h"

namespace scout::aggregator {

cluster::Records records_around(const WatchedObjects& objects, const kube::LauncherPod* pod,
                                const kube::Vmi* vmi) {
    cluster::Records records;
    if (pod != nullptr) {
        records.launchers.push_back(cluster::record_of(*pod));
    }
    if (vmi != nullptr) {
        records.vmis.push_back(cluster::record_of(*vmi));
    }
    const auto* const name = pod != nullptr ? &pod->node : vmi != nullptr ? &vmi->node : nullptr;
    const auto node = name == nullptr ? nullptr : objects.nodes.find({}, name->view());
    if (node) {
        records.nodes.push_back(cluster::record_of(*node));
    }
    return records;
}

/// The records are of what it needs; that all others were listed too is known here.
migration::CauseFacts watched_facts(const WatchedObjects& objects,
                                    const cluster::Records& records) {
    const auto* const vmi = records.vmis.empty() ? nullptr : &records.vmis.front();
    cluster::LauncherSeen seen;
    if (!records.launchers.empty()) {
        const auto& pod = records.launchers.front();
        seen = {.space = pod.meta.space.str(),
                .name = pod.meta.name,
                .vmi_name = pod.vmi_name,
                .pod = &pod};
    } else if (vmi != nullptr) {
        seen = {
            .space = vmi->meta.space.str(), .name = {}, .vmi_name = vmi->meta.name, .pod = nullptr};
    }
    auto facts = cluster::cause_facts(records, seen, vmi);
    facts.vmis_known = objects.vmis.synced();
    facts.nodes_known = objects.nodes.synced();
    return facts;
}

}  // namespace scout::aggregator
