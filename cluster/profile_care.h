// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cluster/cpu_profile.h"

namespace scout::cluster {

struct ProfileCareRules {
    /// A profile that no node names any more tells what an upgrade changed.
    std::chrono::milliseconds keep = std::chrono::hours{30 * 24};
    std::size_t most_steps = 20;  ///< at a time; the rest follows
};

/// One thing to do with an object that stands in the store.
struct ProfileStep {
    enum class Kind : std::uint8_t {
        mark,    ///< unused since now
        unmark,  ///< some node names it again
        remove,
    };
    Kind kind{};
    std::string name;
    std::string uid;
    std::string version;  ///< that was judged: what changed since is not removed
    std::string since;    ///< for mark: value of unused_annotation
};

/// What is to be done with profiles by who names them: unused ones are marked, kept for a while and
/// then removed. `profiles` and `named` must be all there are. A mark that is no time, or lies in
/// the future, is made anew. Pure.
[[nodiscard]] std::vector<ProfileStep> care_for(const std::vector<const CpuProfile*>& profiles,
                                                const std::set<std::string, std::less<>>& named,
                                                WallTime now, const ProfileCareRules& rules = {});

}  // namespace scout::cluster
