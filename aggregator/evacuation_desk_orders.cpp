// SPDX-License-Identifier: Apache-2.0
// What agents order, and whether it is theirs to order.
#include <algorithm>
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "aggregator/evacuation_desk.h"
#include "base/logging.h"
#include "cluster/evacuation_facts.h"
#include "wire/checks.h"

namespace scout::aggregator {
namespace {

using migration::EvacuationStep;
using migration::StepOutcome;
using namespace std::chrono_literals;

/// Results that an agent does not read.
constexpr std::size_t most_results = 2000;
constexpr auto dry_run_holds = 2s;
constexpr auto between_warnings = 10s;
constexpr std::size_t most_listed = 100;

bool is_read(EvacuationStep step) {
    return step == EvacuationStep::read_vmi || step == EvacuationStep::list_moves;
}

/// What is taken back is taken back in every mode.
bool begins_something(EvacuationStep step) {
    return step == EvacuationStep::stamp || step == EvacuationStep::evict ||
           step == EvacuationStep::create_move || step == EvacuationStep::escalate;
}

/// As its agent told it last.
bool is_waiting(const std::optional<migration::EvacuationState>& state) {
    return state == migration::EvacuationState::suspected ||
           state == migration::EvacuationState::held;
}

OrderLeave not_now(std::string why) {
    return {.outcome = StepOutcome::unavailable, .why = std::move(why), .subject = {}};
}

v1::EvacuationResult result_of(std::uint64_t id, StepOutcome outcome, std::string why) {
    v1::EvacuationResult result;
    result.set_id(id);
    result.set_outcome(to_wire(outcome));
    result.set_text(std::move(why));
    return result;
}

}  // namespace

EvacuationDesk::Entry* EvacuationDesk::find(SessionId session, std::string_view vmi_uid) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) {
        return nullptr;
    }
    const auto entry = found->second.entries.find(vmi_uid);
    return entry == found->second.entries.end() ? nullptr : &entry->second;
}

bool EvacuationDesk::Tokens::take(SteadyTime now) {
    const std::chrono::duration<double> passed = now - std::exchange(filled_, now);
    left_ = std::min(burst_, left_ + passed.count() * per_second_);
    if (left_ < 1) {
        return false;
    }
    left_ -= 1;
    return true;
}

Status EvacuationDesk::order(SessionId id, const v1::EvacuationOrder& message) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) {
        return {};  // it did not say that it follows launchers
    }
    auto& session = found->second;
    if (session.results.size() >= most_results) {
        return fail(Errc::refused,
                    "expected an agent that reads the results of its orders, found " +
                        std::to_string(most_results) + " that it did not read");
    }
    const auto step = evacuation_step(message.step());
    OrderTicket ticket{.session = id,
                       .id = message.id(),
                       .node = session.node,
                       .vmi_uid = wire::cut(message.vmi_uid()),
                       .order = {}};
    if (!session.orders.take(clock_.steady())) {
        answer(id, session,
               result_of(ticket.id, StepOutcome::unavailable,
                         "too many orders: expected at most 50 a second in the long run"));
    } else if (!step) {
        answer(id, session,
               result_of(ticket.id, StepOutcome::refused,
                         "expected a step such as dry-run, found " +
                             log_value(wire::cut(message.step(), 32))));
    } else {
        ticket.order = {.step = *step, .object = wire::cut(message.object())};
        carry_out(ticket, session, find(id, message.vmi_uid()));
    }
    return {};
}

void EvacuationDesk::carry_out(const OrderTicket& ticket, Session& session, Entry* entry) {
    std::string why;
    if (entry == nullptr && session.kept) {
        why =
            "too many messages of what is evacuated: the last one waits, expected at most 5 a "
            "second in the long run";
    } else if (entry == nullptr) {
        auto leave = refuse(ticket, "VMI " + log_value(ticket.vmi_uid) +
                                        " is not among the evacuations of node " + session.node);
        return answer(ticket.session, session,
                      result_of(ticket.id, leave.outcome, std::move(leave.why)));
    } else if (entry->open_order) {
        why = "another order of this VMI has not been answered yet";
    } else if (!orders_.push(ticket)) {
        why = "too many orders of all nodes wait to be carried out";
    } else {
        entry->open_order = true;
        return;
    }
    answer(ticket.session, session, result_of(ticket.id, StepOutcome::unavailable, std::move(why)));
}

