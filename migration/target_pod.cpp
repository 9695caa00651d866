// SPDX-License-Identifier: Apache-2.0
#include "migration/target_pod.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "migration/label_profile.h"

namespace scout::migration {
namespace {

constexpr std::string_view host_model = "host-model";

Reason stock_reason(ReasonCode code, std::string text, std::vector<std::string> keys) {
    return {.code = code, .layer = Layer::stock, .text = std::move(text), .keys = std::move(keys)};
}

bool carries(const Labels& labels, const std::string& key, const std::string& value) {
    const auto found = labels.find(key);
    return found != labels.end() && found->second == value;
}

/// Rendered from parts of the specification that are not read here; a launcher pod shows them.
bool is_of_specification(std::string_view key) {
    return key.starts_with(label::hyperv) ||
           (key.starts_with(label::launch_security) && key != label::schedulable);
}

/// The name behind the prefix; empty if it is another key.
std::string name_behind(std::string_view key, std::string_view prefix) {
    return std::string{key.starts_with(prefix) ? key.substr(prefix.size()) : std::string_view{}};
}

/// Step 3 for a pod that has been given CPU selectors before.
void freeze(const Labels& pod, const std::optional<Labels>& source, TargetPod& out) {
    for (const auto& [key, value] : pod) {
        if (!is_cpu_selector(key)) {
            continue;
        }
        out.frozen = true;
        out.selectors.erase(key);
        const auto feature = name_behind(key, label::cpu_feature);
        const auto model = name_behind(key, label::known_model);
        if (source && !carries(*source, key, value)) {
            out.stale.insert_or_assign(key, value);
        } else if (value == "true" && !feature.empty()) {
            out.stock.asked_features.push_back(feature);
        } else if (value == "true" && !model.empty() && out.stock.host_model.empty()) {
            out.stock.host_model = model;
        } else {
            out.selectors.insert_or_assign(key, value);
        }
    }
}

/// The model that the frozen selectors name, stale or not; empty: none.
std::string frozen_model(const TargetPod& pod) {
    if (!pod.stock.host_model.empty()) {
        return pod.stock.host_model;
    }
    const auto found = pod.stale.lower_bound(label::known_model);
    return found == pod.stale.end() ? std::string{} : name_behind(found->first, label::known_model);
}

std::optional<Reason> why_not_told(const MovingVm& vm) {
    if (!vm.pod && vm.moved) {
        return stock_reason(
            ReasonCode::not_comparable,
            "the VM may have moved before, and its launcher pod, which tells the CPU selectors "
            "that stay with it since, is not known",
            {vm.node});
    }
    if (!vm.source) {
        return stock_reason(ReasonCode::not_comparable,
                            "the labels of node " + vm.node +
                                ", of which KubeVirt makes the CPU selectors of a first migration, "
                                "are not known",
                            {vm.node});
    }
    return std::nullopt;
}

void ask_for_host_model(const MovingVm& vm, TargetPod& out) {
    if (vm.pod) {
        freeze(*vm.pod, vm.source, out);
    } else if (!vm.required.empty()) {
        out.frozen = true;  // its first pod asks for them already
    }
    if (out.frozen && frozen_model(out).empty()) {
        out.notes.emplace_back(
            "the VM asks for CPU features itself, so KubeVirt looks for these alone, never for "
            "what its host-model has: whether a target can run it, only the CPU truth tells");
    } else if (!out.frozen) {
        out.stock.not_told = why_not_told(vm);
        if (!out.stock.not_told && vm.source) {
            auto guest = stock_host_model_guest(stock_node(*vm.source), {});
            out.stock.host_model = std::move(guest.host_model);
            out.stock.features = std::move(guest.features);
            out.stock.impossible = std::move(guest.impossible);
        }
    }
    if (out.stock.host_model.empty()) {
        out.absent.emplace_back(label::obsolete);  // else the stock gate looks at it
    }
}

/// Step 2; the pod's own keys stay.
void add_selectors(const Labels& added, TargetPod& out) {
    const auto own = selectors_of(out);
    std::copy_if(added.begin(), added.end(), std::inserter(out.selectors, out.selectors.end()),
                 [&own](const auto& entry) { return !own.contains(entry.first); });
}

/// Step 4. A pod that was a migration target itself shows the vendor of nodes before.
void ask_for_vendor(const MovingVm& vm, TargetPod& out) {
    const auto given = out.selectors.lower_bound(label::vendor);
    if (given != out.selectors.end() && !name_behind(given->first, label::vendor).empty()) {
        return;
    }
    const auto* labels = vm.source ? &*vm.source : vm.pod ? &*vm.pod : nullptr;
    if (labels != nullptr) {
        out.stock.vendors = stock_node(*labels).vendors;
    }
    out.stock.vendor_not_told = !vm.source && out.stock.vendors.empty();
}

void refuse_for(ReasonCode code, std::string text, std::vector<std::string> keys,
                Comparison& comparison) {
    if (!keys.empty()) {
        text += join(keys);
        refuse(comparison, stock_reason(code, std::move(text), std::move(keys)));
    }
}

/// Keys, with their values where those are not "true", that the node does not carry.
std::vector<std::string> lacking(const Labels& asked, const Labels& node) {
    std::vector<std::string> out;
    for (const auto& [key, value] : asked) {
        if (!carries(node, key, value)) {
            out.push_back(value == "true" ? key : pair_text(key, value));
        }
    }
    return out;
}

/// Asked for at the guest's start, and its own node has them no longer.
FeatureSet lost_features(const TargetPod& pod) {
    FeatureSet out;
    for (const auto& [key, value] : pod.stale) {
        if (auto feature = name_behind(key, label::cpu_feature); !feature.empty()) {
            out = unite(out, {std::move(feature)});
        }
    }
    return out;
}

/// A node that would give a guest the frozen model and features.
StockNode first_node(const StockNode& source, const TargetPod& pod) {
    auto node = source;
    node.host_models = {frozen_model(pod)};
    node.required = unite(make_feature_set(pod.stock.asked_features), lost_features(pod));
    return node;
}

bool is_passed_through(const MovingVm& vm) {
    return vm.cpu_model == "host-passthrough" || vm.cpu_model == "maximum";
}

/// Its node as far as it is known.
StockNode source_of(const MovingVm& vm) {
    auto node = vm.source ? stock_node(*vm.source) : StockNode{};
    if (!vm.arch.empty()) {
        node.arch = vm.arch;
    }
    return node;
}

GuestCpu host_model_cpu(const MovingVm& vm, const TargetPod& pod, const CpuMap* map) {
    const bool told = pod.frozen && !frozen_model(pod).empty();
    const auto source = source_of(vm);
    auto guest = host_model_guest(label_profile(told ? first_node(source, pod) : source, map));
    guest.lost = lost_features(pod);
    if (!vm.source) {
        guest.doubt = "the labels of node " + vm.node + ", where the guest runs, are not known";
    } else if (pod.stock.not_told) {
        guest.doubt = pod.stock.not_told->text;
    } else if (pod.stock.impossible) {
        guest.doubt = pod.stock.impossible->text;
    } else if (!told && vm.moved) {
        guest.doubt =
            "the guest may have moved before, and no selector of a launcher pod names the CPU "
            "model "
            "that it started with: give the launcher pods too, or see its live XML";
    }
    if (!guest.doubt.empty()) {
        guest.model.clear();  // any other would be made up
    }
    return guest;
}

GuestCpu other_cpu(const MovingVm& vm, const CpuMap* map) {
    const auto source = source_of(vm);
    const auto profile = label_profile(source, nullptr);
    GuestCpu guest;
    guest.arch = profile.arch;
    if (is_passed_through(vm)) {
        guest.mode = CpuMode::host_passthrough;
    } else {
        guest.model = vm.cpu_model;
    }
    const auto* model = map == nullptr ? nullptr : map->find(guest.model);
    if (vm.source && model != nullptr) {
        guest.disable = subtract(model->features, unite(source.features, vm.required));
    }
    return running_on(std::move(guest), profile);
}

}  // namespace

TargetPod target_pod(const MovingVm& vm) {
    TargetPod out;
    out.selectors = vm.vm_selectors;
    out.selectors.insert(vm.cluster_selectors.begin(), vm.cluster_selectors.end());
    if (vm.pod) {
        std::copy_if(vm.pod->begin(), vm.pod->end(),
                     std::inserter(out.selectors, out.selectors.end()),
                     [](const auto& entry) { return is_of_specification(entry.first); });
    }
    out.stock.arch = vm.arch;
    out.stock.machine_type = vm.machine_type;
    out.stock.asked_features = vm.required;
    out.stock.tsc_hz = vm.tsc_hz;
    for (const auto& feature : vm.forbidden) {
        out.absent.push_back(std::string{label::cpu_feature} + feature);
    }
    if (vm.cpu_model == host_model) {
        ask_for_host_model(vm, out);
    } else if (!is_passed_through(vm)) {
        out.stock.named_model = vm.cpu_model;
    }
    out.stock.asked_features = make_feature_set(std::move(out.stock.asked_features));
    out.term = vm.term;
    if (!vm.added.empty()) {
        add_selectors(vm.added, out);
    }
    ask_for_vendor(vm, out);
    return out;
}

bool is_cpu_selector(std::string_view key) noexcept {
    return key.find(label::cpu_feature) != std::string_view::npos ||
           key.find(label::known_model) != std::string_view::npos;
}

Labels selectors_of(const TargetPod& pod) {
    auto out = pod.selectors;
    out.insert(pod.stale.begin(), pod.stale.end());
    const auto& stock = pod.stock;
    const auto ask = [&out](std::string_view prefix, const std::string& name) {
        if (!name.empty()) {
            out.insert_or_assign(std::string{prefix} + name, "true");
        }
    };
    out.insert_or_assign(std::string{label::schedulable}, "true");
    if (!stock.arch.empty()) {
        out.insert_or_assign(std::string{label::arch}, stock.arch);
    }
    ask(label::machine_type, stock.machine_type);
    ask(label::known_model, stock.host_model);
    ask(label::cpu_model, stock.named_model);
    for (const auto* features : {&stock.asked_features, &stock.features}) {
        for (const auto& feature : *features) {
            ask(label::cpu_feature, feature);
        }
    }
    for (const auto& vendor : stock.vendors) {
        ask(label::vendor, vendor);
    }
    if (stock.tsc_hz) {
        ask(label::tsc_scheduling, std::to_string(*stock.tsc_hz));
    }
    return out;
}

void apply(const TargetPod& pod, const Labels& node, Comparison& comparison) {
    refuse_for(ReasonCode::stale_selector,
               "stale selectors, which stay with the VM though its own node has these labels no "
               "longer: the target node has no ",
               lacking(pod.stale, node), comparison);
    refuse_for(ReasonCode::selector, "the target node has no label ", lacking(pod.selectors, node),
               comparison);
    std::vector<std::string> unwanted;
    std::copy_if(pod.absent.begin(), pod.absent.end(), std::back_inserter(unwanted),
                 [&node](const std::string& key) { return node.contains(key); });
    refuse_for(ReasonCode::selector, "the VM must not go to a node with label ",
               std::move(unwanted), comparison);
}

GuestCpu assumed_guest(const MovingVm& vm, const TargetPod& pod, const CpuMap* map) {
    auto guest = vm.cpu_model == host_model ? host_model_cpu(vm, pod, map) : other_cpu(vm, map);
    guest.virt_type = vm.emulated ? "qemu" : "kvm";
    guest.require = unite(guest.require, vm.required);
    guest.disable = unite(guest.disable, unite(vm.disabled, vm.forbidden));
    guest.machine = vm.machine_type;
    guest.tsc_hz = vm.tsc_hz;
    guest.ties.reset();  // nobody told
    if (!vm.optional.empty() && guest.doubt.empty()) {
        guest.doubt = "the VM leaves it to its first node whether it has " + join(vm.optional);
    }
    return guest;
}

}  // namespace scout::migration
