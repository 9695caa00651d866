// SPDX-License-Identifier: Apache-2.0
#include "migration/label_check.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "migration/label_rules.h"

namespace scout::migration {
namespace {

constexpr std::size_t longest_name = 63;  // of a label, Kubernetes' limit
/// Kinds of labels that all have the value "true".
constexpr std::array flags{
    label::cpu_feature,      label::cpu_model, label::known_model,  label::host_model,
    label::required_feature, label::vendor,    label::machine_type, label::hyperv};

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_label_name(std::string_view name) {
    const auto inner = [](char c) {
        return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
    };
    return !name.empty() && name.size() <= longest_name && is_letter_or_digit(name.front()) &&
           is_letter_or_digit(name.back()) && std::all_of(name.begin(), name.end(), inner);
}

Checked look_at(const LabelledNode& node) {
    Checked out{.node = node, .stock = stock_node(node.labels), .findings = {}};
    for (const auto& [key, value] : node.labels) {
        const std::string_view view = key;
        out.by_labeller |= view.starts_with(label::tsc_frequency) ||
                           std::any_of(flags.begin(), flags.end(), [view](std::string_view prefix) {
                               return view.starts_with(prefix);
                           });
        out.by_kubevirt |= is_of_kubevirt(view);
    }
    return out;
}

void check_form(Checked& node) {
    std::vector<std::string> keys;
    std::vector<std::string> values;
    std::vector<std::string> with_wrong_value;
    for (const auto& [key, value] : node.node.labels) {
        for (const auto prefix : flags) {
            if (!std::string_view{key}.starts_with(prefix)) {
                continue;
            }
            if (!is_label_name(std::string_view{key}.substr(prefix.size()))) {
                keys.push_back(key);
            } else if (value != "true") {
                values.push_back(pair_text(key, value));
                with_wrong_value.push_back(key);
            }
        }
    }
    if (!keys.empty()) {
        const auto text = "keys that Kubernetes would refuse: " + join(keys) +
                          "; expected a name of 1 to 63 letters, digits, '-', '_' and '.' behind "
                          "the '/'; whoever made these files changed them: take the objects anew";
        node.find(Severity::error, FindingCode::malformed, text, std::move(keys));
    }
    if (!values.empty()) {
        node.find(Severity::error, FindingCode::malformed,
                  "labels that no selector matches: " + join(values) +
                      "; expected the value true; " + std::string{rewritten},
                  std::move(with_wrong_value));
    }
}

void check_machine_type(Checked& node, const std::string& wanted) {
    const auto& types = node.stock.machine_types;
    if (std::find(types.begin(), types.end(), wanted) == types.end()) {
        node.find(Severity::warning, FindingCode::missing_machine_type,
                  "no label of machine type " + wanted +
                      ", which VMs of this cluster get if they ask for none: those cannot come "
                      "here whatever the CPU is; bring virt-handler on this node up to date, or "
                      "set another default in the KubeVirt object",
                  {std::string{label::machine_type} + wanted});
    }
}

void check_for_all(Checked& node, const LabelCheckOptions& options) {
    const auto wanted = options.machine_types.find(node.stock.arch);
    if (node.stock.machine_types.empty()) {
        node.find(Severity::warning, FindingCode::missing_machine_type,
                  "no machine-type label, as old labellers have it: KubeVirt from 1.6 on asks for "
                  "one of every node, so no VM can come here whatever the CPU is; bring "
                  "virt-handler on this node up to date",
                  {std::string{label::machine_type}});
    } else if (wanted != options.machine_types.end()) {
        check_machine_type(node, wanted->second);
    }
    if (node.stock.arch.empty()) {
        node.find(Severity::warning, FindingCode::missing_arch,
                  "no architecture label, for which KubeVirt asks; kubelet writes it: take the "
                  "object anew, or restart kubelet there",
                  {std::string{label::arch}});
    }
}

/// What only virt-handler's heartbeat and its silence write (dossier §5.2).
void check_schedulable(Checked& node) {
    const auto found = node.node.labels.find(label::schedulable);
    if (found == node.node.labels.end()) {
        node.find(Severity::warning, FindingCode::unschedulable,
                  "no label kubevirt.io/schedulable: virt-handler has not come up on this node; "
                  "look at its pod there",
                  {std::string{label::schedulable}});
    } else if (found->second != "true") {
        node.find(Severity::warning, FindingCode::unschedulable,
                  "kubevirt.io/schedulable is " + or_unstated(found->second) +
                      ": virt-handler says so itself, or virt-controller does after 5 minutes "
                      "without its heartbeat; look at virt-handler's pod there, and at the "
                      "annotation kubevirt.io/heartbeat",
                  {std::string{label::schedulable}});
    }
}

/// Kinds of labels that tell the age of a labeller, by their prefixes.
struct Kinds {
    bool machine_types = false;
    bool known_models = false;
    bool vmx_details = false;

