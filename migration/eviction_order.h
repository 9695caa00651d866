// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "migration/eviction_thresholds.h"

/// In which order a kubelet evicts the pods of its node (rules of kubelet's eviction manager, 1.28
/// to 1.36). Pure; any thread; nothing here fails.
namespace scout::migration {

/// One pod, in the unit of the signal: bytes of memory (working set), bytes or inodes of the
/// filesystem that is measured, processes.
struct EvictionCandidate {
    std::int64_t priority = 0;           ///< spec.priority
    std::optional<std::uint64_t> usage;  ///< none: not known, and such pods go first
    std::uint64_t request = 0;           ///< of memory or ephemeral-storage; else 0

    /// Such pods go before all others, whatever their priority (case 16).
    [[nodiscard]] bool exceeds_request() const noexcept { return usage && *usage > request; }
};

/// Two thousand million and more: kubelet evicts no such pod, nor static ones.
inline constexpr std::int64_t critical_priority = 2'000'000'000;

/// Indices of those that may be evicted, the first one first: over their request, lower priority,
/// most over the request. For processes: lower priority, most processes. Of equals the order stays.
[[nodiscard]] std::vector<std::size_t> eviction_order(
    const std::vector<EvictionCandidate>& candidates, PressureSignal signal);

}  // namespace scout::migration
