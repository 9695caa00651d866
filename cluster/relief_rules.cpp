// SPDX-License-Identifier: Apache-2.0
#include "cluster/relief_rules.h"

#include "base/logging.h"

namespace scout::cluster {
namespace {

constexpr std::int64_t least_per_minute = 1;
constexpr std::int64_t most_per_minute = 60;

}  // namespace

std::string_view to_string(ReliefMode mode) noexcept {
    return mode == ReliefMode::act ? "act" : "observe";
}

std::optional<ReliefMode> relief_mode_named(std::string_view word) noexcept {
    for (const auto mode : {ReliefMode::observe, ReliefMode::act}) {
        if (to_string(mode) == word) {
            return mode;
        }
    }
    return std::nullopt;
}

ReliefRules relief_rules(const kube::ScoutConfig* config, std::vector<std::string>& faults) {
    ReliefRules rules;
    if (config == nullptr) {
        return rules;
    }
    if (!config->pressure_mode.empty()) {
        const auto mode = relief_mode_named(config->pressure_mode.view());
        if (!mode) {
            faults.push_back("spec.pressure.mode: expected observe or act, found " +
                             log_value(config->pressure_mode.view()));
        }
        rules.mode = mode.value_or(ReliefMode::observe);
    }
    const auto& said = config->pressure_moves_per_minute;
    if (said && *said >= least_per_minute && *said <= most_per_minute) {
        rules.moves_per_minute = static_cast<unsigned>(*said);
    } else if (said) {
        faults.push_back("spec.pressure.movesPerMinute: expected " +
                         std::to_string(least_per_minute) + " to " +
                         std::to_string(most_per_minute) + ", found " + std::to_string(*said));
    }
    return rules;
}

std::string summary(const ReliefRules& rules) {
    if (rules.mode == ReliefMode::observe) {
        return "nothing is moved for pressure that is expected";
    }
    return "VMs are moved away from pressure that is expected, " +
           std::to_string(rules.moves_per_minute) + " in a minute at most";
}

}  // namespace scout::cluster
