// SPDX-License-Identifier: Apache-2.0
// What becomes of the migration under way.
#include <algorithm>
#include <utility>

#include "migration/evacuation.h"

namespace scout::migration {
namespace {

using std::chrono::milliseconds;
using Why = EvacuationWhy;

constexpr std::chrono::seconds our_pause{1};
/// A few calls and what watches lag; KubeVirt may have marked it anew meanwhile.
constexpr std::chrono::seconds replacing_limit{5};
constexpr unsigned most_doublings = 10;

/// An evacuation that KubeVirt begins no earlier than Outlook::next_evacuation.
bool is_in_back_off(const MoveFacts& move) {
    return move.phase == MovePhase::pending && move.backs_off;
}

}  // namespace

bool Evacuation::fits(SteadyTime now) const noexcept {
    return outlook_.duration && now + *outlook_.duration <= cancel_at();
}

/// KubeVirt looks for policies when it hands a move off, and never again (dossier §7).
bool Evacuation::may_escalate() const {
    const auto* const move = unfinished();
    const auto last = escalated_ ? MovePhase::prepared : MovePhase::scheduling;
    const bool open = move == nullptr || move->phase <= last;
    return outlook_.escalated && !escalation_useless_ && open && vmi_ && !vmi_->handed_off &&
           vmi_->is_to_be_moved();
}

/// How long the move takes by what it may use, or may be allowed to.
std::optional<milliseconds> Evacuation::planned(SteadyTime now) const {
    const auto& escalated = outlook_.escalated;
    return escalated && !fits(now) && may_escalate() ? escalated->duration : outlook_.duration;
}

/// An evacuation does: KubeVirt begins it no earlier than Outlook::next_evacuation.
bool Evacuation::begins_too_late(SteadyTime now) const {
    const auto duration = planned(now);
    return outlook_.next_evacuation && duration &&
           *outlook_.next_evacuation + *duration > cancel_at();
}

bool Evacuation::waits_too_long(SteadyTime now) const {
    const auto* const move = unfinished();
    return move != nullptr && is_in_back_off(*move) && begins_too_late(now);
}

/// One of ours waits for nothing. Once: where KubeVirt makes its own anew it goes on doing so.
bool Evacuation::may_replace(SteadyTime now) const {
    const auto duration = planned(now);
    return !replaced_ && !ours_ && !cancel_refused_ && !outlook_.handler_stops && vmi_ &&
           !vmi_->node_gone && vmi_->is_to_be_moved() && duration && now + *duration <= cancel_at();
}

void Evacuation::replace(SteadyTime now) {
    replaced_ = true;
    replaced_by_ = now + replacing_limit;
    followed_.clear();
    requested_ = false;
    enter(EvacuationState::held,
          {Why::going_on,
           "KubeVirt would begin its next evacuation too late: a migration of "
           "virt-scout's own takes its place"});
}

/// What was taken back for it is no part of what may have to be later.
void Evacuation::end_replacing() {
    if (is_replacing()) {
        replaced_by_.reset();
        mark_cancelled_ = false;
        taken_back_.clear();
    }
}

/// The mark first, for with it set KubeVirt makes another one for each that is deleted. None: what
/// was ordered is not seen yet.
std::optional<EvacuationOrder> Evacuation::replacement(SteadyTime now) const {
    if (!read_live_ || !moves_known_) {
        return request(now);
    }
    if (is_marked_by_kubevirt()) {
        return mark_cancelled_ ? std::nullopt
                               : std::optional{EvacuationOrder{EvacuationStep::cancel_mark, {}}};
    }
    if (unfinished() != nullptr) {
        return removal();
    }
    auto order = escalation();
    return order ? order : std::optional{EvacuationOrder{EvacuationStep::create_move, {}}};
}

/// What is replaced is on its way out, also where it began a moment before.
const MoveFacts* Evacuation::to_follow() const {
    const auto* const move = unfinished();
    if (!is_replacing() || move == nullptr) {
        return move;
    }
    const bool is_deleted =
        was_deleted(move->name) || (in_flight_ && in_flight_->step == EvacuationStep::delete_move);
    return is_in_back_off(*move) || is_deleted || move->deleting ? nullptr : move;
}

void Evacuation::plan_escalation(SteadyTime now) {
    escalation_due_ = !escalated_ && !fits(now) && may_escalate();
}

void Evacuation::follow_move(SteadyTime now) {
    if (!followed_.empty()) {
        const auto at = std::find_if(moves_.begin(), moves_.end(),
                                     [this](const auto& move) { return move.name == followed_; });
        // KubeVirt shows one that was deleted as failed before it is gone.
        if (at == moves_.end() || at->deleting) {
            give_up({Why::failed,
                     "its migration " + followed_ + " was deleted: no other one is begun"});
            return;
        }
        if (at->phase == MovePhase::failed) {
            take_failure(now);
        }
        return;
    }
    if (const auto* const move = to_follow()) {
        end_replacing();
        followed_ = move->name;
        enter(EvacuationState::moving, {Why::going_on, "migration " + followed_ + " is under way"});
    }
}

void Evacuation::take_failure(SteadyTime now) {
    // KubeVirt waits after its own evacuations alone, not after what somebody else had begun
    // (dossier §6.5).
    const bool somebodys = !ours_ && !requested_ && !perhaps_requested_ && !is_marked_by_kubevirt();
    failures_ += somebodys ? 0 : 1;
    escalation_useless_ = escalation_useless_ || escalated_;
    auto pause = milliseconds{0};
    if (ours_) {
        pause = our_pause * (1U << std::min(failures_ - 1, most_doublings));
    } else if (!somebodys) {
        pause = evacuation_back_off(failures_);
        // It counts those of before the mark too.
        if (outlook_.next_evacuation) {
            pause =
                std::max(pause, std::chrono::ceil<milliseconds>(*outlook_.next_evacuation - now));
        }
    }
    const auto failed = std::exchange(followed_, {});
    if (const auto* const next = unfinished()) {
        followed_ = next->name;
        reason_ = "migration " + followed_ + " is under way, after " + failed + " failed";
        return;
    }
    const bool in_time = now + pause + planned(now).value_or(milliseconds{0}) <= cancel_at();
    if (!in_time && may_replace(now)) {
        replace(now);
        return;
    }
    if (!in_time) {
        give_up(
            {Why::failed, "migration " + failed + " failed, and the next one would be too late"});
        return;
    }
    enter(EvacuationState::held,
          {Why::going_on, "migration " + failed + " failed, the next one follows"});
    if (std::exchange(ours_, false)) {
        requested_ = false;
        not_before_ = now + pause;
    }
}

void Evacuation::note_abort(bool was_migrating, SteadyTime now) {
    if (was_migrating && !launcher_.migrating && launcher_.alive && !launcher_.moved_away &&
        cancelled_at_ && cancelled_running_ && !abort_took_) {
        abort_took_ = std::chrono::ceil<milliseconds>(now - *cancelled_at_);
    }
}

}  // namespace scout::migration
