// SPDX-License-Identifier: Apache-2.0
#include "cluster/node_state.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kube/objects/vmi.h"

namespace scout::cluster {
namespace {

constexpr std::string_view cordon_taint = "node.kubernetes.io/unschedulable";

migration::Labels plain_labels(const kube::Labels& labels) {
    migration::Labels out;
    for (const auto& [key, value] : labels) {
        out.emplace_hint(out.end(), key.view(), value.view());
    }
    return out;
}

/// Since when the node is cordoned; none: not told, so it may have been for long.
std::optional<WallTime> cordoned_since(const kube::Node& node) {
    for (const auto& taint : node.taints) {
        if (taint.key == cordon_taint) {
            return taint.added;
        }
    }
    return std::nullopt;
}

std::string why_not_counted(const kube::Node& node, const NodeState& state, WallTime now,
                            const CountingRules& rules) {
    if (!state.stock.schedulable) {
        return "kubevirt.io/schedulable is not true";
    }
    if (state.stock.host_models.empty()) {
        return "it has no host-model";
    }
    if (state.stock.host_models.size() > 1) {
        return "its labels name several host-models";
    }
    if (state.stock.obsolete_host_model) {
        return "its host-model is obsolete";
    }
    if (state.cordoned) {
        const auto since = cordoned_since(node);
        if (!since) {
            return "it is cordoned, nobody knows since when";
        }
        if (now - *since >= rules.cordoned_for) {
            return "it is cordoned";
        }
    }
    const auto* ready = kube::find_condition(node.conditions, "Ready");
    if (ready != nullptr && ready->status != "True" && now - ready->since >= rules.not_ready_for) {
        return "it is not ready";
    }
    return {};
}

}  // namespace

NodeState node_state(const kube::Node& node, WallTime now, const CountingRules& rules) {
    NodeState state;
    state.labels = plain_labels(node.labels);
    state.stock = migration::stock_node(state.labels);
    state.cordoned = node.unschedulable;
    if (const auto* ready = kube::find_condition(node.conditions, "Ready")) {
        state.ready = ready->status == "True";
    }
    state.schedulable = state.stock.schedulable && !state.cordoned && state.ready.value_or(true);
    state.not_counted = why_not_counted(node, state, now, rules);
    return state;
}

std::optional<migration::Reason> why_closed(const NodeState& state) {
    const bool not_ready = !state.ready.value_or(true);
    if (!state.cordoned && !not_ready) {
        return std::nullopt;
    }
    const std::string text = state.cordoned ? "the node is cordoned" : "the node is not ready";
    return migration::Reason{.code = migration::ReasonCode::unschedulable,
                             .layer = migration::Layer::stock,
                             .text = state.cordoned && not_ready ? text + " and not ready" : text,
                             .keys = {}};
}

}  // namespace scout::cluster
