// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "migration/cause.h"

namespace scout::migration {

inline const WallTime noon{std::chrono::hours{24 * 365}};

/// A launcher whose VM ran, with all kinds of objects read.
inline CauseFacts launcher(std::string phase, std::string reason = {}, std::string message = {}) {
    return {.pod_there = true,
            .pod = "virt-launcher-web-abcde",
            .pod_phase = std::move(phase),
            .pod_reason = std::move(reason),
            .pod_message = std::move(message),
            .vmis_known = true,
            .vmi_there = true,
            .vmi_phase = "Running",
            .nodes_known = true,
            .node = "n1",
            .node_there = true,
            .events_known = true};
}

inline CauseFacts with_event(CauseFacts facts, CauseEvent event) {
    facts.events.push_back(std::move(event));
    return facts;
}

}  // namespace scout::migration
