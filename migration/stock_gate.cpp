// SPDX-License-Identifier: Apache-2.0
#include "migration/stock_gate.h"

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "migration/cpu_truth.h"

namespace scout::migration {
namespace {

/// Keys that begin so and whose value is "true", or is not, in the order of the labels: sorted.
std::vector<std::string> keys_behind(const Labels& labels, std::string_view prefix, bool is_true) {
    std::vector<std::string> keys;
    const auto begins = [prefix](std::string_view key) { return key.starts_with(prefix); };
    for (auto it = labels.lower_bound(prefix); it != labels.end() && begins(it->first); ++it) {
        if ((it->second == "true") == is_true) {
            keys.push_back(it->first);
        }
    }
    return keys;
}

/// Names behind a label prefix: sorted, each once, none empty.
std::vector<std::string> names_behind(const Labels& labels, std::string_view prefix) {
    auto names = keys_behind(labels, prefix, true);
    for (auto& name : names) {
        name.erase(0, prefix.size());
    }
    std::erase(names, "");
    return names;
}

std::string_view value_of(const Labels& labels, std::string_view key) {
    const auto found = labels.find(key);
    return found == labels.end() ? std::string_view{} : std::string_view{found->second};
}

std::vector<std::string> keyed(std::string_view prefix, const std::vector<std::string>& names) {
    std::vector<std::string> keys;
    keys.reserve(names.size());
    for (const auto& name : names) {
        keys.push_back(std::string{prefix} + name);
    }
    return keys;
}

Reason stock_reason(ReasonCode code, std::string text, std::vector<std::string> keys) {
    return {.code = code, .layer = Layer::stock, .text = std::move(text), .keys = std::move(keys)};
}

class Gate {
public:
    explicit Gate(const StockNode& target) : target_(target) {}

