// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "migration/scheduling/cluster.h"

namespace scout::migration::scheduling {

/// What a container, or a whole pod, asks for, and what it has while that is being changed.
struct Ask {
    Resources requests;               ///< of its specification
    std::optional<Resources> actual;  ///< status.resources.requests; none: not told
    Resources allocated;              ///< status.allocatedResources
};

struct InitContainer {
    Ask ask;
    bool restarts = false;  ///< restartPolicy Always: it stays beside the others
};

/// What decides how much of a node a pod takes.
struct PodAsk {
    std::vector<Ask> containers;
    std::vector<InitContainer> init_containers;
    std::optional<Ask> whole;  ///< of the pod itself; stands for what its containers say
    Resources overhead;
    bool resize_infeasible = false;  ///< what its specification asks for it will not get
};

/// As the scheduler counts a pod of a node: while resources are being changed the larger ones.
[[nodiscard]] Resources requests_of(const PodAsk& pod);

/// As it counts a new pod that is made like it: by the specification alone.
[[nodiscard]] Resources requests_when_new(PodAsk pod);

}  // namespace scout::migration::scheduling
