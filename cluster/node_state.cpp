// SPDX-License-Identifier: Apache-2.0
#include "cluster/node_state.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "kube/objects/vmi.h"

namespace scout::cluster {
namespace {

constexpr std::string_view cordon_taint = "node.kubernetes.io/unschedulable";

/// Since when the node is cordoned; none: not told. A taint that is older than what was seen is of
/// a cordon before this one.
std::optional<WallTime> cordoned_since(const kube::Node& node, std::optional<WallTime> seen) {
    for (const auto& taint : node.taints) {
        if (taint.key == cordon_taint && taint.added) {
            return seen ? std::max(*seen, *taint.added) : *taint.added;
        }
    }
    return seen;
}

/// What is wrong with the labels, whatever the time.
std::string why_never_counted(const migration::StockNode& stock) {
    if (!stock.schedulable) {
        return "kubevirt.io/schedulable is not true";
    }
    if (stock.host_models.empty()) {
        return "it has no host-model";
    }
    if (stock.host_models.size() > 1) {
        return "its labels name several host-models";
    }
    return stock.obsolete_host_model ? "its host-model is obsolete" : "";
}

/// What is allowed to be so for a while.
struct Grace {
    WallTime end;
    const char* why;  ///< the node does not count afterwards
};

/// A condition that does not tell its time may have been so for long.
std::vector<Grace> graces(const kube::Node& node, const CountingRules& rules,
                          std::optional<WallTime> cordon_seen) {
    std::vector<Grace> out;
    if (node.unschedulable) {
        const auto since = cordoned_since(node, cordon_seen);
        out.push_back(since ? Grace{*since + rules.cordoned_for, "it is cordoned"}
                            : Grace{WallTime{}, "it is cordoned, nobody knows since when"});
    }
    const auto* ready = kube::find_condition(node.conditions, "Ready");
    if (ready != nullptr && ready->status != "True") {
        out.push_back({ready->since + rules.not_ready_for, "it is not ready"});
    }
    return out;
}

void count(NodeState& state, const std::vector<Grace>& graces, WallTime now) {
    state.not_counted = why_never_counted(state.stock);
    if (state.not_counted.empty() && !state.lacking.empty()) {
        state.not_counted =
            "it lacks labels that KubeVirt asks of every node: " + migration::join(state.lacking);
    }
    for (const auto& grace : graces) {
        if (!state.not_counted.empty()) {
            break;
        }
        if (now >= grace.end) {
            state.not_counted = grace.why;
        } else if (!state.counts_until || grace.end < *state.counts_until) {
            state.counts_until = grace.end;
            state.still_counted =
                std::string{grace.why} + ", and counts for " +
                age_text(std::chrono::ceil<std::chrono::milliseconds>(grace.end - now)) + " more";
        }
    }
    if (!state.not_counted.empty()) {
        state.counts_until.reset();
        state.still_counted.clear();
    }
}

}  // namespace

NodeState node_state(const kube::Node& node, WallTime now, const CountingRules& rules,
                     std::optional<WallTime> cordon_seen) {
    NodeState state;
    state.labels = plain_labels(node.labels);
    state.stock = migration::stock_node(state.labels);
    state.cordoned = node.unschedulable;
    if (const auto* ready = kube::find_condition(node.conditions, "Ready")) {
        state.ready = ready->status == "True";
    }
    for (const auto& [key, value] : rules.selectors) {
        const auto found = state.labels.find(key);
        if (found == state.labels.end() || found->second != value) {
            state.lacking.push_back(key);
        }
    }
    state.schedulable = state.stock.schedulable && state.lacking.empty() && !state.cordoned &&
                        state.ready.value_or(true);
    count(state, graces(node, rules, cordon_seen), now);
    return state;
}

migration::Labels plain_labels(const kube::Labels& labels) {
    migration::Labels out;
    for (const auto& [key, value] : labels) {
        out.emplace_hint(out.end(), key.view(), value.view());
    }
    return out;
}

LabelledNodes labelled_nodes(const std::vector<kube::Node>& nodes) {
    LabelledNodes out;
    out.labels.reserve(nodes.size());
    out.nodes.reserve(nodes.size());
    for (const auto& node : nodes) {
        out.labels.push_back(plain_labels(node.labels));
        out.nodes.push_back({.name = node.meta.name, .labels = out.labels.back()});
    }
    return out;
}

bool is_of_kubevirt(const kube::Node& node) {
    return std::any_of(node.labels.begin(), node.labels.end(), [](const auto& entry) {
        return migration::is_of_kubevirt(entry.first.view());
    });
}

std::vector<migration::Reason> why_closed(const NodeState& state) {
    std::vector<migration::Reason> why;
    const auto add = [&why](std::string text, std::vector<std::string> keys) {
        why.push_back({.code = migration::ReasonCode::unschedulable,
                       .layer = migration::Layer::stock,
                       .text = std::move(text),
                       .keys = std::move(keys)});
    };
    if (state.cordoned) {
        add("the node is cordoned", {});
    }
    if (!state.ready.value_or(true)) {
        add("the node is not ready", {"node.kubernetes.io/not-ready"});
    }
    if (!state.lacking.empty()) {
        add("the node lacks labels that the KubeVirt object asks of every node: " +
                migration::join(state.lacking),
            state.lacking);
    }
    return why;
}

}  // namespace scout::cluster
