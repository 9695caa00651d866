// SPDX-License-Identifier: Apache-2.0
#include "migration/scheduling/label_selector.h"

#include <algorithm>
#include <cstdint>

#include "migration/label_syntax.h"

namespace scout::migration::scheduling {
namespace {

enum class Meeting : std::uint8_t { met, not_met, unreadable };

Meeting meeting(bool met) noexcept {
    return met ? Meeting::met : Meeting::not_met;
}

Meeting meet(const LabelRequirement& asked, const Labels& labels) {
    const auto found = labels.find(asked.key);
    const bool there = found != labels.end();
    const auto named = [&asked, found] {
        return std::find(asked.values.begin(), asked.values.end(), found->second) !=
               asked.values.end();
    };
    if (asked.op == "In" || asked.op == "NotIn") {
        if (asked.values.empty()) {
            return Meeting::unreadable;
        }
        const bool in = there && named();
        return meeting(in == (asked.op == "In"));
    }
    if ((asked.op == "Exists" || asked.op == "DoesNotExist") && asked.values.empty()) {
        return meeting(there == (asked.op == "Exists"));
    }
    return Meeting::unreadable;
}

bool is_written_well(const LabelRequirement& asked) {
    return is_label_key(asked.key) &&
           std::all_of(asked.values.begin(), asked.values.end(),
                       [](const auto& value) { return is_label_value(value); });
}

}  // namespace

std::optional<std::string> fault_of(const LabelSelector& selector) {
    for (const auto& [key, value] : selector.labels) {
        if (!is_label_key(key) || !is_label_value(value)) {
            return "'" + pair_text(key, value) + "' is no label";
        }
    }
    for (const auto& each : selector.expressions) {
        if (meet(each, {}) == Meeting::unreadable || !is_written_well(each)) {
            return "its requirement of '" + each.key + "' with the operator '" + each.op +
                   "' is none";
        }
    }
    return std::nullopt;
}

bool matches(const LabelSelector& selector, const Labels& labels) {
    const auto has = [&labels](const auto& wanted) {
        const auto found = labels.find(wanted.first);
        return found != labels.end() && found->second == wanted.second;
    };
    const auto meets = [&labels](const LabelRequirement& asked) {
        return meet(asked, labels) == Meeting::met;
    };
    return std::all_of(selector.labels.begin(), selector.labels.end(), has) &&
           std::all_of(selector.expressions.begin(), selector.expressions.end(), meets);
}

}  // namespace scout::migration::scheduling
