// SPDX-License-Identifier: Apache-2.0
#include "migration/upgrade_impact.h"

#include <array>
#include <utility>

#include "migration/cpu_truth.h"

namespace scout::migration {
namespace {

struct Side {
    std::string model;
    std::optional<Usable> named_usable;
    EffectiveSet guest;  ///< of a host-model guest started there
    EffectiveSet supported;
    std::optional<Reason> fault;
};

Side side_of(const Profile& profile, const CpuMap* map) {
    Side side;
    side.model = profile.host_model ? profile.host_model->name : std::string{};
    const NamedModel* named = find_model(profile, side.model);
    side.named_usable = named != nullptr ? named->usable : std::nullopt;
    side.guest = effective_features(host_model_guest(profile), map);
    side.supported = supported_features(profile, map);
    side.fault = not_comparable(profile);
    return side;
}

std::string another_machine(const char* what, const std::string& before, const std::string& after) {
    return std::string{"the "} + what + " changed from " + or_unstated(before) + " to " +
           or_unstated(after) + ": this is another machine";
}

/// Why the two cannot be compared, the plainest reason first; empty if they can.
std::string obstacle(const Profile& before, const Profile& after,
                     const std::array<Side, 2>& sides) {
    if (!before.arch.empty() && !after.arch.empty() && before.arch != after.arch) {
        return another_machine("architecture", before.arch, after.arch);
    }
    for (const auto& side : sides) {
        if (side.fault) {
            return side.fault->text;
        }
    }
    if (before.vendor != after.vendor) {
        return another_machine("vendor", before.vendor, after.vendor);
    }
    for (const auto& side : sides) {
        for (const auto* set : {&side.guest, &side.supported}) {
            if (!set->known()) {
                return set->why;
            }
        }
    }
    return {};
}

std::string advice_for(const UpgradeImpact& impact) {
    static const std::string limits = "; machine types, TSC and address width are not looked at";
    if (!impact.missing_after.empty()) {
        return "restart guests that were started before the change: the host no longer offers " +
               join(impact.missing_after) + ", so they cannot migrate to it or to its equals";
    }
    if (!impact.missing_before.empty()) {
        return "none needed for the CPU features of guests started before the change; guests "
               "started now use " +
               join(impact.missing_before) + " and cannot go to hosts that were not changed yet" +
               limits;
    }
    return "none needed for CPU features: those of guests started before and after the change are "
           "there on both sides" +
           limits;
}

}  // namespace

UpgradeImpact upgrade_impact(const Profile& before, const Profile& after, const CpuMap* map) {
    const std::array<Side, 2> sides{side_of(before, map), side_of(after, map)};
    const auto& [old_side, new_side] = sides;
    UpgradeImpact out;
    out.model_before = old_side.model;
    out.model_after = new_side.model;
    out.named_usable_before = old_side.named_usable;
    out.named_usable_after = new_side.named_usable;
    for (const auto& side : sides) {
        for (const auto* set : {&side.guest, &side.supported}) {
            out.map = out.map.empty() ? set->map : out.map;
        }
    }
    out.assumed =
        before.origin == ProfileOrigin::bare_cpu || after.origin == ProfileOrigin::bare_cpu;
    if (const auto why = obstacle(before, after, sides); !why.empty()) {
        out.advice = "cannot be compared: " + why;
        return out;
    }
    out.comparable = true;
    out.missing_after = missing_features(old_side.guest, new_side.supported);
    out.missing_before = missing_features(new_side.guest, old_side.supported);
    out.advice = advice_for(out);
    return out;
}

}  // namespace scout::migration
