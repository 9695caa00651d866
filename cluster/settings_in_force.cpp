// SPDX-License-Identifier: Apache-2.0
#include "cluster/settings_in_force.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/duration.h"
#include "base/logging.h"
#include "kube/resource.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;

constexpr auto longest_grace = std::chrono::hours{24};
constexpr auto longest_keep = std::chrono::hours{7 * 24};

void take_layer(const kube::SharedText& said, SettingsInForce& settings) {
    if (said.empty()) {
        return;
    }
    if (const auto layer = migration::layer_named(said.view())) {
        settings.levels.layer = *layer;
    } else {
        settings.faults.push_back("spec.levels.layer: expected stock or truth, found " +
                                  log_value(said.view()));
    }
}

void take_time(std::string_view field, const kube::SharedText& said, std::chrono::hours longest,
               std::chrono::milliseconds& target, SettingsInForce& settings) {
    if (said.empty()) {
        return;
    }
    const auto time = parse_duration(said.view());
    if (time && *time <= longest) {
        target = *time;
    } else {
        settings.faults.push_back("spec." + std::string{field} + ": expected a time such as 10m, " +
                                  std::to_string(longest.count()) + "h at most, found " +
                                  log_value(said.view()));
    }
}

std::string message_of(const SettingsInForce& settings) {
    if (settings.faults.empty()) {
        return summary(settings);
    }
    std::string text;
    for (const auto& fault : settings.faults) {
        text += (text.empty() ? "not obeyed: " : "; ") + fault;
    }
    return text + "; in force: " + summary(settings);
}

std::string placement_summary(const PlacementRules& rules) {
    if (!rules.required && !rules.preferred) {
        return "no level is asked of first nodes";
    }
    std::string text;
    if (rules.required) {
        text = "level " + std::to_string(rules.required->level) +
               " is required of first nodes by " + std::string{to_string(rules.required->source)};
    }
    if (rules.preferred) {
        text += (text.empty() ? "level " : ", level ") + std::to_string(rules.preferred->level) +
                " preferred with weight " + std::to_string(rules.preferred->weight) + " by " +
                std::string{to_string(rules.preferred->source)};
    }
    return text;
}

/// One of the conditions that a status tells.
struct Told {
    std::string_view type;
    std::string_view status;
    std::string_view reason;
    std::string message;
};

bool tells(const kube::ScoutConfig& config, const Told& told) {
    const auto* condition = kube::find_condition(config.conditions, told.type);
    return condition != nullptr && condition->status == told.status &&
           condition->reason == told.reason && condition->message == told.message;
}

/// With the time of the last change of its status, as the API's conventions want it.
json::object condition_of(const kube::ScoutConfig& config, const Told& told, WallTime now) {
    const auto* before = kube::find_condition(config.conditions, told.type);
    const bool same = before != nullptr && before->status == told.status;
    return {{"type", told.type},
            {"status", told.status},
            {"reason", told.reason},
            {"message", told.message},
            {"lastTransitionTime", rfc3339(same ? before->since : now)}};
}

std::string_view status_of(Protection::State state) {
    switch (state) {
        case Protection::State::yes:
            return "True";
        case Protection::State::no:
            return "False";
        case Protection::State::unknown:
            break;
    }
    return "Unknown";
}

json::object values(const SettingsInForce& settings) {
    const auto& levels = settings.levels;
    json::object values{{"layer", to_string(levels.layer)},
                        {"cordonedFor", format_duration(levels.cordoned_for)},
                        {"notReadyFor", format_duration(levels.not_ready_for)}};
    if (!levels.machine_type.empty()) {
        values["machineType"] = levels.machine_type;
    }
    if (const auto& required = settings.placement.required) {
        values["requiredLevel"] = required->level;
        values["requiredBy"] = to_string(required->source);
    }
    if (const auto& preferred = settings.placement.preferred) {
        values["preferredLevel"] = preferred->level;
        values["preferredWeight"] = preferred->weight;
        values["preferredBy"] = to_string(preferred->source);
    }
    const auto& evacuation = settings.evacuation;
    values["evacuation"] = {{"mode", to_string(evacuation.mode)},
                            {"modeBy", to_string(evacuation.mode_by)},
                            {"reserveSeconds", evacuation.reserve.count()},
                            {"patienceSeconds", evacuation.patience.count()},
                            {"escalation", migration::to_string(evacuation.escalation)}};
    values["pressure"] = {{"mode", to_string(settings.relief.mode)},
                          {"movesPerMinute", settings.relief.moves_per_minute}};
    values["policies"] = {{"lint", to_string(settings.policy_lint)}};
    values["historyKeep"] = format_duration(settings.history_keep);
    return values;
}

}  // namespace

