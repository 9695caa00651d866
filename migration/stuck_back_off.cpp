// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "migration/stuck.h"

namespace scout::migration {

BackOff back_off(std::vector<StuckMoveFacts> moves) {
    std::erase_if(moves, [](const StuckMoveFacts& move) { return !move.backs_off; });
    std::stable_sort(moves.begin(), moves.end(), [](const auto& a, const auto& b) {
        return a.created != b.created ? a.created > b.created : a.failed_at > b.failed_at;
    });
    if (!moves.empty() && !moves.front().is_final()) {
        moves.erase(moves.begin());
    }
    BackOff out;
    for (const auto& move : moves) {
        if (move.phase == "Succeeded") {
            break;
        }
        if (move.phase == "Failed" && !move.deleting) {
            out.failure = out.failed == 0 ? move.failure : out.failure;
            ++out.failed;
        }
    }
    if (out.failed > 0 && moves.front().failed_at != WallTime{}) {
        out.next_try = moves.front().failed_at + evacuation_back_off(out.failed);
    }
    return out;
}

std::string tries_text(const BackOff& tries) {
    return std::to_string(tries.failed) + (tries.failed == 1 ? " failed try" : " failed tries") +
           (tries.failure.empty() ? std::string{} : ", the last one for: " + tries.failure);
}

}  // namespace scout::migration
