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

}  // namespace

bool EventStream::push(const Change& change, SteadyTime now) {
    if (!concerns(change.node) || (!synced_ && change.node.name > cursor_)) {
        return true;
    }
    if (change.kind == ChangeKind::node_changed) {
        if (changed_.insert(change.node.name).second) {
            queue_.push_back({.kind = v1::FleetEvent::NODE_CHANGED, .node = change.node.name});
        }
        return true;
    }
    if (live_ == 0) {
        last_taken_ = now;
    }
    if (live_ >= burst_limit || (live_ >= queue_limit && now - last_taken_ > patience)) {
        return false;
    }
    queue_.push_back(
        {.kind = kind_to_wire(change.kind),
         .node = change.node.name,
         .guest = change.guest != nullptr ? std::optional{*change.guest} : std::nullopt,
         .live = true});
    ++live_;
    return true;
}

std::optional<v1::FleetEvent> EventStream::next(const Registry& registry, const FleetMatrix& matrix,
                                                SteadyTime now) {
    if (queue_.empty() && !synced_) {
        take_next_node(registry);
    }
    if (queue_.empty()) {
        return std::nullopt;
    }
    const auto item = std::move(queue_.front());
    queue_.pop_front();
    live_ -= item.live ? 1U : 0U;
    last_taken_ = now;
    v1::FleetEvent event;
    event.set_kind(item.kind);
    event.set_node(item.node);
    if (item.guest) {
        *event.mutable_guest() = to_wire(*item.guest);
    } else if (const auto* node = registry.find(item.node);
               node != nullptr && item.kind != v1::FleetEvent::NODE_REMOVED) {
        *event.mutable_summary() = summary_of(*node, matrix, now);
    }
    if (item.kind == v1::FleetEvent::NODE_CHANGED) {
        changed_.erase(item.node);
    }
    return event;
}

bool EventStream::concerns(const Node& node) const {
    return only_.empty() || node.name == only_;
}

void EventStream::take_next_node(const Registry& registry) {
    const auto& nodes = registry.nodes();
    for (auto it = nodes.upper_bound(cursor_); it != nodes.end(); ++it) {
        const auto& [name, node] = *it;
        cursor_ = name;
        if (concerns(node)) {
            queue_.push_back({.kind = v1::FleetEvent::NODE_ADDED, .node = name});
            for (const auto& [uuid, guest] : node.guests) {
                queue_.push_back(
                    {.kind = v1::FleetEvent::GUEST_ADDED, .node = name, .guest = guest});
            }
            return;
        }
    }
    synced_ = true;
    queue_.push_back({.kind = v1::FleetEvent::SYNCED, .node = {}});
}

}  // namespace scout::aggregator
