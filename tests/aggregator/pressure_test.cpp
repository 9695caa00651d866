// SPDX-License-Identifier: Apache-2.0
// What agents tell of their nodes' pressure, up to what users are answered.
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "tests/aggregator/agent_streams_fixture.h"
#include "wire/fleet_messages.h"

namespace scout::aggregator {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using namespace std::chrono_literals;

class PressureTest : public AgentStreamsFixture {
protected:
    void agent(SessionId id, const std::string& name) {
        open(id);
        hello(id, name);
        full(id, small_host());
    }
    void pressure(SessionId id, std::uint64_t available) {
        v1::AgentMessage message;
        auto& line = *message.mutable_pressure()->add_thresholds();
        line.set_signal("memory.available");
        line.set_available(available);
        line.set_capacity(1000);
        line.set_at(100);
        say(id, message);
    }
    Result<fleet::PressureListing> ask(std::vector<std::string> nodes = {}) {
        v1::PressureRequest request;
        for (auto& name : nodes) {
            request.add_nodes(std::move(name));
        }
        auto sweep = fleet.queries().pressure(request, clock.steady());
        if (!sweep) {
            return fail(std::move(sweep.error()));
        }
        return wire::from_wire(std::move(*sweep).all());
    }
};

TEST_F(PressureTest, TheLastWordOfEachAgentIsAnsweredWithItsAge) {
    agent(1, "n1");
    agent(2, "n2");
    pressure(1, 900);
    pressure(1, 500);
    clock.advance(7s);

    const auto all = ask();
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_TRUE(all->hears_agents);
    ASSERT_THAT(all->nodes, SizeIs(2));
    const auto& told = all->nodes[0].told;
    ASSERT_TRUE(told);
    EXPECT_EQ(told->report->lines.at(0).room->available, 500U);
    EXPECT_EQ(told->freshness, "fresh");
    EXPECT_EQ(told->age_ms, 7000U);
    EXPECT_FALSE(all->nodes[1].told);
    EXPECT_EQ(streams.counters().pressures, 2U);

    const auto one = ask({"n2"});
    ASSERT_TRUE(one);
    ASSERT_THAT(one->nodes, SizeIs(1));
    EXPECT_EQ(one->nodes[0].name, "n2");
    const auto nobody = ask({"n3"});
    ASSERT_FALSE(nobody);
    EXPECT_EQ(nobody.error().code, Errc::not_found);
}

TEST_F(PressureTest, AnotherHostOfThatNameTakesNothingOver) {
    agent(1, "n1");
    pressure(1, 500);
    clock.advance(36s);
    fleet.registry().tick(clock.steady());
    EXPECT_EQ(ask()->nodes.at(0).told->freshness, "stale");
    open(2);
    hello(2, "n1", "another host");

    EXPECT_FALSE(ask()->nodes.at(0).told);
}

TEST_F(PressureTest, AHostileAgentLosesItsStreamAndNothingIsKept) {
    agent(1, "n1");
    v1::AgentMessage message;
    for (int i = 0; i < 100'000; ++i) {
        message.mutable_pressure()->add_thresholds()->set_signal("memory.available");
    }

    say(1, message);

    ASSERT_TRUE(sink.ended.contains(1));
    EXPECT_THAT(sink.ended.at(1).message, HasSubstr("pressure: thresholds"));
    EXPECT_FALSE(ask()->nodes.at(0).told);
}

TEST_F(PressureTest, NothingIsTakenBeforeTheHello) {
    open(1);
    pressure(1, 500);

    EXPECT_TRUE(sink.ended.contains(1));
}

}  // namespace
}  // namespace scout::aggregator
