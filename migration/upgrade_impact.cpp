// SPDX-License-Identifier: Apache-2.0
#include "migration/upgrade_impact.h"

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

FeatureSet lacking(const Side& guest, const Side& host) {
    auto missing = subtract(guest.guest.features, host.supported.features);
    const bool both = guest.guest.reports_vmx && host.supported.reports_vmx;
    return both ? missing : without_vmx_details(missing);
}

std::string why_not(const Side& before, const Side& after) {
    for (const auto* side : {&before, &after}) {
        if (side->fault) {
            return side->fault->text;
        }
        for (const auto* set : {&side->guest, &side->supported}) {
            if (!set->known()) {
                return set->why;
            }
        }
    }
    return {};
}

std::string advice_for(const UpgradeImpact& impact) {
    if (!impact.missing_after.empty()) {
        return "restart guests that were started before the change: the host no longer offers " +
               join(impact.missing_after) + ", so they cannot migrate to it or to its equals";
    }
    if (!impact.missing_before.empty()) {
        return "none needed for guests started before the change; guests started now use " +
               join(impact.missing_before) + " and cannot go to hosts that were not changed yet";
    }
    return "none needed: guests started before and after the change fit on both";
}

}  // namespace

UpgradeImpact upgrade_impact(const Profile& before, const Profile& after, const CpuMap* map) {
    const Side old_side = side_of(before, map);
    const Side new_side = side_of(after, map);
    UpgradeImpact out;
    out.model_before = old_side.model;
    out.model_after = new_side.model;
    out.named_usable_before = old_side.named_usable;
    out.named_usable_after = new_side.named_usable;
    std::string obstacle = why_not(old_side, new_side);
    if (obstacle.empty() && before.vendor != after.vendor) {
        obstacle = "the vendor changed from " + before.vendor + " to " + after.vendor +
                   ": this is another machine";
    }
    if (!obstacle.empty()) {
        out.advice = "cannot be compared: " + obstacle;
        return out;
    }
    out.comparable = true;
    out.missing_after = lacking(old_side, new_side);
    out.missing_before = lacking(new_side, old_side);
    out.advice = advice_for(out);
    return out;
}

}  // namespace scout::migration
