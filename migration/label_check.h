// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
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
enum class FindingCode : std::uint8_t {
    malformed,             ///< keys or values that count for nothing
    inconsistent,          ///< labels that cannot all be right (case 12)
    stale,                 ///< left behind: what KubeVirt is told now would not write them
    missing_host_model,    ///< no host-model where there should be one (arm64 never has any)
    missing_machine_type,  ///< no machine type (case 32), or not the one that VMs get
    missing_arch,          ///< no architecture
    old_labeller,          ///< kinds of labels that others of its architecture have
    obsolete,              ///< KubeVirt is told that its host-model is obsolete
    unschedulable,         ///< virt-handler does not say that the node takes VMs
    not_labelled,          ///< the labeller has written nothing
    level,                 ///< virt-scout's level is not the one that the other labels come to
};

struct LabelFinding {
    Severity severity{};
    FindingCode code{};
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
    /// The machine type that a VM gets if it asks for none, by Kubernetes' name of the
    /// architecture; of one that is not in it nobody told.
    std::map<std::string, std::string> machine_types = {};
};

/// Each node by itself, and against the others of its architecture. In the order given.
[[nodiscard]] std::vector<NodeFindings> check_labels(const std::vector<LabelledNode>& nodes,
                                                     const LabelCheckOptions& options = {});

[[nodiscard]] std::string_view to_string(Severity severity) noexcept;  // "error", …
[[nodiscard]] std::string_view to_string(FindingCode code) noexcept;   // "old-labeller", …

}  // namespace scout::migration
