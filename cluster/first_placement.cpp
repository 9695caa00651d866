// SPDX-License-Identifier: Apache-2.0
#include "cluster/first_placement.h"

#include <utility>

#include "cluster/affinity_patch.h"
#include "cluster/levels.h"

namespace scout::cluster {
namespace {

constexpr std::string_view obsolete_host_model = "node-labeller.kubevirt.io/obsolete-host-model";

NodeRequirement at_least(unsigned level) {
    return {.key = std::string{level_label}, .op = "Gt", .values = {std::to_string(level - 1)}};
}

std::string too_few_nodes(const LevelRequirement& required, std::size_t counted) {
    return "level " + std::to_string(required.level) + ", required by " +
           std::string{to_string(required.source)} + ", is not asked of this pod's node: " +
           (counted == 0 ? "no node counts" : "only one node counts") +
           " for levels, so that none can have it";
}

}  // namespace

Result<bool> is_first_of_host_model(const kube::NewPod& pod) {
    if (pod.role != "virt-launcher" || pod.migration_uid) {
        return false;
    }
    return requires_of_node(pod.affinity, obsolete_host_model, "DoesNotExist");
}

Result<FirstPlacement> first_placement(const kube::NewPod& pod, const PlacementRules& rules,
                                       const LevelStanding& standing) {
    FirstPlacement placement{.patch = {}, .warnings = rules.faults, .unmet = {}};
    NodeDemands demands;
    if (rules.required && rules.required->level > 0) {
        if (standing.counted < 2) {
            placement.warnings.push_back(too_few_nodes(*rules.required, standing.counted));
        } else {
            demands.required.expressions = {at_least(rules.required->level)};
            if (standing.best < rules.required->level) {
                placement.unmet = rules.required;
            }
        }
    }
    if (rules.preferred && rules.preferred->level > 0) {
        demands.preferred = {.weight = rules.preferred->weight,
                             .requirement = at_least(rules.preferred->level)};
    }
    auto patch = affinity_patch(pod.affinity, demands);
    if (!patch) {
        return fail(std::move(patch.error()));
    }
    placement.patch = std::move(*patch);
    return placement;
}

}  // namespace scout::cluster
