// SPDX-License-Identifier: Apache-2.0
// What an evacuation asks for next, and what it makes of the answers.
#include <algorithm>
#include <utility>

#include "migration/evacuation.h"

namespace scout::migration {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{250};
constexpr milliseconds longest_pause{4000};
constexpr milliseconds rights_known_after{8000};

}  // namespace

std::string_view to_string(EvacuationState state) noexcept {
    switch (state) {
        case EvacuationState::idle:
            return "idle";
        case EvacuationState::suspected:
            return "suspected";
        case EvacuationState::held:
            return "held";
        case EvacuationState::moving:
            return "moving";
        case EvacuationState::moved:
            return "moved";
        case EvacuationState::given_up:
            return "given-up";
        case EvacuationState::released:
            break;
    }
    return "released";
}

std::string_view to_string(EvacuationWhy why) noexcept {
    switch (why) {
        case EvacuationWhy::moved:
            return "moved";
        case EvacuationWhy::deleted:
            return "deleted";
        case EvacuationWhy::stopped:
            return "stopped";
        case EvacuationWhy::unwanted:
            return "unwanted";
        case EvacuationWhy::too_late:
            return "too-late";
        case EvacuationWhy::too_many:
            return "too-many";
        case EvacuationWhy::leaderless:
            return "leaderless";
        case EvacuationWhy::failed:
            return "failed";
        case EvacuationWhy::slow_abort:
            return "slow-abort";
        case EvacuationWhy::going_on:
            break;
    }
    return "going-on";
}

std::string_view to_string(EvacuationStep step) noexcept {
    switch (step) {
        case EvacuationStep::read_vmi:
            return "read-vmi";
        case EvacuationStep::list_moves:
            return "list-moves";
        case EvacuationStep::stamp:
            return "stamp";
        case EvacuationStep::dry_run:
            return "dry-run";
        case EvacuationStep::evict:
            return "evict";
        case EvacuationStep::create_move:
            return "create-move";
        case EvacuationStep::cancel_mark:
            return "cancel-mark";
        case EvacuationStep::delete_move:
            return "delete-move";
        case EvacuationStep::delete_target:
            return "delete-target";
        case EvacuationStep::escalate:
            return "escalate";
        case EvacuationStep::touch:
            break;
    }
    return "touch";
}

std::optional<EvacuationOrder> Evacuation::next(SteadyTime now) {
    judge(now);
    if (in_flight_ || now < not_before_) {
        return std::nullopt;
    }
    in_flight_ = due(now);
    ordered_at_ = in_flight_ ? now : ordered_at_;
    if (in_flight_ && state_ == EvacuationState::released && now >= ends_at()) {
        in_flight_.reset();
    }
    return in_flight_;
}

std::optional<EvacuationOrder> Evacuation::due(SteadyTime now) const {
    switch (state_) {
        case EvacuationState::idle:
        case EvacuationState::moved:
            break;
        case EvacuationState::moving:
            return moves_known_ ? escalation()
                                : std::optional{EvacuationOrder{EvacuationStep::list_moves, {}}};
        case EvacuationState::suspected:
            return EvacuationOrder{EvacuationStep::read_vmi, {}};
        case EvacuationState::held:
            return is_replacing() ? replacement(now) : request(now);
        case EvacuationState::given_up:
            return taking_back();
        case EvacuationState::released:
            if (vetoed_ && !touched_ && !vmi_gone_ && launcher_.alive) {
                return EvacuationOrder{EvacuationStep::touch, {}};
            }
            return left_behind();
    }
    return std::nullopt;
}

std::optional<EvacuationOrder> Evacuation::escalation() const {
    if (!escalation_due_ || !outlook_.escalated) {
        return std::nullopt;
    }
    return EvacuationOrder{EvacuationStep::escalate,
                           std::to_string(outlook_.escalated->completion_per_gib.count())};
}

/// In order: the proposal's own way, an eviction that KubeVirt turns into a mark, a VMIM of ours.
/// Nothing is asked for on the word of what may lag.
std::optional<EvacuationOrder> Evacuation::request(SteadyTime now) const {
    if (!read_live_) {
        return EvacuationOrder{EvacuationStep::read_vmi, {}};
    }
    if (!moves_known_) {
        return EvacuationOrder{EvacuationStep::list_moves, {}};
    }
    if (auto order = escalation()) {
        return order;
    }
    if (requested_ || is_marked_by_kubevirt() || outlook_.awaits_numbers(now)) {
        return std::nullopt;
    }
    const bool is_moved = vmi_ && vmi_->is_to_be_moved();
    const bool waits = is_moved && begins_too_late(now);
    if (settings_.stamp && !stamp_useless_ && !waits) {
        return EvacuationOrder{EvacuationStep::stamp, {}};
    }
    // By the mark of another node KubeVirt would take it for moved already, and do nothing.
    const bool marked_elsewhere = vmi_ && !vmi_->marked_node.empty();
    if (!eviction_useless_ && !outlook_.pod_failed && !marked_elsewhere && !waits) {
        return EvacuationOrder{would_be_marked_ ? EvacuationStep::evict : EvacuationStep::dry_run,
                               {}};
    }
    return is_moved ? std::optional{EvacuationOrder{EvacuationStep::create_move, {}}}
                    : std::nullopt;
}

