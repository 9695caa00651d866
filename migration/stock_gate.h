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

/// The stock gate: KubeVirt's own predicate over node labels (dossier §5.4), quirks included.
namespace scout::migration {

/// A node's labels that matter to the gate, sorted out of all its labels.
struct StockNode {
    std::string arch;          ///< Kubernetes' name ("amd64"); empty if unlabelled
    bool schedulable = false;  ///< `kubevirt.io/schedulable: "true"`
    bool obsolete_host_model = false;
    std::vector<std::string> host_models;  ///< more than one: inconsistent (case 12)
    std::vector<std::string> vendors;      ///< stale ones may remain (dossier §5.2)
    FeatureSet required;
    FeatureSet features;
    FeatureSet known_models;   ///< cpu-model-migration
    FeatureSet usable_models;  ///< cpu-model
    FeatureSet machine_types;
    std::optional<std::uint64_t> tsc_hz;
    bool tsc_scalable = false;
};

[[nodiscard]] StockNode stock_node(const Labels& labels);

/// What stock KubeVirt would ask of the target node for one guest.
struct StockGuest {
    std::string arch;                  ///< Kubernetes' name; empty: not asked
    std::string host_model;            ///< for host-model guests
    std::string named_model;           ///< for guests with a named model
    bool either_reading = false;       ///< may as well be host-model: live XML tells only the model
    FeatureSet features;               ///< required features, explicit ones included
    std::vector<std::string> vendors;  ///< every vendor label of the source; empty: none is asked
    std::string machine_type;          ///< empty: not asked
    std::optional<std::uint64_t> tsc_hz;
    std::optional<Reason> impossible;  ///< KubeVirt could not even ask (no or two host models)
};

/// The host-model guest that starts on this node now. `machine_type` may be empty: not judged.
[[nodiscard]] StockGuest stock_host_model_guest(const StockNode& source,
                                                std::string_view machine_type);

/// A running guest by its live CPU, on a node with these labels. A custom model counts as
/// host-model where it equals the source's host model and the guest lists at least the features
/// required there. Else live XML does not tell which was asked for: where the two readings part,
/// the gate's answer is unknown.
[[nodiscard]] StockGuest stock_guest(const GuestCpu& guest, const StockNode& source);

struct StockAnswer {
    Verdict verdict = Verdict::unknown;  ///< can = the gate passes
    std::vector<Reason> reasons;         ///< layer stock; keys are the label keys
};

[[nodiscard]] StockAnswer pass_gate(const StockGuest& guest, const StockNode& target);

}  // namespace scout::migration
