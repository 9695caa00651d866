// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/guest_inventory.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace scout::hypervisor {
namespace {

GuestEvent event_of(EventKind kind, const GuestState& guest, FoundBy found_by) {
    GuestEvent event;
    event.kind = kind;
    event.uuid = guest.uuid;
    event.name = guest.name;
    event.state = guest.state;
    event.since = guest.since;
    event.found_by = found_by;
    return event;
}

bool is_active(std::string_view state) noexcept {
    return state != "shutoff" && state != "crashed";
}

/// The state that follows from the event alone; empty: it says nothing about it.
std::string_view state_after(Lifecycle lifecycle) noexcept {
    switch (lifecycle) {
        case Lifecycle::started:
        case Lifecycle::resumed:
            return "running";
        case Lifecycle::suspended:
            return "paused";
        case Lifecycle::stopped:
            return "shutoff";
        case Lifecycle::shutdown:
            return "shutdown";
        case Lifecycle::pm_suspended:
            return "pmsuspended";
        case Lifecycle::crashed:
            return "crashed";
        case Lifecycle::defined:
        case Lifecycle::undefined:
            return {};
    }
    return {};
}

}  // namespace

GuestInventory::Events GuestInventory::lost(WallTime at) {
    Events out;
    known_ = false;
    reading_ = false;
    touched_.clear();
    stale_.clear();
    for (auto& [uuid, guest] : guests_) {
        set_state(guest, std::string(state_unknown), at, FoundBy::event, {}, out);
    }
    return out;
}

void GuestInventory::begin_reading() {
    reading_ = true;
    touched_.clear();
}

GuestInventory::Events GuestInventory::resynced(std::vector<GuestState> all, WallTime at) {
    Events out;
    Guests listed;
    for (auto& guest : all) {
        auto uuid = guest.uuid;
        listed.insert_or_assign(std::move(uuid), std::move(guest));
    }
    for (auto guest = guests_.begin(); guest != guests_.end();) {
        const bool stays = listed.contains(guest->first) || touched_.contains(guest->first);
        guest = stays ? std::next(guest) : remove(guest, at, FoundBy::resync, out);
    }
    for (auto& [uuid, guest] : listed) {
        if (touched_.contains(uuid)) {
            continue;
        }
        merge_or_add(std::move(guest), at, FoundBy::resync, out);
    }
    stale_.merge(touched_);
    touched_.clear();
    reading_ = false;
    known_ = true;
    return out;
}

GuestInventory::Events GuestInventory::read_again(GuestState guest, WallTime at) {
    Events out;
    if (known_ && !touched_.contains(guest.uuid)) {
        merge_or_add(std::move(guest), at, FoundBy::event, out);
    }
    return out;
}

GuestInventory::Events GuestInventory::not_found(const std::string& uuid, WallTime at) {
    Events out;
    const auto guest = guests_.find(uuid);
    if (known_ && guest != guests_.end() && !touched_.contains(uuid)) {
        remove(guest, at, FoundBy::event, out);
    }
    return out;
}

GuestInventory::Events GuestInventory::apply(const IncomingEvent& event, WallTime at) {
    Events out;
    touch(event.uuid);
    if (!known_) {
        return out;
    }
    const auto found = guests_.find(event.uuid);
    if (found == guests_.end()) {
        apply_to_new(event, at, out);
        return out;
    }
    auto& guest = found->second;
    const auto state = state_after(event.lifecycle);
    if (event.lifecycle == Lifecycle::undefined) {
        guest.persistent = false;
        if (!is_active(guest.state)) {
            remove(found, at, FoundBy::event, out);
        }
    } else if (!state.empty()) {
        set_state(guest, std::string(state), at, FoundBy::event, event.detail, out);
    } else if (guest.name != event.name) {
        guest.name = event.name;
        out.push_back(event_of(EventKind::updated, guest, FoundBy::event));
    }
    return out;
}