    /// The target must carry each of these names behind the prefix.
    void require(ReasonCode code, std::string_view prefix, const std::vector<std::string>& wanted,
                 const std::vector<std::string>& offered, std::string_view what) {
        std::vector<std::string> lacking;
        std::set_difference(wanted.begin(), wanted.end(), offered.begin(), offered.end(),
                            std::back_inserter(lacking));
        if (!lacking.empty()) {
            lack(prefix, code,
                 "the target node has no label for " + std::string{what} + " " + join(lacking),
                 keyed(prefix, lacking));
        }
    }
    /// Refuses for want of this label, unless the target's documents do not tell it.
    void lack(std::string_view label, ReasonCode code, std::string text,
              std::vector<std::string> keys) {
        if (target_.tells(label)) {
            refuse(code, std::move(text), std::move(keys));
        } else {
            note(code, text + ", as far as its documents tell", std::move(keys));
        }
    }
    void refuse(ReasonCode code, std::string text, std::vector<std::string> keys) {
        refused_.push_back(stock_reason(code, std::move(text), std::move(keys)));
    }
    /// A reason that makes the answer unknown, unless something else refuses.
    void note(ReasonCode code, std::string text, std::vector<std::string> keys) {
        noted_.push_back(stock_reason(code, std::move(text), std::move(keys)));
    }
    void add(StockAnswer part) {
        auto& reasons = part.verdict == Verdict::cannot ? refused_ : noted_;
        std::move(part.reasons.begin(), part.reasons.end(), std::back_inserter(reasons));
    }
    [[nodiscard]] const StockNode& target() const noexcept { return target_; }
    [[nodiscard]] StockAnswer answer() && {
        const auto verdict = !refused_.empty() ? Verdict::cannot
                             : !noted_.empty() ? Verdict::unknown
                                               : Verdict::can;
        return {.verdict = verdict,
                .reasons = deciding_first(std::move(refused_), std::move(noted_))};
    }

private:
    const StockNode& target_;
    std::vector<Reason> refused_;
    std::vector<Reason> noted_;
};

void check_node(const StockGuest& guest, Gate& gate) {
    const auto& target = gate.target();
    if (!target.schedulable) {
        gate.refuse(ReasonCode::unschedulable,
                    "the target node is not " + std::string{label::schedulable} + "=true",
                    {std::string{label::schedulable}});
    }
    if (!guest.arch.empty() && guest.arch != target.arch) {
        gate.lack(label::arch, ReasonCode::arch,
                  "the guest needs " + std::string{label::arch} + "=" + guest.arch +
                      ", the target node has " + (target.arch.empty() ? "none" : target.arch),
                  {std::string{label::arch}});
    }
    if (!guest.machine_type.empty() && target.tells(label::machine_type)) {
        gate.require(ReasonCode::machine_type, label::machine_type, {guest.machine_type},
                     target.machine_types, "machine type");
    }
}

std::string model_kind(std::string_view kind, const std::string& model) {
    return std::string{kind} +
           (is_built_in_obsolete(model) ? " (obsolete by KubeVirt's built-in list)" : "");
}

struct LackingFeatures {
    ReasonCode code{};
    FeatureSet features;
    std::string text;
};

/// What the target has no label for. A labeller that writes no vmx-* at all (old ones do not) tells
/// nothing of the hardware by lacking one.
std::vector<LackingFeatures> lacking_features(const FeatureSet& wanted, const StockNode& target) {
    const auto lacking = subtract(wanted, target.features);
    const auto told = lists_vmx_details(target.features) ? lacking : without_vmx_details(lacking);
    const auto not_reported = subtract(lacking, told);
    std::vector<LackingFeatures> out;
    if (!told.empty()) {
        out.push_back({ReasonCode::feature, told,
                       "the target node has no label for CPU feature " + join(told)});
    }
    if (!not_reported.empty()) {
        out.push_back({ReasonCode::not_reported, not_reported,
                       "the target node's labeller writes no vmx-* label at all, so none for CPU "
                       "feature " +
                           join(not_reported)});
    }
    return out;
}

/// Features of which KubeVirt asks for none, some or all.
void may_ask(const FeatureSet& features, Gate& gate) {
    for (auto& lacking : lacking_features(features, gate.target())) {
        gate.note(lacking.code, std::move(lacking.text) + ", which KubeVirt may ask for",
                  keyed(label::cpu_feature, lacking.features));
    }
}

void must_have(const FeatureSet& features, Gate& gate) {
    for (auto& lacking : lacking_features(features, gate.target())) {
        gate.lack(label::cpu_feature, lacking.code, std::move(lacking.text),
                  keyed(label::cpu_feature, lacking.features));
    }
}

StockAnswer as_named_model(const StockGuest& guest, const StockNode& target) {
    Gate gate(target);
    gate.require(ReasonCode::model, label::cpu_model, {guest.named_model}, target.usable_models,
                 model_kind("usable model", guest.named_model));
    may_ask(guest.named_features, gate);
    return std::move(gate).answer();
}

StockAnswer as_host_model(const StockGuest& guest, const StockNode& target) {
    if (guest.impossible) {
        return {.verdict = Verdict::unknown, .reasons = {*guest.impossible}};
    }
    Gate gate(target);
    if (target.obsolete_host_model) {
        gate.refuse(ReasonCode::model,
                    "the target node's own host model is obsolete (KubeVirt CR, obsoleteCPUModels)",
                    {std::string{label::obsolete}});
    }
    gate.require(ReasonCode::model, label::known_model, {guest.host_model}, target.known_models,
                 model_kind("known model", guest.host_model));
    if (guest.at_most_features) {
        may_ask(guest.features, gate);
    } else {
        must_have(guest.features, gate);
    }
    return std::move(gate).answer();
}

/// "passes", or why not.
std::string outcome(const StockAnswer& reading) {
    if (reading.verdict == Verdict::can) {
        return "passes";
    }
    return (reading.verdict == Verdict::cannot ? "does not pass (" : "may not pass (") +
           reading.reasons.front().text + ")";
}

/// Live XML of a host-model guest looks like that of a guest with a named model.
StockAnswer as_either(const StockGuest& guest, const StockNode& target) {
    auto host = as_host_model(guest, target);
    auto named = as_named_model(guest, target);
    if (host.verdict == Verdict::can && named.verdict == Verdict::can) {
        return host;
    }
    if (host.verdict == Verdict::cannot && named.verdict == Verdict::cannot) {
        std::move(host.reasons.begin(), host.reasons.end(), std::back_inserter(named.reasons));
        return named;
    }
    const auto& doubt = named.verdict == Verdict::can ? host.reasons : named.reasons;
    return {.verdict = Verdict::unknown,
            .reasons = {stock_reason(doubt.front().code,
                                     "live XML does not tell what the guest asked for: as a "
                                     "host-model guest it " +
                                         outcome(host) + ", as one with model " +
                                         guest.named_model + " it " + outcome(named),
                                     doubt.front().keys)}};
}

void check_models(const StockGuest& guest, Gate& gate) {
    const bool host = !guest.host_model.empty() || guest.impossible;
    const bool named = !guest.named_model.empty();
    if (host && named) {
        gate.add(as_either(guest, gate.target()));
    } else if (host) {
        gate.add(as_host_model(guest, gate.target()));
    } else if (named) {
        gate.add(as_named_model(guest, gate.target()));
    } else if (guest.not_told) {
        gate.note(guest.not_told->code, guest.not_told->text, guest.not_told->keys);
    }
}

/// KubeVirt asks for one vendor label of the source; of several it takes any (dossier §5.2: stale
/// ones may remain), so the answer is certain only if all lead to the same.
void check_vendor(const StockGuest& guest, Gate& gate) {
    if (guest.vendor_not_told) {
        gate.note(ReasonCode::vendor,
                  "the documents do not name the CPU vendor that KubeVirt asks for: the one of the "
                  "node that runs the guest",
                  {std::string{label::vendor}});
        return;
    }
    const auto& offered = gate.target().vendors;
    const bool some =
        std::any_of(guest.vendors.begin(), guest.vendors.end(), [&offered](const auto& name) {
            return std::binary_search(offered.begin(), offered.end(), name);
        });
    const bool all =
        std::includes(offered.begin(), offered.end(), guest.vendors.begin(), guest.vendors.end());
    if (some && !all) {
        gate.note(ReasonCode::vendor,
                  "the source node's labels are inconsistent: vendors " + join(guest.vendors) +
                      "; KubeVirt asks for any one of them",
                  keyed(label::vendor, guest.vendors));
    } else if (!all) {
        gate.require(ReasonCode::vendor, label::vendor, guest.vendors, offered, "CPU vendor");
    }
}

void check_tsc(const StockGuest& guest, Gate& gate) {
    if (!guest.tsc_hz) {
        return;
    }
    const auto& target = gate.target();
    const std::string wanted = std::to_string(*guest.tsc_hz);
    if (contains(target.tsc_labels, wanted)) {
        return;
    }
    const std::string pinned = "the guest's TSC is pinned to " + wanted + " Hz, the target node ";
    const std::vector<std::string> keys{std::string{label::tsc_scheduling} + wanted};
    if (!target.tsc_hz || !tsc_acceptable(*guest.tsc_hz, *target.tsc_hz, target.tsc_scalable)) {
        gate.lack(label::tsc_frequency, ReasonCode::tsc,
                  pinned + "takes " +
                      (target.tsc_hz ? std::to_string(*target.tsc_hz) + " Hz" : "no pinned TSC"),
                  keys);
    } else if (target.tells(label::tsc_scheduling)) {
        gate.refuse(ReasonCode::tsc_label,
                    pinned + "could take it but has no label for it yet; virt-controller writes it",
                    keys);
    }
}

}  // namespace

bool StockNode::tells(std::string_view key) const {
    return not_told.empty() || !contains(not_told, key);
}

StockNode stock_node(const Labels& labels) {
    StockNode node;
    node.arch = value_of(labels, label::arch);
    node.schedulable = value_of(labels, label::schedulable) == "true";
    node.obsolete_host_model = labels.contains(label::obsolete);
    node.host_models = names_behind(labels, label::host_model);
    node.vendors = names_behind(labels, label::vendor);
    node.required = names_behind(labels, label::required_feature);
    for (const auto prefix : {label::host_model, label::required_feature, label::vendor}) {
        node.odd = unite(node.odd, keys_behind(labels, prefix, false));
    }
    node.features = names_behind(labels, label::cpu_feature);
    node.known_models = names_behind(labels, label::known_model);
    node.usable_models = names_behind(labels, label::cpu_model);
    node.machine_types = names_behind(labels, label::machine_type);
    node.tsc_hz = whole_number(value_of(labels, label::tsc_frequency));
    node.tsc_scalable = value_of(labels, label::tsc_scalable) == "true";
    node.tsc_labels = names_behind(labels, label::tsc_scheduling);
    return node;
}

StockNode derived_stock_node(const Labels& labels, const Profile& profile, const HostFacts& facts,
                             const CpuMap* map) {
    auto node = stock_node(labels);
    node.not_told =
        unite(labels_not_derivable(profile, facts, map), {std::string{label::tsc_scheduling}});
    if (node.arch.empty()) {
        node.not_told = unite(node.not_told, {std::string{label::arch}});
    }
    return node;
}

StockGuest stock_host_model_guest(const StockNode& source, std::string_view machine_type) {
    StockGuest guest;
    guest.arch = source.arch;
    guest.vendors = source.vendors;
    guest.machine_type = machine_type;
    if (source.host_models.empty()) {
        guest.impossible =
            stock_reason(ReasonCode::not_comparable,
                         "the source node has no host-model-cpu label, so KubeVirt makes no target "
                         "pod for host-model guests of it",
                         {std::string{label::host_model}});
    } else if (source.host_models.size() > 1) {
        guest.impossible = stock_reason(
            ReasonCode::not_comparable,
            "the source node's labels are inconsistent: host models " + join(source.host_models),
            keyed(label::host_model, source.host_models));
    } else if (!source.odd.empty()) {
        guest.impossible = stock_reason(ReasonCode::not_comparable,
                                        "the source node has labels whose value is not true, and "
                                        "KubeVirt goes by what they say: " +
                                            join(source.odd),
                                        source.odd);
    } else {
        guest.host_model = source.host_models.front();
        guest.features = source.required;
    }
    return guest;
}

StockGuest stock_guest(const GuestCpu& guest, const StockNode& source) {
    StockGuest out;
    if (source.host_models.empty() || guest.model.empty()) {
        out.arch = source.arch;
        out.vendors = source.vendors;
        out.machine_type = guest.machine;
        out.host_model = guest.model;
        out.features = guest.require;
        out.at_most_features = true;
    } else {
        out = stock_host_model_guest(source, guest.machine);
    }
    const bool is_host_model = !source.host_models.empty() && out.host_model == guest.model &&
                               subtract(source.required, guest.require).empty();
    if (!is_host_model && guest.mode != CpuMode::host_model) {
        out.named_model = guest.model;
        out.named_features = guest.require;
    }
    if (out.arch.empty()) {
        out.arch = go_arch(guest.arch);
    }
    if (const auto vendor = cpu_vendor(guest, nullptr); out.vendors.empty() && !vendor.empty()) {
        out.vendors = {vendor};
    }
    out.vendor_not_told = out.vendors.empty() && source.host_models.empty();
    out.tsc_hz = guest.tsc_hz;
    return out;
}

StockAnswer pass_gate(const StockGuest& guest, const StockNode& target) {
    if (guest.impossible && guest.named_model.empty()) {
        return {.verdict = Verdict::unknown, .reasons = {*guest.impossible}};
    }
    Gate gate(target);
    check_node(guest, gate);
    check_tsc(guest, gate);
    check_vendor(guest, gate);
    must_have(guest.asked_features, gate);
    check_models(guest, gate);
    return std::move(gate).answer();
}

}  // namespace scout::migration
