// SPDX-License-Identifier: Apache-2.0
// What is known, and what follows from it. Why a VM is not moved is in evacuation_reasons.cpp, the
// migration under way in evacuation_moves.cpp, the steps are in evacuation_steps.cpp, what is given
// up is in evacuation_release.cpp.
#include "migration/evacuation.h"

#include <algorithm>
#include <utility>

#include "migration/evacuation_text.h"

namespace scout::migration {
namespace {

using std::chrono::milliseconds;
using Why = EvacuationWhy;

/// It tells its facts each 10 s.
constexpr std::chrono::seconds leader_is_silent_after{15};
constexpr const char* leaderless = "no leader of the aggregators is heard, who would move it";

}  // namespace

Evacuation::Evacuation(EvacuationSettings settings, SteadyTime leader_heard)
    : settings_(std::move(settings)), leader_heard_(leader_heard) {}

SteadyTime Evacuation::ends_at() const noexcept {
    return marked_at_ + outlook_.budget.ends;
}

SteadyTime Evacuation::stop_by() const noexcept {
    return ends_at() - settings_.reserve;
}

SteadyTime Evacuation::cancel_at() const noexcept {
    return stop_by() - outlook_.abort_time;
}

bool Evacuation::is_marked_by_kubevirt() const noexcept {
    return vmi_ && vmi_->marked_node == settings_.node;
}

const MoveFacts* Evacuation::unfinished() const noexcept {
    const auto found = std::find_if(moves_.begin(), moves_.end(),
                                    [](const auto& move) { return !move.is_final(); });
    return found != moves_.end() ? &*found : nullptr;
}

bool Evacuation::is_known(const std::string& move) const {
    return std::any_of(moves_.begin(), moves_.end(),
                       [&move](const auto& known) { return known.name == move; });
}

bool Evacuation::is_begun() const noexcept {
    return requested_ || may_be_requested() || is_marked_by_kubevirt() || is_replacing() ||
           unfinished() != nullptr;
}

bool Evacuation::is_running() const noexcept {
    const auto* const move = unfinished();
    return move != nullptr && move->phase == MovePhase::running;
}

void Evacuation::use(EvacuationSettings settings, SteadyTime now) {
    settings_ = std::move(settings);
    judge(now);
}

void Evacuation::saw_launcher(const LauncherFacts& facts, SteadyTime now, milliseconds marked_ago) {
    const bool was_migrating = launcher_.migrating;
    launcher_ = facts;
    note_abort(was_migrating, now);
    if (facts.marked && state_ == EvacuationState::idle) {
        marked_at_ = now - marked_ago;
    } else if (facts.marked) {
        marked_at_ = std::min(marked_at_, now - marked_ago);
    }
    judge(now);
}

void Evacuation::saw_vmi(VmiFacts facts, SteadyTime now) {
    if (facts.uid != settings_.vmi_uid) {
        // Names are used again; what is late may also be of the one before.
        return;
    }
    if (is_of_here(facts)) {
        vmi_ = std::move(facts);
        note_late_mark(is_marked_by_kubevirt());
    }
    judge(now);
}

/// Not of the target of a migration whose guest has just come: KubeVirt writes down where it runs
/// only once all is over, in post-copy long after it began to run there.
bool Evacuation::is_of_here(const VmiFacts& facts) const noexcept {
    return facts.node == settings_.node || (vmi_ && vmi_->node == settings_.node);
}

void Evacuation::read_vmi(std::optional<VmiFacts> facts, SteadyTime now) {
    in_flight_.reset();
    read_failed_ = false;
    vmi_gone_ = !facts || facts->uid != settings_.vmi_uid;
    if (!vmi_gone_ && !is_of_here(*facts) && !facts->deleting && facts->phase == "Running") {
        try_later(now);
        judge(now);
        return;
    }
    pause_ = milliseconds{0};
    read_live_ = true;
    if (!vmi_gone_) {
        vmi_ = std::move(facts);
    }
    judge(now);
}

void Evacuation::saw_moves(std::vector<MoveFacts> moves, SteadyTime now) {
    const bool asked = in_flight_ && in_flight_->step == EvacuationStep::list_moves;
    if (asked) {
        in_flight_.reset();
        pause_ = milliseconds{0};
        listed_again_ = state_ == EvacuationState::given_up || state_ == EvacuationState::released;
    }
    const auto followed = std::find_if(moves.begin(), moves.end(),
                                       [this](const auto& move) { return move.name == followed_; });
    if (!asked && state_ == EvacuationState::moving && followed == moves.end()) {
        // A watch does not show it: it may be deleted, or the watch behind. A live list tells.
        moves_known_ = false;
    } else {
        note_late_mark(std::any_of(moves.begin(), moves.end(), [this](const auto& move) {
            return move.backs_off && !move.is_final() && !is_known(move.name);
        }));
        moves_ = std::move(moves);
        moves_known_ = true;
    }
    judge(now);
}

void Evacuation::saw_outlook(const Outlook& outlook, SteadyTime now) {
    outlook_ = outlook;
    judge(now);
}

void Evacuation::heard_leader(SteadyTime now) {
    leader_heard_ = std::max(leader_heard_, now);
    leader_lost_ = false;
}

void Evacuation::enter(EvacuationState state, Reason reason) {
    if (state == EvacuationState::given_up || state == EvacuationState::released) {
        // What failed before must not delay what follows now.
        pause_ = milliseconds{0};
        not_before_ = {};
    }
    state_ = state;
    why_ = reason.why;
    reason_ = std::move(reason.text);
}

void Evacuation::judge(SteadyTime now) {
    if (state_ == EvacuationState::idle && launcher_.marked && launcher_.alive) {
        enter(EvacuationState::suspected,
              {Why::going_on, "its launcher was told to stop, and the VMI is being read"});
    }
    switch (state_) {
        case EvacuationState::idle:
        case EvacuationState::moved:
        case EvacuationState::released:
            return;
        case EvacuationState::suspected:
            if (!is_over(now) && (read_live_ || (read_failed_ && vmi_) || is_leaderless(now))) {
                decide(now);
            }
            return;
        case EvacuationState::held:
        case EvacuationState::moving:
            if (!is_over(now)) {
                follow(now);
            }
            return;
        case EvacuationState::given_up:
            if (!is_over(now)) {
                follow_abort(now);
            }
            return;
    }
}

bool Evacuation::is_leaderless(SteadyTime now) const noexcept {
    return now - leader_heard_ >= settings_.patience;
}

/// Who was refused asks again after as long as he has asked by then (dossier §16), and only by the
/// leader can he be had to ask sooner. A migration that was handed off needs nobody any more.
bool Evacuation::is_last_question(SteadyTime now) const noexcept {
    const bool away = leader_lost_ || now - leader_heard_ >= leader_is_silent_after;
    const auto* const move = unfinished();
    const bool handed_off = move != nullptr && move->phase >= MovePhase::prepared;
    return away && !handed_off && !launcher_.migrating && now + (now - marked_at_) >= stop_by();
}

/// Facts that end it in whatever state, for the better or the worse.
bool Evacuation::is_over(SteadyTime now) {
    const bool elsewhere = vmi_ && !vmi_->node.empty() && vmi_->node != settings_.node;
    const bool saved = state_ == EvacuationState::moving && launcher_.post_copy;
    Reason reason;
    if (vmi_gone_) {
        reason = {Why::deleted, "the VMI is gone"};
    } else if (vmi_ && vmi_->deleting) {
        reason = {Why::deleted, "the VMI is being deleted"};
    } else if (elsewhere || launcher_.moved_away) {
        enter(EvacuationState::moved,
              {Why::moved, elsewhere ? "it runs on " + vmi_->node
                                     : std::string{"its guest has left for another node"}});
        return true;
    } else if (!launcher_.alive && why_ != Why::slow_abort) {
        reason = {Why::stopped, "its guest does not run any more"};
    } else if (launcher_.post_copy_failed) {
        reason = {Why::failed, "its guest was lost in a failed post-copy migration"};
    } else if (vmi_ && vmi_->phase != "Running") {
        reason = {Why::stopped, "the VMI is in phase " + vmi_->phase};
    } else if (now < (saved ? ends_at() : stop_by())) {
        return false;
    } else if (runs_into_the_reserve(now)) {
        // Nothing is held any more, but virt-handler stops nothing before that has ended.
        if (state_ == EvacuationState::given_up) {
            return false;
        }
        give_up({Why::too_late, "time is over, and its migration has not ended"});
        return true;
    } else {
        cut_short_ = state_ != EvacuationState::suspected;
        reason =
            state_ == EvacuationState::given_up
                ? closing(now)
                : Reason{Why::too_late, "time is over: its guest needs the rest to stop by itself"};
    }
    enter(EvacuationState::released, std::move(reason));
    return true;
}

void Evacuation::decide(SteadyTime now) {
    auto reason = is_leaderless(now) ? Reason{Why::leaderless, leaderless} : why_no_move();
    if (!reason.text.empty()) {
        enter(EvacuationState::released, std::move(reason));
        return;
    }
    enter(EvacuationState::held, {Why::going_on, "it is to be moved"});
    follow(now);
}

void Evacuation::follow(SteadyTime now) {
    follow_move(now);
    if (state_ != EvacuationState::held && state_ != EvacuationState::moving) {
        return;
    }
    plan_escalation(now);
    if (waits_too_long(now) && may_replace(now)) {
        replace(now);
    }
    if (auto reason = why_too_late(now); !reason.text.empty()) {
        give_up(std::move(reason));
    } else if (auto vain = why_in_vain(); !vain.text.empty()) {
        give_up(std::move(vain));
    } else if (state_ == EvacuationState::moving) {
        return;
    } else if (auto other = why_no_move(); !other.text.empty()) {
        give_up(std::move(other));
    } else if (is_leaderless(now)) {
        give_up({Why::leaderless, leaderless});
    } else if (is_unheard(now)) {
        give_up({Why::failed, "KubeVirt marks it for nobody, and so nobody moves it"});
    }
}

/// What aborting takes beyond what was planned for it, the guest has less.
void Evacuation::follow_abort(SteadyTime now) {
    const bool late = now >= stop_by() && cancelled_at_.has_value();
    if (late && launcher_.migrating && why_ != Why::slow_abort) {
        why_ = Why::slow_abort;
        reason_ = "its migration was cancelled " +
                  in_seconds(std::chrono::floor<milliseconds>(now - *cancelled_at_)) +
                  " ago and is still being aborted: its guest has less than the " +
                  in_seconds(settings_.reserve) + " that were kept for it";
    }
    if (is_taken_back()) {
        enter(EvacuationState::released, closing(now));
    }
}

/// Of what was given up.
Evacuation::Reason Evacuation::closing(SteadyTime now) const {
    if (why_ != Why::slow_abort || !abort_took_) {
        return {why_, reason_};
    }
    return {why_, "aborting its migration took " + in_seconds(*abort_took_) + ", " +
                      in_seconds(outlook_.abort_time) + " were planned: its guest has " +
                      in_seconds(left_until(ends_at(), now)) + " left to shut down"};
}

bool Evacuation::is_requesting() const noexcept {
    return in_flight_ && (in_flight_->step == EvacuationStep::stamp ||
                          in_flight_->step == EvacuationStep::evict ||
                          in_flight_->step == EvacuationStep::create_move);
}

/// It was asked for, and no answer came, or not yet.
bool Evacuation::may_be_requested() const noexcept {
    return is_requesting() || perhaps_requested_;
}

HookAnswer Evacuation::answer(SteadyTime now) {
    judge(now);
    switch (state_) {
        case EvacuationState::suspected:
        case EvacuationState::held:
        case EvacuationState::moving:
            if (is_last_question(now)) {
                enter(EvacuationState::released,
                      {Why::leaderless,
                       std::string{leaderless} + ", and virt-handler would ask again too late"});
                break;
            }
            vetoed_ = true;
            return {.allow = false,
                    .why = (state_ == EvacuationState::suspected ? "deciding: " : "held: ") +
                           reason_ + "; its guest may stop in " +
                           in_seconds(left_until(stop_by(), now)) + " at the latest"};
        case EvacuationState::idle:
        case EvacuationState::moved:
        case EvacuationState::given_up:
        case EvacuationState::released:
            break;
    }
    return {};
}

}  // namespace scout::migration
