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
constexpr unsigned most_doublings = 10;

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
           wanted_move(vmi_->strategy, vmi_->migratable) == WantedMove::move;
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
    if (const auto* const move = unfinished()) {
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
    if (now + pause + outlook_.duration.value_or(milliseconds{0}) > cancel_at()) {
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
        cancelled_at_ && !abort_took_) {
        abort_took_ = std::chrono::ceil<milliseconds>(now - *cancelled_at_);
    }
}

}  // namespace scout::migration
