// SPDX-License-Identifier: Apache-2.0
#include "cluster/host_model_placement.h"

#include "cluster/judge_node.h"
#include "cluster/node_state.h"

namespace scout::cluster {
Result<migration::Placement> place_host_model(const Objects& objects, std::string_view node,
                                              WallTime now, const LevelOptions& options) {
    const auto found = find_node(objects, node);
    if (!found) {
        return fail(found.error());
    }
    const auto& from = **found;
    const auto rules = counting_rules(options, objects.kubevirts);
    const auto state = node_state(from, now, rules);
    const auto profile =
        truth_profile(node_profile(from, state.stock, objects), state.stock, options.map);
    const auto machine = machine_type_for(state.stock.arch, options, objects.kubevirts);
    const auto guest = migration::host_model_guest(profile);
    const auto stock = migration::stock_host_model_guest(state.stock, machine);
    const auto ready = migration::prepare(guest, stock, options.map);
    migration::Placement placement;
    placement.subject = "host-model@" + from.meta.name;
    placement.source = from.meta.name;
    for (const auto& target : objects.nodes) {
        if (&target != &from) {
            const auto there = node_state(target, now, rules);
            const auto chosen = node_profile(target, there.stock, objects);
            placement.nodes.push_back(
                {.node = target.meta.name,
                 .comparison = judge_node(ready, target, there, chosen, options.map)});
        }
    }
    if (!placement.nodes.empty()) {
        placement.notes.emplace_back(
            "taints, affinity and free resources are of a VM, and are not judged here: ask for one "
            "by its name");
    }
    return placement;
}

}  // namespace scout::cluster
