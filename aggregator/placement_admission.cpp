// SPDX-License-Identifier: Apache-2.0
#include "aggregator/placement_admission.h"

#include <utility>

#include "cluster/level_keeper.h"
#include "cluster/object_references.h"

namespace scout::aggregator {
namespace {

/// Without names of nodes: whoever reads the VMI's Events need not be one who may list nodes.
std::string unmet_note(const cluster::LevelRequirement& required,
                       const cluster::LevelStanding& standing) {
    return "no node has host-model migratability level " + std::to_string(required.level) +
           " or above, which " + std::string{to_string(required.source)} +
           " requires; the best there is is " + std::to_string(standing.best) + ", on " +
           std::to_string(standing.with_best) + " of " + std::to_string(standing.counted) +
           "; the VM waits for a node that has it";
}

}  // namespace

PlacementAdmission::PlacementAdmission(Sources sources) : sources_(sources) {}

Task<daemon::HttpAnswer> PlacementAdmission::serve(daemon::HttpRequest request) {
    co_return answer_about_pod(
        std::move(request.body), "the pod is placed without a level",
        [this](const auto& asked, const auto& pod, auto& answer) { judge(asked, pod, answer); },
        counters_);
}

void PlacementAdmission::judge(const kube::AdmissionRequest& request, const kube::NewPod& pod,
                               kube::AdmissionAnswer& answer) {
    const auto first = cluster::is_first_of_host_model(pod);
    if (!first) {
        answer.warnings.push_back("the pod is placed without a level: " + first.error().message);
    } else if (*first) {
        place(request, pod, answer);
    }
}

void PlacementAdmission::place(const kube::AdmissionRequest& request, const kube::NewPod& pod,
                               kube::AdmissionAnswer& answer) {
    if (!sources_.levels.synced()) {
        answer.warnings.emplace_back(
            "the pod is placed without a level: not all that levels rest on has been read yet, "
            "/readyz of the aggregator tells what");
        return;
    }
    const auto& in_force = rules();
    const auto standing = sources_.levels.keeper().standing(pod.arch);
    auto placement = cluster::first_placement(pod, in_force, standing);
    if (!placement) {
        answer.warnings.push_back("the pod is placed without a level: " +
                                  placement.error().message);
        return;
    }
    answer.patch = std::move(placement->patch);
    answer.warnings = std::move(placement->warnings);
    const auto& unmet = placement->unmet;
    auto trouble =
        unmet ? unmet_note(*unmet, standing) : unwritten_note(in_force, standing, pod.arch);
    if (!trouble.empty()) {
        answer.warnings.push_back(std::move(trouble));
        // Without a patch the API server asks again, and it is told already.
        if (!request.dry_run && !answer.patch.empty()) {
            tell_vmi(request.space, pod, answer.warnings.back());
        }
    }
}

/// The scheduler goes by what nodes carry. Empty: one carries the level, or none is required.
std::string PlacementAdmission::unwritten_note(const cluster::PlacementRules& rules,
                                               const cluster::LevelStanding& standing,
                                               const std::string& arch) const {
    if (!rules.required || rules.required->level == 0 || standing.counted < 2 ||
        sources_.levels.keeper().is_carried(arch, rules.required->level)) {
        return {};
    }
    return "no node carries the label " + std::string{cluster::level_label} + " of " +
           std::to_string(rules.required->level) + " or above, which " +
           std::string{to_string(rules.required->source)} +
           " requires, though some should: it is being written, or cannot be (see the log of "
           "virt-scout's leader); the VM waits for it";
}

/// Whoever reaches the port can name any VMI: only what is there is told of.
void PlacementAdmission::tell_vmi(const std::string& space, const kube::NewPod& pod,
                                  std::string note) {
    const auto vmi = sources_.vmis.find(space, pod.vmi_name);
    if (!vmi || vmi->meta.uid != pod.vmi_uid) {
        return;
    }
    sources_.events.record({.regarding = cluster::vmi_reference(space, pod.vmi_name, pod.vmi_uid),
                            .related = {},
                            .warning = true,
                            .reason = "NoNodeWithMigratabilityLevel",
                            .action = "RequireMigratabilityLevel",
                            .note = std::move(note)});
}

}  // namespace scout::aggregator
