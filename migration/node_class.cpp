// SPDX-License-Identifier: Apache-2.0
#include "migration/node_class.h"

#include <algorithm>
#include <utility>

#include "migration/label_profile.h"

namespace scout::migration {
namespace {

constexpr char feature_kind = 'f';
constexpr char model_kind = 'm';
constexpr char vendor_kind = 'v';
constexpr char arch_kind = 'a';
constexpr std::size_t word_bits = 64;

/// Labels whose value must be "true" to count. Which models are usable tells generations of s390x
/// apart.
bool is_flag(std::string_view key) noexcept {
    switch (key.empty() ? ' ' : key.front()) {
        case 'c':
            return key.starts_with(label::cpu_feature) || key.starts_with(label::known_model) ||
                   key.starts_with(label::cpu_model) || key.starts_with(label::vendor);
        case 'h':
            return key.starts_with(label::required_feature) || key.starts_with(label::host_model);
        case 'm':
            return key.starts_with(label::machine_type);
        case 'k':
            return key == label::schedulable;
        default:
            return false;
    }
}

/// Takes numbers for names and notes which were taken.
class Names {
public:
    Names(Interner& interner, std::vector<Interner::Id>& acquired)
        : interner_(interner), acquired_(acquired) {}

    Interner::Id one(char kind, std::string_view name) {
        const auto id = interner_.acquire(kind, name);
        acquired_.push_back(id);
        return id;
    }
    void put(SetBlock::Members& members, NameSet set, char kind, const FeatureSet& names) {
        for (const auto& name : names) {
            members[static_cast<std::size_t>(set)].push_back(one(kind, name));
        }
    }
    void put_guest(SetBlock::Members& members, const FeatureSet& features) {
        const auto plain = without_vmx_details(features);
        put(members, NameSet::guest, feature_kind, plain);
        put(members, NameSet::guest_vmx, feature_kind, subtract(features, plain));
    }

private:
    Interner& interner_;
    std::vector<Interner::Id>& acquired_;
};

void fill_gate(NodeClass& out, SetBlock::Members& members, const StockNode& node,
               const std::string& machine_type, Names& names) {
    out.impossible = node.host_models.size() != 1 || !node.odd.empty();
    out.schedulable = node.schedulable;
    out.obsolete = node.obsolete_host_model;
    out.tells_features = node.tells(label::cpu_feature);
    out.tells_models = node.tells(label::known_model);
    out.tells_vendors = node.tells(label::vendor);
    out.tells_arch = node.tells(label::arch);
    out.machine_offered = machine_type.empty() || !node.tells(label::machine_type) ||
                          contains(node.machine_types, machine_type);
    out.has_arch = !node.arch.empty();
    out.arch = names.one(arch_kind, node.arch);
    out.host_model =
        names.one(model_kind, out.impossible ? std::string_view{} : node.host_models.front());
    names.put(members, NameSet::vendors, vendor_kind, node.vendors);
    names.put(members, NameSet::required, feature_kind, node.required);
    names.put(members, NameSet::features, feature_kind, node.features);
    names.put(members, NameSet::known_models, model_kind, node.known_models);
}

/// Vendor and architecture as the truth layer sees them.
void fill_identity(NodeClass& out, const std::string& arch, const std::string& vendor,
                   Names& names) {
    out.has_truth_arch = !arch.empty();
    out.truth_arch = names.one(arch_kind, arch);
    out.has_vendor = !vendor.empty();
    out.vendor = names.one(vendor_kind, vendor);
}

constexpr std::string_view s390x = "s390x";

FeatureSet usable_models(const Profile& profile) {
    std::vector<std::string> usable;
    for (const auto& model : profile.models) {
        if (profile.arch == s390x && model.usable == Usable::yes) {
            usable.push_back(model.name);
        }
    }
    return make_feature_set(std::move(usable));
}

void fill_truth(NodeClass& out, SetBlock::Members& members, const Profile& profile,
                const CpuMap* map, Names& names) {
    const auto fault = not_comparable(profile);
    out.emulated = fault && fault->code == ReasonCode::virt_type;
    out.comparable = !fault;
    out.vendor_stated = !profile.vendor.empty();
    const auto host_model = host_model_guest(profile);
    fill_identity(out, profile.arch, cpu_vendor(host_model, map), names);
    out.by_generation = profile.arch == s390x;
    out.truth_model = names.one(model_kind, host_model.model);
    names.put(members, NameSet::usable, model_kind, usable_models(profile));
    const auto guest = effective_features(host_model, map);
    const auto supported = supported_features(profile, map);
    out.guest_known = guest.known();
    out.supported_known = supported.known();
    out.reports_vmx = guest.reports_vmx;
    out.offers_vmx = supported.reports_vmx;
    out.address_bits = host_model.address_bits.value_or(0);
    out.address_limit = address_limit(profile).value_or(0);
    names.put_guest(members, guest.features);
    names.put(members, NameSet::supported, feature_kind, supported.features);
}

Verdict generation_verdict(const NodeClass& source, const NodeClass& target) noexcept {
    if (!source.by_generation && !target.by_generation) {
        return Verdict::can;
    }
    return source.truth_model == target.truth_model ||
                   target.sets.has(NameSet::usable, source.truth_model)
               ? Verdict::can
               : Verdict::unknown;
}

Verdict vendor_verdict(const NodeClass& source, const NodeClass& target) noexcept {
    if (source.vendor == target.vendor) {
        return source.has_vendor ? Verdict::can : Verdict::unknown;
    }
    return source.vendor_stated && target.has_vendor ? Verdict::cannot : Verdict::unknown;
}

/// What lacking a label means: nothing where the node's documents do not tell such labels.
Verdict lacking(bool told) noexcept {
    return told ? Verdict::cannot : Verdict::unknown;
}

Verdict address_verdict(const NodeClass& source, const NodeClass& target) noexcept {
    if (source.address_bits == 0) {
        return Verdict::can;
    }
    if (target.address_limit == 0) {
        return Verdict::unknown;
    }
    return source.address_bits > target.address_limit ? Verdict::cannot : Verdict::can;
}

}  // namespace

SetBlock::SetBlock(const Members& members) {
    Interner::Id highest = 0;
    for (const auto& ids : members) {
        for (const auto id : ids) {
            highest = std::max(highest, id);
        }
    }
    width_ = highest / word_bits + 1;
    words_.resize(name_sets * width_, 0);
    for (std::size_t set = 0; set < name_sets; ++set) {
        for (const auto id : members[set]) {
            words_[set * width_ + id / word_bits] |= std::uint64_t{1} << (id % word_bits);
        }
    }
}

bool SetBlock::has(NameSet set, Interner::Id id) const noexcept {
    const std::size_t word = id / word_bits;
    return word < width_ && (words(set)[word] >> (id % word_bits) & 1U) != 0;
}

bool SetBlock::within(NameSet mine, const SetBlock& other, NameSet theirs) const noexcept {
    const auto* a = words(mine);
    const auto* b = other.words(theirs);
    const std::size_t shared = std::min(width_, other.width_);
    std::uint64_t outside = 0;
    for (std::size_t i = 0; i < shared; ++i) {
        outside |= a[i] & ~b[i];
    }
    for (std::size_t i = shared; i < width_; ++i) {
        outside |= a[i];
    }
    return outside == 0;
}

bool SetBlock::meets(NameSet mine, const SetBlock& other, NameSet theirs) const noexcept {
    const auto* a = words(mine);
    const auto* b = other.words(theirs);
    const std::size_t shared = std::min(width_, other.width_);
    std::uint64_t both = 0;
    for (std::size_t i = 0; i < shared; ++i) {
        both |= a[i] & b[i];
    }
    return both != 0;
}

std::size_t SetBlock::hash() const noexcept {
    const std::string_view bytes{reinterpret_cast<const char*>(words_.data()),
                                 words_.size() * sizeof(std::uint64_t)};
    return std::hash<std::string_view>{}(bytes);
}

bool matters_to_class(std::string_view key, std::string_view value) noexcept {
    const bool odd = key.starts_with(label::host_model) ||
                     key.starts_with(label::required_feature) || key.starts_with(label::vendor);
    return odd || (value == "true" && is_flag(key)) || key == label::arch || key == label::obsolete;
}

NodeClass make_class(const StockNode& node, const Profile* profile, const std::string& machine_type,
                     const CpuMap* map, Interner& interner, std::vector<Interner::Id>& acquired) {
    NodeClass out;
    Names names(interner, acquired);
    SetBlock::Members members;
    fill_gate(out, members, node, machine_type, names);
    if (profile != nullptr) {
        fill_truth(out, members, *profile, map, names);
    } else {
        fill_truth(out, members, label_profile(node, map), map, names);
    }
    out.sets = SetBlock(members);
    return out;
}

Verdict gate_between(const NodeClass& source, const NodeClass& target) noexcept {
    if (source.impossible) {
        return Verdict::unknown;
    }
    if (!target.schedulable || target.obsolete || !target.machine_offered) {
        return Verdict::cannot;
    }
    auto verdict = Verdict::can;
    if (source.has_arch && source.arch != target.arch) {
        verdict = lacking(target.tells_arch);
    }
    if (!target.sets.has(NameSet::known_models, source.host_model)) {
        verdict = combine(verdict, lacking(target.tells_models));
    }
    if (!source.sets.within(NameSet::vendors, target.sets, NameSet::vendors)) {
        const bool some = source.sets.meets(NameSet::vendors, target.sets, NameSet::vendors);
        verdict = combine(verdict, lacking(!some && target.tells_vendors));
    }
    if (verdict != Verdict::cannot &&
        !source.sets.within(NameSet::required, target.sets, NameSet::features)) {
        verdict = combine(verdict, lacking(target.tells_features));
    }
    return verdict;
}

Verdict truth_between(const NodeClass& source, const NodeClass& target) noexcept {
    if (source.emulated || target.emulated) {
        return Verdict::unknown;
    }
    if (source.has_truth_arch && target.has_truth_arch && source.truth_arch != target.truth_arch) {
        return Verdict::cannot;
    }
    if (!source.comparable || !target.comparable) {
        return Verdict::unknown;
    }
    const auto apart =
        combine(generation_verdict(source, target),
                combine(vendor_verdict(source, target), address_verdict(source, target)));
    if (!source.guest_known || !target.supported_known) {
        return combine(apart, Verdict::unknown);
    }
    const bool with_vmx = source.reports_vmx && target.offers_vmx;
    const bool fits =
        source.sets.within(NameSet::guest, target.sets, NameSet::supported) &&
        (!with_vmx || source.sets.within(NameSet::guest_vmx, target.sets, NameSet::supported));
    return combine(apart, fits ? Verdict::can : Verdict::cannot);
}

}  // namespace scout::migration
