// SPDX-License-Identifier: Apache-2.0
#include "migration/node_class.h"

#include <algorithm>
#include <utility>

namespace scout::migration {
namespace {

constexpr char feature_kind = 'f';
constexpr char model_kind = 'm';
constexpr char vendor_kind = 'v';
constexpr char arch_kind = 'a';

class ClassMaker {
public:
    ClassMaker(NodeClass& out, Interner& names) : out_(out), names_(names) {}

    Interner::Id id(char kind, std::string_view name) {
        const auto id = names_.acquire(kind, name);
        out_.names.push_back(id);
        return id;
    }
    Bits bits(char kind, const std::vector<std::string>& names) {
        Bits bits;
        for (const auto& name : names) {
            bits.set(id(kind, name));
        }
        return bits;
    }

private:
    NodeClass& out_;
    Interner& names_;
};

void fill_gate(GateFacts& gate, const StockNode& node, const std::string& machine_type,
               ClassMaker& maker) {
    gate.impossible = node.host_models.size() != 1;
    gate.schedulable = node.schedulable;
    gate.obsolete = node.obsolete_host_model;
    gate.machine_offered =
        machine_type.empty() ||
        std::binary_search(node.machine_types.begin(), node.machine_types.end(), machine_type);
    gate.has_arch = !node.arch.empty();
    gate.arch = maker.id(arch_kind, node.arch);
    gate.host_model = maker.id(model_kind, gate.impossible ? "" : node.host_models.front());
    gate.vendors = maker.bits(vendor_kind, node.vendors);
    gate.required = maker.bits(feature_kind, node.required);
    gate.features = maker.bits(feature_kind, node.features);
    gate.known_models = maker.bits(model_kind, node.known_models);
}

void set_guest(TruthFacts& truth, const FeatureSet& features, ClassMaker& maker) {
    const auto plain = without_vmx_details(features);
    truth.guest = maker.bits(feature_kind, plain);
    truth.guest_vmx = maker.bits(feature_kind, subtract(features, plain));
}

void fill_truth(TruthFacts& truth, const Profile& profile, const CpuMap* map, ClassMaker& maker) {
    const auto fault = not_comparable(profile);
    truth.emulated = fault && fault->code == ReasonCode::virt_type;
    truth.comparable = !fault;
    truth.arch = profile.arch;
    truth.vendor = profile.vendor;
    truth.vendor_stated = !profile.vendor.empty();
    const auto guest = effective_features(host_model_guest(profile), map);
    const auto supported = supported_features(profile, map);
    const MapModel* model =
        map != nullptr && profile.host_model ? map->find(profile.host_model->name) : nullptr;
    if (truth.vendor.empty() && model != nullptr) {
        truth.vendor = model->vendor;
    }
    truth.guest_known = guest.known();
    truth.supported_known = supported.known();
    truth.reports_vmx = guest.reports_vmx;
    truth.offers_vmx = supported.reports_vmx;
    truth.labels_follow = !supported.known();
    set_guest(truth, guest.features, maker);
    truth.supported = maker.bits(feature_kind, supported.features);
}

/// From node labels alone (design §5): the guest has what is required and what of its model the
/// source's own feature labels confirm; the target supports its feature labels.
void fill_truth_from_labels(TruthFacts& truth, const StockNode& node, const CpuMap* map,
                            ClassMaker& maker) {
    truth.comparable = node.host_models.size() == 1;
    truth.arch = node.arch;
    truth.vendor_stated = node.vendors.size() == 1;
    truth.vendor = truth.vendor_stated ? node.vendors.front() : std::string{};
    truth.supported_known = true;
    truth.supported = maker.bits(feature_kind, node.features);
    truth.reports_vmx = lists_vmx_details(node.required);
    truth.offers_vmx = lists_vmx_details(node.features);
    const MapModel* model =
        map != nullptr && truth.comparable ? map->find(node.host_models.front()) : nullptr;
    truth.guest_known = model != nullptr;
    if (model != nullptr) {
        set_guest(truth, unite(node.required, intersect(model->features, node.features)), maker);
    }
}

Verdict vendor_verdict(const TruthFacts& from, const TruthFacts& to) {
    if (from.vendor == to.vendor) {
        return Verdict::can;
    }
    return from.vendor_stated && !to.vendor.empty() ? Verdict::cannot : Verdict::unknown;
}

}  // namespace

NodeClass make_class(const StockNode& node, const Profile* profile, const std::string& machine_type,
                     const CpuMap* map, Interner& names) {
    NodeClass out;
    ClassMaker maker(out, names);
    fill_gate(out.gate, node, machine_type, maker);
    if (profile != nullptr) {
        fill_truth(out.truth, *profile, map, maker);
    } else {
        fill_truth_from_labels(out.truth, node, map, maker);
    }
    return out;
}

Verdict gate_between(const NodeClass& from, const NodeClass& to) {
    const auto& source = from.gate;
    const auto& target = to.gate;
    if (source.impossible) {
        return Verdict::unknown;
    }
    if (!target.schedulable || target.obsolete || !target.machine_offered ||
        (source.has_arch && source.arch != target.arch) ||
        !target.known_models.test(source.host_model)) {
        return Verdict::cannot;
    }
    const bool all_vendors = source.vendors.within(target.vendors);
    if (!all_vendors && !source.vendors.meets(target.vendors)) {
        return Verdict::cannot;
    }
    if (!source.required.within(target.features)) {
        const bool proves_nothing = to.truth.labels_follow && all_vendors;
        return proves_nothing ? Verdict::unknown : Verdict::cannot;
    }
    return all_vendors ? Verdict::can : Verdict::unknown;
}

Verdict truth_between(const NodeClass& from, const NodeClass& to) {
    const auto& guest = from.truth;
    const auto& target = to.truth;
    if (guest.emulated || target.emulated) {
        return Verdict::unknown;
    }
    if (!guest.arch.empty() && !target.arch.empty() && guest.arch != target.arch) {
        return Verdict::cannot;
    }
    if (!guest.comparable || !target.comparable) {
        return Verdict::unknown;
    }
    const auto vendor = vendor_verdict(guest, target);
    if (!guest.guest_known || !target.supported_known) {
        return vendor == Verdict::cannot ? Verdict::cannot : Verdict::unknown;
    }
    const bool with_vmx = guest.reports_vmx && target.offers_vmx;
    const bool fits = guest.guest.within(target.supported) &&
                      (!with_vmx || guest.guest_vmx.within(target.supported));
    return combine(vendor, fits ? Verdict::can : Verdict::cannot);
}

}  // namespace scout::migration
