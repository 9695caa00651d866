// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migration/feature_set.h"
#include "migration/guest.h"
#include "migration/labels.h"
#include "migration/verdict.h"

/// The stock gate: KubeVirt's own predicate over node labels (dossier §5.4), quirks included. Pure;
/// any thread; nothing here fails. TSC frequencies are in Hz.
namespace scout::migration {

/// A node's labels that matter to the gate, sorted out of all its labels.
struct StockNode {
    std::string arch;          ///< Kubernetes' name ("amd64"); empty if unlabelled
    bool schedulable = false;  ///< `kubevirt.io/schedulable: "true"`
    bool obsolete_host_model = false;
    std::vector<std::string> host_models;  ///< more than one: inconsistent (case 12)
    std::vector<std::string> vendors;      ///< stale ones may remain (dossier §5.2)
    FeatureSet required;
    /// Keys of host models, required features and vendors whose value is not "true". KubeVirt asks
    /// targets for the very value, or takes the key whatever it is: what comes of that is not
    /// judged.
    std::vector<std::string> odd;
    FeatureSet features;
    FeatureSet known_models;   ///< cpu-model-migration
    FeatureSet usable_models;  ///< cpu-model
    FeatureSet machine_types;
    std::optional<std::uint64_t> tsc_hz;
    bool tsc_scalable = false;
    FeatureSet tsc_labels;  ///< frequencies, as digits, that KubeVirt has labelled the node for
    /// Labels that nobody read from the node and its documents do not tell, as
    /// labels_not_derivable() writes them; empty for a node's real labels.
    FeatureSet not_told;

    /// False if lacking this label proves nothing.
    [[nodiscard]] bool tells(std::string_view key) const;
};

/// From the labels that a node really carries: what is not among them, it lacks (case 32).
[[nodiscard]] StockNode stock_node(const Labels& labels);

/// From labels made of its documents (standalone_labels()).
[[nodiscard]] StockNode derived_stock_node(const Labels& labels, const Profile& profile,
                                           const HostFacts& facts, const CpuMap* map);

/// What stock KubeVirt would ask of the target node for one guest. With both models set, live XML
/// does not tell which was asked for: each reading is judged by itself.
struct StockGuest {
    std::string arch;               ///< Kubernetes' name; empty: not asked
    std::string host_model;         ///< for host-model guests
    FeatureSet asked_features;      ///< asked for by name, whatever the model is
    FeatureSet features;            ///< required features, for host-model guests
    bool at_most_features = false;  ///< KubeVirt may ask for fewer of `features`
    std::string named_model;        ///< for guests with a named model
    FeatureSet named_features;      ///< KubeVirt may ask for these besides: live XML does not tell
                                    ///< which were explicit
    std::vector<std::string> vendors;  ///< every vendor label of the source; empty: none is asked
    bool vendor_not_told = false;      ///< one may be asked for, and nobody knows which
    std::string machine_type;          ///< empty: not asked
    std::optional<std::uint64_t> tsc_hz;
    std::optional<Reason> not_told;    ///< why nobody knows what is asked for its CPU's sake
    std::optional<Reason> impossible;  ///< as host-model KubeVirt could not even ask (no or two
                                       ///< host models)
};

/// The host-model guest that starts on this node now. `machine_type` may be empty: not judged.
[[nodiscard]] StockGuest stock_host_model_guest(const StockNode& source,
                                                std::string_view machine_type);

/// A running guest by its live CPU, on a node with these labels. A custom model counts as
/// host-model where it equals the source's host model and the guest lists at least the features
/// required there. Else it may be either: as host-model it needs what the source's labels say or,
/// if they are not known, its own model and at most its own features.
[[nodiscard]] StockGuest stock_guest(const GuestCpu& guest, const StockNode& source);

struct StockAnswer {
    Verdict verdict = Verdict::unknown;  ///< can = the gate passes
    std::vector<Reason> reasons;         ///< layer stock; keys are the label keys
};

/// Order and meaning of the steps: dossier §5.4. Of a pinned TSC KubeVirt asks for the label of
/// that very frequency alone; virt-controller writes it where the frequency is acceptable, within
/// about a minute after a VM begins to use it, so derived labels are judged by the frequency. A
/// label that the target's documents do not tell makes the answer unknown where it is missing;
/// machine types are passed over then. Of two readings both must pass or both fail, else the answer
/// is unknown.
[[nodiscard]] StockAnswer pass_gate(const StockGuest& guest, const StockNode& target);

}  // namespace scout::migration
