// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "migration/profile.h"
#include "virt_scout/v1/report.pb.h"

namespace scout::bench {

/// Profiles of so many classes, as large as real ones: 148 supported features, 50 named models with
/// blockers, 40 machine types.
[[nodiscard]] std::vector<migration::Profile> make_profiles(std::size_t classes);

/// What an agent of such a host reports first: the profile's digest, facts, so many guests.
[[nodiscard]] virt_scout::v1::FullReport make_report(const migration::Profile& profile,
                                                     std::size_t node, std::size_t guests);

[[nodiscard]] std::string node_name(std::size_t node);

}  // namespace scout::bench
