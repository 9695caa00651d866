// SPDX-License-Identifier: Apache-2.0
// Policies of single moves: whether one may be made, and that it goes again, whoever made it.
#include <algorithm>
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "aggregator/evacuation_desk.h"
#include "base/logging.h"
#include "base/number.h"

namespace scout::aggregator {
namespace {

using migration::Escalation;
using migration::EvacuationState;
using migration::StepOutcome;
using namespace std::chrono_literals;

/// Agents name their VMs anew to another leader, and after their own restart.
constexpr auto named_again_within = 30s;
/// Longer than a call may take.
constexpr auto tried_again_after = 10s;

}  // namespace

/// The agent says when it would switch, and nothing else of what is made.
OrderLeave EvacuationDesk::check_policy(const OrderTicket& ticket, const Entry& entry,
                                        OrderLeave leave) const {
    const auto escalation = sources_.settings.current().evacuation.escalation;
    const auto seconds = whole_number(ticket.order.object);
    const bool switches = escalation == Escalation::post_copy || escalation == Escalation::pause;
    leave.outcome = StepOutcome::refused;
    if (escalation == Escalation::none) {
        leave.why = "evacuation.escalation is none";
        return leave;
    }
    constexpr std::uint64_t latest = migration::latest_switch.count();
    if (!seconds || *seconds > latest || (switches && *seconds == 0)) {
        leave.why = "expected 1 to " + std::to_string(latest) + " seconds for each GiB, found " +
                    log_value(ticket.order.object);
        return leave;
    }
    auto policy = view_.move_policy(entry.named, escalation);
    if (!policy) {
        leave.why = std::move(policy.error().message);
        if (policy.error().code == Errc::unavailable) {
            leave.outcome = StepOutcome::unavailable;
        }
        return leave;
    }
    leave.outcome = StepOutcome::done;
    leave.policy = *std::move(policy);
    leave.policy.completion_per_gib = std::chrono::seconds{static_cast<std::int64_t>(*seconds)};
    return leave;
}

/// Of a move that goes on it stays, also when nothing is escalated any more; before that it goes.
EvacuationDesk::PolicyUse EvacuationDesk::use_of_policy(std::string_view vmi_uid) const {
    const auto escalation = sources_.settings.current().evacuation.escalation;
    auto use = PolicyUse::unknown;
    for (const auto id : naming_) {
        const auto& session = sessions_.at(id);
        const auto found = session.entries.find(vmi_uid);
        if (found == session.entries.end() || !found->second.proven) {
            continue;
        }
        const auto& named = found->second.named;
        const bool waits =
            named.state == EvacuationState::suspected || named.state == EvacuationState::held;
        const bool wanted =
            named.state == EvacuationState::moving || (waits && escalation != Escalation::none);
        if (wanted && !view_.has_left(named, session.node)) {
            return PolicyUse::wanted;
        }
        use = PolicyUse::over;
    }
    return use;
}

/// Also those that another leader made. No earlier than it is known what is to be escalated.
void EvacuationDesk::sweep_policies() {
    if (!sources_.elector.leads() || !sources_.settings.synced()) {
        policies_.clear();
        return;
    }
    const auto now = clock_.steady();
    std::map<std::string, PolicyCare, std::less<>> unwanted;
    for (auto& move : view_.moves_with_policy()) {
        const auto use = use_of_policy(move.vmi_uid);
        if (use == PolicyUse::wanted) {
            continue;
        }
        const auto known = policies_.find(move.vmi_uid);
        auto care = known != policies_.end() ? known->second : PolicyCare{.unwanted_since = now};
        const bool is_over =
            use == PolicyUse::over || now - care.unwanted_since >= named_again_within;
        if (is_over && (!care.tried_at || now - *care.tried_at >= tried_again_after)) {
            care.tried_at = now;
            scope_.spawn("policy of a move", [this, move] { return remove_policy(move); });
        }
        unwanted.emplace(std::move(move.vmi_uid), care);
    }
    policies_ = std::move(unwanted);
}

Task<> EvacuationDesk::remove_policy(EvacuationView::MoveWithPolicy move) {
    auto name = cluster::move_policy_name(move.vmi_uid);
    const auto outcome = co_await acts_.remove_policy(std::move(name), std::move(move.policy_uid));
    if (outcome == StepOutcome::done) {
        spdlog::info("the policy of a move is removed vmi_uid={}", log_value(move.vmi_uid));
    } else {
        spdlog::warn("the policy of a move is not removed yet, and tried again vmi_uid={}",
                     log_value(move.vmi_uid));
    }
}

}  // namespace scout::aggregator
