// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "migration/bits.h"
#include "migration/cpu_truth.h"
#include "migration/interner.h"
#include "migration/stock_gate.h"
#include "migration/verdict.h"

/// What the matrix keeps of one class of equal nodes: the facts of both layers as bits. The bit
/// form of pass_gate() and compare_truth() for host-model guests; tests hold them equal.
namespace scout::migration {

struct GateFacts {
    bool impossible = false;  ///< no host model, or several
    bool schedulable = false;
    bool obsolete = false;
    bool machine_offered = true;
    Interner::Id arch = 0;
    bool has_arch = false;
    Interner::Id host_model = 0;
    Bits vendors;
    Bits required;
    Bits features;
    Bits known_models;
};

struct TruthFacts {
    bool emulated = false;    ///< virt type other than KVM: nothing may be concluded
    bool comparable = false;  ///< a host model, on an architecture that has features
    bool guest_known = false;
    bool supported_known = false;
    bool reports_vmx = false;    ///< guest side
    bool offers_vmx = false;     ///< target side
    bool vendor_stated = false;  ///< by the document itself, not by the model
    bool labels_follow = false;  ///< what the profile leaves open, the labels do too
    std::string arch;
    std::string vendor;
    Bits guest;      ///< without vmx-*
    Bits guest_vmx;  ///< vmx-* alone: compared only when both sides report some
    Bits supported;
};

struct NodeClass {
    GateFacts gate;
    TruthFacts truth;
    std::vector<Interner::Id> names;  ///< everything acquired; released with the class
};

/// Facts of a class from its labels, and from its profile where there is one.
[[nodiscard]] NodeClass make_class(const StockNode& node, const Profile* profile,
                                   const std::string& machine_type, const CpuMap* map,
                                   Interner& names);

[[nodiscard]] Verdict gate_between(const NodeClass& from, const NodeClass& to);
[[nodiscard]] Verdict truth_between(const NodeClass& from, const NodeClass& to);

}  // namespace scout::migration
