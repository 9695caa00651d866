// SPDX-License-Identifier: Apache-2.0
#include "migration/stuck.h"

namespace scout::migration {

std::string_view to_string(StuckState state) noexcept {
    switch (state) {
        case StuckState::stale_mark:
            return "stale-mark";
        case StuckState::already_moved:
            return "already-moved";
        case StuckState::being_moved:
            return "being-moved";
        case StuckState::external:
            return "external";
        case StuckState::unwanted:
            return "not-wanted";
        case StuckState::not_migratable:
            return "not-migratable";
        case StuckState::node_gone:
            return "node-gone";
        case StuckState::two_active_pods:
            return "two-active-pods";
        case StuckState::synchronizing:
            return "synchronizing";
        case StuckState::queued:
            return "queued";
        case StuckState::backing_off:
            return "backing-off";
        case StuckState::blocked:
            return "blocked";
        case StuckState::no_selinux:
            return "no-selinux-context";
        case StuckState::unschedulable:
            return "unschedulable";
        case StuckState::handed_off:
            return "handed-off";
        case StuckState::pending:
            return "pending";
        case StuckState::deleting:
            return "deleting";
    }
    return "pending";
}

}  // namespace scout::migration
