// SPDX-License-Identifier: Apache-2.0
#include "migration/scheduling/node_filters.h"

#include <algorithm>
#include <string_view>

#include "base/byte_text.h"

namespace scout::migration::scheduling {
namespace {

constexpr std::string_view cordon_taint = "node.kubernetes.io/unschedulable";
constexpr std::string_view pods_resource = "pods";
constexpr std::string_view cpu_resource = "cpu";

bool tolerates(const Toleration& toleration, const Taint& taint) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) {
        return false;
    }
    if (!toleration.key.empty() && toleration.key != taint.key) {
        return false;
    }
    const bool equal = toleration.op.empty() || toleration.op == "Equal";
    return equal ? toleration.value == taint.value : toleration.op == "Exists";
}

bool tolerates(const Pod& pod, const Taint& taint) {
    return std::any_of(pod.tolerations.begin(), pod.tolerations.end(),
                       [&taint](const auto& each) { return tolerates(each, taint); });
}

bool keeps_away(const Taint& taint) {
    return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

bool has(const Labels& labels, const std::string& key, const std::string& value) {
    const auto found = labels.find(key);
    return found != labels.end() && found->second == value;
}

bool meets_terms(const Pod& pod, const Node& node) {
    return !pod.node_terms || matches(*pod.node_terms, node.labels, node.name);
}

bool meets_selector(const Pod& pod, const Node& node) {
    return std::all_of(
        pod.node_selector.begin(), pod.node_selector.end(),
        [&node](const auto& wanted) { return has(node.labels, wanted.first, wanted.second); });
}

/// Names of labels that the terms ask about, each once.
std::vector<std::string> keys_of(const std::vector<NodeSelectorTerm>& terms) {
    std::vector<std::string> keys;
    for (const auto& term : terms) {
        for (const auto* list : {&term.expressions, &term.fields}) {
            for (const auto& each : *list) {
                keys.push_back(each.key);
            }
        }
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
}

bool is_bytes(std::string_view name) {
    return name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
}

/// "1.5 cores", "2.0 GiB", "3"
std::string amount_text(std::string_view name, std::int64_t amount) {
    if (name == cpu_resource) {
        constexpr std::int64_t milli = 1000;
        const auto rest = amount % milli;
        auto digits = std::to_string(milli + rest).substr(1);
        digits.erase(digits.find_last_not_of('0') + 1);
        return std::to_string(amount / milli) + (rest == 0 ? "" : "." + digits) + " cores";
    }
    return is_bytes(name) ? byte_text(static_cast<std::uint64_t>(amount)) : std::to_string(amount);
}

bool clash(const HostPort& a, const HostPort& b) {
    const auto protocol = [](const HostPort& port) {
        return port.protocol.empty() ? std::string_view{"TCP"} : std::string_view{port.protocol};
    };
    const auto all = [](const HostPort& port) {
        return port.address.empty() || port.address == "0.0.0.0";
    };
    return a.port == b.port && protocol(a) == protocol(b) &&
           (all(a) || all(b) || a.address == b.address);
}

}  // namespace

bool tolerates_cordon(const Pod& pod) {
    return tolerates(pod, {.key = std::string{cordon_taint}, .value = {}, .effect = "NoSchedule"});
}

bool tolerates_all(const Pod& pod, const Node& node) {
    return std::all_of(node.taints.begin(), node.taints.end(), [&pod](const Taint& taint) {
        return !keeps_away(taint) || tolerates(pod, taint);
    });
}

void judge_taints(const Pod& pod, const Node& node, Findings& out) {
    const bool cordoned = node.unschedulable && !tolerates_cordon(pod);
    if (cordoned) {
        refuse(out, ReasonCode::unschedulable, "the node is cordoned", {});
    }
    for (const auto& taint : node.taints) {
        if (keeps_away(taint) && !tolerates(pod, taint) &&
            !(cordoned && taint.key == cordon_taint)) {
            refuse(out, ReasonCode::taint,
                   "the taint " + pair_text(taint.key, taint.value) + ":" + taint.effect +
                       " is not tolerated",
                   {taint.key});
        }
    }
}

bool meets_affinity(const Pod& pod, const Node& node) {
    return meets_selector(pod, node) && meets_terms(pod, node);
}

void judge_affinity(const Pod& pod, const Node& node, Findings& out) {
    for (const auto& [key, value] : pod.node_selector) {
        if (!has(node.labels, key, value)) {
            const auto found = node.labels.find(key);
            refuse(out, ReasonCode::selector,
                   found == node.labels.end() ? "the node lacks the label " + pair_text(key, value)
                                              : "the node has " + pair_text(key, found->second) +
                                                    ", and not " + pair_text(key, value),
                   {key});
        }
    }
    if (pod.node_terms && !meets_terms(pod, node)) {
        refuse(out, ReasonCode::node_affinity,
               pod.node_terms->size() > 1
                   ? "none of the " + std::to_string(pod.node_terms->size()) +
                         " required terms of its node affinity matches the node"
                   : "the required node affinity does not match the node",
               keys_of(*pod.node_terms));
    }
}

void judge_resources(const Pod& pod, const PlacedNode& node, Findings& out) {
    if (!node.node->allocatable) {
        return;
    }
    const auto& there = *node.node->allocatable;
    const auto& used = node.use.requested;
    if (static_cast<std::int64_t>(node.use.pods.size()) + 1 > amount_of(there, pods_resource)) {
        refuse(out, ReasonCode::resources,
               "the node has room for " + std::to_string(amount_of(there, pods_resource)) +
                   " pods, and " + std::to_string(node.use.pods.size()) + " are there",
               {std::string{pods_resource}});
    }
    for (const auto& [name, asked] : pod.requests) {
        const auto all = amount_of(there, name);
        const auto free = all - amount_of(used, name);
        if (asked > 0 && asked > free && name != pods_resource) {
            refuse(out, ReasonCode::resources,
                   name + ": " + amount_text(name, asked) + " are asked for, and " +
                       amount_text(name, std::max<std::int64_t>(free, 0)) + " of " +
                       amount_text(name, all) + " are not requested yet",
                   {name});
        }
    }
}

void judge_ports(const Pod& pod, const PlacedNode& node, Findings& out) {
    for (const auto& port : pod.ports) {
        const bool taken =
            std::any_of(node.use.ports.begin(), node.use.ports.end(),
                        [&port](const HostPort& other) { return clash(port, other); });
        if (port.port > 0 && taken) {
            refuse(out, ReasonCode::host_port,
                   "port " + std::to_string(port.port) + " of the node is taken",
                   {std::to_string(port.port)});
        }
    }
}

}  // namespace scout::migration::scheduling
