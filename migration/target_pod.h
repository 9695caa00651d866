// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migration/comparison.h"
#include "migration/labels.h"
#include "migration/node_selector.h"
#include "migration/stock_gate.h"

/// What the next migration of one VMI asks of nodes: KubeVirt renders the selectors of its target
/// pod from its specification, its launcher pod and its node (dossier §5.4, steps 1 to 5). Where
/// only a CPU is known see stock_guest(). Pure; any thread; nothing here fails.
namespace scout::migration {

/// What of a VMI, its launcher pod and its node decides.
struct MovingVm {
    std::string node;          ///< on which it runs
    Labels cluster_selectors;  ///< of the KubeVirt object; the VM's own win
    Labels vm_selectors;       ///< spec.nodeSelector
    std::string arch;          ///< Kubernetes' name; empty: the one of its node
    std::string machine_type;  ///< status.machine.type; empty: not asked
    std::string cpu_model;     ///< "host-model", "host-passthrough", … or a named one
    /// spec.domain.cpu.features by their policies.
    FeatureSet required;
    FeatureSet optional;
    FeatureSet disabled;
    FeatureSet forbidden;
    std::optional<std::uint64_t> tsc_hz;  ///< of its topology hints, in Hz
    bool emulated = false;                ///< runs without KVM
    bool moved = false;                   ///< may have been migrated since it started
    std::optional<Labels> pod;            ///< nodeSelector of its launcher pod; none: not known
    std::optional<Labels> source;         ///< labels of its node; none: not known
    // Of its migration alone.
    Labels added = {};  ///< addedNodeSelector; what the VM asks for itself wins
    std::optional<NodeSelectorTerm> term = std::nullopt;  ///< must match besides

    friend bool operator==(const MovingVm&, const MovingVm&) = default;
};

/// What the target pod will ask for.
struct TargetPod {
    StockGuest stock;                      ///< what the stock gate judges
    Labels selectors;                      ///< other labels
    std::vector<std::string> absent;       ///< keys that a node must not have
    std::optional<NodeSelectorTerm> term;  ///< which the migration asks for besides
    /// CPU selectors stay those of the launcher pod, and so of its first node (case 11).
    bool frozen = false;
    Labels stale;                    ///< asked for too, and even its own node has them no longer
    std::vector<std::string> notes;  ///< what to know of it, one sentence each
};
[[nodiscard]] TargetPod target_pod(const MovingVm& vm);

/// Of CPU features or models: KubeVirt looks for keys that *contain* the prefixes (dossier §5.4,
/// step 3).
[[nodiscard]] bool is_cpu_selector(std::string_view key) noexcept;

/// All labels that it asks for: its node selector, as KubeVirt would write it.
[[nodiscard]] Labels selectors_of(const TargetPod& pod);

/// Takes into the answer of compare() for `pod.stock` what else the pod asks of a node with these
/// labels, and tells stale selectors from what the node's hardware lacks.
void apply(const TargetPod& pod, const Labels& node, Comparison& comparison);

/// The CPU that the guest is taken to have where its live XML is not at hand: the named model, or
/// the host-model that `pod` asks for, without features that its node's own labels rule out, for
/// there it runs. What leaves it open is its `doubt`. `map` may be null.
[[nodiscard]] GuestCpu assumed_guest(const MovingVm& vm, const TargetPod& pod, const CpuMap* map);

}  // namespace scout::migration
