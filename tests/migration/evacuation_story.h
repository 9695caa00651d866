// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

#include "tests/migration/evacuation_world.h"

namespace scout::migration {

/// What came about in a story, so that a test knows that it did.
struct StoryCounts {
    unsigned moved = 0;
    unsigned restarts = 0;
    unsigned checked = 0;     ///< reserves
    unsigned kept = 0;        ///< of those the ones whose abort was quick enough
    unsigned slow = 0;        ///< aborts that were not through when the reserve began
    unsigned replaced = 0;    ///< migrations in back-off that one of ours took the place of
    unsigned modes = 0;       ///< changes of the mode while it was not over
    unsigned leaders = 0;     ///< that were lost meanwhile
    unsigned late = 0;        ///< orders of a leader or an agent before, done after it was gone
    unsigned late_marks = 0;  ///< of those the marks that are told to go though all was taken back
    unsigned rivals = 0;      ///< migrations by users
    unsigned shortened = 0;   ///< budgets, meanwhile
    unsigned shutdowns = 0;   ///< of those the ones that take virt-handler along
    unsigned escalated = 0;   ///< policies that were made
    unsigned in_vain = 0;     ///< moves that such a policy should have been there for, and was not
};

/// The evacuation against a KubeVirt that behaves as the dossier says, with everything happening to
/// it that may: in any order, at any moment.
class Story {
public:
    Story(std::uint64_t seed, StoryCounts& counts);
    Story(const Story&) = delete;
    Story& operator=(const Story&) = delete;
    Story(Story&&) = delete;
    Story& operator=(Story&&) = delete;
    ~Story() = default;

    void play();

private:
    using Step = EvacuationStep;

    void begin();
    void happen();
    void happen_to_vm();
    void happen_to_rules();
    void switch_mode();
    void lose_or_find_leader();
    void shorten();
    void let_order_be_late();
    void put_off(const EvacuationOrder& order, milliseconds by);
    void evict_once_more();
    void make_rival();
    void look();
    void look_ahead();
    void tell_moves();
    void ask();
    void expect_order(const EvacuationOrder& order) const;
    void carry_out(const EvacuationOrder& order);
    void answer(const EvacuationOrder& order, Outcome outcome);
    void carry_out_late();
    Outcome effect(const EvacuationOrder& order);
    Outcome evict();
    Outcome escalate();
    Outcome create_move();
    void call_hook();
    void check();
    void check_vain_move();
    void check_late_mark();
    void check_reserve(SteadyTime stop_by);
    void check_end();
    void check_closing() const;

    [[nodiscard]] bool reachable() const { return world_.api_up && leader_up_; }
    [[nodiscard]] SteadyTime end() const { return start + outlook_.budget.ends; }
    [[nodiscard]] SteadyTime stop_by() const { return end() - settings_.reserve; }
    [[nodiscard]] bool knows_no_end() const;
    [[nodiscard]] bool may_flip() const;
    [[nodiscard]] bool is_excused(SteadyTime before) const;

    StoryCounts& counts_;
    std::mt19937_64 random_;
    World world_;
    EvacuationSettings settings_;
    Outlook outlook_;
    milliseconds duration_{0};  ///< of a move that may use what it needs
    // Not all of it in each story: few would come to their end.
    bool modes_change_ = false;
    bool leaders_change_ = false;
    bool time_shrinks_ = false;
    bool stamp_sticks_ = false;
    bool leader_up_ = true;

    std::optional<Evacuation> machine_;
    std::optional<EvacuationOrder> order_;
    std::optional<EvacuationOrder> late_;  ///< was answered for as lost, and is done all the same
    SteadyTime late_at_{};
    bool late_is_known_ = false;  ///< to who gave it: it was not answered
    SteadyTime late_done_at_{};
    std::optional<SteadyTime> late_mark_at_;  ///< came of one that was given up or over
    Step last_step_ = Step::read_vmi;
    bool dry_run_said_so_ = false;  ///< that it would be marked, just before
    SteadyTime answer_at_{};
    SteadyTime up_since_{};
    SteadyTime heard_at_{};
    SteadyTime shortened_at_{};
    SteadyTime held_until_{};
    SteadyTime lost_at_{};
    std::optional<SteadyTime> given_up_at_;
    bool followed_ = true;  ///< by a mode in which something is held
    bool excused_ = false;  ///< something was begun after all was taken back
    bool was_listed_ = false;
    bool told_unfinished_ = false;
    bool perhaps_made_ = false;      ///< a migration, and nothing was listed since
    bool cancelled_ = false;         ///< the mark, and nobody has set it since
    unsigned marks_unanswered_ = 0;  ///< orders that set one: it may come after it was cancelled
    bool knows_deletion_ = false;
    bool marked_again_ = false;
    bool vetoed_ = false;
    unsigned touches_ = 0;     ///< that were answered
    bool makes_room_ = false;  ///< the mark was cancelled though it is to be moved
};

}  // namespace scout::migration
