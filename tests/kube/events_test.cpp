// SPDX-License-Identifier: Apache-2.0
#include "kube/events.h"

#include <deque>
#include <set>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/task_scope.h"
#include "kube/event_client.h"
#include "kube/event_recorder.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"

namespace scout::test {
namespace {

using kube::EventNote;
using kube::EventSeries;
using kube::EventWrite;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using namespace std::chrono_literals;

constexpr WallTime wall{std::chrono::hours{24 * 365 * 55}};
constexpr SteadyTime start{1000h};

EventNote note(std::string name, std::string text = "no target") {
    return {.regarding = {.api_version = "v1", .kind = "Node", .name = std::move(name)},
            .warning = true,
            .reason = "NoTarget",
            .action = "Checking",
            .note = std::move(text)};
}

TEST(EventSeriesTest, TheFirstIsAnEventTheSecondASeriesAndMoreOnlyCount) {
    EventSeries series;

    const auto first = series.take(note("n1"), start, wall);
    const auto second = series.take(note("n1"), start + 1s, wall + 1s);
    const auto third = series.take(note("n1"), start + 2s, wall + 2s);

    ASSERT_TRUE(first);
    EXPECT_EQ(first->verb, EventWrite::Verb::create);
    EXPECT_EQ(first->record.count, 1);
    EXPECT_EQ(first->record.space, "default");
    EXPECT_TRUE(first->record.name.starts_with("n1."));
    ASSERT_TRUE(second);
    EXPECT_EQ(second->verb, EventWrite::Verb::update);
    EXPECT_EQ(second->record.count, 2);
    EXPECT_EQ(second->record.name, first->record.name);
    EXPECT_EQ(second->record.last, wall + 1s);
    EXPECT_FALSE(third);
}

TEST(EventSeriesTest, ALongSeriesIsWrittenAgainNowAndThen) {
    EventSeries series;
    for (auto time = 0s; time <= 30min; time += 60s) {
        static_cast<void>(series.take(note("n1"), start + time, wall + time));
        EXPECT_THAT(series.due(start + time), IsEmpty());
    }

    const auto writes = series.due(start + 31min);

    ASSERT_THAT(writes, SizeIs(1));
    EXPECT_EQ(writes[0].record.count, 31);
    EXPECT_THAT(series.due(start + 32min), IsEmpty());
}

TEST(EventSeriesTest, ASeriesThatEndedIsWrittenOnceMoreAndForgotten) {
    EventSeries series;
    for (int time = 0; time < 3; ++time) {
        static_cast<void>(series.take(note("n1"), start, wall));
    }
    static_cast<void>(series.take(note("n2"), start, wall));

    const auto writes = series.due(start + 6min);

    ASSERT_THAT(writes, SizeIs(1));
    EXPECT_EQ(writes[0].record.count, 3);
    EXPECT_EQ(series.size(), 0U);
    const auto anew = series.take(note("n1"), start + 7min, wall);
    ASSERT_TRUE(anew);
    EXPECT_EQ(anew->verb, EventWrite::Verb::create);
}

TEST(EventSeriesTest, TellsAboutOneObjectAtARate) {
    EventSeries series;
    int told = 0;
    for (int time = 0; time < 100; ++time) {
        told += series.take(note("n1", std::to_string(time)), start, wall) ? 1 : 0;
    }

    EXPECT_EQ(told, 25);
    EXPECT_EQ(series.dropped(), 75U);
    EXPECT_TRUE(series.take(note("n2"), start, wall));
    EXPECT_FALSE(series.take(note("n1", "x"), start + 4min, wall));
    EXPECT_TRUE(series.take(note("n1", "x"), start + 5min, wall));
}

TEST(EventSeriesTest, MemoryIsBounded) {
    EventSeries series({.series = 10, .sources = 10});
    for (int time = 0; time < 1000; ++time) {
        EXPECT_TRUE(series.take(note("n" + std::to_string(time)), start, wall));
        EXPECT_LE(series.size(), 10U);
    }
}

TEST(EventSeriesTest, CutsWhatTheServerWouldRefuseAndNamesEachEventItsOwn) {
    EventSeries series;
    std::set<std::string> names;
    for (int time = 0; time < 20; ++time) {
        // 600 characters of two bytes, and a name that leaves no room.
        std::string text = std::to_string(time) + "x";
        for (int letter = 0; letter < 600; ++letter) {
            text += "ü";
        }
        const auto write = series.take(note(std::string(253, 'n'), text), start, wall);
        ASSERT_TRUE(write);
        EXPECT_LE(write->record.note.note.size(), 1024U);
        EXPECT_GE(write->record.note.note.size(), 1023U);
        EXPECT_EQ(static_cast<unsigned char>(write->record.note.note.back()), 0xbcU);
        EXPECT_LE(write->record.name.size(), 253U);
        names.insert(write->record.name);
    }
    EXPECT_EQ(names.size(), 20U);
}

TEST(EventJsonTest, IsAnEventOfTheNewApi) {
    const kube::EventRecord record{
        .space = "default", .name = "n1.1", .note = note("n1"), .time = WallTime{1500ms}};

    const auto text = kube::event_json(record, {.instance = "pod-1"});

    EXPECT_THAT(text, HasSubstr(R"("apiVersion":"events.k8s.io/v1")"));
    EXPECT_THAT(text, HasSubstr(R"("eventTime":"1970-01-01T00:00:01.500000Z")"));
    EXPECT_THAT(text, HasSubstr(R"("type":"Warning")"));
    EXPECT_THAT(text, HasSubstr(R"("regarding":{"apiVersion":"v1","kind":"Node","name":"n1"})"));
    EXPECT_THAT(text, Not(HasSubstr("series")));
    auto series = record;
    series.count = 4;
    series.last = WallTime{3s};
    EXPECT_EQ(kube::series_patch(series),
              R"({"series":{"count":4,"lastObservedTime":"1970-01-01T00:00:03.000000Z"}})");
    EXPECT_THAT(kube::event_json(series, {}), HasSubstr(R"("series":{"count":4)"));
}

/// Answers from a script; without one, all is well.
class ScriptedEvents final : public kube::EventPort {
public:
    std::vector<std::string> calls;
    std::deque<Errc> failures;
    std::function<void()> at_call = [] {};

