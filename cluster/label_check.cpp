// SPDX-License-Identifier: Apache-2.0
#include "cluster/label_check.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "cluster/node_state.h"
#include "migration/labels.h"
#include "migration/verdict.h"

namespace scout::cluster {
namespace {

std::string or_none(const std::optional<unsigned>& level) {
    return level ? std::to_string(*level) : std::string{"none"};
}

/// Of nodes that carry one: where nobody writes levels nothing is missing. Levels are sorted by
/// name.
void check_levels(const LabelledNodes& labelled, const std::vector<NodeLevel>& levels,
                  migration::Layer layer, std::vector<migration::NodeFindings>& findings) {
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const auto& labels = labelled.nodes[i].labels;
        const auto carried = labels.find(std::string{level_label});
        const auto level = std::lower_bound(
            levels.begin(), levels.end(), findings[i].node,
            [](const NodeLevel& each, const std::string& name) { return each.name < name; });
        if (carried == labels.end() || level == levels.end() || level->name != findings[i].node ||
            carried->second == or_none(level->level)) {
            continue;
        }
        findings[i].findings.push_back(
            {.severity = migration::Severity::note,
             .code = migration::FindingCode::level,
             .text = std::string{level_label} + " is " + migration::or_unstated(carried->second) +
                     ", by the other labels here it would be " + or_none(level->level) +
                     " (layer " + std::string{to_string(layer)} +
                     "): first placement goes by the label; see that virt-scout's aggregator leads "
                     "and may write it (its log, /readyz)",
             .keys = {std::string{level_label}}});
    }
}

}  // namespace

std::vector<migration::NodeFindings> check_labels(const Objects& objects, WallTime now,
                                                  LevelOptions options) {
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
    migration::LabelCheckOptions check{.map = options.map,
                                       .kubevirt = kubevirt == nullptr ? nullptr : &told};
    if (kubevirt != nullptr) {
        for (const auto& node : labelled.nodes) {
            const auto told_arch = node.labels.find(migration::label::arch);
            const auto [place, fresh] = check.machine_types.try_emplace(
                told_arch == node.labels.end() ? std::string{} : told_arch->second);
            if (fresh) {
                place->second = default_machine(objects.kubevirts, place->first);
            }
        }
    }
    auto findings = migration::check_labels(labelled.nodes, check);
    options.most_refusals = 0;
    options.names_destinations = false;
    check_levels(labelled, judge_levels(objects, now, options).nodes, options.layer, findings);
    return findings;
}

}  // namespace scout::cluster
