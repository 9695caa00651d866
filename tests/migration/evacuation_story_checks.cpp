// SPDX-License-Identifier: Apache-2.0
// What must be true at every moment of a story, and at its end.
#include <gtest/gtest.h>

#include "tests/migration/evacuation_story.h"

namespace scout::migration {
namespace {

using namespace std::chrono_literals;

/// So long before a deadline whoever takes something back must be able to.
constexpr auto needed = 4s;

}  // namespace

void Story::expect_order(const EvacuationOrder& order) const {
    const bool begins = order.step == Step::stamp || order.step == Step::evict ||
                        order.step == Step::create_move || order.step == Step::escalate;
    EXPECT_FALSE(order.step == Step::create_move && told_unfinished_)
        << "a second migration is asked for";
    EXPECT_FALSE(order.step == Step::create_move && perhaps_made_)
        << "perhaps a second migration is asked for";
    EXPECT_FALSE(order.step == Step::cancel_mark && cancelled_ && marks_unanswered_ == 0)
        << "a mark is cancelled twice";
    EXPECT_FALSE(order.step == Step::evict && !dry_run_said_so_) << "an eviction without a dry run";
    EXPECT_FALSE(begins && knows_deletion_) << "a deleted VM is moved: " << to_string(order.step);
    EXPECT_FALSE(begins && order.step != Step::escalate && !settings_.act)
        << "a move is begun though nothing is to be: " << to_string(order.step);
    EXPECT_FALSE(begins && world_.now >= machine_->cancel_at())
        << "too late to begin anything: " << to_string(order.step);
    EXPECT_FALSE(order.step == Step::escalate && !outlook_.escalated);
}

/// In any other mode the agent answers by itself.
void Story::call_hook() {
    if (!settings_.act || machine_->answer(world_.now).allow) {
        return;
    }
    vetoed_ = true;
    EXPECT_FALSE(knows_deletion_) << "a veto after a read that showed deletion";
    const auto* const move = world_.unfinished();
    const bool post_copy = world_.post_copy && move != nullptr;
    EXPECT_TRUE(post_copy || world_.now < stop_by()) << "a veto into the reserve";
    EXPECT_TRUE(machine_->state() == EvacuationState::moving ||
                world_.now - heard_at_ < settings_.patience)
        << "a veto though nobody is there who would move it";
}

void Story::check() {
    // With the server there all the time since the moment for it, nothing is left that was not
    // told to end.
    up_since_ = reachable() ? up_since_ : world_.now + tick;
    const auto state = machine_->state();
    if (state != EvacuationState::released && state != EvacuationState::suspected) {
        held_until_ = world_.now;
    }
    if (state == EvacuationState::given_up && !given_up_at_) {
        given_up_at_ = world_.now;
    }
    check_vain_move();
    check_late_mark();
    if (world_.now == stop_by()) {
        check_reserve(stop_by());
    }
    if (world_.now == end()) {
        check_end();
    }
    EXPECT_LE(touches_, vetoed_ ? 1U : 0U);
}

/// It does not wait for what does not end, for its policy came too late or was lost, or for what
/// does not begin, for virt-handler is gone.
void Story::check_vain_move() {
    const auto* const move = world_.unfinished();
    const auto since = world_.now - needed;
    if (move == nullptr || world_.post_copy || up_since_ > since || move->born > since) {
        return;
    }
    const bool runs = move->facts.phase == MovePhase::running;
    const bool endless = runs && world_.needs_policy && !move->with_policy &&
                         move->handed_off <= since &&
                         world_.vmi.strategy != EvictionStrategy::external;
    const bool waits = !runs && world_.handler_stops && shortened_at_ <= since;
    if (endless || waits) {
        ++counts_.in_vain;
        EXPECT_NE(machine_->state(), EvacuationState::moving) << "waits for " << move->facts.name;
    }
}

/// It is cancelled though all was taken back before, or KubeVirt makes one migration after another.
void Story::check_late_mark() {
    const bool is_time = late_mark_at_ && world_.now == *late_mark_at_ + 2 * needed;
    if (!is_time || is_excused(*late_mark_at_) || lost_at_ > *late_mark_at_ ||
        world_.now >= end() || world_.drained || marked_again_ || world_.vmi.node != "n1" ||
        world_.post_copy || world_.vmi.strategy == EvictionStrategy::external) {
        return;
    }
    ++counts_.late_marks;
    EXPECT_EQ(world_.vmi.marked_node, "") << "KubeVirt goes on to move it";
}

/// Since `before` it could not be known, or not be done.
bool Story::is_excused(SteadyTime before) const {
    return up_since_ > before || shortened_at_ > before || late_done_at_ > before || excused_ ||
           !followed_ || world_.vmi.deleting || !world_.exists;
}

void Story::check_reserve(SteadyTime stop_by) {
    const auto cancel_at = stop_by - outlook_.abort_time;
    const auto state = machine_->state();
    counts_.slow += world_.migrating() && state == EvacuationState::given_up ? 1 : 0;
    const bool taken_back =
        state == EvacuationState::released || state == EvacuationState::given_up;
    if (is_excused(cancel_at - needed) || held_until_ < cancel_at || !taken_back) {
        return;
    }
    ++counts_.checked;
    const auto* const move = world_.unfinished();
    // Where the mark stays what is not handed off is left alone, and ended when it is.
    const bool left =
        (world_.drained || marked_again_) && move != nullptr &&
        (move->facts.phase < MovePhase::prepared || move->handed_off > cancel_at - needed);
    const bool others =
        move == nullptr || world_.post_copy || move->born > cancel_at - needed || left;
    EXPECT_TRUE(others || move->asked_to_end) << "the reserve is spent on " << move->facts.name;
    // Three seconds of it are for the steps that lead to the order.
    if (world_.abort_takes + 3s <= outlook_.abort_time && lost_at_ < cancel_at) {
        ++counts_.kept;
        EXPECT_TRUE(others || move->facts.phase != MovePhase::running)
            << "the reserve is spent though the abort ends within its estimate";
    }
}

/// What could not be taken back in time is as soon as it can.
void Story::check_end() {
    const auto* const move = world_.unfinished();
    const bool runs = move != nullptr && move->facts.phase == MovePhase::running &&
                      !world_.post_copy && move->handed_off < end() - 2 * needed;
    if (!runs || world_.vmi.node != "n1" || is_excused(end() - 2 * needed) ||
        held_until_ < stop_by() - tick || !knows_no_end()) {
        return;
    }
    EXPECT_TRUE(move->asked_to_end) << "nobody has told it to end: " << move->facts.name;
}

void Story::check_closing() const {
    if (given_up_at_ && !is_excused(*given_up_at_) && *given_up_at_ <= stop_by() - 3s &&
        world_.vmi.node == "n1" && world_.vmi.strategy != EvictionStrategy::external &&
        !world_.drained && !marked_again_) {
        EXPECT_EQ(world_.vmi.marked_node, "") << "KubeVirt goes on to move it";
    }
    EXPECT_TRUE(machine_->is_over()) << to_string(machine_->state()) << ": " << machine_->reason();
}

}  // namespace scout::migration
