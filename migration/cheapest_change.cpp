// SPDX-License-Identifier: Apache-2.0
#include "migration/cheapest_change.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "migration/labels.h"

namespace scout::migration {
namespace {

/// What mends a reason, and how much it is asked of people: more than all that is cheaper together.
struct Change {
    unsigned cost = 0;
    std::string_view words;
};

/// Kubernetes sets it by what is wrong with the node: pressure, no network, no word of its kubelet.
bool is_of_the_nodes_state(const Reason& reason) {
    return std::any_of(reason.keys.begin(), reason.keys.end(), [](const std::string& key) {
        return key.starts_with("node.kubernetes.io/");
    });
}

/// A cordon names no label; what else keeps VMs away does.
Change opening(const Reason& reason) {
    const auto speaks_of = [&reason](std::string_view key) {
        return std::find(reason.keys.begin(), reason.keys.end(), key) != reason.keys.end();
    };
    if (reason.keys.empty()) {
        return {1, "uncordon it"};
    }
    if (speaks_of("node.kubernetes.io/not-ready")) {
        return {32, "mend what keeps it from being ready"};
    }
    if (speaks_of(label::schedulable)) {
        return {64, "see why virt-handler does not run there"};
    }
    return {32, "change what the KubeVirt object asks of nodes, or the node's labels"};
}

/// None: nothing does, or not without another host or a restart that changes the guest.
std::optional<Change> change_for(const Reason& reason) {
    switch (reason.code) {
        case ReasonCode::unschedulable:
            return opening(reason);
        case ReasonCode::taint:
            if (is_of_the_nodes_state(reason)) {
                return Change{64, "mend what the node's own taint says of it"};
            }
            return Change{2, "take the taint away, or let the VM tolerate it"};
        case ReasonCode::host_port:
        case ReasonCode::resources:
        case ReasonCode::topology_spread:
        case ReasonCode::pod_anti_affinity:
            return Change{8, "move other pods away"};
        case ReasonCode::pod_affinity:
        case ReasonCode::node_affinity:
        case ReasonCode::selector:
            return Change{32, "change what the VM asks of nodes, or the node's labels"};
        case ReasonCode::tsc_label:
            return Change{32, "let KubeVirt label the node for that frequency"};
        case ReasonCode::stale_selector:
            return Change{128, "restart the VM, so that it asks for what nodes have now"};
        default:
            return std::nullopt;
    }
}

struct Way {
    unsigned cost = 0;
    std::string node;
    std::string text;
};

/// None: there is none to this node.
std::optional<Way> way_to(const NodeAnswer& answer) {
    const auto& [node, comparison] = answer;
    if (comparison.truth == Verdict::cannot || comparison.gate != Verdict::cannot) {
        return std::nullopt;
    }
    Way way{.cost = 0, .node = node, .text = {}};
    std::set<std::string_view> words;
    for (const auto& reason : comparison.reasons) {
        if (reason.layer != Layer::stock || reason.code == ReasonCode::not_comparable) {
            continue;
        }
        const auto change = change_for(reason);
        if (!change) {
            return std::nullopt;
        }
        if (words.insert(change->words).second) {
            way.cost += change->cost;
            way.text += (way.text.empty() ? "" : ", and ") + std::string{change->words};
        }
    }
    return way.text.empty() ? std::nullopt : std::optional{std::move(way)};
}

}  // namespace

std::optional<std::string> cheapest_change(const Placement& placement) {
    std::optional<Way> best;
    for (const auto& answer : placement.nodes) {
        if (answer.comparison.verdict == Verdict::can) {
            return std::nullopt;
        }
        auto way = way_to(answer);
        if (way && (!best || way->cost < best->cost)) {
            best = std::move(way);
        }
    }
    return best ? std::optional{"on " + best->node + ": " + best->text} : std::nullopt;
}

}  // namespace scout::migration
