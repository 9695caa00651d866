// SPDX-License-Identifier: Apache-2.0
#include "migration/comparison.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "migration/cheapest_change.h"

namespace scout::migration {
namespace {

std::string count_text(std::size_t count, std::string_view what) {
    return std::to_string(count) + " " + std::string{what};
}

/// The layer that decides comes first: the truth, unless the gate alone says no.
std::vector<Reason> in_order(const Comparison& verdicts, std::vector<Reason> stock,
                             std::vector<Reason> truth) {
    const bool gate_decides = verdicts.gate == Verdict::cannot && verdicts.truth != Verdict::cannot;
    auto reasons = std::move(gate_decides ? stock : truth);
    auto& rest = gate_decides ? truth : stock;
    std::move(rest.begin(), rest.end(), std::back_inserter(reasons));
    return reasons;
}

}  // namespace

PreparedGuest prepare(const GuestCpu& guest, const StockGuest& stock, const CpuMap* map) {
    return {.truth = prepare(guest, map), .stock = stock};
}

PreparedNode prepare(const NodeView& node, const CpuMap* map) {
    return {.truth = prepare(Target{.profile = node.profile, .facts = node.facts}, map),
            .stock = node.labels_derived
                         ? derived_stock_node(node.labels, node.profile, node.facts, map)
                         : stock_node(node.labels)};
}

Comparison compare(const GuestCpu& guest, const StockGuest& stock, const NodeView& target,
                   const CpuMap* map) {
    return compare(prepare(guest, stock, map), prepare(target, map));
}

Comparison compare(const PreparedGuest& guest, const PreparedNode& target) {
    auto truth = compare_truth(guest.truth, target.truth);
    auto gate = pass_gate(guest.stock, target.stock);
    Comparison out;
    out.gate = gate.verdict;
    out.truth = truth.verdict;
    out.verdict = combine(gate.verdict, truth.verdict);
    out.missing = std::move(truth.missing);
    out.map = std::move(truth.map);
    out.assumed = target.truth.host.profile.origin == ProfileOrigin::bare_cpu;
    out.reasons = in_order(out, std::move(gate.reasons), std::move(truth.reasons));
    return out;
}

void refuse(Comparison& comparison, Reason reason) {
    std::vector<Reason> stock;
    std::vector<Reason> truth;
    for (auto& each : comparison.reasons) {
        (each.layer == Layer::stock ? stock : truth).push_back(std::move(each));
    }
    const auto heavier = [&reason, &comparison](const Reason& each) {
        return comparison.gate == Verdict::cannot && each.code <= reason.code;
    };
    stock.insert(std::find_if_not(stock.begin(), stock.end(), heavier), std::move(reason));
    comparison.gate = Verdict::cannot;
    comparison.verdict = Verdict::cannot;
    comparison.reasons = in_order(comparison, std::move(stock), std::move(truth));
}

void leave_open(Comparison& comparison, Reason reason) {
    if (comparison.gate == Verdict::can) {
        comparison.gate = Verdict::unknown;
    }
    comparison.verdict = combine(comparison.gate, comparison.truth);
    comparison.reasons.push_back(std::move(reason));
}

std::string not_judged(const GuestCpu& guest) {
    return guest.ties ? std::string{} : "devices are not judged: they are not told of this guest";
}

std::string summary(const Placement& placement) {
    std::size_t can = 0;
    std::size_t unknown = 0;
    std::size_t gaps = 0;
    for (const auto& node : placement.nodes) {
        can += node.comparison.verdict == Verdict::can ? 1U : 0U;
        unknown += node.comparison.verdict == Verdict::unknown ? 1U : 0U;
        gaps += node.comparison.gap() ? 1U : 0U;
    }
    std::string text =
        "can go to " + std::to_string(can) + " of " +
        count_text(placement.nodes.size(), placement.nodes.size() == 1 ? "node" : "nodes");
    if (unknown > 0) {
        text += "; " + count_text(unknown, "cannot be compared");
    }
    if (gaps > 0) {
        text += "; " + count_text(gaps, "would be let through by KubeVirt's labels and fail");
    }
    if (const auto change = cheapest_change(placement)) {
        text += "; cheapest change: " + *change;
    }
    return text;
}

}  // namespace scout::migration
