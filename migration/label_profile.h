// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "migration/cpu_map.h"
#include "migration/profile.h"
#include "migration/stock_gate.h"

/// A node of which nothing but its labels is known, as if its documents were (design §5): so that
/// every question has one way to its answer. Pure; any thread; nothing here fails.
namespace scout::migration {

/// Its host-model guest has what is required, and what of its model the node's own feature labels
/// confirm; its hypervisor supports its feature labels. The vendor is left open unless exactly one
/// is labelled: the model tells it then. No host-model unless exactly one is labelled (case 12).
/// Labels do not tell emulation: KubeVirt's nodes are taken for KVM. `map` may be null: then the
/// model cannot be expanded, and the truth layer says so.
[[nodiscard]] Profile label_profile(const StockNode& node, const CpuMap* map);

/// What travels beside a profile, as far as labels tell it: the TSC.
[[nodiscard]] HostFacts label_facts(const StockNode& node);

}  // namespace scout::migration
