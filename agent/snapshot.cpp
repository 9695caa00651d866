// SPDX-License-Identifier: Apache-2.0
#include "agent/snapshot.h"

#include <tuple>
#include <utility>

namespace scout::agent {

bool HostPart::same_report(const HostPart& other) const {
    const auto told = [](const HostPart& part) {
        return std::tie(part.profile_digest, part.facts, part.source, part.yardstick,
                        part.probe_error, part.guests_error, part.notices);
    };
    return told(*this) == told(other);
}

bool Snapshot::set_host(HostPart host) {
    const bool changed = !host_.same_report(host);
    host_ = std::move(host);
    if (changed) {
        host_revision_ = ++last_revision_;
    }
    return changed;
}

bool Snapshot::set_guests(std::vector<hypervisor::GuestState> guests) {
    Guests now;
    bool changed = false;
    for (auto& guest : guests) {
        const auto before = guests_.find(guest.uuid);
        const bool same = before != guests_.end() && before->second.state == guest;
        const auto revision = same ? before->second.revision : ++last_revision_;
        changed = changed || !same;
        auto uuid = guest.uuid;
        now.insert_or_assign(std::move(uuid), Guest{std::move(guest), revision});
    }
    changed = changed || now.size() != guests_.size();
    guests_ = std::move(now);
    return changed;
}

}  // namespace scout::agent
