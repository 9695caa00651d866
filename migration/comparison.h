// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "migration/cpu_truth.h"
#include "migration/labels.h"
#include "migration/stock_gate.h"
#include "migration/verdict.h"

/// Both layers in one answer. Pure; any thread; nothing here fails: what cannot be told is
/// Verdict::unknown with a reason.
namespace scout::migration {

/// One node as every question sees it.
struct NodeView {
    const Profile& profile;
    const HostFacts& facts;
    const Labels& labels;  ///< as KubeVirt wrote them, or standalone_labels() where it did not
    bool labels_derived = true;  ///< the labels are ours: what the profile leaves open, they do too
};

/// Both layers for one guest and one target. `verdict` of the whole is combine(gate, truth); tools
/// that answer the truth alone (`scoutctl compare`) read `truth`.
struct Comparison {
    Verdict verdict = Verdict::unknown;
    Verdict gate = Verdict::unknown;
    Verdict truth = Verdict::unknown;
    FeatureSet missing;
    std::vector<Reason> reasons;  ///< both layers, the deciding one first: truth before stock,
                                  ///< unless the gate alone says no; in each see deciding_first()
    std::string map;              ///< cpu_map that the truth layer needed, or empty
    /// The target's document is a bare `<cpu>`: its own set was taken as what it supports.
    bool assumed = false;

    /// Gate yes, truth no: a migration that starts and then dies in libvirt (case 31).
    [[nodiscard]] bool gap() const noexcept {
        return gate == Verdict::can && truth == Verdict::cannot;
    }
};

/// One guest made ready for many targets. Refers to what it was made of.
struct PreparedGuest {
    TruthGuest truth;
    const StockGuest& stock;
};
[[nodiscard]] PreparedGuest prepare(const GuestCpu& guest, const StockGuest& stock,
                                    const CpuMap* map);
PreparedGuest prepare(const GuestCpu&& guest, const StockGuest& stock, const CpuMap* map) = delete;
PreparedGuest prepare(const GuestCpu& guest, const StockGuest&& stock, const CpuMap* map) = delete;

/// One node made ready for many guests. Refers to profile and facts, not to the labels.
struct PreparedNode {
    TruthTarget truth;
    StockNode stock;
};
[[nodiscard]] PreparedNode prepare(const NodeView& node, const CpuMap* map);

/// Asks both layers and combines them: design §5. `stock` is what KubeVirt would ask for the same
/// guest (stock_gate.h). `map` may be null. What derived labels leave open makes the gate unknown,
/// and machine types are passed over where the documents list none. Expanding models and sorting
/// out labels is most of the work of one pair: prepare both where pairs are many.
[[nodiscard]] Comparison compare(const PreparedGuest& guest, const PreparedNode& target);
[[nodiscard]] Comparison compare(const GuestCpu& guest, const StockGuest& stock,
                                 const NodeView& target, const CpuMap* map);

/// Adds what besides the labels lets KubeVirt not place the guest there: the gate says no then, and
/// the reason stands in its place among those of the stock layer.
void refuse(Comparison& comparison, Reason reason);
/// Adds what of the stock layer cannot be told: the gate does not say yes any more.
void leave_open(Comparison& comparison, Reason reason);

/// One line of `where`.
struct NodeAnswer {
    std::string node;
    Comparison comparison;
};

/// Where one guest can go.
struct Placement {
    std::string subject;  ///< as asked: guest, node or file
    std::string source;   ///< node on which the guest runs now; not among `nodes`; may be empty
    std::vector<NodeAnswer> nodes;   ///< sorted by name
    std::vector<std::string> notes;  ///< what to know of the answer as a whole, one sentence each
};

/// The note on what no answer about this guest judges; empty if everything is judged, or each
/// answer says itself what is not.
[[nodiscard]] std::string not_judged(const GuestCpu& guest);

/// "can go to 2 of 5 nodes; …" for people and for the `summary` field. Of a guest that can go
/// nowhere with the cheapest change, if there is one.
[[nodiscard]] std::string summary(const Placement& placement);

}  // namespace scout::migration
