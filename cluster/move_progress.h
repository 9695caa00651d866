// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kube/objects/migration.h"
#include "kube/objects/vmi.h"

namespace scout::cluster {

/// How far a migration is, by its object and its VMI's (dossier §6.2).
struct MoveProgress {
    std::string phase;   ///< KubeVirt's word; Pending until it has said one
    std::string target;  ///< node; empty until it is handed off
    std::string mode;    ///< PreCopy, PostCopy, Paused; empty until it runs
    bool ended = false;
    bool moved = false;   ///< it ended well
    std::string node;     ///< where the VM runs by now; empty: not known
    std::string trouble;  ///< why it failed, or what keeps it; empty: nothing is told

    friend bool operator==(const MoveProgress&, const MoveProgress&) = default;
};

/// `vmi`: null if it is not seen. It may lag: what it says of another migration does not count, and
/// one that moved it has not ended until it agrees. Pure.
[[nodiscard]] MoveProgress move_progress(const kube::Migration& move, const kube::Vmi* vmi);

}  // namespace scout::cluster
