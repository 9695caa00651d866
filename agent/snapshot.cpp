// SPDX-License-Identifier: Apache-2.0
#include "agent/snapshot.h"

#include <algorithm>
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
    bool changed = std::exchange(removed_, false);
    for (auto& guest : guests) {
        const auto before = guests_.find(guest.uuid);
        const bool same = before != guests_.end() && before->second.state == guest;
        const auto revision = same ? before->second.revision : ++last_revision_;
        changed = changed || !same;
        auto uuid = guest.uuid;
        now.insert_or_assign(std::move(uuid), Guest{std::move(guest), revision});
    }
    for (const auto& [uuid, guest] : guests_) {
        if (!now.contains(uuid)) {
            note({.uuid = uuid});
            changed = true;
        }
    }
    guests_ = std::move(now);
    return changed;
}

void Snapshot::remove(RemovedGuest gone) {
    if (guests_.erase(gone.uuid) != 0) {
        note(std::move(gone));
        removed_ = true;
    }
}

void Snapshot::note(RemovedGuest gone) {
    removals_.push_back(std::move(gone));
    if (removals_.size() > removals_limit) {
        removals_.pop_front();
    }
}

RemovedGuest Snapshot::removal_of(std::string_view uuid) const {
    const auto found = std::find_if(removals_.rbegin(), removals_.rend(),
                                    [uuid](const auto& gone) { return gone.uuid == uuid; });
    return found != removals_.rend() ? *found : RemovedGuest{.uuid = std::string{uuid}};
}

}  // namespace scout::agent
