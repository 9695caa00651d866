// SPDX-License-Identifier: Apache-2.0
#include "fleet/answers.h"

#include <utility>

namespace scout::fleet {

ProfileAnswer make_profile(migration::Profile profile, const migration::CpuMap* map) {
    ProfileAnswer answer{.profile = std::move(profile), .supported = {}, .not_comparable = {}};
    answer.supported = migration::supported_features(answer.profile, map);
    if (const auto reason = migration::not_comparable(answer.profile)) {
        answer.not_comparable = reason->text;
    } else if (!answer.supported.known()) {
        answer.not_comparable = answer.supported.why;
    } else if (const auto own =
                   migration::effective_features(migration::host_model_guest(answer.profile), map);
               !own.known()) {
        answer.not_comparable =
            "guests of others can be compared with this host, its own host-model guests cannot: " +
            own.why;
    }
    return answer;
}

}  // namespace scout::fleet
