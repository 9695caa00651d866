// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "migration/cpu_map.h"
#include "migration/frozen_selectors.h"
#include "migration/labels.h"

/// Node labels against the rules of what writes them (dossier §5.2) and of what reads them (§5.4).
/// Pure; any thread; nothing here fails.
namespace scout::migration {

enum class Severity : std::uint8_t {
    error,    ///< the labels contradict each other or the labeller's rules: answers may be wrong
    warning,  ///< they are plain, and they keep VMs from moving
    note,     ///< good to know
};

/// In the order in which findings of one severity are told.
enum class LabelRule : std::uint8_t {
    key,             ///< no key that Kubernetes or the labeller knows the like of
    value,           ///< a value other than "true", which no selector matches
    host_models,     ///< more than one host-model (case 12)
    vendors,         ///< more than one CPU vendor
    host_model,      ///< what belongs to a host-model is there, and none; or there is none at all
    vendor,          ///< a host-model without a CPU vendor
    model,           ///< the host-model or a usable model is no known model
    own_feature,     ///< the host-model requires features that the node does not list
    obsolete_model,  ///< KubeVirt's list of obsolete models is not what was applied
    obsolete,        ///< the host-model is obsolete
    tsc,             ///< one TSC label of the pair
    tsc_scheduling,  ///< frequencies that are not near the node's own
    machine_type,    ///< no machine type
    old_labeller,    ///< kinds of labels that other nodes of its architecture have
    arch,            ///< no architecture
    schedulable,     ///< virt-handler does not say that the node takes VMs
    not_labelled,    ///< no labels of KubeVirt at all
};

struct LabelFinding {
    Severity severity{};
    LabelRule rule{};
    std::string text;               ///< what was found, what was expected, what to do
    std::vector<std::string> keys;  ///< label keys; one that ends in "/" stands for all of its kind
};

struct NodeFindings {
    std::string node;
    std::vector<LabelFinding> findings;  ///< heaviest first; empty: nothing to say
};

struct LabelCheckOptions {
    const CpuMap* map = nullptr;  ///< tells a stale vendor from the right one; may be null
    /// What the KubeVirt object says of obsolete models; null: there is no KubeVirt object to ask.
    const LabelOptions* kubevirt = nullptr;
};

/// Each node by itself, and against the others of its architecture. In the order given.
[[nodiscard]] std::vector<NodeFindings> check_labels(const std::vector<LabelledNode>& nodes,
                                                     const LabelCheckOptions& options = {});

[[nodiscard]] std::string_view to_string(Severity severity) noexcept;  // "error", …
[[nodiscard]] std::string_view to_string(LabelRule rule) noexcept;     // "host-models", …

}  // namespace scout::migration
