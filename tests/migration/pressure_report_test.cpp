// SPDX-License-Identifier: Apache-2.0
#include "migration/pressure_report.h"

#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

/// A quiet node of 16 GiB, of which half is left.
PressureReport quiet() {
    PressureReport report;
    PressureLine memory;
    memory.signal = PressureSignal::memory_available;
    memory.room = {.available = 8192 * mib, .capacity = 16384 * mib};
    memory.at = 100 * mib;
    report.lines = {memory};
    report.order = {{.signal = PressureSignal::memory_available,
                     .first = {{.vmi = "shop/a", .pod_uid = "1", .usage = {}, .vm_grace = {}},
                               {.vmi = "shop/b", .pod_uid = "2", .usage = {}, .vm_grace = {}}},
                     .others = 3}};
    report.graces = KubeletGraces{};
    return report;
}

PressureReport near() {
    auto report = quiet();
    report.lines.front().room->available = 400 * mib;
    report.lines.front().reached = {.in = 60s, .confidence = 0.9};
    report.lines.front().warned = true;
    return report;
}

TEST(PressureReportTest, SignalsWithoutASoftThresholdAreNamed) {
    std::vector<PressureLine> lines{
        {.signal = PressureSignal::memory_available},
        {.signal = PressureSignal::allocatable_memory_available},
        {.signal = PressureSignal::nodefs_available},
        {.signal = PressureSignal::nodefs_available, .soft_grace = 30s}};
    EXPECT_EQ(hard_alone(lines), std::vector{PressureSignal::memory_available});
    lines[1].room.emplace();
    EXPECT_EQ(hard_alone(lines), (std::vector{PressureSignal::memory_available,
                                              PressureSignal::allocatable_memory_available}));
    EXPECT_EQ(hard_alone({}), std::vector<PressureSignal>{});
}

struct Row {
    const char* what;
    std::function<void(PressureReport&)> change;
    std::chrono::milliseconds told_after;  ///< of the first ten minutes; max: not at all
};

constexpr auto never = std::chrono::milliseconds::max();

/// When a change that stays is told, if one looks each second.
std::chrono::milliseconds told_after(const PressureReport& told, const PressureReport& now) {
    for (std::chrono::milliseconds since = 0s; since <= 10min; since += 1s) {
        if (is_worth_telling(told, now, since)) {
            return since;
        }
    }
    return never;
}

TEST(PressureReportTest, OfAQuietNodeOnlyStepsAreTold) {
    const std::vector<Row> rows{
        {"nothing new", [](auto&) {}, never},
        {"a little less", [](auto& one) { one.lines[0].room->available -= 800 * mib; }, never},
        {"a twentieth less", [](auto& one) { one.lines[0].room->available -= 820 * mib; }, 10s},
        {"a twentieth more", [](auto& one) { one.lines[0].room->available += 820 * mib; }, 10s},
        {"more memory in all", [](auto& one) { one.lines[0].room->capacity += mib; }, 10s},
        {"could not be read", [](auto& one) { one.lines[0].room.reset(); }, 10s},
        {"a trend that nobody is warned of",
         [](auto& one) { one.lines[0].reached = {.in = 1h, .confidence = 0.5}; }, never},
        {"another threshold", [](auto& one) { one.lines[0].at += 1; }, 10s},
        {"one more threshold", [](auto& one) { one.lines.push_back(one.lines[0]); }, 10s},
        {"it became a soft one", [](auto& one) { one.lines[0].soft_grace = 30s; }, 10s},
        {"the kubelet was configured anew", [](auto& one) { one.graces->soft = 300s; }, 10s},
        {"something is not known", [](auto& one) { one.trouble = "no cgroup"; }, 10s},
        {"a guest asks for more time", [](auto& one) { one.short_guests = 1; }, 10s},
        {"another one would go first",
         [](auto& one) { std::swap(one.order[0].first[0], one.order[0].first[1]); }, 10min},
        {"it uses more", [](auto& one) { one.order[0].first[0].usage = mib; }, never},
        {"a warning began", [](auto& one) { one.lines[0].warned = true; }, 1s},
        {"a threshold was passed",
         [](auto& one) {
             one.lines[0].warned = true;
             one.lines[0].passed_for = 0s;
         },
         1s},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.what);
        auto now = quiet();
        row.change(now);
        EXPECT_EQ(told_after(quiet(), now), row.told_after);
    }
}

TEST(PressureReportTest, WhileAThresholdIsNearAllIsToldEveryTenSeconds) {
    EXPECT_TRUE(is_near(near()));
    EXPECT_FALSE(is_near(quiet()));
    EXPECT_EQ(told_after(near(), near()), never);
    auto nearer = near();
    nearer.lines[0].room->available -= 1;
    EXPECT_EQ(told_after(near(), nearer), 10s);
    auto busier = near();
    busier.order[0].first[0].usage = mib;
    EXPECT_EQ(told_after(near(), busier), 10s);
    EXPECT_EQ(told_after(near(), quiet()), 1s) << "that it is over";
}

TEST(PressureReportTest, AnHourOfNoiseIsAFewMessages) {
    auto told = quiet();
    auto at = 0s;
    unsigned messages = 0;
    for (auto now = 0s; now < 1h; now += 1s) {
        auto report = quiet();
        report.lines[0].room->available += static_cast<std::uint64_t>(now.count() % 7) * 50 * mib;
        report.order[0].first[0].usage = static_cast<std::uint64_t>(now.count());
        if (is_worth_telling(told, report, now - at)) {
            told = report;
            at = now;
            ++messages;
        }
    }
    EXPECT_EQ(messages, 0U);
}

TEST(PressureReportTest, WarningsThatBeganAreNamedOnce) {
    const auto before = quiet();
    const auto now = near();
    EXPECT_THAT(begun_warnings(nullptr, now), SizeIs(1));
    ASSERT_THAT(begun_warnings(&before, now), SizeIs(1));
    EXPECT_EQ(begun_warnings(&before, now).front(), &now.lines.front());
    EXPECT_THAT(begun_warnings(&now, now), IsEmpty());
    auto soft = near();
    soft.lines.push_back(soft.lines[0]);
    soft.lines[1].soft_grace = 30s;
    EXPECT_THAT(begun_warnings(&now, soft), SizeIs(1)) << "the soft one, the hard one was known";
    EXPECT_THAT(begun_warnings(&now, before), IsEmpty());
}

TEST(PressureReportTest, AThresholdIsToldWithAges) {
    ThresholdOutlook outlook;
    outlook.threshold.signal = PressureSignal::pid_available;
    outlook.threshold.soft_grace = 30s;
    outlook.room = {.available = 5, .capacity = 100};
    outlook.at = 10;
    outlook.passed_since = SteadyTime{20s};
    outlook.evicts_in = 3s;
    outlook.warned = true;

    const auto line = line_of(outlook, SteadyTime{47s});

    EXPECT_EQ(line.signal, PressureSignal::pid_available);
    EXPECT_EQ(line.soft_grace, 30s);
    EXPECT_EQ(line.passed_for, 27s);
    EXPECT_EQ(line.evicts_in, 3s);
    EXPECT_EQ(line.room, outlook.room);
    EXPECT_TRUE(line.warned);
    EXPECT_FALSE(line.reached);
}

}  // namespace
}  // namespace scout::migration
