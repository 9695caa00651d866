// SPDX-License-Identifier: Apache-2.0
#include "cluster/evacuation_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/logging.h"

namespace scout::cluster {
namespace {

using std::chrono::seconds;

struct Range {
    seconds least;
    seconds most;
};
constexpr Range reserve_range{seconds{0}, std::chrono::hours{1}};
/// Facts come every 10 s: two of them may be lost.
constexpr Range patience_range{seconds{20}, std::chrono::minutes{10}};

constexpr std::array<std::pair<std::string_view, EvacuationMode>, 3> modes{
    {{"off", EvacuationMode::off},
     {"observe", EvacuationMode::observe},
     {"act", EvacuationMode::act}}};

void take_seconds(std::string_view field, const std::optional<std::int64_t>& said,
                  const Range& range, seconds& target, std::vector<std::string>& faults) {
    if (!said) {
        return;
    }
    if (*said >= range.least.count() && *said <= range.most.count()) {
        target = seconds{*said};
        return;
    }
    faults.push_back("spec.evacuation." + std::string{field} + ": expected " +
                     std::to_string(range.least.count()) + " to " +
                     std::to_string(range.most.count()) + " seconds, found " +
                     std::to_string(*said));
}

migration::Escalation escalation_of(const kube::ScoutConfig& config,
                                    std::vector<std::string>& faults) {
    if (config.evacuation_escalation.empty()) {
        return migration::Escalation::none;
    }
    const auto escalation = migration::escalation_named(config.evacuation_escalation.view());
    if (!escalation) {
        faults.push_back(
            "spec.evacuation.escalation: expected none, auto-converge, post-copy or pause, found " +
            log_value(config.evacuation_escalation.view()));
    }
    return escalation.value_or(migration::Escalation::none);
}

bool has(const std::vector<kube::SharedText>& gates, std::string_view gate) {
    return std::any_of(gates.begin(), gates.end(),
                       [gate](const auto& listed) { return listed == gate; });
}

}  // namespace

std::string_view to_string(EvacuationMode mode) noexcept {
    const auto* const found = std::find_if(modes.begin(), modes.end(),
                                           [mode](const auto& one) { return one.second == mode; });
    return found != modes.end() ? found->first : "off";
}

std::optional<EvacuationMode> evacuation_mode_named(std::string_view word) noexcept {
    const auto* const found = std::find_if(modes.begin(), modes.end(),
                                           [word](const auto& one) { return one.first == word; });
    return found != modes.end() ? std::optional{found->second} : std::nullopt;
}

std::string_view to_string(ModeSource source) noexcept {
    switch (source) {
        case ModeSource::scout_config:
            return "ScoutConfig";
        case ModeSource::gate:
            return "KubeVirt";
        case ModeSource::default_value:
            break;
    }
    return "default";
}

bool lists_gate(const kube::KubeVirt* kubevirt, std::string_view gate) {
    return kubevirt != nullptr && has(kubevirt->feature_gates, gate) &&
           !has(kubevirt->disabled_feature_gates, gate);
}

EvacuationRules evacuation_rules(const kube::ScoutConfig* config, const kube::KubeVirt* kubevirt,
                                 std::vector<std::string>& faults) {
    EvacuationRules rules;
    if (lists_gate(kubevirt, evacuation_gate)) {
        rules.mode = EvacuationMode::act;
        rules.mode_by = ModeSource::gate;
    }
    rules.hooks = lists_gate(kubevirt, hooks_gate);
    if (config == nullptr) {
        return rules;
    }
    if (!config->evacuation_mode.empty()) {
        const auto mode = evacuation_mode_named(config->evacuation_mode.view());
        if (!mode) {
            faults.push_back("spec.evacuation.mode: expected off, observe or act, found " +
                             log_value(config->evacuation_mode.view()));
        }
        rules.mode = mode.value_or(EvacuationMode::observe);
        rules.mode_by = mode ? ModeSource::scout_config : ModeSource::default_value;
    }
    rules.escalation = escalation_of(*config, faults);
    take_seconds("reserveSeconds", config->evacuation_reserve, reserve_range, rules.reserve,
                 faults);
    take_seconds("patienceSeconds", config->evacuation_patience, patience_range, rules.patience,
                 faults);
    return rules;
}

std::string summary(const EvacuationRules& rules) {
    const std::string by = rules.mode_by == ModeSource::gate
                               ? " by the gate " + std::string{evacuation_gate}
                               : std::string{};
    switch (rules.mode) {
        case EvacuationMode::off:
            break;
        case EvacuationMode::observe:
            return "VMs whose launchers are told to stop are watched and not moved";
        case EvacuationMode::act:
            return "VMs whose launchers are told to stop are moved" + by + ", " +
                   std::to_string(rules.reserve.count()) + " s are kept for their own shutdown";
    }
    return "VMs whose launchers are told to stop are left alone";
}

}  // namespace scout::cluster
