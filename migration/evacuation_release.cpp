// SPDX-License-Identifier: Apache-2.0
// How what was given up is taken back, and the stop goes on.
#include <algorithm>
#include <utility>

#include "migration/evacuation.h"

namespace scout::migration {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void Evacuation::give_up(Reason reason) {
    enter(EvacuationState::given_up, std::move(reason));
    if (is_taken_back()) {
        enter(EvacuationState::released, {why_, std::move(reason_)});
    }
}

/// One in post-copy is never aborted.
bool Evacuation::runs_into_the_reserve(SteadyTime now) const noexcept {
    return launcher_.alive && launcher_.migrating && !launcher_.post_copy && now < ends_at();
}

/// As on a node that is drained, where KubeVirt needs no mark, or it is set again, as by whoever
/// evicts every few seconds. KubeVirt then makes another migration at once for each that is deleted
/// (dossier §16).
bool Evacuation::mark_stays() const noexcept {
    return cancel_refused_ || taken_back_.size() > 1;
}

bool Evacuation::was_deleted(const std::string& move) const {
    return has(taken_back_, move);
}

void Evacuation::note_deleted(const std::string& move) {
    if (!was_deleted(move)) {
        taken_back_.push_back(move);
    }
}

/// What was asked for in a call that nobody has answered may be done after the mark was cancelled:
/// by a mark, or by an evacuation that is made for it, this is seen. Once for each such call, so
/// that a mark that others set again and again is not fought for ever.
void Evacuation::note_late_mark(bool seen) noexcept {
    const bool ends = state_ == EvacuationState::given_up || state_ == EvacuationState::released;
    if (seen && ends && mark_cancelled_ && !cancel_refused_ && marks_unanswered_ > 0) {
        --marks_unanswered_;
        mark_cancelled_ = false;
        listed_again_ = false;
    }
}

/// One that was not handed off keeps no guest from shutting down.
bool Evacuation::is_left_alone(const MoveFacts& move) const noexcept {
    return mark_stays() && move.phase < MovePhase::prepared;
}

/// A migration for which the stop waits.
const MoveFacts* Evacuation::in_the_way() const {
    const auto found = std::find_if(moves_.begin(), moves_.end(), [this](const auto& move) {
        return !move.is_final() && !is_left_alone(move);
    });
    return found == moves_.end() ? nullptr : &*found;
}

/// Nor is anything under way that would have to be. The object of a migration may be gone before
/// the launcher has aborted it, and the guest is asked to shut down only after that.
bool Evacuation::is_taken_back() const {
    return !is_requesting() && !taking_back() && in_the_way() == nullptr && !launcher_.migrating;
}

/// Of what is under way, by its phase.
std::optional<EvacuationOrder> Evacuation::removal() const {
    for (const auto& move : moves_) {
        if (move.is_final() || is_left_alone(move)) {
            continue;
        }
        // Also of one that was deleted just before: it may have been handed off meanwhile.
        if (move.phase == MovePhase::prepared && !move.target_pod.empty() &&
            !has(targets_removed_, move.target_pod)) {
            return EvacuationOrder{EvacuationStep::delete_target, move.target_pod};
        }
        // It had started when its target pod was removed: of its own deletion it hears then.
        const bool started =
            move.phase == MovePhase::running && has(targets_removed_, move.target_pod);
        if (started || !was_deleted(move.name)) {
            return EvacuationOrder{EvacuationStep::delete_move, move.name};
        }
    }
    return std::nullopt;
}

/// The mark first: with it set KubeVirt makes a new migration for each one that is deleted (dossier
/// §16), but not without the Node object, and then takes no mark back. Then what is under way, and
/// then what may have come meanwhile.
std::optional<EvacuationOrder> Evacuation::taking_back() const {
    const bool announced = vmi_ && vmi_->strategy == EvictionStrategy::external;
    // A mark of another node is not ours: KubeVirt answers a cancel of it for this one with an
    // error.
    const bool anothers = vmi_ && !vmi_->marked_node.empty() && !is_marked_by_kubevirt();
    const bool marked =
        is_marked_by_kubevirt() || (requested_ && !ours_) || (perhaps_requested_ && !anothers);
    const bool in_vain = vmi_ && vmi_->node_gone;
    if (marked && !mark_cancelled_ && !announced && !in_vain) {
        return EvacuationOrder{EvacuationStep::cancel_mark, {}};
    }
    if (auto order = removal()) {
        return order;
    }
    // After a restart nothing is known of the one that runs.
    const bool begun = requested_ || perhaps_requested_ || mark_cancelled_ ||
                       !taken_back_.empty() || launcher_.migrating;
    if (begun && !listed_again_ && in_the_way() == nullptr) {
        return EvacuationOrder{EvacuationStep::list_moves, {}};
    }
    return std::nullopt;
}

/// Of what is released. What there was no time to take back may begin yet, as what was left alone
/// may, and what was asked for in a call that nobody has answered; and while it runs no guest is
/// asked to shut down. One in post-copy is never aborted.
std::optional<EvacuationOrder> Evacuation::left_behind() const {
    if (launcher_.post_copy) {
        return std::nullopt;
    }
    if ((cut_short_ || perhaps_requested_) && launcher_.alive) {
        return taking_back();
    }
    return mark_stays() ? removal() : std::nullopt;
}

}  // namespace scout::migration
