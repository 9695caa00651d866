// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "migration/cpu_truth.h"
#include "migration/interner.h"
#include "migration/stock_gate.h"
#include "migration/verdict.h"

/// What the matrix keeps of one class of equal nodes: the facts of both layers as numbers and bits.
/// The bit form of pass_gate() and compare_truth() for host-model guests; tests hold them equal.
/// Sources of the rules: stock_gate.h and cpu_truth.h. Any thread, but an Interner is one thread's;
/// nothing here fails. Widths of addresses are in bits.
namespace scout::migration {

/// The sets of names that the two layers compare.
enum class NameSet : std::uint8_t {
    vendors,       ///< vendor labels
    required,      ///< features that the gate asks for
    features,      ///< features that the gate finds
    known_models,  ///< models that the gate finds
    guest,         ///< features of a host-model guest, without vmx-*
    guest_vmx,     ///< its vmx-*: compared only when both sides report some
    supported,     ///< features that the hypervisor can enable
    usable,        ///< named models that it offers, where features do not tell models apart
};
inline constexpr std::size_t name_sets = 8;

/// All sets of one class in one block of memory; names beyond its width are in none of them.
class SetBlock {
public:
    /// Members of each set, by their interned numbers.
    using Members = std::array<std::vector<Interner::Id>, name_sets>;

    SetBlock() = default;
    explicit SetBlock(const Members& members);

    [[nodiscard]] bool has(NameSet set, Interner::Id id) const noexcept;
    /// Every member of `mine` is in the other's set.
    [[nodiscard]] bool within(NameSet mine, const SetBlock& other, NameSet theirs) const noexcept;
    /// Some member of `mine` is in the other's set.
    [[nodiscard]] bool meets(NameSet mine, const SetBlock& other, NameSet theirs) const noexcept;

    friend bool operator==(const SetBlock&, const SetBlock&) = default;
    [[nodiscard]] std::size_t hash() const noexcept;

private:
    [[nodiscard]] const std::uint64_t* words(NameSet set) const noexcept {
        return words_.data() + static_cast<std::size_t>(set) * width_;
    }

    std::size_t width_ = 0;  ///< words of each set
    std::vector<std::uint64_t> words_;
};

/// Two nodes with equal facts answer every question alike.
struct NodeClass {
    // gate
    bool impossible = false;  ///< no host model, or several
    bool schedulable = false;
    bool obsolete = false;
    bool machine_offered = true;
    bool has_arch = false;
    // which of its labels are known to be all that it has: see StockNode::tells()
    bool tells_features = true;
    bool tells_models = true;
    bool tells_vendors = true;
    bool tells_arch = true;
    // truth
    bool emulated = false;    ///< virt type other than KVM: nothing may be concluded
    bool comparable = false;  ///< a host model, on an architecture that has features
    bool guest_known = false;
    bool supported_known = false;
    bool reports_vmx = false;    ///< guest side
    bool offers_vmx = false;     ///< target side
    bool vendor_stated = false;  ///< by the document itself, not by the model
    bool has_vendor = false;
    bool has_truth_arch = false;
    bool by_generation = false;  ///< s390x: features do not tell models apart
    unsigned address_bits = 0;   ///< that the guest insists on; 0: none
    unsigned address_limit = 0;  ///< of the target; 0: unstated
    Interner::Id host_model = 0;
    Interner::Id arch = 0;
    Interner::Id truth_arch = 0;
    Interner::Id vendor = 0;
    Interner::Id truth_model = 0;
    SetBlock sets;

    friend bool operator==(const NodeClass&, const NodeClass&) = default;
};

/// True if the class of a node depends on this label: a host-model guest from there or elsewhere is
/// judged by no other.
[[nodiscard]] bool matters_to_class(std::string_view key, std::string_view value) noexcept;

/// Facts of a class: those of the gate from its labels, those of the truth layer from its profile
/// where there is one, else from the labels too. `acquired` gets every
/// number taken from the interner; it is released with the class.
[[nodiscard]] NodeClass make_class(const StockNode& node, const Profile* profile,
                                   const std::string& machine_type, const CpuMap* map,
                                   Interner& names, std::vector<Interner::Id>& acquired);

[[nodiscard]] Verdict gate_between(const NodeClass& source, const NodeClass& target) noexcept;
[[nodiscard]] Verdict truth_between(const NodeClass& source, const NodeClass& target) noexcept;

}  // namespace scout::migration
