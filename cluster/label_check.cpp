// SPDX-License-Identifier: Apache-2.0
#include "cluster/label_check.h"

#include <functional>
#include <set>
#include <string>

#include "cluster/node_state.h"

namespace scout::cluster {

std::vector<migration::NodeFindings> check_labels(const Objects& objects,
                                                  const migration::CpuMap* map) {
    const auto labelled = labelled_nodes(objects.nodes);
    const auto* kubevirt = kubevirt_in_force(objects.kubevirts);
    std::set<std::string, std::less<>> obsolete;
    migration::LabelOptions told;
    if (kubevirt != nullptr && kubevirt->obsolete_cpu_models) {
        for (const auto& model : *kubevirt->obsolete_cpu_models) {
            obsolete.insert(model.str());
        }
        told.obsolete_models = &obsolete;
    }
    return migration::check_labels(labelled.nodes,
                                   {.map = map, .kubevirt = kubevirt == nullptr ? nullptr : &told});
}

}  // namespace scout::cluster
