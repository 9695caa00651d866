// SPDX-License-Identifier: Apache-2.0
#include "cluster/relief_facts.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "cluster/term_json.h"
#include "migration/eviction.h"
#include "migration/labels.h"
#include "migration/requester.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::EvictionStrategy;
using migration::ReliefHold;

constexpr std::array<std::string_view, 3> strains{"MemoryPressure", "DiskPressure", "PIDPressure"};
/// A target that nobody can schedule must not keep the place of another move for KubeVirt's five
/// minutes (dossier §6.5).
constexpr const char* unschedulable_seconds = "60";

bool is_true(const std::vector<kube::Condition>& conditions, std::string_view type) {
    const auto* const found = kube::find_condition(conditions, type);
    return found != nullptr && found->status == "True";
}

/// Of fields the API server takes one value each.
migration::NodeSelectorTerm none_of(const std::vector<std::string>& nodes) {
    migration::NodeSelectorTerm term;
    term.fields.reserve(nodes.size());
    for (const auto& node : nodes) {
        term.fields.push_back({.key = "metadata.name", .op = "NotIn", .values = {node}});
    }
    return term;
}

}  // namespace

std::optional<ReliefHold> relief_hold(const kube::Vmi& vmi, std::string_view strategy) {
    if (vmi.deletion || vmi.phase != "Running") {
        return ReliefHold::stopping;
    }
    if (!vmi.evacuation_node.empty()) {
        return ReliefHold::marked;
    }
    const auto wanted = migration::effective_strategy(vmi.eviction_strategy.view(), strategy);
    if (wanted != EvictionStrategy::live_migrate &&
        wanted != EvictionStrategy::live_migrate_if_possible) {
        return ReliefHold::owner;
    }
    return is_true(vmi.conditions, "LiveMigratable") ? std::nullopt
                                                     : std::optional{ReliefHold::not_migratable};
}

std::optional<WallTime> arrival_of(const kube::Vmi& vmi) {
    const auto& state = vmi.migration;
    return state && state->completed && !state->failed ? state->end : std::nullopt;
}

bool takes_vms(const kube::Node& node) {
    return !node.deletion && !node.unschedulable && is_true(node.conditions, "Ready") &&
           node.labels.find(std::string{migration::label::schedulable}) == "true";
}

bool is_strained(const kube::Node& node) {
    return std::any_of(strains.begin(), strains.end(),
                       [&node](std::string_view type) { return is_true(node.conditions, type); });
}

bool is_relief(const kube::Migration& migration) {
    return migration.meta.name.starts_with(migration::forecast_move_prefix);
}

bool is_scheduling(const kube::Migration& migration) {
    return migration.phase == "Scheduling";
}

bool can_be_taken_back(const kube::Migration& migration, const kube::Vmi* vmi) {
    const bool is_handed_off =
        vmi != nullptr && vmi->migration && vmi->migration->uid == migration.meta.uid;
    return !is_handed_off &&
           (migration.phase.empty() || migration.phase == "Pending" || is_scheduling(migration));
}

std::string relief_object(const migration::ReliefMove& move,
                          const std::vector<std::string>& pressed) {
    const auto slash = move.vmi.find('/');
    json::object annotations{
        {migration::cause_annotation, to_string(migration::Requester::forecast)},
        {relieved_node_annotation, move.node},
        {term_annotation, json::serialize(json_of(none_of(pressed)))},
        {"kubevirt.io/migrationUnschedulablePodTimeoutSeconds", unschedulable_seconds}};
    json::object metadata{{"generateName", migration::forecast_move_prefix},
                          {"namespace", move.vmi.substr(0, slash)},
                          {"annotations", std::move(annotations)}};
    return json::serialize(json::object{{"apiVersion", "kubevirt.io/v1"},
                                        {"kind", "VirtualMachineInstanceMigration"},
                                        {"metadata", std::move(metadata)},
                                        {"spec", {{"vmiName", move.vmi.substr(slash + 1)}}}});
}

}  // namespace scout::cluster
