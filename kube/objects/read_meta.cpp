// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/read_meta.h"

namespace scout::kube {

const Condition* find_condition(const std::vector<Condition>& conditions,
                                std::string_view type) noexcept {
    const auto found =
        std::find_if(conditions.begin(), conditions.end(),
                     [type](const Condition& condition) { return condition.type == type; });
    return found == conditions.end() ? nullptr : &*found;
}

bool is_final_phase(std::string_view phase) noexcept {
    return phase == "Succeeded" || phase == "Failed";
}

std::optional<WallTime> final_time(const std::vector<PhaseTime>& phases) noexcept {
    const auto found = std::find_if(phases.begin(), phases.end(), [](const PhaseTime& each) {
        return is_final_phase(each.phase.view());
    });
    return found == phases.end() ? std::nullopt : std::optional{found->at};
}

Status read_json(JsonValue value, Condition& target) {
    return read_members(value, Field{"type", target.type}, Field{"status", target.status},
                        Field{"reason", target.reason}, Field{"message", target.message},
                        Field{"lastTransitionTime", target.since});
}

Status read_json(JsonValue value, PhaseTime& target) {
    return read_members(value, Field{"phase", target.phase},
                        Field{"phaseTransitionTimestamp", target.at});
}

Status read_json(JsonValue value, OurAnnotations& target) {
    return read_annotations(
        value, target.target,
        [](std::string_view /*key*/, JsonValue /*value*/) -> Status { return {}; });
}

Status read_json(JsonValue value, Keys& target) {
    target.target.clear();
    return read_map(value, [&target](std::string_view key, JsonValue item) -> Status {
        target.target.push_back(item.texts().get(key));
        return {};
    });
}

Status read_json(JsonValue value, RawObject& target) {
    auto object = value.object();
    const auto text = object ? object->raw() : fail(std::move(object.error()));
    if (!text) {
        return fail(text.error());
    }
    target.target = *text;
    return {};
}

Status read_json(JsonValue value, PreferredLevel& target) {
    return read_members(value, Field{"level", target.level}, Field{"weight", target.weight});
}

}  // namespace scout::kube
