// SPDX-License-Identifier: Apache-2.0
#include "cluster/host_model_placement.h"

#include <utility>

#include "cluster/node_state.h"
#include "migration/label_profile.h"

namespace scout::cluster {
namespace {

migration::Comparison answer_for(const migration::PreparedGuest& guest, const kube::Node& node,
                                 WallTime now, const LevelOptions& options) {
    const auto state = node_state(node, now, options.counting);
    const auto profile = migration::label_profile(state.stock, options.map);
    const auto facts = migration::label_facts(state.stock);
    const migration::NodeView view{
        .profile = profile, .facts = facts, .labels = state.labels, .labels_derived = false};
    auto comparison = migration::compare(guest, migration::prepare(view, options.map));
    if (auto closed = why_closed(state)) {
        migration::refuse(comparison, std::move(*closed));
    }
    return comparison;
}

}  // namespace

Result<migration::Placement> place_host_model(const Objects& objects, std::string_view node,
                                              WallTime now, const LevelOptions& options) {
    const auto found = find_node(objects, node);
    if (!found) {
        return fail(found.error());
    }
    const auto& from = **found;
    const auto state = node_state(from, now, options.counting);
    const auto profile = migration::label_profile(state.stock, options.map);
    const auto machine = machine_type_for(state.stock.arch, options, objects.kubevirts);
    const auto guest = migration::host_model_guest(profile);
    const auto stock = migration::stock_host_model_guest(state.stock, machine);
    const auto ready = migration::prepare(guest, stock, options.map);
    migration::Placement placement;
    placement.subject = "host-model@" + from.meta.name;
    placement.source = from.meta.name;
    for (const auto& target : objects.nodes) {
        if (&target != &from) {
            placement.nodes.push_back(
                {.node = target.meta.name, .comparison = answer_for(ready, target, now, options)});
        }
    }
    return placement;
}

}  // namespace scout::cluster
