// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "migration/evacuation.h"

namespace scout::migration {

using std::chrono::milliseconds;
using Outcome = StepOutcome;

inline constexpr milliseconds tick{100};
inline const SteadyTime start{std::chrono::hours{10}};

struct Move {
    MoveFacts facts;
    SteadyTime born;
    SteadyTime next_phase;
    SteadyTime handed_off{};            ///< when it left Scheduling
    std::optional<SteadyTime> aborted;  ///< when an abort that was asked for is through
    bool asked_to_end = false;
    bool unseen = false;       ///< its object is gone, and the launcher not yet through
    bool with_policy = false;  ///< a policy of its own was there when it was handed off
};

/// KubeVirt, the launcher and the API server.
struct World {
    explicit World(std::mt19937_64& source) : random(source) {}

    [[nodiscard]] std::uint64_t dice(std::uint64_t sides) { return random() % sides; }
    [[nodiscard]] Move* unfinished() {
        const auto found = std::find_if(moves.begin(), moves.end(),
                                        [](const auto& move) { return !move.facts.is_final(); });
        return found != moves.end() ? &*found : nullptr;
    }
    [[nodiscard]] std::vector<MoveFacts> listed() const {
        std::vector<MoveFacts> all;
        for (const auto& move : moves) {
            if (!move.unseen) {
                all.push_back(move.facts);
            }
        }
        return all;
    }
    /// What the launcher says of it.
    [[nodiscard]] bool migrating() {
        const auto* const move = unfinished();
        return move != nullptr && move->facts.phase == MovePhase::running;
    }
    void abort(Move& move) {
        if (!move.aborted) {
            move.aborted = now + abort_takes;
            move.unseen = dice(4) == 0;
        }
    }
    void add_move(const char* prefix) {
        const auto name = prefix + std::to_string(++named);
        moves.push_back({.facts = {.name = name, .target_pod = "pod-" + name},
                         .born = now,
                         .next_phase = now + milliseconds{dice(3000)},
                         .aborted = {}});
    }
    /// KubeVirt's own is there at once, and waits in Pending.
    void add_evacuation() {
        add_move("k-");
        moves.back().facts.backs_off = true;
        moves.back().next_phase = std::max(moves.back().next_phase, next_try);
    }
    void fail_move(Move& move) {
        move.facts.phase = MovePhase::failed;
        post_copy = false;
        if (move.facts.backs_off) {
            next_try = now + std::chrono::seconds{20} * (1U << failures++);
        }
    }

    void pass() {
        now += tick;
        if (vmi.marked_node == vmi.node && vmi.strategy != EvictionStrategy::external &&
            vmi.migratable && !vmi.deleting && unfinished() == nullptr) {
            add_evacuation();
        }
        auto* const move = unfinished();
        if (move == nullptr) {
            return;
        }
        if (move->aborted && now >= *move->aborted && !post_copy) {
            fail_move(*move);
        } else if (now >= move->next_phase && !stuck && (!move->aborted || post_copy)) {
            go_on(*move);
        }
    }
    void go_on(Move& move) {
        if (handler_stops && move.facts.phase < MovePhase::running) {
            return;
        }
        move.next_phase = now + milliseconds{dice(3000)};
        if (dice(12) == 0 && !post_copy) {
            fail_move(move);
        } else if (move.facts.phase != MovePhase::running) {
            move.facts.phase = static_cast<MovePhase>(static_cast<int>(move.facts.phase) + 1);
            if (move.facts.phase == MovePhase::prepared) {
                move.handed_off = now;
                move.with_policy = policy;
            }
            if (move.asked_to_end && move.facts.phase == MovePhase::running) {
                abort(move);
            }
        } else if (endless || (needs_policy && !move.with_policy)) {
            return;
        } else if (dice(4) == 0) {
            post_copy = true;
        } else {
            move.facts.phase = MovePhase::succeeded;
            vmi.node = "n2";
            vmi.marked_node.clear();
            post_copy = false;
        }
    }

    [[nodiscard]] EvictionOutcome eviction() const {
        return pod_failed ? EvictionOutcome::evicted
                          : eviction_outcome(vmi.strategy, vmi.migratable);
    }
    Outcome delete_move(const std::string& name) {
        const auto at = std::find_if(moves.begin(), moves.end(),
                                     [&](const auto& one) { return one.facts.name == name; });
        if (at == moves.end() || at->facts.is_final()) {
            return Outcome::done;
        }
        at->asked_to_end = true;
        if (at->facts.phase <= MovePhase::scheduling) {
            moves.erase(at);
        } else if (at->facts.phase == MovePhase::running) {
            abort(*at);
        }
        return Outcome::done;
    }
    Outcome delete_target(const std::string& pod) {
        for (auto& move : moves) {
            if (move.facts.target_pod == pod && move.facts.phase == MovePhase::prepared) {
                move.asked_to_end = true;
                move.aborted = now + milliseconds{500};
            }
        }
        return Outcome::done;
    }
    Outcome create_move(const char* prefix) {
        if (unfinished() != nullptr || !vmi.migratable || !exists) {
            return Outcome::refused;
        }
        add_move(prefix);
        return Outcome::done;
    }

    std::mt19937_64& random;
    SteadyTime now = start;
    bool exists = true;
    bool api_up = true;
    bool stuck = false;
    bool pod_failed = false;
    bool post_copy = false;
    bool endless = false;        ///< the guest writes faster than is copied
    bool drained = false;        ///< the node has KubeVirt's drain taint: marks stay
    bool handler_stops = false;  ///< with its node: what has not begun does not begin
    bool needs_policy = false;   ///< without one of its own its move does not end
    bool policy = false;
    milliseconds abort_takes{0};
    VmiFacts vmi;
    std::vector<Move> moves;
    SteadyTime next_try = start;
    unsigned failures = 0;
    unsigned named = 0;
};

}  // namespace scout::migration
