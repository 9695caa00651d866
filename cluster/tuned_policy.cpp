// SPDX-License-Identifier: Apache-2.0
#include "cluster/tuned_policy.h"

#include "kube/timestamps.h"

namespace scout::cluster {

bool is_tuned(const kube::MigrationPolicy& policy) {
    return policy.tune == "true";
}

std::optional<WallTime> tune_end(const kube::MigrationPolicy& policy) {
    return is_tuned(policy) ? kube::parse_time(policy.expires) : std::nullopt;
}

TuneState tune_state(const kube::MigrationPolicy& policy, WallTime now) {
    if (!is_tuned(policy)) {
        return TuneState::other;
    }
    const auto end = tune_end(policy);
    if (!end) {
        return TuneState::unreadable;
    }
    return *end <= now ? TuneState::over : TuneState::runs;
}

}  // namespace scout::cluster