LevelSettings level_settings(const LevelOptions& options) {
    return {.layer = options.layer,
            .machine_type = options.machine_type,
            .cordoned_for = options.counting.cordoned_for,
            .not_ready_for = options.counting.not_ready_for};
}

LevelOptions with_settings(LevelOptions options, const LevelSettings& settings) {
    options.layer = settings.layer;
    options.machine_type = settings.machine_type;
    options.counting.cordoned_for = settings.cordoned_for;
    options.counting.not_ready_for = settings.not_ready_for;
    return options;
}

SettingsInForce settings_in_force(const LevelSettings& given, const kube::ScoutConfig* config,
                                  const kube::KubeVirt* kubevirt) {
    SettingsInForce settings;
    settings.levels = given;
    settings.placement = placement_rules(kubevirt == nullptr ? nullptr : &kubevirt->levels,
                                         config == nullptr ? nullptr : &config->placement);
    settings.faults = settings.placement.faults;
    settings.evacuation = evacuation_rules(config, kubevirt, settings.faults);
    settings.relief = relief_rules(config, settings.faults);
    settings.policy_lint = policy_lint_mode(config, settings.faults);
    if (config == nullptr) {
        return settings;
    }
    take_layer(config->layer, settings);
    if (!config->machine_type.empty()) {
        settings.levels.machine_type = config->machine_type.str();
    }
    take_time("levels.cordonedFor", config->cordoned_for, longest_grace,
              settings.levels.cordoned_for, settings);
    take_time("levels.notReadyFor", config->not_ready_for, longest_grace,
              settings.levels.not_ready_for, settings);
    take_time("history.keep", config->history_keep, longest_keep, settings.history_keep, settings);
    return settings;
}

std::string summary(const SettingsInForce& settings) {
    const auto& levels = settings.levels;
    return "labels show the layer " + std::string{to_string(levels.layer)} + " for " +
           (levels.machine_type.empty() ? "the default machine types" : levels.machine_type) +
           "; a node counts until it has been cordoned for " +
           format_duration(levels.cordoned_for) + " or not Ready for " +
           format_duration(levels.not_ready_for) + "; " + placement_summary(settings.placement) +
           "; " + summary(settings.evacuation) + "; " + summary(settings.relief) + "; " +
           summary(settings.policy_lint) + "; what became of launchers and migrations is " +
           (settings.history_keep.count() == 0
                ? std::string{"not kept"}
                : "kept for " + format_duration(settings.history_keep));
}

std::string status_body(const kube::ScoutConfig& config, const SettingsInForce& settings,
                        const Protection& protection, WallTime now) {
    const bool obeyed = settings.faults.empty();
    const Told in_force{.type = "InForce",
                        .status = obeyed ? "True" : "False",
                        .reason = obeyed ? "Obeyed" : "NotAllObeyed",
                        .message = message_of(settings)};
    const Told protecting{.type = "Protecting",
                          .status = status_of(protection.state),
                          .reason = protection.reason,
                          .message = protection.message};
    if (config.observed_generation == config.generation && tells(config, in_force) &&
        tells(config, protecting)) {
        return {};
    }
    const auto& resource = kube::resources::scout_configs();
    json::array conditions{condition_of(config, in_force, now),
                           condition_of(config, protecting, now)};
    return json::serialize(
        json::object{{"apiVersion", resource.group + "/" + resource.version},
                     {"kind", resource.kind},
                     {"metadata", {{"name", config.meta.name}, {"uid", config.meta.uid}}},
                     {"status",
                      {{"observedGeneration", config.generation},
                       {"conditions", std::move(conditions)},
                       {"inForce", values(settings)}}}});
}

}  // namespace scout::cluster