    void add(const StockNode& node) {
        machine_types |= !node.machine_types.empty();
        known_models |= !node.known_models.empty();
        vmx_details |= lists_vmx_details(node.features);
    }
};

/// Details of nested virtualisation are expected only where there is nested virtualisation.
void check_age(Checked& node, const Kinds& others) {
    Kinds own;
    own.add(node.stock);
    std::vector<std::string> keys;
    if (others.machine_types && !own.machine_types) {
        keys.emplace_back(label::machine_type);
    }
    if (others.known_models && !own.known_models) {
        keys.emplace_back(label::known_model);
    }
    if (others.vmx_details && !own.vmx_details && contains(node.stock.features, "vmx")) {
        keys.push_back(std::string{label::cpu_feature} + "vmx-");
    }
    if (!keys.empty()) {
        const auto text = "an older labeller than on other nodes of this architecture: no labels " +
                          join(keys) +
                          "…, which those have, so VMs from there are refused here for want of "
                          "labels alone; bring virt-handler on this node up to date";
        node.find(Severity::warning, FindingCode::old_labeller, text, std::move(keys));
    }
}

void check_not_labelled(Checked& node) {
    if (!node.by_kubevirt) {
        node.find(Severity::note, FindingCode::not_labelled,
                  "no label of KubeVirt: virt-handler does not run on this node, so no VM comes "
                  "here",
                  {});
        return;
    }
    node.find(Severity::warning, FindingCode::not_labelled,
              "no label of KubeVirt's labeller: it has not run here, or the annotation "
              "node-labeller.kubevirt.io/skip-node keeps it away; no VM comes here without",
              {});
    check_schedulable(node);
}

void check(Checked& node, const Kinds& others, const LabelCheckOptions& options) {
    if (!node.by_labeller) {
        check_not_labelled(node);
        return;
    }
    check_form(node);
    if (node.stock.arch != "arm64") {  // which has no CPU labels (dossier §5.2)
        check_cpu_labels(node, options);
    }
    check_for_all(node, options);
    check_age(node, others);
    check_schedulable(node);
    std::stable_sort(node.findings.begin(), node.findings.end(),
                     [](const LabelFinding& a, const LabelFinding& b) {
                         return std::pair{a.severity, a.code} < std::pair{b.severity, b.code};
                     });
}

}  // namespace

std::vector<NodeFindings> check_labels(const std::vector<LabelledNode>& nodes,
                                       const LabelCheckOptions& options) {
    std::vector<Checked> checked;
    checked.reserve(nodes.size());
    std::map<std::string, Kinds> by_arch;
    for (const auto& node : nodes) {
        checked.push_back(look_at(node));
        by_arch[checked.back().stock.arch].add(checked.back().stock);
    }
    std::vector<NodeFindings> out;
    out.reserve(nodes.size());
    for (auto& node : checked) {
        check(node, by_arch[node.stock.arch], options);
        out.push_back({.node = node.node.name, .findings = std::move(node.findings)});
    }
    return out;
}

std::string_view to_string(Severity severity) noexcept {
    switch (severity) {
        case Severity::error:
            return "error";
        case Severity::warning:
            return "warning";
        case Severity::note:
            return "note";
    }
    return "note";
}

std::string_view to_string(FindingCode code) noexcept {
    switch (code) {
        case FindingCode::malformed:
            return "malformed";
        case FindingCode::inconsistent:
            return "inconsistent";
        case FindingCode::stale:
            return "stale";
        case FindingCode::missing_host_model:
            return "missing-host-model";
        case FindingCode::missing_machine_type:
            return "missing-machine-type";
        case FindingCode::missing_arch:
            return "missing-arch";
        case FindingCode::old_labeller:
            return "old-labeller";
        case FindingCode::obsolete:
            return "obsolete";
        case FindingCode::unschedulable:
            return "unschedulable";
        case FindingCode::not_labelled:
            return "not-labelled";
        case FindingCode::level:
            return "level";
    }
    return "level";
}

}  // namespace scout::migration
