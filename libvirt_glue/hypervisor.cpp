// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/hypervisor.h"

#include "libvirt_glue/guest_event.h"

namespace scout::hypervisor {

std::string_view to_string(Reach reach) noexcept {
    switch (reach) {
        case Reach::not_kept:
            return "not-kept";
        case Reach::connecting:
            return "connecting";
        case Reach::connected:
            return "connected";
        case Reach::unreachable:
            return "unreachable";
    }
    return "unreachable";
}

std::string_view to_string(FoundBy found_by) noexcept {
    return found_by == FoundBy::event ? "event" : "resync";
}

std::string_view to_string(EventKind kind) noexcept {
    switch (kind) {
        case EventKind::added:
            return "added";
        case EventKind::removed:
            return "removed";
        case EventKind::state_changed:
            return "state-changed";
        case EventKind::updated:
            return "updated";
        case EventKind::rebooted:
            return "rebooted";
        case EventKind::migration_iteration:
            return "migration-iteration";
        case EventKind::job_completed:
            return "job-completed";
        case EventKind::device_removed:
            return "device-removed";
        case EventKind::agent_changed:
            return "agent-changed";
    }
    return "updated";
}

}  // namespace scout::hypervisor