/// Nobody was told that it is to be moved, and no way to tell is left.
bool Evacuation::is_unheard(SteadyTime now) const {
    return read_live_ && moves_known_ && !requested_ && !is_marked_by_kubevirt() &&
           !outlook_.awaits_numbers(now) && !request(now);
}

std::optional<SteadyTime> Evacuation::wake(SteadyTime now) const {
    std::optional<SteadyTime> first;
    const auto consider = [&first, now](SteadyTime time) {
        if (time > now && (!first || time < *first)) {
            first = time;
        }
    };
    switch (state_) {
        case EvacuationState::idle:
        case EvacuationState::moved:
            return std::nullopt;
        case EvacuationState::suspected:
        case EvacuationState::held:
            consider(leader_heard_ + settings_.patience);
            consider(outlook_.numbers_due.value_or(now));
            consider(replaced_by_.value_or(now));
            [[fallthrough]];
        case EvacuationState::moving:
            consider(cancel_at());
            [[fallthrough]];
        case EvacuationState::given_up:
            consider(stop_by());
            consider(ends_at());
            [[fallthrough]];
        case EvacuationState::released:
            if (!in_flight_ && due(now)) {
                consider(not_before_);
            }
            break;
    }
    return first;
}

void Evacuation::try_later(SteadyTime now) {
    pause_ = std::clamp(pause_ * 2, first_pause, longest_pause);
    not_before_ = now + pause_;
}

/// An API server that has just started refuses everything until it has read who may what.
bool Evacuation::may_be_read_later(const EvacuationOrder& order, SteadyTime now) {
    if (order.step != EvacuationStep::read_vmi && order.step != EvacuationStep::list_moves) {
        return false;
    }
    refused_since_ = refused_since_.value_or(now);
    return now - *refused_since_ < rights_known_after;
}

void Evacuation::answered(const EvacuationOrder& order, StepOutcome outcome, SteadyTime now) {
    in_flight_.reset();
    if (outcome == StepOutcome::refused && may_be_read_later(order, now)) {
        outcome = StepOutcome::unavailable;
    }
    if (outcome == StepOutcome::unavailable) {
        const bool marks =
            order.step == EvacuationStep::stamp || order.step == EvacuationStep::evict;
        marks_unanswered_ += marks ? 1 : 0;
        perhaps_requested_ =
            perhaps_requested_ || marks || order.step == EvacuationStep::create_move;
        read_failed_ = read_failed_ || order.step == EvacuationStep::read_vmi;
        // What was true for the dry run need not be true later.
        would_be_marked_ = false;
        // It may have been made, and only its answer be lost.
        moves_known_ = moves_known_ && order.step != EvacuationStep::create_move;
        try_later(now);
    } else {
        pause_ = milliseconds{0};
        take_outcome(order, outcome);
    }
    judge(now);
}

/// Refused: a right is missing. Without what it reads nothing can be asked for.
void Evacuation::take_unreadable(EvacuationStep step) {
    const std::string what = step == EvacuationStep::read_vmi ? "VMI" : "VMIMs";
    if (is_over()) {
        cut_short_ = false;
        return;
    }
    give_up({EvacuationWhy::failed, "the " + what + " may not be read"});
}

void Evacuation::take_move(bool made) {
    requested_ = ours_ = made;
    if (made) {
        end_replacing();
    }
    // Somebody else may have been faster.
    moves_known_ = made;
    if (!made && ++refusals_ > 1) {
        give_up({EvacuationWhy::failed, "KubeVirt refuses to migrate it"});
    }
}

void Evacuation::take_removal(const EvacuationOrder& order) {
    listed_again_ = false;
    if (order.step == EvacuationStep::delete_move) {
        // What waits in Pending and is replaced is no migration that would have to be aborted.
        if (!is_replacing() && !cancelled_at_) {
            cancelled_at_ = ordered_at_;
            cancelled_running_ = launcher_.migrating || is_running();
        }
        note_deleted(order.object);
    } else {
        targets_removed_.push_back(order.object);
    }
    for (const auto& move : moves_) {
        if (order.step == EvacuationStep::delete_target && move.target_pod == order.object) {
            note_deleted(move.name);
        } else if (move.name == order.object && move.phase == MovePhase::running) {
            std::erase(targets_removed_, move.target_pod);
        }
    }
}

void Evacuation::take_outcome(const EvacuationOrder& order, StepOutcome outcome) {
    const bool done = outcome == StepOutcome::done;
    switch (order.step) {
        case EvacuationStep::read_vmi:
        case EvacuationStep::list_moves:
            take_unreadable(order.step);
            break;
        case EvacuationStep::stamp:
            requested_ = done;
            stamp_useless_ = !done;
            break;
        case EvacuationStep::dry_run:
            would_be_marked_ = done;
            eviction_useless_ = !done;
            break;
        case EvacuationStep::evict:
            requested_ = done;
            eviction_useless_ = !done;
            would_be_marked_ = false;
            break;
        case EvacuationStep::create_move:
            take_move(done);
            break;
        case EvacuationStep::cancel_mark:
            mark_cancelled_ = true;
            cancel_refused_ = !done;
            break;
        case EvacuationStep::delete_move:
        case EvacuationStep::delete_target:
            take_removal(order);
            break;
        case EvacuationStep::touch:
            touched_ = true;
            break;
        case EvacuationStep::escalate:
            escalated_ = done;
            escalation_useless_ = !done;
            escalation_due_ = false;
            break;
    }
}

}  // namespace scout::migration