/// Told to whoever reads the log, at a bounded rate: an agent never asks for what is not its own.
OrderLeave EvacuationDesk::refuse(const OrderTicket& ticket, std::string why) {
    ++foreign_;
    const auto now = clock_.steady();
    if (!warned_at_ || now - *warned_at_ >= between_warnings) {
        warned_at_ = now;
        spdlog::warn("an agent's order is refused node={} step={} refused={} reason={}",
                     log_value(ticket.node), migration::to_string(ticket.order.step), foreign_,
                     log_value(why));
    }
    return {.outcome = StepOutcome::refused, .why = std::move(why), .subject = {}};
}

OrderLeave EvacuationDesk::check(const OrderTicket& ticket) {
    if (!sources_.elector.leads()) {
        return not_now("this aggregator does not lead any more");
    }
    auto* const entry = find(ticket.session, ticket.vmi_uid);
    if (entry == nullptr) {
        return not_now("its agent does not name this VMI any more");
    }
    const auto& named = entry->named;
    prove(*entry, ticket.node);
    const auto pod = view_.pod(named.pod_uid);
    if (!entry->proven && !pod) {
        return not_now("pod " + log_value(named.pod_uid) + " is not seen at the API server yet");
    }
    if (!entry->proven) {
        return refuse(ticket, "pod " + log_value(named.pod_uid) + " is no launcher of VMI " +
                                  log_value(named.vmi_uid) + " on node " + ticket.node);
    }
    auto leave = is_read(ticket.order.step) ? OrderLeave{} : check_step(ticket, *entry);
    if (leave.outcome == StepOutcome::refused) {
        return refuse(ticket, std::move(leave.why));
    }
    leave.subject = {.space = named.space,
                     .vmi = named.vmi,
                     .vmi_uid = named.vmi_uid,
                     .pod = pod ? pod->meta.name : std::string{},
                     .pod_uid = named.pod_uid,
                     .node = ticket.node,
                     .strategy = view_.strategy(),
                     .pod_deleting = pod && pod->deletion.has_value()};
    const auto now = clock_.steady();
    leave.dry_run_first = ticket.order.step == EvacuationStep::evict &&
                          !(entry->would_mark && now - *entry->would_mark < dry_run_holds);
    if (ticket.order.step == EvacuationStep::escalate && leave.outcome == StepOutcome::done) {
        return check_policy(ticket, *entry, std::move(leave));
    }
    return leave;
}

/// What changes something is done to a VM that runs on the agent's node.
OrderLeave EvacuationDesk::check_step(const OrderTicket& ticket, const Entry& entry) const {
    const auto step = ticket.order.step;
    const auto vmi = view_.vmi(entry.named);
    if (!vmi) {
        return not_now("VMI " + entry.named.space + "/" + log_value(entry.named.vmi) +
                       " of this uid is not seen at the API server");
    }
    if (vmi->node != ticket.node) {
        return {.outcome = StepOutcome::refused,
                .why = "VMI " + entry.named.space + "/" + log_value(entry.named.vmi) +
                       " runs on node " + log_value(vmi->node.view()) + ", not on " + ticket.node,
                .subject = {}};
    }
    const auto mode = sources_.settings.current().evacuation.mode;
    if (begins_something(step) && mode != cluster::EvacuationMode::act) {
        return not_now("evacuation.mode is " + std::string{cluster::to_string(mode)} +
                       ": nothing is begun");
    }
    if (begins_something(step) && view_.is_gone(ticket.node)) {
        return not_now("there is no Node object " + ticket.node +
                       ": KubeVirt moves nothing from there");
    }
    const bool under_way =
        step == EvacuationStep::escalate && entry.named.state == migration::EvacuationState::moving;
    if (begins_something(step) && !is_waiting(entry.named.state) && !under_way) {
        return not_now("its agent has given it up meanwhile");
    }
    const bool evicts = step == EvacuationStep::evict || step == EvacuationStep::dry_run;
    const auto pod = view_.pod(entry.named.pod_uid);
    if (evicts && (!pod || pod->is_final())) {
        return not_now("its launcher's pod is gone, or has ended");
    }
    return check_object(ticket, entry);
}

