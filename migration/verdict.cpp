// SPDX-License-Identifier: Apache-2.0
#include "migration/verdict.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace scout::migration {

std::string_view to_string(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::can:
            return "can";
        case Verdict::cannot:
            return "cannot";
        case Verdict::unknown:
            return "unknown";
    }
    return "unknown";
}

std::string_view to_string(Layer layer) noexcept {
    return layer == Layer::stock ? "stock" : "truth";
}

std::optional<Layer> layer_named(std::string_view name) noexcept {
    for (const auto layer : {Layer::stock, Layer::truth}) {
        if (name == to_string(layer)) {
            return layer;
        }
    }
    return std::nullopt;
}

// NOLINTNEXTLINE(readability-function-size): a table
std::string_view to_string(ReasonCode code) noexcept {
    switch (code) {
        case ReasonCode::document:
            return "document";
        case ReasonCode::virt_type:
            return "virt-type";
        case ReasonCode::not_running:
            return "not-running";
        case ReasonCode::not_migratable:
            return "not-migratable";
        case ReasonCode::arch:
            return "arch";
        case ReasonCode::vendor:
            return "vendor";
        case ReasonCode::stale_selector:
            return "stale-selector";
        case ReasonCode::model:
            return "model";
        case ReasonCode::machine_type:
            return "machine-type";
        case ReasonCode::tsc:
            return "tsc";
        case ReasonCode::tsc_label:
            return "tsc-label";
        case ReasonCode::feature:
            return "feature";
        case ReasonCode::not_reported:
            return "not-reported";
        case ReasonCode::selector:
            return "selector";
        case ReasonCode::node_affinity:
            return "node-affinity";
        case ReasonCode::taint:
            return "taint";
        case ReasonCode::pod_affinity:
            return "pod-affinity";
        case ReasonCode::pod_anti_affinity:
            return "pod-anti-affinity";
        case ReasonCode::topology_spread:
            return "topology-spread";
        case ReasonCode::volume:
            return "volume";
        case ReasonCode::resources:
            return "resources";
        case ReasonCode::host_port:
            return "host-port";
        case ReasonCode::unschedulable:
            return "unschedulable";
        case ReasonCode::not_comparable:
            return "not-comparable";
    }
    return "not-comparable";
}

Verdict combine(Verdict first, Verdict second) noexcept {
    if (first == Verdict::cannot || second == Verdict::cannot) {
        return Verdict::cannot;
    }
    if (first == Verdict::can && second == Verdict::can) {
        return Verdict::can;
    }
    return Verdict::unknown;
}

std::string or_unstated(const std::string& text) {
    return text.empty() ? "unstated" : text;
}

std::vector<Reason> deciding_first(std::vector<Reason> no, std::vector<Reason> unknown) {
    const auto heavier = [](const Reason& a, const Reason& b) { return a.code < b.code; };
    std::stable_sort(no.begin(), no.end(), heavier);
    std::stable_sort(unknown.begin(), unknown.end(), heavier);
    std::move(unknown.begin(), unknown.end(), std::back_inserter(no));
    return no;
}

}  // namespace scout::migration
