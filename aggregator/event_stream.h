// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>

#include "aggregator/fleet_matrix.h"
#include "aggregator/registry.h"
#include "base/clock.h"
#include "virt_scout/v1/fleet.pb.h"

namespace scout::aggregator {

/// What one watcher gets: every node and guest that is there, SYNCED, then each change.
///
/// What is there is taken node by node as the watcher reads, so that a slow one holds no copy of
/// the fleet; changes of nodes that it has not come to are left out, for it will see their outcome.
/// Changes of one node that wait are told once, as it is when they are told (of one that is gone
/// then, only its name): a fleet that turns stale in one moment is no reason to end its watchers.
/// The other changes wait each for itself, in a queue that may grow in a burst but not stay long.
/// Loop thread.
class EventStream {
public:
    /// More changes may wait only while the watcher takes some: it has this long for the next one.
    static constexpr std::size_t queue_limit = 1024;
    static constexpr std::chrono::seconds patience{5};
    /// No more in any case: some 6 MiB.
    static constexpr std::size_t burst_limit = 16'384;

    /// `node` empty: all nodes.
    explicit EventStream(std::string node) : only_(std::move(node)) {}

    /// False if the watcher is too slow for the changes: it must be ended.
    [[nodiscard]] bool push(const Change& change, SteadyTime now);

    /// Nothing: wait for the next push().
    [[nodiscard]] std::optional<virt_scout::v1::FleetEvent> next(const Registry& registry,
                                                                 const FleetMatrix& matrix,
                                                                 SteadyTime now);

private:
    struct Item {
        virt_scout::v1::FleetEvent::Kind kind;
        std::string node;
        std::optional<Guest> guest{};
        bool live = false;  ///< a change, not part of what was there
    };

    [[nodiscard]] bool concerns(const Node& node) const;
    void take_next_node(const Registry& registry);

    std::string only_;
    std::string cursor_;  ///< the last node that was taken; names have at least one byte
    bool synced_ = false;
    std::deque<Item> queue_;
    std::size_t live_ = 0;     ///< without NODE_CHANGED, of which there is one for each node
    SteadyTime last_taken_{};  ///< or since when changes wait
    std::set<std::string, std::less<>> changed_;  ///< nodes whose NODE_CHANGED waits
};

}  // namespace scout::aggregator
