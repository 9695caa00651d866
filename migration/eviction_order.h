// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "migration/eviction_thresholds.h"

/// In which order a kubelet evicts the pods of its node (rules of kubelet's eviction manager, 1.28
/// to 1.36). Pure; any thread; nothing here fails.
namespace scout::migration {

/// What only the API server knows of a pod, and the kubelet ranks it by. Requests are those of the
/// whole pod.
struct PodStanding {
    std::int64_t priority = 0;          ///< spec.priority
    std::uint64_t memory_request = 0;   ///< bytes
    std::uint64_t storage_request = 0;  ///< bytes of ephemeral-storage

    friend bool operator==(const PodStanding&, const PodStanding&) = default;
};
/// By the UIDs of the pods.
using PodStandings = std::map<std::string, PodStanding, std::less<>>;

/// One pod, in the unit of the signal: bytes of memory (working set), bytes or inodes of the
/// filesystem that is measured, processes.
struct EvictionCandidate {
    std::int64_t priority = 0;           ///< spec.priority
    std::optional<std::uint64_t> usage;  ///< none: not known, and such pods go first
    /// Bytes of memory, or of ephemeral-storage, which the kubelet also takes off a number of
    /// inodes when it looks for the most over the request. For processes it does not count.
    std::uint64_t request = 0;

    /// Such pods go before all others, whatever their priority (case 16). Nobody requests inodes:
    /// who uses one exceeds it.
    [[nodiscard]] bool exceeds_request(PressureSignal signal) const noexcept;
};

/// By whose order the kubelet evicts: what pods may take together is ranked as all memory is.
[[nodiscard]] PressureSignal ranked_as(PressureSignal signal) noexcept;

/// Two thousand million and more: kubelet evicts no such pod, nor static ones.
inline constexpr std::int64_t critical_priority = 2'000'000'000;

/// Indices of those that may be evicted, the first one first: over their request, lower priority,
/// most over the request. For processes: lower priority, most processes. Of equals the order stays.
[[nodiscard]] std::vector<std::size_t> eviction_order(
    const std::vector<EvictionCandidate>& candidates, PressureSignal signal);

}  // namespace scout::migration
