// SPDX-License-Identifier: Apache-2.0
#include "aggregator/pressure_events.h"

#include <string>

#include <gmock/gmock.h>

#include "tests/aggregator/mover_fixture.h"

namespace scout::aggregator {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using namespace std::chrono_literals;

class PressureEventsTest : public MoverFixture {
protected:
    PressureEventsTest() { told.follow(registry); }

    void introduce(const std::string& node) {
        const Introduction introduction{.node = node, .host_identity = node, .agent_version = ""};
        ASSERT_TRUE(registry.introduce(introduction, clock.steady()));
    }
    void report(const std::string& node, bool warned, std::uint64_t available = 300) {
        migration::PressureReport report;
        report.lines.resize(1);
        report.lines[0].room = {.available = available, .capacity = 1000};
        report.lines[0].at = 100;
        report.lines[0].warned = warned;
        ASSERT_TRUE(registry.report_pressure(node, std::move(report), clock.steady()));
    }

    Registry registry{{}, clock};
    PressureEvents told{objects.nodes, elector, events};
};

TEST_F(PressureEventsTest, AnExpectedThresholdIsOneEventOnTheNode) {
    put_node("n1");
    start();
    introduce("n1");
    report("n1", false);
    report("n1", true);
    report("n1", true, 200);
    ASSERT_TRUE(run_until([this] { return !recorded.records.empty(); }));
    settle();

    ASSERT_THAT(recorded.records, SizeIs(1));
    const auto event = recorded.records.front();
    EXPECT_EQ(event.note.regarding.kind, "Node");
    EXPECT_EQ(event.note.regarding.name, "n1");
    EXPECT_FALSE(event.note.regarding.uid.empty());
    EXPECT_EQ(event.note.reason, "NodePressureExpected");
    EXPECT_TRUE(event.note.warning);
    EXPECT_THAT(event.note.note, AllOf(HasSubstr("memory.available"), HasSubstr("hard"),
                                       HasSubstr("scoutctl pressure n1")));

    report("n1", false);
    report("n1", true, 250);
    ASSERT_TRUE(run_until([this] { return !recorded.again.empty(); }));
    EXPECT_EQ(recorded.again.front().name, event.name) << "the same one, that happened again";
    EXPECT_EQ(recorded.again.front().count, 2);
    EXPECT_THAT(recorded.records, SizeIs(1));
}

TEST_F(PressureEventsTest, OnlyTheLeaderTellsAndOnlyOfNodesThatAreThere) {
    put_node("n1");
    start();
    introduce("n1");
    introduce("stranger");
    report("stranger", true);
    lose_leadership();
    report("n1", true);
    settle();

    EXPECT_THAT(recorded.records, SizeIs(0));
}

}  // namespace
}  // namespace scout::aggregator