    Task<Status> create(kube::EventRecord record) override {
        co_return answer("create " + record.note.regarding.name + " " +
                         std::to_string(record.count));
    }
    Task<Status> update(kube::EventRecord record) override {
        co_return answer("update " + record.note.regarding.name + " " +
                         std::to_string(record.count));
    }

private:
    Status answer(std::string call) {
        calls.push_back(std::move(call));
        at_call();
        if (failures.empty()) {
            return {};
        }
        const auto code = failures.front();
        failures.pop_front();
        return fail(code, "as scripted");
    }
};

class EventRecorderTest : public ::testing::Test {
protected:
    /// Runs the recorder until so many calls were made.
    void run_for_calls(std::size_t calls) {
        port.at_call = [this, calls] {
            if (port.calls.size() == calls) {
                asio::post(loop, [this] {
                    asio::co_spawn(loop, scope.close(), [](const std::exception_ptr&) {});
                });
            }
        };
        scope.spawn("events", [this] { return recorder.run(); });
        loop.run();
    }

    asio::io_context loop;
    FakeClock clock;
    ScriptedEvents port;
    kube::EventRecorder recorder{loop.get_executor(),
                                 port,
                                 clock,
                                 1,
                                 {},
                                 {std::chrono::milliseconds{1}, std::chrono::milliseconds{2}}};
    TaskScope scope{loop.get_executor()};
};

TEST_F(EventRecorderTest, WritesInOrder) {
    recorder.record(note("n1"));
    recorder.record(note("n2"));
    recorder.record(note("n1"));

    run_for_calls(3);

    EXPECT_THAT(port.calls, ElementsAre("create n1 1", "create n2 1", "update n1 2"));
    EXPECT_EQ(recorder.waiting(), 0U);
}

TEST_F(EventRecorderTest, WakesUpForANewEvent) {
    port.at_call = [] {};
    asio::post(loop, [this] { recorder.record(note("later")); });

    run_for_calls(1);

    EXPECT_THAT(port.calls, ElementsAre("create later 1"));
}

TEST_F(EventRecorderTest, MakesASeriesAnewThatHasExpired) {
    recorder.record(note("n1"));
    recorder.record(note("n1"));
    port.failures = {Errc::refused, Errc::not_found};

    run_for_calls(3);

    EXPECT_THAT(port.calls, ElementsAre("create n1 1", "update n1 2", "create n1 2"));
    EXPECT_EQ(recorder.counters().failed, 1U);
}

TEST_F(EventRecorderTest, OneThatIsNeverTakenDoesNotStandInTheWayForEver) {
    recorder.record(note("refused by a webhook"));
    recorder.record(note("n1"));
    port.failures = std::deque<Errc>(8, Errc::unavailable);

    run_for_calls(9);

    EXPECT_EQ(port.calls.back(), "create n1 1");
    EXPECT_EQ(recorder.counters().failed, 1U);
}

TEST_F(EventRecorderTest, KeepsNoMoreThanItsQueueHolds) {
    for (int time = 0; time < 3000; ++time) {
        recorder.record(note("n" + std::to_string(time)));
    }

    EXPECT_EQ(recorder.waiting(), 1000U);
    EXPECT_EQ(recorder.counters().dropped, 2000U);
}

}  // namespace
}  // namespace scout::test
