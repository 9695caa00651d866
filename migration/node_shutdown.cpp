// SPDX-License-Identifier: Apache-2.0
#include "migration/node_shutdown.h"

#include <algorithm>

#include "migration/eviction_order.h"

namespace scout::migration {

namespace {

/// There must be one.
const ShutdownPriority& step_of(const NodeShutdown& shutdown, std::int64_t priority) {
    const auto lower = [](const ShutdownPriority& a, const ShutdownPriority& b) {
        return a.priority < b.priority;
    };
    // The highest one that the pod reaches, or else the lowest of all.
    auto chosen = std::min_element(shutdown.by_priority.begin(), shutdown.by_priority.end(), lower);
    for (auto one = shutdown.by_priority.begin(); one != shutdown.by_priority.end(); ++one) {
        if (one->priority <= priority && one->priority > chosen->priority) {
            chosen = one;
        }
    }
    return *chosen;
}

}  // namespace

std::optional<std::chrono::seconds> shutdown_grace(const NodeShutdown& shutdown,
                                                   std::int64_t priority) {
    using std::chrono::seconds;
    if (shutdown.by_priority.empty()) {
        if (shutdown.total <= std::chrono::milliseconds{0}) {
            return std::nullopt;
        }
        const auto own =
            priority >= critical_priority ? shutdown.critical : shutdown.total - shutdown.critical;
        return std::chrono::floor<seconds>(std::max(own, std::chrono::milliseconds{0}));
    }
    return step_of(shutdown, priority).grace;
}

std::chrono::milliseconds delay_of(const NodeShutdown& shutdown) {
    std::chrono::milliseconds steps{0};
    for (const auto& step : shutdown.by_priority) {
        steps += step.grace;
    }
    return shutdown.by_priority.empty() ? shutdown.total : steps;
}

std::string_view how_to_give_more(const NodeShutdown& shutdown) noexcept {
    return shutdown.by_priority.empty()
               ? "raise the kubelet's shutdownGracePeriod"
               : "raise the step of the kubelet's shutdownGracePeriodByPodPriority that pods of "
                 "priority 0 are in";
}

bool handler_stops_with_vms(const NodeShutdown& shutdown) {
    static_assert(handler_priority < critical_priority);
    return shutdown.by_priority.empty() ||
           &step_of(shutdown, 0) == &step_of(shutdown, handler_priority);
}

std::optional<std::chrono::seconds> shutdown_grace(const NodeShutdown& shutdown,
                                                   const std::optional<LoginManager>& manager,
                                                   std::int64_t priority) {
    const auto given = shutdown_grace(shutdown, priority);
    if (!given || !manager) {
        return given;
    }
    if (!manager->kubelet_delays) {
        return std::nullopt;
    }
    return std::min(*given, std::chrono::floor<std::chrono::seconds>(manager->longest_delay));
}

}  // namespace scout::migration
