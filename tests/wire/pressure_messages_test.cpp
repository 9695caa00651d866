// SPDX-License-Identifier: Apache-2.0
#include "wire/pressure_messages.h"

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "wire/checks.h"

namespace scout::wire {
namespace {

namespace v1 = virt_scout::v1;
using migration::PressureReport;
using migration::PressureSignal;
using testing::HasSubstr;
using testing::SizeIs;
using namespace std::chrono_literals;

PressureReport full_report() {
    PressureReport report;
    report.lines = {{.signal = PressureSignal::memory_available,
                     .soft_grace = 30s,
                     .room = {{.available = 5, .capacity = 10}},
                     .at = 3,
                     .reached = {{.in = 20s, .confidence = 0.5, .pace = 1.5}},
                     .passed_for = 4s,
                     .evicts_in = 26s,
                     .warned = true},
                    {.signal = PressureSignal::nodefs_inodes_free,
                     .soft_grace = {},
                     .room = {},
                     .reached = {},
                     .passed_for = {},
                     .evicts_in = {}}};
    report.order = {
        {.signal = PressureSignal::pid_available,
         .first = {{.vmi = "shop/web",
                    .pod_uid = "u1",
                    .usage = 7,
                    .request = 0,
                    .priority = -2,
                    .vm_grace = 120s},
                   {.vmi = "", .pod_uid = "u2", .usage = {}, .vm_grace = {}}},
         .others = 9},
        {.signal = PressureSignal::nodefs_available,
         .first = {{.vmi = "shop/web", .pod_uid = "u1", .usage = 7, .request = 2, .vm_grace = {}}}},
        {.signal = PressureSignal::imagefs_inodes_free, .first = {}}};
    report.graces = migration::KubeletGraces{.soft = 300s,
                                             .shutdown = {},
                                             .handler_stops = true,
                                             .hard_alone = migration::hard_alone(report.lines)};
    report.short_guests = 2;
    report.longest_wanted = 120s;
    report.trouble = "no cgroup";
    return report;
}

TEST(PressureMessagesTest, EverythingComesAcross) {
    for (const auto& report : {full_report(), PressureReport{}}) {
        const auto back = from_wire(to_wire(report));
        ASSERT_TRUE(back) << back.error().message;
        EXPECT_EQ(*back, report);
    }
}

TEST(PressureMessagesTest, WhatIsToldIsAlwaysTaken) {
    auto report = full_report();
    report.lines.resize(100, report.lines.front());
    report.order.resize(9, report.order.front());
    report.order.front().first.resize(200, report.order.front().first.front());
    report.order.front().first.front().vmi = std::string(5000, 'x');
    report.order.front().first.front().pod_uid = "\xff\xfe";
    report.trouble = std::string(100'000, '\xc3');
    report.longest_wanted = std::chrono::seconds::max();

    const auto back = from_wire(to_wire(report));

    ASSERT_TRUE(back) << back.error().message;
    EXPECT_THAT(back->lines, SizeIs(migration::most_lines));
    EXPECT_THAT(back->order.front().first, SizeIs(migration::told_near));
    EXPECT_EQ(back->order.front().others, 9U + 150U);
    EXPECT_LT(to_wire(*back).ByteSizeLong(), 64U << 10U);
}

TEST(PressureMessagesTest, HostileMessagesAreRefusedInWords) {
    const std::vector<std::pair<std::function<void(v1::NodePressure&)>, std::string>> refused{
        {[](auto& message) {
             for (int i = 0; i < 19; ++i) {
                 message.add_thresholds()->set_signal("memory.available");
             }
         },
         "thresholds"},
        {[](auto& message) {
             for (int i = 0; i < 3; ++i) {
                 message.add_order()->set_signal("memory.available");
             }
         },
         "order"},
        {[](auto& message) {
             for (int i = 0; i < 5; ++i) {
                 message.add_filesystem_order()->set_signal("nodefs.available");
             }
         },
         "filesystem_order"},
        {[](auto& message) {
             auto& order = *message.add_order();
             order.set_signal("memory.available");
             for (std::size_t i = 0; i <= migration::told_near; ++i) {
                 order.add_first();
             }
         },
         "order.first"},
        {[](auto& message) { message.add_thresholds()->set_signal("luck"); }, "thresholds.signal"},
        {[](auto& message) { message.add_order()->set_signal(""); }, "order.signal"}};
    for (const auto& [change, field] : refused) {
        v1::NodePressure message;
        change(message);
        const auto taken = from_wire(message);
        ASSERT_FALSE(taken) << field;
        EXPECT_EQ(taken.error().code, Errc::invalid);
        EXPECT_THAT(taken.error().message, HasSubstr(field));
    }
}

TEST(PressureMessagesTest, HugeNumbersAndTextsAreBounded) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    v1::NodePressure huge;
    auto& line = *huge.add_thresholds();
    line.set_signal("memory.available");
    line.set_reached_in_ms(most);
    line.set_passed_for_ms(most);
    line.set_evicts_in_ms(most);
    line.set_soft_grace_ms(most);
    line.set_confidence(std::numeric_limits<double>::quiet_NaN());
    line.set_pace(std::numeric_limits<double>::infinity());
    huge.set_kubelet_known(true);
    huge.set_soft_grace_seconds(most);
    huge.set_shutdown_grace_seconds(most);
    huge.set_longest_wanted_seconds(most);
    huge.set_trouble(std::string(1U << 20U, 'x'));
    const auto taken = from_wire(huge);
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_GT(taken->lines.front().reached->in, 0s);
    EXPECT_EQ(taken->lines.front().reached->confidence, 0.0);
    EXPECT_FALSE(taken->lines.front().reached->pace);
    EXPECT_GT(taken->graces->soft.value() + taken->longest_wanted, 0s);
    EXPECT_LE(taken->trouble.size(), 5000U);
}

/// An aggregator of before takes no more than two orders, an agent of before tells no request of 0.
TEST(PressureMessagesTest, OtherVersionsAreUnderstood) {
    const auto message = to_wire(full_report());
    EXPECT_EQ(message.order_size(), 1);
    EXPECT_EQ(message.filesystem_order_size(), 2);

    v1::NodePressure old;
    auto& order = *old.add_order();
    order.set_signal("memory.available");
    order.add_first()->set_pod_uid("u");
    const auto taken = from_wire(old);
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_FALSE(taken->order.front().first.front().request);
    EXPECT_FALSE(taken->order.front().first.front().priority);
}

TEST(LauncherStandingsTest, ComeAcross) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    const migration::PodStandings standings{
        {"u1", {.priority = -5, .memory_request = most, .storage_request = 1}}, {"u2", {}}};
    EXPECT_EQ(from_wire(to_wire(standings)), standings);
    EXPECT_EQ(from_wire(to_wire(migration::PodStandings{})), migration::PodStandings{});
}

TEST(LauncherStandingsTest, AreBounded) {
    migration::PodStandings many;
    v1::LauncherStandings hostile;
    for (std::size_t i = 0; i < 3 * most_standings; ++i) {
        many[std::to_string(i)] = {};
        hostile.add_launchers()->set_pod_uid(std::to_string(i) + std::string(10'000, 'x'));
    }
    EXPECT_EQ(to_wire(many).launchers_size(), static_cast<int>(most_standings));
    const auto taken = from_wire(hostile);
    EXPECT_THAT(taken, SizeIs(most_standings));
    EXPECT_LE(taken.begin()->first.size(), name_limit);
}

}  // namespace
}  // namespace scout::wire
