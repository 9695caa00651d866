// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "migration/profile.h"
#include "migration/verdict.h"
#include "virt_scout/v1/fleet.pb.h"
#include "virt_scout/v1/profile.pb.h"
#include "wire/checks.h"

/// What both halves of the converters need; not for other folders.
namespace scout::wire {

template <class Texts>
void assign(RepeatedText* out, const Texts& texts) {
    out->Reserve(static_cast<int>(texts.size()));
    for (const auto& text : texts) {
        *out->Add() = text;
    }
}

[[nodiscard]] inline virt_scout::v1::Profile::Usable usable_to_wire(
    const std::optional<migration::Usable>& usable) {
    using virt_scout::v1::Profile;
    if (!usable) {
        return Profile::USABLE_UNSTATED;
    }
    switch (*usable) {
        case migration::Usable::no:
            return Profile::USABLE_NO;
        case migration::Usable::yes:
            return Profile::USABLE_YES;
        case migration::Usable::unknown:
            return Profile::USABLE_UNKNOWN;
    }
    return Profile::USABLE_UNSTATED;
}

/// Nothing, and a fault of the field, for a value that this version does not know.
[[nodiscard]] inline std::optional<migration::Usable> usable_from_wire(
    std::string_view field, virt_scout::v1::Profile::Usable usable, Checks& checks) {
    using virt_scout::v1::Profile;
    switch (usable) {
        case Profile::USABLE_UNSTATED:
            return std::nullopt;
        case Profile::USABLE_NO:
            return migration::Usable::no;
        case Profile::USABLE_YES:
            return migration::Usable::yes;
        case Profile::USABLE_UNKNOWN:
            return migration::Usable::unknown;
        default:
            checks.fault(field, "0 to 3", std::to_string(static_cast<int>(usable)));
            return std::nullopt;
    }
}

/// Stock, and a fault of the field, for a layer that there is not.
[[nodiscard]] migration::Layer layer_from_wire(std::string_view field, const std::string& layer,
                                               Checks& checks);
void write_reason(const migration::Reason& reason, virt_scout::v1::Reason& out);
[[nodiscard]] migration::Reason reason_from_wire(const virt_scout::v1::Reason& reason,
                                                 Checks& checks);

}  // namespace scout::wire
