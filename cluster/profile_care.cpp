// SPDX-License-Identifier: Apache-2.0
#include "cluster/profile_care.h"

#include <optional>

#include "kube/timestamps.h"

namespace scout::cluster {
namespace {

using Kind = ProfileStep::Kind;

std::optional<Kind> step_for(const CpuProfile& profile, bool named, WallTime now,
                             const ProfileCareRules& rules) {
    if (named) {
        return profile.unused_since.empty() ? std::nullopt : std::optional{Kind::unmark};
    }
    const auto since = kube::parse_time(profile.unused_since);
    if (!since || *since > now) {
        return Kind::mark;
    }
    return now - *since >= rules.keep ? std::optional{Kind::remove} : std::nullopt;
}

}  // namespace

std::vector<ProfileStep> care_for(const std::vector<const CpuProfile*>& profiles,
                                  const std::set<std::string, std::less<>>& named, WallTime now,
                                  const ProfileCareRules& rules) {
    std::vector<ProfileStep> steps;
    for (const auto* profile : profiles) {
        const auto kind = step_for(*profile, named.contains(profile->meta.name), now, rules);
        if (!kind) {
            continue;
        }
        steps.push_back({.kind = *kind,
                         .name = profile->meta.name,
                         .uid = profile->meta.uid,
                         .version = profile->meta.version,
                         .since = *kind == Kind::mark ? kube::micro_time(now) : std::string{}});
        if (steps.size() == rules.most_steps) {
            break;
        }
    }
    return steps;
}

}  // namespace scout::cluster