OrderLeave EvacuationDesk::check_object(const OrderTicket& ticket, const Entry& entry) const {
    const auto& object = ticket.order.object;
    if (ticket.order.step == EvacuationStep::delete_move) {
        const auto move = view_.move(entry.named.space, object);
        const bool its = move ? move->vmi_name == entry.named.vmi : entry.listed.contains(object);
        if (!its) {
            return move ? OrderLeave{.outcome = StepOutcome::refused,
                                     .why = "migration " + log_value(object) + " is of VMI " +
                                            log_value(move->vmi_name.view()),
                                     .subject = {}}
                        : not_now("migration " + log_value(object) +
                                  " is not seen at the API server");
        }
    }
    if (ticket.order.step == EvacuationStep::delete_target) {
        const bool its =
            view_.move_to(entry.named, object) != nullptr || entry.targets.contains(object);
        const auto own = view_.pod(entry.named.pod_uid);
        if (!its || (own && own->meta.name == object)) {
            return {.outcome = StepOutcome::refused,
                    .why = "pod " + log_value(object) +
                           " is not the target of a migration of VMI " + entry.named.space + "/" +
                           log_value(entry.named.vmi) + " that is under way",
                    .subject = {}};
        }
    }
    return {};
}

void EvacuationDesk::finished(const OrderTicket& ticket, StepOutcome outcome,
                              v1::EvacuationResult result) {
    if (result.has_vmi()) {
        result.mutable_vmi()->set_node_gone(view_.is_gone(result.vmi().node()));
    }
    learn(ticket, outcome, result);
    if (ticket.order.step == EvacuationStep::escalate && outcome == StepOutcome::done) {
        spdlog::info("a move has a policy of its own node={} vmi_uid={}", log_value(ticket.node),
                     log_value(ticket.vmi_uid));
    }
    const auto session = sessions_.find(ticket.session);
    if (session != sessions_.end()) {
        answer(session->first, session->second, std::move(result));
    }
}

void EvacuationDesk::learn(const OrderTicket& ticket, StepOutcome outcome,
                           const v1::EvacuationResult& result) {
    if (outcome == StepOutcome::undone && std::exchange(stamp_works_, false)) {
        version_ = view_.kubevirt_version();
        spdlog::info("KubeVirt undoes status.evacuationNodeName, evictions take its place");
        take_rules();
    }
    auto* const entry = find(ticket.session, ticket.vmi_uid);
    if (entry == nullptr) {
        return;
    }
    entry->open_order = false;
    if (ticket.order.step == EvacuationStep::dry_run && outcome == StepOutcome::done) {
        entry->would_mark = clock_.steady();
    } else if (ticket.order.step == EvacuationStep::evict) {
        entry->would_mark.reset();
    }
    if (ticket.order.step != EvacuationStep::list_moves || outcome != StepOutcome::done) {
        return;
    }
    entry->listed.clear();
    entry->targets.clear();
    for (const auto& move : result.moves()) {
        if (entry->listed.size() < most_listed) {
            entry->listed.insert(move.name());
            const bool is_over =
                cluster::move_phase(move.phase()) >= migration::MovePhase::succeeded;
            if (!move.target_pod().empty() && !is_over) {
                entry->targets.insert(move.target_pod());
            }
        }
    }
}

void EvacuationDesk::answer(SessionId id, Session& session, v1::EvacuationResult result) {
    session.results.push_back(std::move(result));
    flush(id, session);
}

}  // namespace scout::aggregator
