// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/evacuation_messages.h"
#include "base/task.h"
#include "base/task_scope.h"
#include "cluster/evacuation_acts.h"
#include "migration/evacuation.h"

namespace scout::aggregator {

/// Who waits for the end of an order.
struct OrderTicket {
    std::uint64_t session = 0;
    std::uint64_t id = 0;  ///< the agent's
    std::string node;
    std::string vmi_uid;
    migration::EvacuationOrder order;
};

/// What may be done, and of which VM; or why it is not.
struct OrderLeave {
    /// done: it may; else how the order ends.
    migration::StepOutcome outcome = migration::StepOutcome::done;
    std::string why;
    cluster::EvacuationSubject subject;
    bool dry_run_first = false;       ///< of an eviction
    cluster::MovePolicy policy = {};  ///< of escalate
};

/// Orders by step and by how they ended.
using OrderCounters = std::array<std::array<std::uint64_t, 5>, 11>;

/// Carries orders out, a bounded number at once and of one node, the others in the order in which
/// they came. Whether an order may be carried out is asked when its turn comes.
///
/// Loop thread. The acts must outlive it; end() before it goes.
class EvacuationOrders {
public:
    struct Limits {
        std::size_t at_once = 64;
        std::size_t of_one_node = 16;
        std::size_t waiting = 4096;
    };
    using Ask = std::function<OrderLeave(const OrderTicket&)>;
    using Done =
        std::function<void(const OrderTicket&, migration::StepOutcome, v1::EvacuationResult)>;

    EvacuationOrders(const asio::any_io_executor& loop, cluster::EvacuationActs& acts, Ask ask,
                     Done done, Limits limits);

    /// False if too many wait already.
    [[nodiscard]] bool push(OrderTicket ticket);
    /// Those of a session that wait; what is under way ends by itself.
    void forget(std::uint64_t session);
    /// Cancels what is under way.
    [[nodiscard]] Task<> end();

    [[nodiscard]] std::size_t open() const noexcept { return waiting_.size() + running_; }
    [[nodiscard]] const OrderCounters& counters() const noexcept { return counters_; }

private:
    void start();
    [[nodiscard]] Task<> run(OrderTicket ticket);
    [[nodiscard]] Task<migration::StepOutcome> read_vmi(cluster::EvacuationSubject subject,
                                                        v1::EvacuationResult* result);
    [[nodiscard]] Task<migration::StepOutcome> act(OrderLeave leave,
                                                   migration::EvacuationOrder order,
                                                   v1::EvacuationResult* result);
    void finish(const OrderTicket& ticket, migration::StepOutcome outcome,
                v1::EvacuationResult result);

    cluster::EvacuationActs& acts_;
    Ask ask_;
    Done done_;
    Limits limits_;
    std::deque<OrderTicket> waiting_;
    std::map<std::string, std::size_t, std::less<>> of_node_;  ///< under way
    std::size_t running_ = 0;
    OrderCounters counters_{};
    TaskScope scope_;
};

}  // namespace scout::aggregator
