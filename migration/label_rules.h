// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "migration/label_check.h"
#include "migration/stock_gate.h"

// Shared by the sources of label_check.h.

namespace scout::migration {

/// What to do about labels that a labeller at work would have mended.
inline constexpr std::string_view rewritten =
    "virt-handler writes these labels anew every few minutes: see that it runs there, that the "
    "node has no annotation node-labeller.kubevirt.io/skip-node, and that nothing else writes them";

/// A node by what its labels say, and what to say of it.
struct Checked {
    const LabelledNode& node;
    StockNode stock;
    bool by_labeller = false;  ///< some label is of the labeller
    bool by_kubevirt = false;  ///< some label is of KubeVirt at all
    std::vector<LabelFinding> findings;

    void find(Severity severity, FindingCode code, std::string text,
              std::vector<std::string> keys) {
        findings.push_back({severity, code, std::move(text), std::move(keys)});
    }
};

/// The rules of the labels that tell of a CPU and its timer.
void check_cpu_labels(Checked& node, const LabelCheckOptions& options);

}  // namespace scout::migration
