// SPDX-License-Identifier: Apache-2.0
#include "aggregator/evacuation_orders.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

namespace scout::aggregator {

using migration::EvacuationStep;
using migration::StepOutcome;

EvacuationOrders::EvacuationOrders(const asio::any_io_executor& loop, cluster::EvacuationActs& acts,
                                   Ask ask, Done done, Limits limits)
    : acts_(acts), ask_(std::move(ask)), done_(std::move(done)), limits_(limits), scope_(loop) {}

bool EvacuationOrders::push(OrderTicket ticket) {
    if (waiting_.size() >= limits_.waiting) {
        return false;
    }
    waiting_.push_back(std::move(ticket));
    start();
    return true;
}

void EvacuationOrders::forget(std::uint64_t session) {
    std::erase_if(waiting_, [session](const auto& ticket) { return ticket.session == session; });
}

Task<> EvacuationOrders::end() {
    waiting_.clear();
    co_await scope_.close();
}

/// The first ones whose nodes have a place left.
void EvacuationOrders::start() {
    while (running_ < limits_.at_once) {
        const auto next =
            std::find_if(waiting_.begin(), waiting_.end(), [this](const auto& ticket) {
                const auto found = of_node_.find(ticket.node);
                return found == of_node_.end() || found->second < limits_.of_one_node;
            });
        if (next == waiting_.end()) {
            return;
        }
        auto ticket = std::move(*next);
        waiting_.erase(next);
        ++running_;
        ++of_node_[ticket.node];
        scope_.spawn("step of an evacuation", [this, ticket = std::move(ticket)]() mutable {
            return run(std::move(ticket));
        });
    }
}

Task<> EvacuationOrders::run(OrderTicket ticket) {
    // What needs no waiting is over at once, and its end starts the next one: not on this stack.
    const auto loop = co_await asio::this_coro::executor;
    co_await asio::post(loop, asio::use_awaitable);
    v1::EvacuationResult result;
    auto outcome = StepOutcome::unavailable;
    try {
        auto leave = ask_(ticket);
        outcome = leave.outcome;
        result.set_text(std::move(leave.why));
        if (outcome == StepOutcome::done) {
            outcome = co_await act(std::move(leave), ticket.order, &result);
        }
    } catch (const std::exception& error) {
        outcome = StepOutcome::unavailable;  // else its place would be taken for ever
        result.set_text(error.what());
    }
    finish(ticket, outcome, std::move(result));
}

Task<StepOutcome> EvacuationOrders::read_vmi(cluster::EvacuationSubject subject,
                                             v1::EvacuationResult* result) {
    const auto uid = subject.vmi_uid;
    const auto answer = co_await acts_.read_vmi(std::move(subject));
    // One of the same name and another uid is not the agent's to know of.
    if (answer.facts && answer.facts->uid == uid) {
        *result->mutable_vmi() = to_wire(*answer.facts, answer.grace);
        result->set_liveness_kill(answer.liveness_kill);
    }
    co_return answer.outcome;
}

/// An eviction that nothing stands in the way of would stop the guest: it never comes without its
/// own dry run.
Task<StepOutcome> EvacuationOrders::act(OrderLeave leave, migration::EvacuationOrder order,
                                        v1::EvacuationResult* result) {
    if (order.step == EvacuationStep::read_vmi) {
        co_return co_await read_vmi(std::move(leave.subject), result);
    }
    if (order.step == EvacuationStep::list_moves) {
        const auto answer = co_await acts_.list_moves(std::move(leave.subject));
        for (const auto& move : answer.moves) {
            *result->add_moves() = to_wire(move);
        }
        co_return answer.outcome;
    }
    if (order.step == EvacuationStep::escalate) {
        co_return co_await acts_.escalate(std::move(leave.subject), std::move(leave.policy));
    }
    if (order.step == EvacuationStep::delete_target) {
        // What was the target of a move that has ended since is the launcher of the VM.
        auto subject = leave.subject;
        const auto answer = co_await acts_.read_vmi(std::move(subject));
        const bool waits = answer.facts && answer.facts->uid == leave.subject.vmi_uid &&
                           answer.facts->node == leave.subject.node &&
                           answer.waiting_target == order.object;
        if (answer.outcome != StepOutcome::done || !waits) {
            result->set_text("the VMI is not read, or no migration of it waits for that pod");
            co_return answer.outcome == StepOutcome::done ? StepOutcome::unavailable
                                                          : answer.outcome;
        }
    }
    if (leave.dry_run_first) {
        migration::EvacuationOrder trial{.step = EvacuationStep::dry_run, .object = {}};
        auto subject = leave.subject;
        const auto outcome = co_await acts_.carry_out(std::move(subject), std::move(trial));
        if (outcome != StepOutcome::done) {
            result->set_text("its dry run was not answered as one that marks the VMI");
            co_return outcome == StepOutcome::would_evict ? StepOutcome::refused : outcome;
        }
    }
    co_return co_await acts_.carry_out(std::move(leave.subject), std::move(order));
}

void EvacuationOrders::finish(const OrderTicket& ticket, StepOutcome outcome,
                              v1::EvacuationResult result) {
    --running_;
    const auto node = of_node_.find(ticket.node);
    if (--node->second == 0) {
        of_node_.erase(node);
    }
    ++counters_.at(static_cast<std::size_t>(ticket.order.step))
          .at(static_cast<std::size_t>(outcome));
    result.set_id(ticket.id);
    result.set_outcome(to_wire(outcome));
    done_(ticket, outcome, std::move(result));
    start();
}

}  // namespace scout::aggregator
