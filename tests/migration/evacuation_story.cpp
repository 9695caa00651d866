// SPDX-License-Identifier: Apache-2.0
#include "tests/migration/evacuation_story.h"

#include <array>
#include <utility>

#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;

Outcome outcome_of(EvictionOutcome outcome) {
    switch (outcome) {
        case EvictionOutcome::evicted:
            return Outcome::would_evict;
        case EvictionOutcome::refused:
            return Outcome::refused;
        case EvictionOutcome::marked:
            break;
    }
    return Outcome::done;
}

}  // namespace

Story::Story(std::uint64_t seed, StoryCounts& counts)
    : counts_(counts), random_(seed), world_(random_) {
    constexpr std::array strategies{EvictionStrategy::live_migrate, EvictionStrategy::live_migrate,
                                    EvictionStrategy::live_migrate_if_possible,
                                    EvictionStrategy::external, EvictionStrategy::none};
    world_.vmi.uid = "u";
    world_.vmi.phase = "Running";
    world_.vmi.node = "n1";
    world_.vmi.strategy = strategies.at(world_.dice(strategies.size()));
    world_.vmi.migratable = world_.dice(8) != 0;
    world_.pod_failed = world_.dice(10) == 0;
    world_.stuck = world_.dice(8) == 0;
    world_.endless = world_.dice(4) == 0;
    world_.drained = world_.dice(6) == 0;
    outlook_.budget.ends = std::chrono::seconds{5 + world_.dice(90)};
    duration_ = milliseconds{world_.dice(20'000)};
    world_.needs_policy = world_.dice(6) == 0;
    outlook_.abort_time = milliseconds{3000 + world_.dice(12'000)};
    world_.abort_takes = milliseconds{world_.dice(world_.dice(2) == 0 ? 2000 : 20'000)};
    outlook_.pod_failed = world_.pod_failed;
    if (world_.dice(12) == 0) {
        world_.failures = 1 + static_cast<unsigned>(world_.dice(3));
        world_.next_try = start + milliseconds{world_.dice(80'000)};
    }
    settings_.node = "n1";
    settings_.vmi_uid = "u";
    settings_.stamp = world_.dice(3) == 0;
    settings_.patience = std::chrono::seconds{10 + world_.dice(60)};
    stamp_sticks_ = world_.dice(2) == 0;
    modes_change_ = world_.dice(3) == 0;
    leaders_change_ = world_.dice(3) == 0;
    time_shrinks_ = world_.dice(3) == 0;
    look_ahead();
    begin();
}

void Story::play() {
    while (world_.now <= end() + 1s && !::testing::Test::HasFailure()) {
        happen();
        carry_out_late();
        world_.pass();
        look();
        ask();
        if (world_.dice(10) == 0) {
            call_hook();
        }
        check();
    }
    check_closing();
    counts_.moved += machine_->state() == EvacuationState::moved ? 1 : 0;
}

void Story::begin() {
    machine_.emplace(settings_, world_.now);
    order_.reset();
    last_step_ = Step::read_vmi;
    dry_run_said_so_ = false;
    heard_at_ = world_.now;
    told_unfinished_ = false;
    was_listed_ = false;
    perhaps_made_ = false;
    cancelled_ = false;
    marks_unanswered_ = 0;
    late_is_known_ = false;
    late_mark_at_.reset();
    given_up_at_.reset();
    knows_deletion_ = false;
    vetoed_ = false;
    touches_ = 0;
    followed_ = settings_.act;
    machine_->saw_outlook(outlook_, world_.now);
    machine_->saw_launcher({.alive = true, .marked = true}, world_.now,
                           std::chrono::floor<milliseconds>(world_.now - start));
}

/// What nobody here wanted.
void Story::happen() {
    happen_to_vm();
    happen_to_rules();
    if (world_.dice(150) == 0) {
        world_.api_up = !world_.api_up;
    }
}

void Story::happen_to_vm() {
    switch (world_.dice(700)) {
        case 0:
            world_.vmi.deleting = true;
            break;
        case 1:
            world_.exists = false;
            break;
        case 2:
            // Of a guest that has left its launcher says so, and nothing is begun for it.
            if (world_.vmi.node == "n1") {
                ++counts_.restarts;
                let_order_be_late();
                begin();
            }
            break;
        case 3:
            if (auto* const move = world_.unfinished()) {
                world_.delete_move(move->facts.name);
            }
            break;
        case 4:
            make_rival();
            break;
        case 5:
            if (may_flip()) {
                world_.vmi.migratable = !world_.vmi.migratable;
            }
            break;
        case 6:
            world_.stuck = !world_.stuck;
            break;
        case 7:
        case 8:
            evict_once_more();
            break;
        default:
            break;
    }
}

void Story::happen_to_rules() {
    if (modes_change_ && world_.dice(200) == 0) {
        switch_mode();
    }
    if (leaders_change_ && world_.dice(leader_up_ ? 200 : 60) == 0) {
        lose_or_find_leader();
    }
    if (time_shrinks_ && world_.dice(200) == 0) {
        shorten();
    }
    // Somebody deletes its policy.
    world_.policy = world_.policy && world_.dice(100) != 0;
}

/// What was not followed is looked at anew when it is to be.
void Story::switch_mode() {
    counts_.modes += machine_->is_over() ? 0 : 1;
    settings_.act = !settings_.act;
    if (settings_.act && !followed_) {
        let_order_be_late();
        begin();
    } else {
        machine_->use(settings_, world_.now);
    }
}

void Story::lose_or_find_leader() {
    leader_up_ = !leader_up_;
    if (leader_up_) {
        return;
    }
    counts_.leaders += machine_->is_over() ? 0 : 1;
    machine_->lost_leader();
    let_order_be_late();
    if (order_) {
        lost_at_ = world_.now;
        answer(*std::exchange(order_, std::nullopt), Outcome::unavailable);
    }
}

/// Who gave it hears no answer any more.
void Story::let_order_be_late() {
    if (order_ && world_.dice(2) == 0) {
        put_off(*order_, milliseconds{world_.dice(2000)});
    }
}

void Story::put_off(const EvacuationOrder& order, milliseconds by) {
    late_ = order;
    late_at_ = world_.now + by;
    late_is_known_ = true;
}

/// Its pod is deleted with a grace of its own, or the node shuts down.
void Story::shorten() {
    const auto left = std::chrono::floor<std::chrono::seconds>(end() - world_.now);
    if (left < 2s) {
        return;
    }
    counts_.shortened += machine_->is_over() ? 0 : 1;
    shortened_at_ = world_.now;
    const auto sides = static_cast<std::uint64_t>(left.count());
    outlook_.budget.ends -= std::chrono::seconds{world_.dice(sides)};
    if (world_.dice(3) == 0) {
        counts_.shutdowns += machine_->is_over() ? 0 : 1;
        outlook_.handler_stops = world_.handler_stops = true;
    }
    machine_->saw_outlook(outlook_, world_.now);
}

/// As kubectl drain does every five seconds.
void Story::evict_once_more() {
    if (world_.eviction() == EvictionOutcome::marked) {
        marked_again_ = true;
        cancelled_ = false;
        world_.vmi.marked_node = world_.vmi.node;
    }
}

void Story::make_rival() {
    const auto made = world_.create_move("users-");
    counts_.rivals += made == Outcome::done && !machine_->is_over() ? 1 : 0;
}

/// Between a dry run and the eviction nobody can see this.
bool Story::may_flip() const {
    return last_step_ != EvacuationStep::dry_run && last_step_ != EvacuationStep::evict && !late_;
}

void Story::look() {
    const auto before = machine_->state();
    const bool migrating = world_.migrating();
    machine_->saw_launcher(
        {.alive = true, .marked = true, .post_copy = world_.post_copy, .migrating = migrating},
        world_.now);
    if (migrating && !world_.post_copy && before == EvacuationState::given_up &&
        world_.now < end() && knows_no_end()) {
        EXPECT_NE(machine_->state(), EvacuationState::released)
            << "released though the launcher still aborts: " << machine_->reason();
    }
    if (!reachable()) {
        return;
    }
    machine_->heard_leader(world_.now);
    heard_at_ = world_.now;
    look_ahead();
    machine_->saw_outlook(outlook_, world_.now);
    if (world_.dice(3) == 0 && world_.exists) {
        machine_->saw_vmi(world_.vmi, world_.now);
    }
    if (world_.dice(3) == 0 && was_listed_) {
        tell_moves();
    }
    // As the leader does with what is not wanted any more.
    const auto state = machine_->state();
    world_.policy =
        world_.policy && (state == EvacuationState::held || state == EvacuationState::moving);
}

void Story::tell_moves() {
    told_unfinished_ = world_.unfinished() != nullptr;
    perhaps_made_ = false;
    machine_->saw_moves(world_.listed(), world_.now);
}

/// As agent and leader together tell it.
void Story::look_ahead() {
    if (world_.failures > 0) {
        outlook_.next_evacuation = world_.next_try;
    }
    const auto* const move = world_.unfinished();
    const bool handed_off = move != nullptr && move->facts.phase >= MovePhase::prepared;
    const bool is_slow = world_.needs_policy && !(handed_off ? move->with_policy : world_.policy);
    world_.vmi.handed_off = handed_off;
    outlook_.duration = is_slow ? milliseconds{10min} : duration_;
    outlook_.escalated.reset();
    if (is_slow && !handed_off) {
        outlook_.escalated = EscalatedMove{.duration = duration_, .completion_per_gib = 1s};
    }
}

/// Nothing that it was told makes its guest's time nobody's affair.
bool Story::knows_no_end() const {
    const auto& vmi = machine_->vmi();
    return !knows_deletion_ && (!vmi || (!vmi->deleting && vmi->phase == "Running"));
}

void Story::ask() {
    if (!order_) {
        order_ = machine_->next(world_.now);
        last_step_ = order_ ? order_->step : last_step_;
        answer_at_ = world_.now + milliseconds{world_.dice(300)};
        if (order_) {
            expect_order(*order_);
        }
        if (order_ && !leader_up_) {
            answer(*std::exchange(order_, std::nullopt), Outcome::unavailable);
        }
    }
    if (order_ && world_.now >= answer_at_) {
        const auto order = *std::exchange(order_, std::nullopt);
        carry_out(order);
    }
}

void Story::carry_out(const EvacuationOrder& order) {
    if (world_.dice(40) == 0) {
        make_rival();
    }
    if (!world_.api_up) {
        return answer(order, Outcome::unavailable);
    }
    // An answer may be lost behind its effect.
    const bool lost = world_.dice(15) == 0;
    lost_at_ = lost ? world_.now : lost_at_;
    // Or before it, as long as a webhook may take.
    if (lost && !late_ && world_.dice(2) == 0) {
        put_off(order, milliseconds{world_.dice(10'000)});
        // Whoever waits for it may give up.
        duration_ = world_.dice(2) == 0 ? duration_ : milliseconds{10min};
        return answer(order, Outcome::unavailable);
    }
    if (order.step == Step::read_vmi && !lost) {
        knows_deletion_ = knows_deletion_ || !world_.exists || world_.vmi.deleting;
        machine_->read_vmi(world_.exists ? std::optional{world_.vmi} : std::nullopt, world_.now);
        // What was read may change right behind.
        world_.vmi.migratable = world_.vmi.migratable != (world_.dice(10) == 0 && !late_);
        return;
    }
    if (order.step == Step::list_moves && !lost) {
        was_listed_ = true;
        return tell_moves();
    }
    const auto outcome = effect(order);
    answer(order, lost ? Outcome::unavailable : outcome);
}

void Story::answer(const EvacuationOrder& order, Outcome outcome) {
    const bool done = outcome == Outcome::done;
    touches_ += order.step == Step::touch && done ? 1 : 0;
    told_unfinished_ = told_unfinished_ || (order.step == Step::create_move && done);
    perhaps_made_ =
        perhaps_made_ || (order.step == Step::create_move && outcome == Outcome::unavailable);
    dry_run_said_so_ = order.step == Step::dry_run && done;
    const bool marks = order.step == Step::stamp || order.step == Step::evict;
    const bool begins = marks || order.step == Step::create_move;
    marks_unanswered_ += marks && outcome == Outcome::unavailable ? 1 : 0;
    marks_unanswered_ -= cancelled_ && order.step == Step::cancel_mark && done ? 1 : 0;
    cancelled_ = (cancelled_ && !begins) || (order.step == Step::cancel_mark && done);
    machine_->answered(order, outcome, world_.now);
}

/// Who was not answered expects it; an agent that began anew knows nothing of it, and nobody can
/// take back what he does not know of.
void Story::carry_out_late() {
    if (!late_ || world_.now < late_at_ || !world_.api_up) {
        return;
    }
    ++counts_.late;
    const auto order = *std::exchange(late_, std::nullopt);
    const bool ends = machine_->is_over() || machine_->state() == EvacuationState::given_up;
    excused_ = excused_ || (ends && !late_is_known_);
    late_done_at_ = world_.now;
    effect(order);
    if (ends && late_is_known_ && !world_.vmi.marked_node.empty()) {
        late_mark_at_ = world_.now;
    }
}

Outcome Story::effect(const EvacuationOrder& order) {
    switch (order.step) {
        case Step::read_vmi:
        case Step::list_moves:
            return Outcome::unavailable;
        case Step::stamp:
            if (stamp_sticks_) {
                world_.vmi.marked_node = world_.vmi.node;
            }
            return stamp_sticks_ ? Outcome::done : Outcome::undone;
        case Step::dry_run:
            return outcome_of(world_.eviction());
        case Step::evict:
            return evict();
        case Step::create_move:
            return create_move();
        case Step::cancel_mark:
            makes_room_ = machine_->state() == EvacuationState::held;
            if (world_.drained) {
                return Outcome::refused;
            }
            world_.vmi.marked_node.clear();
            return Outcome::done;
        case Step::delete_move:
            return world_.delete_move(order.object);
        case Step::delete_target:
            return world_.delete_target(order.object);
        case Step::touch:
            return Outcome::done;
        case Step::escalate:
            return escalate();
    }
    return Outcome::refused;
}

Outcome Story::evict() {
    EXPECT_NE(world_.eviction(), EvictionOutcome::evicted) << "a VM was evicted";
    if (world_.eviction() == EvictionOutcome::marked) {
        world_.vmi.marked_node = world_.vmi.node;
    }
    return outcome_of(world_.eviction());
}

Outcome Story::escalate() {
    EXPECT_NE(world_.vmi.strategy, EvictionStrategy::external);
    if (world_.dice(3) == 0) {
        return Outcome::refused;
    }
    ++counts_.escalated;
    world_.policy = true;
    return Outcome::done;
}

Outcome Story::create_move() {
    const auto outcome = world_.create_move("ours-");
    counts_.replaced += outcome == Outcome::done && std::exchange(makes_room_, false) ? 1 : 0;
    return outcome;
}

}  // namespace scout::migration
