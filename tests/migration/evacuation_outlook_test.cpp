// SPDX-License-Identifier: Apache-2.0
#include "migration/evacuation_outlook.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
constexpr MoveAssumptions gigabyte_a_second{.bandwidth = 1'000'000'000, .setup = 2s};

MoveSubject guest_of(std::uint64_t memory) {
    return {.memory = memory};
}

struct Row {
    const char* what;
    std::function<void(MoveSubject&)> change;
    std::optional<std::chrono::milliseconds> duration;
};

TEST(EvacuationOutlookTest, AbortingTakesWhatIsKnownOfTheGuestAndItsNode) {
    auto subject = guest_of(100 * gib);
    EXPECT_EQ(outlook_of(subject, {}).abort_time, 3720ms);
    subject.abort.emulated = true;
    EXPECT_EQ(outlook_of(subject, {}).abort_time, 12720ms);
    subject.abort.seen = 16s;
    EXPECT_EQ(outlook_of(subject, {}).abort_time, 20s);
}

/// A guest that writes as fast as it is copied.
MoveSubject busy_guest() {
    auto subject = guest_of(2 * gib);
    subject.resident = 2 * gib;
    subject.dirty_rate = 2'000'000'000;
    subject.escalation = Escalation::pause;
    subject.left = 30s;
    return subject;
}

TEST(EvacuationOutlookTest, EscalatedIsWhatDoesNotEndInTimeAndWouldWithIt) {
    struct Case {
        const char* what;
        std::function<void(MoveSubject&)> change;
        bool escalated;
    };
    const std::vector<Case> cases{
        {"as it is", [](auto&) {}, true},
        {"not wanted", [](auto& one) { one.escalation = Escalation::none; }, false},
        {"it ends by itself", [](auto& one) { one.dirty_rate = 0; }, false},
        {"it ends by itself, too late",
         [](auto& one) {
             one.dirty_rate = 0;
             one.settings.bandwidth = Quantity{std::uint64_t{32} << 20U};
         },
         false},
        {"not even with it", [](auto& one) { one.left = 3s; }, false},
        {"nobody knows until when", [](auto& one) { one.left.reset(); }, false},
        {"it runs already", [](auto& one) { one.running = 1s; }, false},
        {"handed off", [](auto& one) { one.handed_off = true; }, false},
        {"its policy is there", [](auto& one) { one.escalated = true; }, false},
        {"by post-copy", [](auto& one) { one.escalation = Escalation::post_copy; }, true},
        {"by post-copy with a device of its host",
         [](auto& one) {
             one.escalation = Escalation::post_copy;
             one.tied = true;
         },
         false},
    };
    for (const auto& one : cases) {
        auto subject = busy_guest();
        one.change(subject);
        EXPECT_EQ(outlook_of(subject, gigabyte_a_second).escalated.has_value(), one.escalated)
            << one.what;
    }
}

/// In post-copy it can not be aborted, and is lost with its node.
TEST(EvacuationOutlookTest, OneThatWeLetSwitchOverIsJudgedByTheWorstUntilItHas) {
    auto subject = busy_guest();
    subject.settings = escalated({}, Escalation::post_copy, 1s);
    const auto hopeful = outlook_of(subject, gigabyte_a_second).duration;
    subject.escalated = true;
    const auto careful = outlook_of(subject, gigabyte_a_second).duration;
    ASSERT_TRUE(hopeful && careful);
    EXPECT_GT(*careful, *hopeful + 10s);
    EXPECT_GE(*careful, std::chrono::seconds{2 * gib / careful_bandwidth});

    subject.running = 3s;
    subject.remaining = std::uint64_t{1} << 20U;
    EXPECT_EQ(outlook_of(subject, gigabyte_a_second).duration,
              *careful - gigabyte_a_second.setup - 3s);
    subject.settings.allow_post_copy = false;
    EXPECT_LT(*outlook_of(subject, gigabyte_a_second).duration, 1s);
}

const std::vector<Row> durations{
    {"nothing known but its size", [](auto&) {}, 2s},
    {"all of it in use", [](auto& one) { one.resident = 8'000'000'000; }, 10s},
    {"QEMU's own memory is not copied", [](auto& one) { one.resident = 64 * gib; }, 10590ms},
    {"limited by a policy",
     [](auto& one) {
         one.resident = 1'048'576'000;
         one.settings.bandwidth = Quantity{104'857'600};
     },
     12s},
    {"written faster than copied",
     [](auto& one) {
         one.resident = 8'000'000'000;
         one.dirty_rate = 2'000'000'000;
     },
     std::nullopt},
    {"the same, switched to post-copy",
     [](auto& one) {
         one.resident = 8'000'000'000;
         one.dirty_rate = 2'000'000'000;
         one.settings.allow_post_copy = one.settings.allow_workload_disruption = true;
         one.settings.completion_per_gib = 1s;
     },
     19s},  // 2 s until it begins, 9 s until the switch, and then all of it once more
    {"running for three seconds",
     [](auto& one) {
         one.resident = 8'000'000'000;
         one.running = 3s;
     },
     5s},
    {"running longer than thought",
     [](auto& one) {
         one.resident = 8'000'000'000;
         one.running = 60s;
     },
     0s},
    {"running, and QEMU says what remains",
     [](auto& one) {
         one.resident = 8'000'000'000;
         one.running = 60s;
         one.remaining = 3'000'000'000;
     },
     3s},
    {"running, and it was seen how fast",
     [](auto& one) {
         one.resident = 8'000'000'000;
         one.running = 60s;
         one.remaining = 3'000'000'000;
         one.copy_speed = 100'000'000;
     },
     15s},
    {"the same, and it writes as fast as it is copied",
     [](auto& one) {
         one.resident = 8'000'000'000;
         one.running = 60s;
         one.remaining = 3'000'000'000;
         one.copy_speed = 100'000'000;
         one.dirty_rate = 100'000'000;
     },
     15s},
    {"running, and faster than was thought",
     [](auto& one) {
         one.resident = 8'000'000'000;
         one.running = 60s;
         one.remaining = 3'000'000'000;
         one.copy_speed = 3'000'000'000;
     },
     1s},
    {"running, and most of what remains was never touched",
     [](auto& one) {
         one.resident = 2'000'000'000;
         one.running = 1s;
         one.remaining = 8'000'000'000;
     },
     2s},
    {"running, and disks are copied along",
     [](auto& one) {
         one.resident = 2'000'000'000;
         one.running = 1s;
         one.remaining = 20'000'000'000;
     },
     20s},
    {"running, and what is left of its disks is part of that",
     [](auto& one) {
         one.resident = 2'000'000'000;
         one.disks.bytes.least = 30'000'000'000;
         one.running = 1s;
         one.remaining = 20'000'000'000;
     },
     20s},
    {"its disks hold as much as it has",
     [](auto& one) {
         one.resident = 8'000'000'000;
         one.disks.bytes.least = 8'000'000'000;
     },
     18s},
    {"nothing is known to be in use of its disks",
     [](auto& one) {
         one.resident = 8'000'000'000;
         one.disks.bytes.most = one.disks.bytes.likely = 100 * gib;
     },
     10s},
    {"what remains is of another migration",
     [](auto& one) {
         one.resident = 8'000'000'000;
         one.remaining = 3'000'000'000;
     },
     10s},
};

TEST(EvacuationOutlookTest, DurationIsTheBestThatIsPossible) {
    for (const auto& row : durations) {
        SCOPED_TRACE(row.what);
        auto subject = guest_of(8 * gib);
        row.change(subject);
        const auto outlook = outlook_of(subject, gigabyte_a_second);
        ASSERT_EQ(outlook.duration.has_value(), row.duration.has_value());
        if (row.duration) {
            EXPECT_NEAR(static_cast<double>(outlook.duration->count()),
                        static_cast<double>(row.duration->count()), 20);
        }
    }
}

TEST(EvacuationOutlookTest, BudgetIsThatOfTheFirstWhoKills) {
    auto subject = guest_of(gib);
    EXPECT_EQ(outlook_of(subject, {}).budget, (StopBudget{45s, StopLimit::launcher}));
    subject.times.deletion_grace = 5s;
    EXPECT_EQ(outlook_of(subject, {}).budget, (StopBudget{5s, StopLimit::deletion}));
    subject.pod_failed = true;
    EXPECT_TRUE(outlook_of(subject, {}).pod_failed);
    EXPECT_FALSE(outlook_of(subject, {}).liveness_kill);
    subject.liveness_kill = true;
    EXPECT_TRUE(outlook_of(subject, {}).liveness_kill);
}

TEST(EvacuationOutlookTest, ThoseThatFitAreQueuedInTime) {
    const auto one = [](auto duration) { return MoveCandidate{.duration = duration, .left = 32s}; };
    EXPECT_THAT(queued_in_time({one(10s), one(10s), one(30s), one(10s)}, 2),
                ElementsAre(true, true, false, true));
    EXPECT_THAT(queued_in_time({}, 2), ElementsAre());
}

TEST(EvacuationOutlookTest, WhatIsNotWantedTakesNoPlaceAndWhatRunsTakesItsRest) {
    auto unwanted = MoveCandidate{.duration = 30s, .left = 32s, .wanted = false};
    auto wanted = MoveCandidate{.duration = 20s, .left = 32s};
    EXPECT_THAT(queued_in_time({unwanted, unwanted, unwanted, wanted}, 1),
                ElementsAre(true, true, true, true));

    auto running = MoveCandidate{.duration = 20s, .left = 30s, .begun = true, .running = true};
    EXPECT_THAT(queued_in_time({running, wanted}, 1), ElementsAre(true, false));
    running.duration = 5s;
    EXPECT_THAT(queued_in_time({running, wanted}, 1), ElementsAre(true, true));
}

TEST(EvacuationOutlookTest, WhatIsBegunStays) {
    const auto begun = MoveCandidate{.duration = 30s, .left = 32s, .begun = true};
    const auto shorter = MoveCandidate{.duration = 10s, .left = 32s};
    EXPECT_THAT(queued_in_time({begun, shorter}, 1), ElementsAre(true, false));
}

}  // namespace
}  // namespace scout::migration
