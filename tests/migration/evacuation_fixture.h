// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "migration/evacuation.h"

namespace scout::migration {

inline void PrintTo(EvacuationState state, std::ostream* out) {
    *out << to_string(state);
}
inline void PrintTo(const EvacuationOrder& order, std::ostream* out) {
    *out << to_string(order.step) << ' ' << order.object;
}

/// A VMI that is to be moved.
inline VmiFacts movable() {
    return {.uid = "u",
            .deleting = false,
            .phase = "Running",
            .node = "n1",
            .marked_node = {},
            .strategy = EvictionStrategy::live_migrate,
            .migratable = true,
            .not_migratable = {}};
}

/// A default VM: 45 s until its launcher kills it, and so 32 s until a move must be taken back.
class EvacuationFixture : public testing::Test {
protected:
    static EvacuationSettings settings() {
        EvacuationSettings made;
        made.node = "n1";
        made.vmi_uid = "u";
        return made;
    }
    void use(EvacuationSettings other) { machine = Evacuation(std::move(other), now); }

    /// Its launcher kills it then, and a move needs five seconds.
    static Outlook killed_after(std::chrono::seconds ends) {
        return {.budget = {.ends = ends, .limit = StopLimit::launcher},
                .duration = std::chrono::seconds{5}};
    }
    static Outlook outlook() { return killed_after(std::chrono::seconds{45}); }
    /// The same, but a move takes so long; none: it does not end.
    static Outlook moved_in(std::optional<std::chrono::milliseconds> duration) {
        auto made = outlook();
        made.duration = duration;
        return made;
    }
    void mark(const Outlook& outlook = EvacuationFixture::outlook()) {
        machine.saw_outlook(outlook, now);
        machine.saw_launcher({.alive = true, .marked = true}, now);
    }
    void pass(std::chrono::milliseconds time) { now += time; }
    [[nodiscard]] std::optional<EvacuationOrder> next() { return machine.next(now); }
    /// The next order, which must be this one, ends so.
    void expect(EvacuationStep step, StepOutcome outcome, const std::string& object = {}) {
        const auto order = next();
        ASSERT_TRUE(order) << "expected " << to_string(step) << " in state "
                           << to_string(machine.state()) << ": " << machine.reason();
        EXPECT_EQ(*order, (EvacuationOrder{step, object}));
        machine.answered(*order, outcome, now);
    }
    void expect_read(std::optional<VmiFacts> facts) {
        const auto order = next();
        ASSERT_TRUE(order);
        ASSERT_EQ(order->step, EvacuationStep::read_vmi);
        machine.read_vmi(std::move(facts), now);
    }
    void expect_list(std::vector<MoveFacts> moves) {
        const auto order = next();
        ASSERT_TRUE(order);
        ASSERT_EQ(order->step, EvacuationStep::list_moves);
        machine.saw_moves(std::move(moves), now);
    }
    /// Held, asked for by an eviction, and KubeVirt's migration has begun.
    void on_its_way(MovePhase phase = MovePhase::scheduling) {
        mark();
        expect_read(movable());
        expect_list({});
        expect(EvacuationStep::dry_run, StepOutcome::done);
        expect(EvacuationStep::evict, StepOutcome::done);
        kubevirt_marks();
        moves({{.name = "k-1", .phase = phase, .target_pod = "p-1"}});
        ASSERT_EQ(machine.state(), EvacuationState::moving);
    }
    void kubevirt_marks() {
        auto marked = movable();
        marked.marked_node = "n1";
        machine.saw_vmi(marked, now);
    }
    /// Its launcher says so of itself.
    void migrating(bool is = true) {
        machine.saw_launcher({.alive = true, .marked = true, .migrating = is}, now);
    }
    void moves(std::vector<MoveFacts> all) { machine.saw_moves(std::move(all), now); }
    [[nodiscard]] bool vetoes() { return !machine.answer(now).allow; }

    SteadyTime now{std::chrono::hours{1}};
    Evacuation machine{settings(), now};
};

}  // namespace scout::migration
