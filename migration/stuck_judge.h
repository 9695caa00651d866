// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "migration/stuck.h"

/// Of stuck.cpp and stuck_marks.cpp alone.
namespace scout::migration {

[[nodiscard]] inline std::optional<WallTime> known(WallTime time) {
    return time == WallTime{} ? std::nullopt : std::optional{time};
}

/// Pending, or not seen by KubeVirt yet.
[[nodiscard]] bool is_waiting(const StuckMoveFacts& move);

/// The youngest VMIM that has not ended; admission lets there be one. Or null.
[[nodiscard]] const StuckMoveFacts* unfinished(const std::vector<StuckMoveFacts>& moves);

/// One VM, and the answer as it grows.
class StuckJudge {
public:
    StuckJudge(const StuckVmFacts& vm, const StuckSurroundings& around,
               const StuckPatience& patience)
        : vm_(vm), around_(around), patience_(patience), move_(unfinished(vm.moves)) {
        answer_.vmi = vm.vmi;
        answer_.node = vm.node;
        answer_.mark = vm.mark;
        answer_.cancel = cancel();
        if (move_ != nullptr) {
            answer_.move = move_->name;
            answer_.phase = move_->phase;
        }
    }

    [[nodiscard]] std::optional<StuckAnswer> judge();

private:
    [[nodiscard]] CancelOutlook cancel() const;
    [[nodiscard]] bool judge_deletion();
    [[nodiscard]] bool judge_synchronizing();
    [[nodiscard]] bool judge_waiting();
    [[nodiscard]] bool judge_target();
    [[nodiscard]] bool judge_queue();
    [[nodiscard]] bool judge_waiting_here();
    [[nodiscard]] bool judge_pod();
    [[nodiscard]] bool judge_handed_off();
    [[nodiscard]] std::string handler_waited_for(bool preparing) const;
    void judge_mark();
    void judge_moveless_mark();
    void judge_stale_mark();
    [[nodiscard]] bool lasts(WallTime since, std::chrono::seconds limit) const {
        return since == WallTime{} || around_.now >= since + limit;
    }
    [[nodiscard]] WallTime waits_since() const {
        return move_->since == WallTime{} ? move_->created : move_->since;
    }
    bool set(StuckState state, std::string waiting_for, std::string advice) {
        answer_.state = state;
        answer_.waiting_for = std::move(waiting_for);
        answer_.advice = std::move(advice);
        return true;
    }
    [[nodiscard]] std::string advice_for_moved() const {
        return answer_.cancel.possible
                   ? "cancel the mark: back on " + vm_.mark + " it would be moved away again"
                   : "while it is elsewhere KubeVirt answers every eviction of it as if it were "
                     "moved, "
                     "and moves nothing: migrate it by hand where it has to go";
    }
    [[nodiscard]] std::string advice_to_cancel(const std::string& otherwise) const {
        return answer_.cancel.possible ? "if it shall stay: cancel the mark" : otherwise;
    }
    [[nodiscard]] std::string advice_for_tries() const {
        return "see why they fail: scoutctl where " + vm_.vmi + ", scoutctl why " + vm_.vmi +
               (answer_.cancel.possible ? "; " + advice_to_cancel({}) : std::string{});
    }
    [[nodiscard]] std::string advice_for_left() const {
        return "delete the launcher pod that is left of an earlier migration; never the one on "
               "node " +
               vm_.node +
               ", nor one whose label kubevirt.io/migrationJobUID is the uid of a VMIM that has "
               "not ended";
    }

    const StuckVmFacts& vm_;
    const StuckSurroundings& around_;
    const StuckPatience& patience_;
    const StuckMoveFacts* move_;
    BackOff tries_;
    StuckAnswer answer_;
};

}  // namespace scout::migration
