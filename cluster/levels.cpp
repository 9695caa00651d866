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

/// Nodes that are alike as targets too: of one class, and closed for the same reasons or not at
/// all.
struct TargetKind {
    std::size_t number = 0;  ///< of the class
    std::vector<migration::Reason> closed;
};

/// What guests of one class meet at targets of one kind.
struct Edge {
    Verdict verdict = Verdict::unknown;
    bool truth_known = false;
    /// Layers that say no.
    std::vector<std::pair<Layer, Refusal::Reasons>> refused;
};

Refusal::Reasons reasons_of(const std::vector<migration::Reason>& both, Layer layer) {
    std::vector<migration::Reason> own;
    std::copy_if(both.begin(), both.end(), std::back_inserter(own),
                 [layer](const auto& each) { return each.layer == layer; });
    return std::make_shared<const std::vector<migration::Reason>>(std::move(own));
}

/// Compares each class with each kind of targets once, a source after the other.
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
        Levels out;
        out.outlooks.reserve(classes_.size());
        for (const auto& from : classes_) {
            out.outlooks.push_back(from.has_guests() ? judge_class(from) : Outlook{});
        }
        out.nodes.reserve(nodes_.size());
        for (auto& node : nodes_) {
            if (node.counted()) {
                node.answer.level =
                    migration::migratability_level(node.answer.destinations, counted_[node.arch]);
            }
            out.nodes.push_back(std::move(node.answer));
        }
        out.not_listed = refusals_ - listed_;
        return out;
    }

