// SPDX-License-Identifier: Apache-2.0
#include "aggregator/fleet_matrix.h"

#include <utility>
#include <vector>

namespace scout::aggregator {

const migration::Labels& LabelCache::of(const StoredProfile& profile) {
    if (const auto found = by_digest_.find(profile.digest); found != by_digest_.end()) {
        return found->second;
    }
    if (by_digest_.size() >= limit) {
        by_digest_.clear();
    }
    return by_digest_
        .emplace(profile.digest, migration::standalone_labels(profile.profile, {}, map_))
        .first->second;
}

migration::Labels LabelCache::of(const StoredProfile& profile,
                                 const migration::HostFacts& facts) const {
    return migration::standalone_labels(profile.profile, facts, map_);
}

FleetMatrix::FleetMatrix(Registry& registry, std::string machine_type, const migration::CpuMap* map)
    : machine_type_(std::move(machine_type)),
      map_(map),
      labels_(map),
      matrix_({.machine_type = machine_type_, .map = map}) {
    registry.observe([this](const Change& change) { follow(change); });
}

std::optional<migration::Matrix::NodeId> FleetMatrix::place_of(const Node& node) const {
    const auto found = places_.find(node.name);
    return found == places_.end() ? std::nullopt : std::optional{found->second.id};
}

FleetMatrix::Level FleetMatrix::level_of(const Node& node) const {
    const auto found = places_.find(node.name);
    if (found == places_.end()) {
        return {};
    }
    const auto destinations = matrix_.destinations(found->second.id, migration::Layer::truth);
    const auto counted = counted_.find(found->second.arch);
    const auto others = counted == counted_.end() ? 0 : counted->second;
    return {.destinations = destinations,
            .level = migration::migratability_level(destinations, others)};
}

void FleetMatrix::follow(const Change& change) {
    switch (change.kind) {
        case ChangeKind::node_added:
        case ChangeKind::node_changed:
            enter(change.node);
            return;
        case ChangeKind::node_removed:
            leave(change.node.name);
            return;
        case ChangeKind::guest_added:
        case ChangeKind::guest_changed:
        case ChangeKind::guest_removed:
            return;
    }
}

void FleetMatrix::enter(const Node& node) {
    const bool belongs = node.profile != nullptr && node.freshness != Freshness::gone;
    const auto found = places_.find(node.name);
    if (found != places_.end() && (!belongs || found->second.profile != node.profile)) {
        leave(node.name);
    } else if (found != places_.end()) {
        return;
    }
    if (!belongs) {
        return;
    }
    std::vector<migration::LabelView> views;
    const auto& labels = labels_.of(*node.profile);
    views.reserve(labels.size());
    for (const auto& [key, value] : labels) {
        views.emplace_back(key, value);
    }
    const auto id = matrix_.add(views, &node.profile->profile, node.profile->digest);
    std::string arch;
    // A document need not tell its architecture: it has no such label, and nobody counts on it.
    const auto label = labels.find(migration::label::arch);
    if (node.profile->profile.host_model && label != labels.end()) {
        arch = label->second;
    }
    if (!arch.empty()) {
        ++counted_[arch];
    }
    places_.emplace(node.name, Place{id, node.profile, std::move(arch)});
}

void FleetMatrix::leave(const std::string& name) {
    const auto found = places_.find(name);
    if (found == places_.end()) {
        return;
    }
    matrix_.remove(found->second.id);
    if (const auto counted = counted_.find(found->second.arch); counted != counted_.end()) {
        if (--counted->second == 0) {
            counted_.erase(counted);
        }
    }
    places_.erase(found);
}

}  // namespace scout::aggregator
