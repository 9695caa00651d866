// SPDX-License-Identifier: Apache-2.0
#include "cluster/move_progress.h"

#include <algorithm>

#include "cluster/evacuation_facts.h"

namespace scout::cluster {
namespace {

/// What KubeVirt says of a migration that it does not begin, or has given up.
std::string trouble_in(const kube::Migration& move) {
    const auto found = std::find_if(
        move.conditions.begin(), move.conditions.end(), [](const kube::Condition& condition) {
            return condition.status == "True" && !condition.message.empty();
        });
    return found == move.conditions.end() ? std::string{} : found->message.str();
}

}  // namespace

MoveProgress move_progress(const kube::Migration& move, const kube::Vmi* vmi) {
    MoveProgress out{.phase = move.phase.empty()
                                  ? std::string{phase_word(migration::MovePhase::pending)}
                                  : move.phase.str(),
                     .target = {},
                     .mode = {},
                     .ended = move.is_final(),
                     .moved = move.phase == "Succeeded",
                     .node = {},
                     .trouble = trouble_in(move)};
    const auto* const state = vmi != nullptr && vmi->migration ? &*vmi->migration : nullptr;
    out.node = vmi != nullptr ? vmi->node.str() : std::string{};
    if (state == nullptr || state->uid != move.meta.uid) {
        out.ended = out.ended && !out.moved;  // one that was never handed off may fail
        return out;
    }
    out.target = state->target_node.str();
    out.mode = state->mode.str();
    if (!state->failure.empty()) {
        out.trouble = state->failure.str();
    }
    out.ended = out.ended && state->completed;
    return out;
}

}  // namespace scout::cluster
