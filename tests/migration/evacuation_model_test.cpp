// SPDX-License-Identifier: Apache-2.0
// The evacuation against a KubeVirt that behaves as the dossier says, with everything happening to
// it that may: in any order, at any moment.
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/migration/evacuation_world.h"

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using Step = EvacuationStep;

class Story {
public:
    explicit Story(std::uint64_t seed) : random_(seed), world_(random_) {
        constexpr std::array strategies{EvictionStrategy::live_migrate,
                                        EvictionStrategy::live_migrate,
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
        outlook_.duration = milliseconds{world_.dice(20'000)};
        if (world_.dice(8) == 0) {
            outlook_.duration = 10min;
            outlook_.escalated = EscalatedMove{.duration = milliseconds{world_.dice(20'000)},
                                               .completion_per_gib = 1s};
        }
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
        stamp_sticks_ = world_.dice(2) == 0;
        begin();
    }

    void play() {
        const auto end = start + outlook_.budget.ends;
        while (world_.now <= end + 1s && !::testing::Test::HasFailure()) {
            happen();
            world_.pass();
            look();
            ask();
            if (world_.dice(10) == 0) {
                call_hook();
            }
            check(end);
        }
        const auto stop_by = end - settings_.reserve;
        if (given_up_at_ && up_since_ <= *given_up_at_ && *given_up_at_ <= stop_by - 3s &&
            world_.exists && !world_.vmi.deleting && world_.vmi.node == "n1" &&
            world_.vmi.strategy != EvictionStrategy::external && !world_.drained &&
            !marked_again_) {
            EXPECT_EQ(world_.vmi.marked_node, "") << "KubeVirt goes on to move it";
        }
        EXPECT_TRUE(machine_->state() == EvacuationState::moved ||
                    machine_->state() == EvacuationState::released)
            << to_string(machine_->state()) << ": " << machine_->reason();
    }

    [[nodiscard]] EvacuationState state() const { return machine_->state(); }
    [[nodiscard]] unsigned restarts() const { return restarts_; }
    [[nodiscard]] unsigned checked() const { return checked_; }
    /// Of those the ones whose abort was quick enough.
    [[nodiscard]] unsigned kept() const { return kept_; }
    /// Aborts that were not through when the reserve began.
    [[nodiscard]] unsigned slow() const { return slow_; }
    /// Migrations in back-off that one of ours took the place of.
    [[nodiscard]] unsigned replaced() const { return replaced_; }

private:
    void begin() {
        machine_.emplace(settings_, world_.now);
        order_.reset();
        last_step_ = Step::read_vmi;
        told_unfinished_ = false;
        was_listed_ = false;
        given_up_at_.reset();
        knows_deletion_ = false;
        vetoed_ = false;
        touches_ = 0;
        machine_->saw_outlook(outlook_, world_.now);
        machine_->saw_launcher({.alive = true, .marked = true}, world_.now,
                               std::chrono::floor<milliseconds>(world_.now - start));
    }

    /// What nobody here wanted.
    void happen() {
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
                    ++restarts_;
                    begin();
                }
                break;
            case 3:
                if (auto* const move = world_.unfinished()) {
                    world_.delete_move(move->facts.name);
                }
                break;
            case 4:
                world_.create_move();
                break;
            case 5:
                // Between a dry run and the eviction nobody can see this.
                if (last_step_ != Step::dry_run && last_step_ != Step::evict) {
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
        if (world_.dice(150) == 0) {
            world_.api_up = !world_.api_up;
        }
    }

    /// As kubectl drain does every five seconds.
    void evict_once_more() {
        if (world_.eviction() == EvictionOutcome::marked) {
            marked_again_ = true;
            world_.vmi.marked_node = world_.vmi.node;
        }
    }

    void look() {
        const auto before = machine_->state();
        const bool migrating = world_.migrating();
        machine_->saw_launcher(
            {.alive = true, .marked = true, .post_copy = world_.post_copy, .migrating = migrating},
            world_.now);
        if (migrating && !world_.post_copy && before == EvacuationState::given_up &&
            world_.now < start + outlook_.budget.ends && knows_no_end()) {
            EXPECT_NE(machine_->state(), EvacuationState::released)
                << "released though the launcher still aborts";
        }
        if (!world_.api_up) {
            return;
        }
        machine_->heard_leader(world_.now);
        if (world_.failures > 0) {
            outlook_.next_evacuation = world_.next_try;
        }
        machine_->saw_outlook(outlook_, world_.now);
        if (world_.dice(3) == 0 && world_.exists) {
            machine_->saw_vmi(world_.vmi, world_.now);
        }
        if (world_.dice(3) == 0 && was_listed_) {
            machine_->saw_moves(world_.listed(), world_.now);
            told_unfinished_ = world_.unfinished() != nullptr;
        }
    }

    /// Nothing that it was told makes its guest's time nobody's affair.
    [[nodiscard]] bool knows_no_end() const {
        const auto& vmi = machine_->vmi();
        return !knows_deletion_ && (!vmi || (!vmi->deleting && vmi->phase == "Running"));
    }

    void ask() {
        if (!order_) {
            order_ = machine_->next(world_.now);
            last_step_ = order_ ? order_->step : last_step_;
            answer_at_ = world_.now + milliseconds{world_.dice(300)};
            EXPECT_FALSE(order_ && order_->step == Step::create_move && told_unfinished_)
                << "a second migration is asked for";
        }
        if (order_ && world_.now >= answer_at_) {
            const auto order = *std::exchange(order_, std::nullopt);
            carry_out(order);
        }
    }

    void carry_out(const EvacuationOrder& order) {
        if (!world_.api_up) {
            machine_->answered(order, Outcome::unavailable, world_.now);
            return;
        }
        // An answer may be lost behind its effect.
        const bool lost = world_.dice(15) == 0;
        lost_at_ = lost ? world_.now : lost_at_;
        if (order.step == Step::read_vmi && !lost) {
            knows_deletion_ = knows_deletion_ || !world_.exists || world_.vmi.deleting;
            machine_->read_vmi(world_.exists ? std::optional{world_.vmi} : std::nullopt,
                               world_.now);
            // What was read may change right behind.
            world_.vmi.migratable = world_.vmi.migratable != (world_.dice(10) == 0);
            return;
        }
        if (order.step == Step::list_moves && !lost) {
            was_listed_ = true;
            told_unfinished_ = world_.unfinished() != nullptr;
            machine_->saw_moves(world_.listed(), world_.now);
            return;
        }
        const auto outcome = effect(order);
        touches_ += order.step == Step::touch && !lost ? 1 : 0;
        machine_->answered(order, lost ? Outcome::unavailable : outcome, world_.now);
    }

    Outcome effect(const EvacuationOrder& order) {
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
                EXPECT_NE(world_.eviction(), EvictionOutcome::evicted) << "a VM was evicted";
                if (world_.eviction() == EvictionOutcome::marked) {
                    world_.vmi.marked_node = world_.vmi.node;
                }
                return outcome_of(world_.eviction());
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

    Outcome escalate() {
        EXPECT_TRUE(outlook_.escalated);
        EXPECT_NE(world_.vmi.strategy, EvictionStrategy::external);
        if (world_.dice(3) == 0) {
            return Outcome::refused;
        }
        outlook_.duration = outlook_.escalated->duration;  // as the leader tells it then
        return Outcome::done;
    }

    Outcome create_move() {
        const auto outcome = world_.create_move();
        replaced_ += outcome == Outcome::done && std::exchange(makes_room_, false) ? 1 : 0;
        return outcome;
    }

    static Outcome outcome_of(EvictionOutcome outcome) {
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

    void call_hook() {
        const bool allow = machine_->answer(world_.now).allow;
        if (allow) {
            return;
        }
        vetoed_ = true;
        EXPECT_FALSE(knows_deletion_) << "a veto after a read that showed deletion";
        const auto* const move = world_.unfinished();
        const bool post_copy = world_.post_copy && move != nullptr;
        EXPECT_TRUE(post_copy || world_.now < machine_->stop_by()) << "a veto into the reserve";
    }

    void check(SteadyTime end) {
        const auto stop_by = end - settings_.reserve;
        // With the server there all the time since the moment for it, nothing is left that was not
        // told to end.
        up_since_ = world_.api_up ? up_since_ : world_.now + tick;
        const auto state = machine_->state();
        if (state != EvacuationState::released && state != EvacuationState::suspected) {
            held_until_ = world_.now;
        }
        if (state == EvacuationState::given_up && !given_up_at_) {
            given_up_at_ = world_.now;
        }
        if (world_.now == stop_by) {
            check_reserve(stop_by);
        }
        EXPECT_LE(touches_, vetoed_ ? 1U : 0U);
    }

    void check_reserve(SteadyTime stop_by) {
        const auto cancel_at = stop_by - outlook_.abort_time;
        const auto state = machine_->state();
        slow_ += world_.migrating() && state == EvacuationState::given_up ? 1 : 0;
        const bool taken_back =
            state == EvacuationState::released || state == EvacuationState::given_up;
        if (up_since_ > cancel_at - 4s || held_until_ < cancel_at || !taken_back ||
            world_.vmi.deleting || !world_.exists) {
            return;
        }
        ++checked_;
        const auto* const move = world_.unfinished();
        // Where the mark stays what is not handed off is left alone, and ended when it is.
        const bool left =
            (world_.drained || marked_again_) && move != nullptr &&
            (move->facts.phase < MovePhase::prepared || move->handed_off > cancel_at - 4s);
        const bool others =
            move == nullptr || world_.post_copy || move->born > cancel_at - 4s || left;
        EXPECT_TRUE(others || move->asked_to_end) << "the reserve is spent on " << move->facts.name;
        // Three seconds of it are for the steps that lead to the order.
        if (world_.abort_takes + 3s <= outlook_.abort_time && lost_at_ < cancel_at) {
            ++kept_;
            EXPECT_TRUE(others || move->facts.phase != MovePhase::running)
                << "the reserve is spent though the abort ends within its estimate";
        }
    }

    std::mt19937_64 random_;
    World world_;
    EvacuationSettings settings_;
    Outlook outlook_;
    bool stamp_sticks_ = false;
    std::optional<Evacuation> machine_;
    std::optional<EvacuationOrder> order_;
    Step last_step_ = Step::read_vmi;
    SteadyTime answer_at_{};
    SteadyTime up_since_{};
    SteadyTime held_until_{};
    std::optional<SteadyTime> given_up_at_;
    unsigned checked_ = 0;
    unsigned kept_ = 0;
    unsigned slow_ = 0;
    SteadyTime lost_at_{};
    bool was_listed_ = false;
    bool told_unfinished_ = false;
    bool knows_deletion_ = false;
    bool marked_again_ = false;
    bool vetoed_ = false;
    unsigned touches_ = 0;  ///< that were answered
    unsigned restarts_ = 0;
    bool makes_room_ = false;  ///< the mark was cancelled though it is to be moved
    unsigned replaced_ = 0;
};

TEST(EvacuationModelTest, WhateverHappensNothingIsLostAndNothingHeldForEver) {
    constexpr std::uint64_t stories = 12'000;
    unsigned moved = 0;
    unsigned restarts = 0;
    unsigned checked = 0;
    unsigned kept = 0;
    unsigned slow = 0;
    unsigned replaced = 0;
    for (std::uint64_t seed = 1; seed <= stories; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Story story(seed);
        story.play();
        moved += story.state() == EvacuationState::moved ? 1 : 0;
        restarts += story.restarts();
        checked += story.checked();
        kept += story.kept();
        slow += story.slow();
        replaced += story.replaced();
        if (HasFailure()) {
            return;
        }
    }
    EXPECT_GT(moved, stories / 20);
    EXPECT_LT(moved, stories * 19 / 20);
    EXPECT_GT(restarts, stories / 20);
    EXPECT_GT(checked, stories / 200);
    EXPECT_GT(kept, stories / 500);
    EXPECT_GT(slow, stories / 200);
    EXPECT_GT(replaced, stories / 200);
}

}  // namespace
}  // namespace scout::migration