private:
    struct Known {
        std::string arch;
        std::size_t kind = 0;  ///< as a target
        bool target = false;   ///< KubeVirt knows the node
        NodeLevel answer;

        [[nodiscard]] bool counted() const { return answer.not_counted.empty(); }
    };

    /// What one target adds to a node's answer.
    struct Share {
        std::uint32_t destinations = 0;
        std::uint32_t truth_not_known = 0;
        std::size_t refusals = 0;
    };

    void enter(const kube::Node& node, const Objects& objects, WallTime now) {
        const auto state = node_state(node, now, rules_);
        const auto number = class_of(state, node_profile(node, state.stock, objects));
        Known known{.arch = state.stock.arch,
                    .kind = kind_of(number, state),
                    .target = is_of_kubevirt(node),
                    .answer = {.name = node.meta.name,
                               .schedulable = state.schedulable,
                               .level = std::nullopt,
                               .not_counted = state.not_counted,
                               .still_counted = state.still_counted,
                               .outlook = number}};
        if (known.counted()) {
            ++counted_[known.arch];
        }
        classes_[number].nodes.push_back(nodes_.size());
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

    /// A node that counts is not closed for long: that refuses nothing.
    std::size_t kind_of(std::size_t number, const NodeState& state) {
        auto closed =
            state.not_counted.empty() ? std::vector<migration::Reason>{} : why_closed(state);
        std::string texts;
        for (const auto& each : closed) {
            texts += each.text + ";";
        }
        const auto [place, fresh] =
            kind_numbers_.try_emplace({number, std::move(texts)}, kinds_.size());
        if (fresh) {
            kinds_.push_back({.number = number, .closed = std::move(closed)});
        }
        return place->second;
    }

    Outlook judge_class(const Class& from) {
        const auto edges = edges_from(from);
        auto outlook = outlook_of(from, edges);
        Share all;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const auto each = share_of(i, from, edges);
            all.destinations += each.destinations;
            all.truth_not_known += each.truth_not_known;
            all.refusals += each.refusals;
        }
        for (const auto source : from.nodes) {
            const auto own = share_of(source, from, edges);
            const auto refusals = all.refusals - own.refusals;
            auto& answer = nodes_[source].answer;
            answer.destinations = all.destinations - own.destinations;
            answer.truth_not_known = all.truth_not_known - own.truth_not_known;
            answer.refusals = std::min(refusals, options_.most_refusals - listed_);
            listed_ += answer.refusals;
            refusals_ += refusals;
        }
        return outlook;
    }

    /// By the kind of the target.
    [[nodiscard]] std::vector<Edge> edges_from(const Class& from) const {
        const auto guest = migration::host_model_guest(from.profile);
        const auto stock = migration::stock_host_model_guest(
            from.stock, machine_type_for(from.stock.arch, options_, kubevirts_));
        const auto ready = migration::prepare(guest, stock, options_.map);
        std::vector<Edge> edges;
        edges.reserve(kinds_.size());
        for (const auto& kind : kinds_) {
            edges.push_back(edge_to(kind, ready));
        }
        return edges;
    }

    [[nodiscard]] Edge edge_to(const TargetKind& kind,
                               const migration::PreparedGuest& guest) const {
        auto answer = migration::compare(guest, targets_[kind.number]);
        for (const auto& closed : kind.closed) {
            migration::refuse(answer, closed);
        }
        Edge edge{.verdict = verdict_of(answer, options_.layer),
                  .truth_known = answer.truth != Verdict::unknown,
                  .refused = {}};
        for (const auto& [layer, verdict] :
             {std::pair{Layer::stock, answer.gate}, std::pair{Layer::truth, answer.truth}}) {
            if (verdict == Verdict::cannot) {
                edge.refused.emplace_back(layer, reasons_of(answer.reasons, layer));
            }
        }
        return edge;
    }

    [[nodiscard]] Outlook outlook_of(const Class& from, const std::vector<Edge>& edges) const {
        // As many as its first node may list, and those that would be its own.
        const auto room = options_.most_refusals - listed_;
        const auto most = room == 0 ? 0 : room + layers;
        Outlook out;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (!nodes_[i].target) {
                continue;
            }
            const auto place = static_cast<std::uint32_t>(i);
            const auto& edge = edges[nodes_[i].kind];
            if (options_.names_destinations && counts_for(from, i) &&
                edge.verdict != Verdict::cannot) {
                (edge.verdict == Verdict::can ? out.out : out.unknown).push_back(place);
            }
            for (const auto& [layer, reasons] : edge.refused) {
                if (out.refused.size() < most) {
                    out.refused.push_back({.to = place, .layer = layer, .reasons = reasons});
                }
            }
        }
        return out;
    }

    [[nodiscard]] Share share_of(std::size_t target, const Class& from,
                                 const std::vector<Edge>& edges) const {
        const auto& to = nodes_[target];
        if (!to.target) {
            return {};
        }
        const auto& edge = edges[to.kind];
        const bool counts = counts_for(from, target);
        return {.destinations = counts && edge.verdict == Verdict::can ? 1U : 0U,
                .truth_not_known = counts && !edge.truth_known ? 1U : 0U,
                .refusals = edge.refused.size()};
    }

    [[nodiscard]] bool counts_for(const Class& from, std::size_t target) const {
        return nodes_[target].counted() && nodes_[target].arch == from.stock.arch;
    }

    static constexpr std::size_t layers = 2;

    const LevelOptions& options_;
    const std::vector<kube::KubeVirt>& kubevirts_;
    CountingRules rules_;
    std::vector<Known> nodes_;
    std::map<std::pair<const CpuProfile*, migration::Labels>, std::size_t> numbers_;
    std::vector<Class> classes_;
    std::map<std::pair<std::size_t, std::string>, std::size_t> kind_numbers_;
    std::vector<TargetKind> kinds_;
    std::vector<migration::PreparedNode> targets_;  ///< the classes as targets
    std::map<std::string, std::uint32_t> counted_;  ///< by architecture
    std::size_t refusals_ = 0;                      ///< of all, listed or not
    std::size_t listed_ = 0;
};

/// All but the node's own.
std::vector<std::string> names_of(const std::vector<NodeLevel>& nodes,
                                  const std::vector<std::uint32_t>& places, std::size_t own) {
    std::vector<std::string> names;
    names.reserve(places.size());
    for (const auto place : places) {
        if (place != own) {
            names.push_back(nodes[place].name);
        }
    }
    return names;
}

}  // namespace

std::vector<std::string> Levels::out(std::size_t node) const {
    return names_of(nodes, outlooks[nodes[node].outlook].out, node);
}

std::vector<std::string> Levels::unknown(std::size_t node) const {
    return names_of(nodes, outlooks[nodes[node].outlook].unknown, node);
}

std::vector<Refusal> Levels::refused(std::size_t node) const {
    std::vector<Refusal> out;
    out.reserve(nodes[node].refusals);
    for (const auto& each : outlooks[nodes[node].outlook].refused) {
        if (out.size() == nodes[node].refusals) {
            break;
        }
        if (each.to != node) {
            out.push_back(each);
        }
    }
    return out;
}

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
