// SPDX-License-Identifier: Apache-2.0
#include "migration/eviction_order.h"

#include <algorithm>
#include <tuple>

namespace scout::migration {
namespace {

/// What is above the request, ordered also where it is below: two halves of one number line.
std::tuple<bool, std::uint64_t> over_request(const EvictionCandidate& pod) noexcept {
    const auto usage = pod.usage.value_or(0);
    return usage >= pod.request ? std::tuple{true, usage - pod.request}
                                : std::tuple{false, ~(pod.request - usage)};
}

bool goes_before(const EvictionCandidate& a, const EvictionCandidate& b, PressureSignal signal) {
    const bool by_request = signal != PressureSignal::pid_available;
    const bool a_exceeds = a.exceeds_request(signal);
    const bool b_exceeds = b.exceeds_request(signal);
    const bool a_known = a.usage.has_value();
    const bool b_known = b.usage.has_value();
    // Where one of two is not known, kubelet does not get as far as to the requests.
    if (by_request && a_known != b_known) {
        return !a_known;
    }
    if (a_exceeds != b_exceeds) {
        return a_exceeds;
    }
    if (a.priority != b.priority) {
        return a.priority < b.priority;
    }
    if (a_known != b_known) {
        return !a_known;
    }
    return over_request(b) < over_request(a);
}

}  // namespace

bool EvictionCandidate::exceeds_request(PressureSignal signal) const noexcept {
    switch (signal) {
        case PressureSignal::pid_available:
            return false;
        case PressureSignal::nodefs_inodes_free:
        case PressureSignal::imagefs_inodes_free:
        case PressureSignal::containerfs_inodes_free:
            return usage.value_or(0) > 0;
        case PressureSignal::memory_available:
        case PressureSignal::allocatable_memory_available:
        case PressureSignal::nodefs_available:
        case PressureSignal::imagefs_available:
        case PressureSignal::containerfs_available:
            break;
    }
    return usage.value_or(0) > request;
}

PressureSignal ranked_as(PressureSignal signal) noexcept {
    return signal == PressureSignal::allocatable_memory_available ? PressureSignal::memory_available
                                                                  : signal;
}

std::vector<std::size_t> eviction_order(const std::vector<EvictionCandidate>& candidates,
                                        PressureSignal signal) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (candidates[i].priority < critical_priority) {
            order.push_back(i);
        }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&candidates, signal](std::size_t a, std::size_t b) {
                         return goes_before(candidates[a], candidates[b], signal);
                     });
    return order;
}

}  // namespace scout::migration
