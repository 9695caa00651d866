// SPDX-License-Identifier: Apache-2.0
#include "cluster/levels.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "cluster/node_profile.h"
#include "migration/comparison.h"
#include "migration/matrix.h"
#include "migration/node_class.h"

namespace scout::cluster {
namespace {

using migration::Layer;
using migration::Verdict;

/// Nodes that answer every question alike.
struct Class {
    migration::StockNode stock;
    migration::Profile profile;
    migration::Labels labels;
    std::vector<std::size_t> nodes;

    [[nodiscard]] bool has_guests() const { return stock.host_models.size() == 1; }
};

/// No label of its TSC says anything of a host-model guest.
const migration::HostFacts no_facts;

Verdict verdict_of(const migration::Comparison& edge, Layer layer) {
    return layer == Layer::stock ? edge.gate : edge.verdict;
}

/// Compares each pair of classes once, a source after the other.
class Judge {
public:
    Judge(const Objects& objects, WallTime now, const LevelOptions& options)
        : options_(options),
          kubevirts_(objects.kubevirts),
          rules_(counting_rules(options, objects.kubevirts)) {
        for (const auto& node : objects.nodes) {
            enter(node, objects, now);
        }
        for (const auto& each : classes_) {
            targets_.push_back(migration::prepare({.profile = each.profile,
                                                   .facts = no_facts,
                                                   .labels = each.labels,
                                                   .labels_derived = false},
                                                  options_.map));
        }
    }

    Levels judge() {
        refused_.resize(nodes_.size());
        for (const auto& from : classes_) {
            if (from.has_guests()) {
                judge_class(from);
            }
        }
        Levels out;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            auto& node = nodes_[i];
            if (node.counted()) {
                node.answer.level =
                    migration::migratability_level(node.answer.destinations, counted_[node.arch]);
            }
            out.nodes.push_back(std::move(node.answer));
            std::move(refused_[i].begin(), refused_[i].end(), std::back_inserter(out.refused));
        }
        out.not_listed = refusals_ - out.refused.size();
        return out;
    }

private:
    struct Known {
        std::string arch;
        std::size_t number = 0;                   ///< of its class
        bool target = false;                      ///< KubeVirt knows the node
        std::optional<migration::Reason> closed;  ///< for VMs, and it does not count
        NodeLevel answer;

        [[nodiscard]] bool counted() const { return answer.not_counted.empty(); }
    };

    void enter(const kube::Node& node, const Objects& objects, WallTime now) {
        const auto state = node_state(node, now, rules_);
        Known known{.arch = state.stock.arch,
                    .number = class_of(state, node_profile(node, state.stock, objects)),
                    .target = is_of_kubevirt(node),
                    .closed = std::nullopt,
                    .answer = {.name = node.meta.name,
                               .schedulable = state.schedulable,
                               .level = std::nullopt,
                               .not_counted = state.not_counted,
                               .destinations = 0,
                               .out = {},
                               .unknown = {}}};
        if (known.counted()) {
            ++counted_[known.arch];
        } else {
            known.closed = why_closed(state);
        }
        classes_[known.number].nodes.push_back(nodes_.size());
        nodes_.push_back(std::move(known));
    }

    std::size_t class_of(const NodeState& state, const NodeProfile& chosen) {
        migration::Labels labels;
        for (const auto& [name, value] : state.labels) {
            if (migration::matters_to_class(name, value)) {
                labels.emplace_hint(labels.end(), name, value);
            }
        }
        const auto [place, fresh] =
            numbers_.try_emplace({chosen.object, std::move(labels)}, classes_.size());
        if (fresh) {
            classes_.push_back({.stock = state.stock,
                                .profile = truth_profile(chosen, state.stock, options_.map),
                                .labels = place->first.second,
                                .nodes = {}});
        }
        return place->second;
    }

    void judge_class(const Class& from) {
        const auto guest = migration::host_model_guest(from.profile);
        const auto stock = migration::stock_host_model_guest(
            from.stock, machine_type_for(from.stock.arch, options_, kubevirts_));
        const auto ready = migration::prepare(guest, stock, options_.map);
        std::vector<migration::Comparison> edges;
        edges.reserve(targets_.size());
        for (const auto& target : targets_) {
            edges.push_back(migration::compare(ready, target));
        }
        const auto closed = closed_edges(edges);
        for (const auto source : from.nodes) {
            for (std::size_t i = 0; i < nodes_.size(); ++i) {
                if (i != source && nodes_[i].target) {
                    const auto own = closed.find(i);
                    const auto& edge = edges[nodes_[i].number];
                    judge_pair(source, i, own == closed.end() ? edge : own->second);
                }
            }
        }
    }