void GuestInventory::apply_to_new(const IncomingEvent& event, WallTime at, Events& out) {
    if (event.lifecycle == Lifecycle::undefined || event.lifecycle == Lifecycle::stopped) {
        return;
    }
    const auto state = state_after(event.lifecycle);
    GuestState guest;
    guest.uuid = event.uuid;
    guest.name = event.name;
    guest.state = state.empty() ? "shutoff" : state;
    // A guest first heard of by its start may be transient; reading it again tells.
    guest.persistent = state.empty();
    add(std::move(guest), at, FoundBy::event, out);
    out.back().detail = event.detail;
}

GuestInventory::Events GuestInventory::complete(GuestEvent event, WallTime at) {
    const auto guest = guests_.find(event.uuid);
    if (!known_ || guest == guests_.end()) {
        return {};
    }
    event.name = guest->second.name;
    event.state = guest->second.state;
    event.since = at;
    event.found_by = FoundBy::event;
    Events out;
    out.push_back(std::move(event));
    return out;
}

std::vector<std::string> GuestInventory::take_stale(std::size_t limit) {
    std::vector<std::string> taken;
    while (!stale_.empty() && taken.size() < limit) {
        taken.push_back(std::move(stale_.extract(stale_.begin()).value()));
    }
    return taken;
}

std::vector<GuestState> GuestInventory::guests() const {
    std::vector<GuestState> all;
    all.reserve(guests_.size());
    for (const auto& [uuid, guest] : guests_) {
        all.push_back(guest);
    }
    return all;
}

void GuestInventory::touch(const std::string& uuid) {
    if (reading_) {
        touched_.insert(uuid);
    }
    if (known_) {
        stale_.insert(uuid);
    }
}

void GuestInventory::add(GuestState guest, WallTime at, FoundBy found_by, Events& out) {
    remove_namesakes(guest, at, found_by, out);
    guest.since = at;
    guest.found_by = found_by;
    out.push_back(event_of(EventKind::added, guest, found_by));
    auto uuid = guest.uuid;
    guests_.insert_or_assign(std::move(uuid), std::move(guest));
}

GuestInventory::Guests::iterator GuestInventory::remove(Guests::iterator guest, WallTime at,
                                                        FoundBy found_by, Events& out) {
    auto event = event_of(EventKind::removed, guest->second, found_by);
    event.since = at;
    out.push_back(std::move(event));
    return guests_.erase(guest);
}

void GuestInventory::remove_namesakes(const GuestState& guest, WallTime at, FoundBy found_by,
                                      Events& out) {
    for (auto other = guests_.begin(); other != guests_.end();) {
        const bool replaced = other->second.name == guest.name && other->first != guest.uuid;
        other = replaced ? remove(other, at, found_by, out) : std::next(other);
    }
}

void GuestInventory::merge_or_add(GuestState read, WallTime at, FoundBy found_by, Events& out) {
    const auto found = guests_.find(read.uuid);
    if (found == guests_.end()) {
        add(std::move(read), at, found_by, out);
    } else {
        merge(found->second, std::move(read), at, found_by, out);
    }
}

void GuestInventory::merge(GuestState& known, GuestState read, WallTime at, FoundBy found_by,
                           Events& out) {
    const bool same_facts = known.name == read.name && known.persistent == read.persistent &&
                            known.memory_kib == read.memory_kib && known.cpu == read.cpu &&
                            known.cpu_error == read.cpu_error;
    known.name = std::move(read.name);
    known.persistent = read.persistent;
    known.memory_kib = read.memory_kib;
    known.cpu = std::move(read.cpu);
    known.cpu_error = std::move(read.cpu_error);
    const auto before = out.size();
    set_state(known, std::move(read.state), at, found_by, {}, out);
    if (out.size() == before && !same_facts) {
        out.push_back(event_of(EventKind::updated, known, found_by));
    }
}

void GuestInventory::set_state(GuestState& guest, std::string state, WallTime at, FoundBy found_by,
                               const std::string& detail, Events& out) {
    if (guest.state == state) {
        return;
    }
    guest.state = std::move(state);
    guest.since = at;
    guest.found_by = found_by;
    out.push_back(event_of(EventKind::state_changed, guest, found_by));
    out.back().detail = detail;
}

}  // namespace scout::hypervisor
