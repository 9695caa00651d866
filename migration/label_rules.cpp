// SPDX-License-Identifier: Apache-2.0
#include "migration/label_rules.h"

#include <optional>
#include <string_view>

#include "base/number.h"
#include "migration/cpu_truth.h"

namespace scout::migration {
namespace {

std::vector<std::string> keyed(std::string_view prefix, const std::vector<std::string>& names) {
    std::vector<std::string> keys;
    keys.reserve(names.size());
    for (const auto& name : names) {
        keys.push_back(std::string{prefix} + name);
    }
    return keys;
}

void check_host_model(Checked& node) {
    const auto& stock = node.stock;
    if (stock.host_models.size() > 1) {
        node.find(Severity::error, FindingCode::inconsistent,
                  "host-models " + join(stock.host_models) +
                      "; expected one, so nothing is told of host-model guests of this node; " +
                      std::string{rewritten},
                  keyed(label::host_model, stock.host_models));
    } else if (stock.host_models.empty() && !stock.required.empty()) {
        node.find(
            Severity::error, FindingCode::inconsistent,
            "features that a host-model requires, and no host-model; " + std::string{rewritten},
            {std::string{label::host_model}, std::string{label::required_feature}});
    } else if (stock.host_models.empty()) {
        node.find(Severity::warning, FindingCode::missing_host_model,
                  "no host-model-cpu label: KubeVirt can migrate no host-model VM that starts "
                  "here; see that /dev/kvm is there, and restart virt-handler on this node",
                  {std::string{label::host_model}});
    }
}

/// Which of several vendors is the CPU's, by the model that the node's host-model is.
std::optional<std::string> right_vendor(const StockNode& stock, const CpuMap* map) {
    if (map == nullptr || stock.host_models.size() != 1) {
        return std::nullopt;
    }
    const auto* model = map->find(stock.host_models.front());
    const bool known = model != nullptr && contains(stock.vendors, model->vendor);
    return known ? std::optional{model->vendor} : std::nullopt;
}

/// The labeller never takes a vendor away (dossier §5.2).
void check_vendor(Checked& node, const CpuMap* map) {
    const auto& stock = node.stock;
    if (stock.vendors.empty() && !stock.host_models.empty()) {
        node.find(Severity::error, FindingCode::inconsistent,
                  "a host-model and no CPU vendor, which the labeller writes with "
                  "it; no VM can come here from a node that has one; " +
                      std::string{rewritten},
                  {std::string{label::vendor}});
    }
    if (stock.vendors.size() < 2) {
        return;
    }
    const auto right = right_vendor(stock, map);
    const auto wrong = right ? subtract(stock.vendors, {*right}) : stock.vendors;
    const auto example = std::string{label::vendor} + wrong.front();
    node.find(Severity::error, FindingCode::inconsistent,
              "CPU vendors " + join(stock.vendors) +
                  "; expected one, for KubeVirt asks any one of them of the targets of VMs that "
                  "leave the node; "
                  "the labeller never takes one away: remove " +
                  (right ? "the stale one (" + stock.host_models.front() + " is of " + *right +
                               "): kubectl label node " + node.node.name + " " + example + "-"
                         : "what is not the CPU's, for example: kubectl label node " +
                               node.node.name + " " + example + "-"),
              keyed(label::vendor, stock.vendors));
}

void check_models(Checked& node) {
    const auto& stock = node.stock;
    const auto unknown = subtract(stock.usable_models, stock.known_models);
    if (!unknown.empty()) {
        node.find(Severity::error, FindingCode::inconsistent,
                  "usable models that are not known ones: " + join(unknown) +
                      "; the labeller writes cpu-model-migration for every cpu-model; " +
                      std::string{rewritten},
                  keyed(label::known_model, unknown));
    }
    if (stock.host_models.size() == 1 && !contains(stock.known_models, stock.host_models.front())) {
        const auto& model = stock.host_models.front();
        node.find(Severity::warning, FindingCode::inconsistent,
                  "the host-model " + model +
                      " is no known model here: host-model VMs that start here ask for "
                      "cpu-model-migration of it, so none can come back; the labeller leaves out "
                      "what obsoleteCPUModels of the KubeVirt object names",
                  {std::string{label::known_model} + model});
    }
}

/// Both lists come from the same hypervisor (dossier §5.1), so the node should pass its own.
void check_own_features(Checked& node) {
    const auto lacking = subtract(node.stock.required, node.stock.features);
    if (!lacking.empty() && !node.stock.host_models.empty()) {
        node.find(Severity::warning, FindingCode::inconsistent,
                  "the host-model requires CPU features that the node itself has no label for: " +
                      join(lacking) +
                      "; no host-model VM that starts here can come back, or go to a node like "
                      "it; restart virt-handler there, and if it stays, compare `virsh "
                      "domcapabilities` with `virsh hypervisor-cpu-baseline --features` of it",
                  keyed(label::cpu_feature, lacking));
    }
}

/// Labels that this KubeVirt object would not have written.
void check_obsolete_models(Checked& node, const LabelOptions& kubevirt) {
    const auto& stock = node.stock;
    FeatureSet excluded;
    for (const auto& model : unite(stock.known_models, stock.usable_models)) {
        if (is_obsolete(model, kubevirt)) {
            excluded.push_back(model);
        }
    }
    const std::string list = kubevirt.obsolete_models != nullptr
                                 ? "obsoleteCPUModels of the KubeVirt object"
                                 : "KubeVirt's built-in list of obsolete models";
    if (!excluded.empty()) {
        node.find(Severity::warning, FindingCode::stale,
                  "labels for models that " + list + " excludes: " + join(excluded) +
                      "; the labeller of this node is of another version, or does not run: see to "
                      "virt-handler there",
                  keyed(label::known_model, excluded));
    }
    const bool listed = stock.host_models.size() == 1 && kubevirt.obsolete_models != nullptr &&
                        kubevirt.obsolete_models->contains(stock.host_models.front());
    if (stock.host_models.size() == 1 && listed != stock.obsolete_host_model) {
        node.find(Severity::warning, FindingCode::stale,
                  "the host-model " + stock.host_models.front() +
                      (listed ? " is listed in obsoleteCPUModels of the KubeVirt object, and the "
                                "node is not labelled so: "
                              : " is labelled obsolete, and obsoleteCPUModels of the KubeVirt "
                                "object does not list it: ") +
                      "the labeller has not applied the list; see to virt-handler there",
                  {std::string{label::obsolete}});
    }
}

void check_obsolete(Checked& node) {
    if (node.stock.obsolete_host_model) {
        node.find(Severity::warning, FindingCode::obsolete,
                  "the host-model is obsolete (obsoleteCPUModels of the KubeVirt object): no "
                  "host-model VM comes here",
                  {std::string{label::obsolete}});
    }
}

void check_tsc(Checked& node) {
    const auto& labels = node.node.labels;
    const auto frequency = labels.find(label::tsc_frequency);
    const auto scalable = labels.find(label::tsc_scalable);
    std::string text;
    if ((frequency == labels.end()) != (scalable == labels.end())) {
        text = "only one of the two TSC labels; the labeller writes both";
    } else if (frequency != labels.end() && (!node.stock.tsc_hz || (scalable->second != "true" &&
                                                                    scalable->second != "false"))) {
        text = "TSC labels " + frequency->second + " and " + scalable->second +
               "; expected a whole number of Hz, and true or false";
    }
    if (!text.empty()) {
        node.find(Severity::error, FindingCode::inconsistent, text + "; " + std::string{rewritten},
                  {std::string{label::tsc_frequency}, std::string{label::tsc_scalable}});
    }
    std::vector<std::string> far;
    for (const auto& wanted : node.stock.tsc_labels) {
        const auto hz = whole_number(wanted);
        if (!hz || !node.stock.tsc_hz ||
            !tsc_acceptable(*hz, *node.stock.tsc_hz, node.stock.tsc_scalable)) {
            far.push_back(wanted);
        }
    }
    if (!far.empty()) {
        node.find(
            Severity::warning, FindingCode::stale,
            "scheduling labels for TSC frequencies that the node does not take: " + join(far) +
                " Hz; its own is " +
                (node.stock.tsc_hz ? std::to_string(*node.stock.tsc_hz) + " Hz" : "not labelled") +
                "; VMs that are pinned to them may be sent here and not start: remove the "
                "labels",
            keyed(label::tsc_scheduling, far));
    }
}

}  // namespace

void check_cpu_labels(Checked& node, const LabelCheckOptions& options) {
    check_host_model(node);
    check_vendor(node, options.map);
    check_models(node);
    check_own_features(node);
    check_obsolete(node);
    check_tsc(node);
    if (options.kubevirt != nullptr) {
        check_obsolete_models(node, *options.kubevirt);
    }
}

}  // namespace scout::migration
