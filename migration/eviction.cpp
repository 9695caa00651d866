// SPDX-License-Identifier: Apache-2.0
#include "migration/eviction.h"

#include <algorithm>
#include <array>

namespace scout::migration {
namespace {

using std::chrono::seconds;

constexpr seconds first_back_off{20};
/// A dump may name any number of failures.
constexpr unsigned most_doublings = 20;

constexpr std::array strategies{EvictionStrategy::none, EvictionStrategy::live_migrate,
                                EvictionStrategy::live_migrate_if_possible,
                                EvictionStrategy::external};

}  // namespace

std::string_view to_string(EvictionStrategy strategy) noexcept {
    switch (strategy) {
        case EvictionStrategy::live_migrate:
            return "LiveMigrate";
        case EvictionStrategy::live_migrate_if_possible:
            return "LiveMigrateIfPossible";
        case EvictionStrategy::external:
            return "External";
        case EvictionStrategy::none:
            break;
    }
    return "None";
}

std::string_view to_string(StopLimit limit) noexcept {
    switch (limit) {
        case StopLimit::launcher:
            return "launcher";
        case StopLimit::pod:
            return "pod";
        case StopLimit::deletion:
            return "deletion";
        case StopLimit::kubelet:
            break;
    }
    return "kubelet";
}

std::optional<EvictionStrategy> strategy_named(std::string_view word) noexcept {
    const auto* const found = std::find_if(strategies.begin(), strategies.end(),
                                           [word](auto one) { return to_string(one) == word; });
    return found != strategies.end() ? std::optional{*found} : std::nullopt;
}

EvictionStrategy effective_strategy(std::string_view vmi, std::string_view kubevirt) noexcept {
    return strategy_named(vmi.empty() ? kubevirt : vmi).value_or(EvictionStrategy::none);
}

EvictionOutcome eviction_outcome(EvictionStrategy strategy, bool migratable) noexcept {
    switch (strategy) {
        case EvictionStrategy::none:
            return EvictionOutcome::evicted;
        case EvictionStrategy::live_migrate:
            return migratable ? EvictionOutcome::marked : EvictionOutcome::refused;
        case EvictionStrategy::live_migrate_if_possible:
            return migratable ? EvictionOutcome::marked : EvictionOutcome::evicted;
        case EvictionStrategy::external:
            break;
    }
    return EvictionOutcome::marked;
}

WantedMove wanted_move(EvictionStrategy strategy, bool migratable) noexcept {
    if (strategy == EvictionStrategy::external) {
        return WantedMove::announce;
    }
    return eviction_outcome(strategy, migratable) == EvictionOutcome::marked ? WantedMove::move
                                                                             : WantedMove::none;
}

seconds evacuation_back_off(unsigned failures) noexcept {
    const auto doublings = std::min(std::max(failures, 1U) - 1, most_doublings);
    return first_back_off * (std::int64_t{1} << doublings);
}

StopBudget stop_budget(const StopTimes& times) noexcept {
    StopBudget budget{.ends = times.launcher_grace.value_or(times.vmi_grace + launcher_patience),
                      .limit = StopLimit::launcher};
    const auto at_most = [&budget](std::optional<seconds> ends, StopLimit limit) {
        if (ends && *ends < budget.ends) {
            budget = {.ends = *ends, .limit = limit};
        }
    };
    // The API's grace and the kubelet's own take the place of the pod's.
    if (times.deletion_grace || times.kubelet_grace) {
        at_most(times.deletion_grace, StopLimit::deletion);
        at_most(times.kubelet_grace, StopLimit::kubelet);
    } else {
        at_most(times.pod_grace.value_or(times.vmi_grace + pod_patience), StopLimit::pod);
    }
    budget.ends = std::max(budget.ends, seconds::zero());
    return budget;
}

}  // namespace scout::migration
