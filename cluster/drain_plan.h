// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "migration/cpu_map.h"
#include "migration/verdict.h"

namespace scout::cluster {

/// One VM of a node that is to be emptied.
struct DrainStep {
    std::string vmi;  ///< "NAMESPACE/NAME"
    /// can: the plan has a place for it. unknown: some node may be one.
    migration::Verdict verdict = migration::Verdict::cannot;
    std::string target;                          ///< its place in the plan; empty: none
    std::size_t candidates = 0;                  ///< nodes that it could go to if it went first
    std::optional<std::chrono::seconds> begins;  ///< from the beginning of the plan
    std::optional<std::chrono::seconds> takes;   ///< expected; none: not known, or it would not end
    /// A drain deletes its launcher instead, for its eviction strategy has nobody move it: it
    /// leaves by migration only if somebody makes one for it.
    bool shut_down = false;
    std::string why;  ///< it cannot leave, or is not to be expected to; empty: nothing
};

/// How the VMs of a node can leave it by live migration. One of the ways that work: where each goes
/// in the end is kube-scheduler's choice.
struct DrainPlan {
    std::string node;
    std::vector<DrainStep> steps;   ///< in the order of the plan; those that stay come last
    unsigned at_once = 0;           ///< migrations out of a node, by the KubeVirt object
    std::string none_begins;        ///< why KubeVirt begins none at all; empty: it does
    std::chrono::seconds takes{0};  ///< until the last that has a time has moved
    std::vector<std::string> notes;
};

/// VMs that a drain moves go first, of them those with the fewest candidates, and each to the node
/// that has the most memory left. What has left is on its target for all that follow. Times are
/// forecasts of the numbers that each migration will run by (migration/convergence.h). `map` may be
/// null. Pure. Errors: not_found, with the node's name that is nearest; invalid, without what the
/// scheduler goes by.
[[nodiscard]] Result<DrainPlan> drain_plan(const Objects& objects, std::string_view node,
                                           WallTime now, const migration::CpuMap* map);

/// "2 of 4 VMs can leave, in about 2m with 2 at once; 1 would be shut down by a drain; 1 stays"
[[nodiscard]] std::string summary(const DrainPlan& plan);

}  // namespace scout::cluster
