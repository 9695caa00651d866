// SPDX-License-Identifier: Apache-2.0
#include "aggregator/event_stream.h"

#include <utility>

#include "aggregator/messages.h"

namespace scout::aggregator {
namespace {

v1::FleetEvent::Kind kind_to_wire(ChangeKind kind) {
    switch (kind) {
        case ChangeKind::node_added:
            return v1::FleetEvent::NODE_ADDED;
        case ChangeKind::node_changed:
            return v1::FleetEvent::NODE_CHANGED;
        case ChangeKind::node_removed:
            return v1::FleetEvent::NODE_REMOVED;
        case ChangeKind::guest_added:
            return v1::FleetEvent::GUEST_ADDED;
        case ChangeKind::guest_changed:
            return v1::FleetEvent::GUEST_CHANGED;
        case ChangeKind::guest_removed:
            return v1::FleetEvent::GUEST_REMOVED;
    }
    return v1::FleetEvent::KIND_UNKNOWN;
}

v1::FleetEvent event_of(const Change& change, const FleetMatrix& matrix, SteadyTime now) {
    v1::FleetEvent event;
    event.set_kind(kind_to_wire(change.kind));
    event.set_node(change.node.name);
    if (change.guest != nullptr) {
        *event.mutable_guest() = to_wire(*change.guest);
    } else {
        *event.mutable_summary() = summary_of(change.node, matrix, now);
    }
    return event;
}

}  // namespace

bool EventStream::push(const Change& change, const FleetMatrix& matrix, SteadyTime now) {
    if (!concerns(change.node) || (!synced_ && change.node.name > cursor_)) {
        return true;
    }
    if (live_ >= queue_limit) {
        return false;
    }
    queue_.push_back({event_of(change, matrix, now), true});
    ++live_;
    return true;
}

std::optional<v1::FleetEvent> EventStream::next(const Registry& registry, const FleetMatrix& matrix,
                                                SteadyTime now) {
    if (queue_.empty() && !synced_) {
        take_next_node(registry, matrix, now);
    }
    if (queue_.empty()) {
        return std::nullopt;
    }
    auto item = std::move(queue_.front());
    queue_.pop_front();
    live_ -= item.live ? 1U : 0U;
    return std::move(item.event);
}

bool EventStream::concerns(const Node& node) const {
    return only_.empty() || node.name == only_;
}

void EventStream::take_next_node(const Registry& registry, const FleetMatrix& matrix,
                                 SteadyTime now) {
    const auto& nodes = registry.nodes();
    for (auto it = nodes.upper_bound(cursor_); it != nodes.end(); ++it) {
        cursor_ = it->first;
        if (concerns(it->second)) {
            take(it->second, matrix, now);
            return;
        }
    }
    synced_ = true;
    v1::FleetEvent event;
    event.set_kind(v1::FleetEvent::SYNCED);
    queue_.push_back({std::move(event), false});
}

void EventStream::take(const Node& node, const FleetMatrix& matrix, SteadyTime now) {
    queue_.push_back({event_of({ChangeKind::node_added, node, nullptr}, matrix, now), false});
    for (const auto& [uuid, guest] : node.guests) {
        queue_.push_back({event_of({ChangeKind::guest_added, node, &guest}, matrix, now), false});
    }
}

}  // namespace scout::aggregator
