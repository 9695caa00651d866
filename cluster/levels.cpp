// SPDX-License-Identifier: Apache-2.0
#include "cluster/levels.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "migration/comparison.h"
#include "migration/label_profile.h"
#include "migration/matrix.h"

namespace scout::cluster {
namespace {

using migration::Layer;
using migration::ReasonCode;
using migration::Verdict;

/// Nodes that answer every question alike.
struct Class {
    migration::StockNode stock;
    migration::Profile profile;
    migration::HostFacts facts;
    migration::Labels labels;
    std::string machine;

    [[nodiscard]] bool has_guests() const { return stock.host_models.size() == 1; }
    [[nodiscard]] migration::NodeView view() const {
        return {.profile = profile, .facts = facts, .labels = labels, .labels_derived = false};
    }
};

/// What both layers say of guests of one class on nodes of another.
struct Edge {
    Verdict gate = Verdict::unknown;
    Verdict truth = Verdict::unknown;
    std::vector<migration::Reason> stock_reasons;
    std::vector<migration::Reason> truth_reasons;

    [[nodiscard]] bool can(Layer layer) const {
        return gate == Verdict::can && (layer == Layer::stock || truth == Verdict::can);
    }
};

bool matters(std::string_view key) {
    return key == migration::label::arch || key.find("kubevirt.io/") != std::string_view::npos;
}

bool is_of_kubevirt(const kube::Node& node) {
    return std::any_of(node.labels.begin(), node.labels.end(), [](const auto& entry) {
        return entry.first.view().find("kubevirt.io/") != std::string_view::npos;
    });
}

/// Asks each pair of classes once.
class Judge {
public:
    Judge(const Objects& objects, WallTime now, const LevelOptions& options)
        : options_(options), kubevirts_(objects.kubevirts) {
        for (const auto& node : objects.nodes) {
            enter(node, now);
        }
    }

    Levels judge() {
        Levels out;
        for (const auto& from : nodes_) {
            NodeLevel node{.name = from.node->meta.name,
                           .schedulable = from.state.schedulable,
                           .level = std::nullopt,
                           .not_counted = from.state.not_counted,
                           .out = {}};
            if (classes_[from.number].has_guests()) {
                judge_targets(from, node, out.refused);
            }
            if (from.state.not_counted.empty()) {
                node.level = migration::migratability_level(
                    static_cast<std::uint32_t>(node.out.size()), counted_[from.state.stock.arch]);
            }
            out.nodes.push_back(std::move(node));
        }
        return out;
    }

private:
    struct Known {
        const kube::Node* node;
        NodeState state;
        std::size_t number = 0;  ///< of its class
        bool target = false;     ///< KubeVirt knows the node
    };

    void enter(const kube::Node& node, WallTime now) {
        Known known{.node = &node, .state = node_state(node, now, options_.counting)};
        known.target = is_of_kubevirt(node);
        known.number = class_of(known.state);
        if (known.state.not_counted.empty()) {
            ++counted_[known.state.stock.arch];
        }
        nodes_.push_back(std::move(known));
    }

    std::size_t class_of(const NodeState& state) {
        migration::Labels key;
        for (const auto& [name, value] : state.labels) {
            if (matters(name)) {
                key.emplace_hint(key.end(), name, value);
            }
        }
        const auto [place, fresh] = numbers_.try_emplace(std::move(key), classes_.size());
        if (fresh) {
            classes_.push_back({.stock = state.stock,
                                .profile = migration::label_profile(state.stock, options_.map),
                                .facts = migration::label_facts(state.stock),
                                .labels = place->first,
                                .machine = options_.machine_type.empty()
                                               ? default_machine(kubevirts_, state.stock.arch)
                                               : options_.machine_type});
        }
        return place->second;
    }

    void judge_targets(const Known& from, NodeLevel& node, std::vector<Refusal>& refused) {
        for (const auto& to : nodes_) {
            if (&to == &from || !to.target) {
                continue;
            }
            const auto& edge = edge_between(from.number, to.number);
            const bool counted = to.state.not_counted.empty();
            if (counted && edge.can(options_.layer)) {
                node.out.push_back(to.node->meta.name);
            }
            refuse(from, to, edge, refused);
        }
    }

    static void refuse(const Known& from, const Known& to, const Edge& edge,
                       std::vector<Refusal>& refused) {
        auto stock = edge.stock_reasons;
        const bool closed = to.state.stock.schedulable && !to.state.schedulable;
        if (closed && !to.state.not_counted.empty()) {
            stock.insert(stock.begin(), {.code = ReasonCode::unschedulable,
                                         .layer = Layer::stock,
                                         .text = "the node takes no VMs: " + to.state.not_counted,
                                         .keys = {}});
        }
        const auto& from_name = from.node->meta.name;
        const auto& to_name = to.node->meta.name;
        if (edge.gate == Verdict::cannot || stock.size() > edge.stock_reasons.size()) {
            refused.push_back({from_name, to_name, Layer::stock, std::move(stock)});
        }
        if (edge.truth == Verdict::cannot) {
            refused.push_back({from_name, to_name, Layer::truth, edge.truth_reasons});
        }
    }

    const Edge& edge_between(std::size_t from, std::size_t to) {
        const auto [place, fresh] = edges_.try_emplace({from, to});
        if (fresh) {
            place->second = compare(classes_[from], classes_[to]);
        }
        return place->second;
    }

    [[nodiscard]] Edge compare(const Class& from, const Class& to) const {
        const auto guest = migration::host_model_guest(from.profile);
        const auto stock = migration::stock_host_model_guest(from.stock, from.machine);
        auto answer = migration::compare(guest, stock, to.view(), options_.map);
        Edge edge{.gate = answer.gate, .truth = answer.truth};
        for (auto& reason : answer.reasons) {
            auto& of_layer = reason.layer == Layer::stock ? edge.stock_reasons : edge.truth_reasons;
            of_layer.push_back(std::move(reason));
        }
        return edge;
    }

    const LevelOptions& options_;
    const std::vector<kube::KubeVirt>& kubevirts_;
    std::vector<Known> nodes_;
    std::map<migration::Labels, std::size_t> numbers_;
    std::vector<Class> classes_;
    std::map<std::pair<std::size_t, std::size_t>, Edge> edges_;
    std::map<std::string, std::uint32_t> counted_;  ///< by architecture
};

}  // namespace

Levels judge_levels(const Objects& objects, WallTime now, const LevelOptions& options) {
    return Judge(objects, now, options).judge();
}

std::string default_machine(const std::vector<kube::KubeVirt>& kubevirts, std::string_view arch) {
    for (const auto& kubevirt : kubevirts) {
        if (kubevirt.phase.empty()) {
            continue;
        }
        for (const auto& entry : kubevirt.architecture_machines) {
            if (entry.architecture == arch && !entry.machine.empty()) {
                return entry.machine.str();
            }
        }
        if (!kubevirt.machine.empty()) {
            return kubevirt.machine.str();
        }
    }
    if (arch == "s390x") {
        return "s390-ccw-virtio";
    }
    return arch == "arm64" ? "virt" : "q35";
}

}  // namespace scout::cluster
