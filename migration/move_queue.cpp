// SPDX-License-Identifier: Apache-2.0
#include "migration/move_queue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace scout::migration {
namespace {

using Work = double;  // milliseconds; sums of anything stay finite

constexpr Work no_cap = std::numeric_limits<Work>::infinity();

Work work_of(const QueuedMove& move) {
    return static_cast<Work>(std::max<std::int64_t>(0, move.duration.count()));
}

/// Of all the work, this one's own included, how much there may be: it begins after the others'
/// share, (all - own) / slots, and must end in time.
Work cap_of(const QueuedMove& move, Work slots) {
    return slots * (static_cast<Work>(move.left.count()) - work_of(move)) + work_of(move);
}

struct Newcomer {
    std::size_t index;
    Work work;
    Work cap;
};

/// The most newcomers, shortest first, whose work together stays below the cap of each.
std::vector<std::size_t> most_below(const std::vector<Newcomer>& by_work, Work before, Work cap) {
    std::vector<std::size_t> taken;
    Work all = before;
    for (const auto& one : by_work) {
        if (one.cap >= cap && all + one.work <= cap) {
            all += one.work;
            taken.push_back(one.index);
        }
    }
    return taken;
}

}  // namespace

std::vector<bool> moves_that_fit(const std::vector<QueuedMove>& moves, const MoveSlots& slots) {
    const auto at_once = static_cast<Work>(std::max(1U, slots.at_once));
    std::vector<bool> fits(moves.size());
    std::vector<Newcomer> newcomers;
    Work before = static_cast<Work>(std::max<std::int64_t>(0, slots.running.count()));
    for (std::size_t i = 0; i < moves.size(); ++i) {
        fits[i] = moves[i].held;
        if (moves[i].held) {
            before += work_of(moves[i]);
        } else {
            newcomers.push_back({i, work_of(moves[i]), cap_of(moves[i], at_once)});
        }
    }
    Work held_cap = no_cap;
    for (const auto& move : moves) {
        // One that is late already does not keep others from being moved.
        if (move.held && cap_of(move, at_once) >= before) {
            held_cap = std::min(held_cap, cap_of(move, at_once));
        }
    }
    std::sort(newcomers.begin(), newcomers.end(),
              [](const auto& a, const auto& b) { return a.work < b.work; });
    std::vector<std::size_t> best;
    for (const auto& one : newcomers) {
        auto taken = most_below(newcomers, before, std::min(one.cap, held_cap));
        if (taken.size() > best.size()) {
            best = std::move(taken);
        }
    }
    for (const auto index : best) {
        fits[index] = true;
    }
    return fits;
}

}  // namespace scout::migration