    /// Those to nodes that are closed, by the node: its class does not know.
    [[nodiscard]] std::map<std::size_t, migration::Comparison> closed_edges(
        const std::vector<migration::Comparison>& edges) const {
        std::map<std::size_t, migration::Comparison> out;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const auto& node = nodes_[i];
            if (node.target && node.closed) {
                const auto place = out.emplace(i, edges[node.number]).first;
                migration::refuse(place->second, *node.closed);
            }
        }
        return out;
    }

    /// A node that is closed does not count, so its edge, which says no, opens nothing.
    void judge_pair(std::size_t source, std::size_t target, const migration::Comparison& edge) {
        auto& from = nodes_[source];
        const auto& to = nodes_[target];
        const auto verdict = verdict_of(edge, options_.layer);
        if (to.counted() && to.arch == from.arch && verdict != Verdict::cannot) {
            from.answer.destinations += verdict == Verdict::can ? 1U : 0U;
            if (options_.names_destinations) {
                auto& names = verdict == Verdict::can ? from.answer.out : from.answer.unknown;
                names.push_back(to.answer.name);
            }
        }
        note_refusals(source, to.answer.name, edge);
    }

    void note_refusals(std::size_t source, const std::string& to,
                       const migration::Comparison& edge) {
        for (const auto& [layer, verdict] :
             {std::pair{Layer::stock, edge.gate}, std::pair{Layer::truth, edge.truth}}) {
            if (verdict != Verdict::cannot || ++refusals_ > options_.most_refusals) {
                continue;
            }
            Refusal refusal{nodes_[source].answer.name, to, layer, {}};
            std::copy_if(edge.reasons.begin(), edge.reasons.end(),
                         std::back_inserter(refusal.reasons),
                         [&refusal](const auto& each) { return each.layer == refusal.layer; });
            refused_[source].push_back(std::move(refusal));
        }
    }

    const LevelOptions& options_;
    const std::vector<kube::KubeVirt>& kubevirts_;
    CountingRules rules_;
    std::vector<Known> nodes_;
    std::map<std::pair<const CpuProfile*, migration::Labels>, std::size_t> numbers_;
    std::vector<Class> classes_;
    std::vector<migration::PreparedNode> targets_;  ///< the classes as targets
    std::map<std::string, std::uint32_t> counted_;  ///< by architecture
    std::vector<std::vector<Refusal>> refused_;     ///< by source node
    std::size_t refusals_ = 0;                      ///< of all, listed or not
};

}  // namespace

Levels judge_levels(const Objects& objects, WallTime now, const LevelOptions& options) {
    return Judge(objects, now, options).judge();
}

CountingRules counting_rules(const LevelOptions& options,
                             const std::vector<kube::KubeVirt>& kubevirts) {
    auto rules = options.counting;
    if (const auto* kubevirt = kubevirt_in_force(kubevirts)) {
        rules.selectors = plain_labels(kubevirt->node_selectors);
    }
    return rules;
}

std::string machine_type_for(std::string_view arch, const LevelOptions& options,
                             const std::vector<kube::KubeVirt>& kubevirts) {
    return options.machine_type.empty() ? default_machine(kubevirts, arch) : options.machine_type;
}

std::string default_machine(const std::vector<kube::KubeVirt>& kubevirts, std::string_view arch) {
    if (const auto* kubevirt = kubevirt_in_force(kubevirts)) {
        if (!kubevirt->machine.empty()) {
            return kubevirt->machine.str();
        }
        for (const auto& entry : kubevirt->architecture_machines) {
            if (entry.architecture == arch && !entry.machine.empty()) {
                return entry.machine.str();
            }
        }
    }
    if (arch == "s390x") {
        return "s390-ccw-virtio";
    }
    return arch == "arm64" ? "virt" : "q35";
}

}  // namespace scout::cluster
