// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/objects/kubevirt.h"
#include "kube/objects/node.h"
#include "migration/labels.h"

namespace scout::cluster::test {

/// Labels of a node that a host-model guest of an equal one can go to; features are those of the
/// map of tests/support/profiles.h.
inline migration::Labels plain_labels(const std::string& model = "Large") {
    migration::Labels labels{{"cpu-feature.node.kubevirt.io/cx8", "true"},
                             {"cpu-feature.node.kubevirt.io/fpu", "true"},
                             {"cpu-feature.node.kubevirt.io/mmx", "true"},
                             {"cpu-feature.node.kubevirt.io/sse", "true"},
                             {"cpu-model-migration.node.kubevirt.io/Large", "true"},
                             {"cpu-model-migration.node.kubevirt.io/Small", "true"},
                             {"cpu-vendor.node.kubevirt.io/Intel", "true"},
                             {"kubernetes.io/arch", "amd64"},
                             {"kubevirt.io/schedulable", "true"},
                             {"machine-type.node.kubevirt.io/q35", "true"}};
    labels["host-model-cpu.node.kubevirt.io/" + model] = "true";
    if (model == "Large") {
        labels["cpu-feature.node.kubevirt.io/avx"] = "true";
        labels["cpu-feature.node.kubevirt.io/aes"] = "true";
    }
    return labels;
}

inline kube::Labels kube_labels(const migration::Labels& labels) {
    std::vector<kube::Labels::Entry> entries;
    for (const auto& [key, value] : labels) {
        entries.emplace_back(key, value);
    }
    return kube::Labels{std::move(entries)};
}

inline kube::Node node_object(const std::string& name,
                              const migration::Labels& labels = plain_labels()) {
    kube::Node node;
    node.meta.name = name;
    node.labels = kube_labels(labels);
    return node;
}

/// As kubectl does it, and the control plane by its taint a moment later, if at all.
inline void cordon(kube::Node& node, std::optional<WallTime> tainted) {
    node.unschedulable = true;
    node.taints.clear();
    if (tainted) {
        node.taints.push_back({.key = kube::SharedText{"node.kubernetes.io/unschedulable"},
                               .value = {},
                               .effect = kube::SharedText{"NoSchedule"},
                               .added = tainted});
    }
}

inline void uncordon(kube::Node& node) {
    node.unschedulable = false;
    node.taints.clear();
}

inline void set_ready(kube::Node& node, const char* status, WallTime since) {
    node.conditions.assign(1, {.type = kube::SharedText{"Ready"},
                               .status = kube::SharedText{status},
                               .reason = {},
                               .message = {},
                               .since = since});
}

inline kube::KubeVirt kubevirt_object() {
    kube::KubeVirt kubevirt;
    kubevirt.meta.name = "kubevirt";
    kubevirt.phase = kube::SharedText{"Deployed"};
    return kubevirt;
}

}  // namespace scout::cluster::test
