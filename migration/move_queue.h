// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

/// More launchers are told to stop than KubeVirt can move in time (design §6). Pure; any thread;
/// nothing here fails.
namespace scout::migration {

struct QueuedMove {
    std::chrono::milliseconds duration{0};  ///< once it has begun, by the optimistic forecast
    std::chrono::milliseconds left{0};      ///< from now until it must have ended
    bool held = false;                      ///< decided before: stays
};

/// KubeVirt's limits (dossier §6.5) as they are for this node now.
struct MoveSlots {
    unsigned at_once = 2;                  ///< at least one is assumed
    std::chrono::milliseconds running{0};  ///< what the moves under way still need, all together
};

/// Which to hold, in the order of `moves`: the held ones, and as many more as end in time in
/// whatever order KubeVirt takes them, for of equals it takes any. A move begins at the latest when
/// the work of all others, shared by the slots, is done. Of equally many the shorter ones are
/// taken.
[[nodiscard]] std::vector<bool> moves_that_fit(const std::vector<QueuedMove>& moves,
                                               const MoveSlots& slots);

}  // namespace scout::migration
