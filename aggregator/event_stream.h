// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
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
/// Changes wait in a queue of limited length. Loop thread.
class EventStream {
public:
    static constexpr std::size_t queue_limit = 1024;

    /// `node` empty: all nodes.
    explicit EventStream(std::string node) : only_(std::move(node)) {}

    /// False if the watcher is too slow for the changes: it must be ended.
    [[nodiscard]] bool push(const Change& change, const FleetMatrix& matrix, SteadyTime now);

    /// Nothing: wait for the next push().
    [[nodiscard]] std::optional<virt_scout::v1::FleetEvent> next(const Registry& registry,
                                                                 const FleetMatrix& matrix,
                                                                 SteadyTime now);

private:
    struct Item {
        virt_scout::v1::FleetEvent event;
        bool live;  ///< a change, not part of what was there
    };

    [[nodiscard]] bool concerns(const Node& node) const;
    void take_next_node(const Registry& registry, const FleetMatrix& matrix, SteadyTime now);
    void take(const Node& node, const FleetMatrix& matrix, SteadyTime now);

    std::string only_;
    std::string cursor_;  ///< the last node that was taken; names have at least one byte
    bool synced_ = false;
    std::deque<Item> queue_;
    std::size_t live_ = 0;
};

}  // namespace scout::aggregator
