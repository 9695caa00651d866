// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "migration/labels.h"
#include "migration/stock_gate.h"
#include "migration/verdict.h"

/// What the next migration of one VMI asks of nodes: the node selectors that KubeVirt renders for
/// its target pod (dossier §5.4, steps 1 to 5), and why a node does not have them. For VMIs of
/// which the specification and the launcher pod are known; where only a CPU is known see
/// stock_gate.h. Pure; any thread; nothing here fails.
namespace scout::migration {

/// What of a VMI, its launcher pod and its node decides.
struct MovingVm {
    Labels cluster_selectors;             ///< of the KubeVirt object; the VM's own win
    Labels vm_selectors;                  ///< spec.nodeSelector
    std::string arch;                     ///< Kubernetes' name; empty: not asked
    std::string machine_type;             ///< status.machine.type; empty: not asked
    std::string cpu_model;                ///< "host-model", "host-passthrough" or a named one
    FeatureSet required;                  ///< explicit features, policy require
    FeatureSet forbidden;                 ///< explicit features, policy forbid
    std::optional<std::uint64_t> tsc_hz;  ///< that the topology hints pin, in Hz
    std::optional<Labels> pod;     ///< nodeSelector of the active launcher pod; none: unknown
    std::optional<Labels> source;  ///< labels of the node that it runs on; none: unknown
};

/// What the target pod will ask for.
struct TargetPod {
    Labels selectors;                 ///< but for the vendor
    std::vector<std::string> absent;  ///< keys that a node must not have
    /// Vendor labels of the source node, of which one is asked for; more than one is inconsistent.
    std::vector<std::string> vendors;
    std::optional<std::uint64_t> tsc_hz;
    /// CPU selectors came from the launcher pod: they stay those of the node that it started on
    /// (case 11).
    bool frozen = false;
    /// Of the frozen ones, keys that the source node itself has no longer.
    std::vector<std::string> stale;
    /// Why KubeVirt makes no target pod, or why it cannot be told what it asks for: no answer of
    /// the gate is "can" then.
    std::vector<Reason> doubts;
    std::vector<std::string> notes;  ///< what to know of it, one sentence each
};

[[nodiscard]] TargetPod target_pod(const MovingVm& vm);

/// Whether a node with these labels gets the pod, as far as labels decide.
[[nodiscard]] StockAnswer admits(const Labels& node, const TargetPod& pod);

}  // namespace scout::migration
