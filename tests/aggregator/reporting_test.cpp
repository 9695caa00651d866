// SPDX-License-Identifier: Apache-2.0
// An agent's own messages, given to the aggregator's side of the conversation without a network.
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "agent/report_messages.h"
#include "agent/report_state.h"
#include "aggregator/agent_streams.h"
#include "tests/aggregator/fleet_fixture.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

class SilentSink final : public SessionSink {
public:
    [[nodiscard]] bool has_room(SessionId /*session*/) const override { return true; }
    void send(SessionId /*session*/, const v1::AggregatorMessage& message) override {
        wants_full = wants_full || message.has_want_full();
    }
    void end(SessionId /*session*/, const Error& why) override { ended.push_back(why.message); }

    bool wants_full = false;
    std::vector<std::string> ended;
};

class ReportingTest : public FleetFixture {
protected:
    ReportingTest() {
        fleet.registry().observe([this](const Change& change) {
            if (change.kind == ChangeKind::guest_removed) {
                removed.insert(change.guest->uuid);
                last_removed = *change.guest;
            }
            added += change.kind == ChangeKind::guest_added ? 1 : 0;
        });
        snapshot.set_guests(guests(0, 1000));
        snapshot.set_complete();
    }
    static std::vector<hypervisor::GuestState> guests(int begin, int end) {
        std::vector<hypervisor::GuestState> made;
        for (int i = begin; i < end; ++i) {
            auto& guest = made.emplace_back();
            guest.uuid = std::to_string(10'000 + i);
            guest.name = "vm";
            guest.state = "running";
        }
        return made;
    }
    void connect() {
        streams.close(session, clock.steady());
        streams.open(++session, {}, clock.steady());
        reporter.connected();
    }
    /// Sends what there is to send, but no more than this many messages.
    void talk(int most = 100) {
        for (int i = 0; i < most; ++i) {
            const auto message = reporter.next(snapshot, clock.steady());
            if (!message) {
                return;
            }
            streams.receive(session, agent::to_wire(*message), clock.steady());
        }
    }
    std::size_t known() const { return node("n1").guests.size(); }

    SilentSink sink;
    AgentStreams streams{fleet.registry(), sink};
    agent::Snapshot snapshot;
    agent::ReportState reporter{
        agent::HelloMessage{
            .node = "n1", .host_identity = "a", .agent_version = "v", .instance = "1-1"},
        {},
        1};
    SessionId session = 0;
    std::set<std::string> removed;
    Guest last_removed;
    int added = 0;
};

TEST_F(ReportingTest, ThousandGuestsOutliveAReconnectWithoutAFalseRemoval) {
    connect();
    talk();
    ASSERT_EQ(known(), 1000U);

    connect();
    talk();

    EXPECT_EQ(known(), 1000U);
    EXPECT_EQ(added, 1000);
    EXPECT_TRUE(removed.empty());
    EXPECT_TRUE(sink.ended.empty());
    EXPECT_FALSE(sink.wants_full);
}

TEST_F(ReportingTest, GuestsThatWentMeanwhileAreGoneAfterTheLastPart) {
    connect();
    talk();
    snapshot.set_guests(guests(10, 1000));

    connect();
    constexpr int hello_and_three_parts = 4;
    talk(hello_and_three_parts);
    EXPECT_TRUE(removed.empty());
    talk();

    EXPECT_EQ(known(), 990U);
    EXPECT_EQ(removed.size(), 10U);
    EXPECT_EQ(last_removed.found_by, FoundBy::resync);
    EXPECT_EQ(last_removed.since_unix_ms, clock.wall().time_since_epoch().count());
    EXPECT_TRUE(removed.contains("10000"));
}

TEST_F(ReportingTest, RemovalsAloneComeInPartsToo) {
    connect();
    talk();
    snapshot.set_guests(guests(900, 1000));

    const auto part = reporter.next(snapshot, clock.steady());
    const auto& delta = std::get<agent::DeltaMessage>(*part);
    EXPECT_TRUE(delta.changed.empty());
    EXPECT_TRUE(delta.more);
    streams.receive(session, agent::to_wire(*part), clock.steady());
    EXPECT_EQ(removed.size(), delta.removed.size());
    EXPECT_FALSE(removed.empty());
    talk();

    EXPECT_EQ(known(), 100U);
    EXPECT_EQ(removed.size(), 900U);
    EXPECT_TRUE(sink.ended.empty());
    EXPECT_FALSE(sink.wants_full);
}

TEST_F(ReportingTest, ConnectionThatBreaksInTheMiddleOfTheReportRemovesNothing) {
    connect();
    talk();
    snapshot.set_guests(guests(500, 1000));
    for (int parts = 1; parts < 3; ++parts) {
        connect();
        talk(parts);
        EXPECT_EQ(known(), 1000U) << parts;
    }
    EXPECT_TRUE(removed.empty());

    connect();
    talk();

    EXPECT_EQ(known(), 500U);
}

TEST_F(ReportingTest, ChangesBetweenThePartsAreTaken) {
    connect();
    constexpr int hello_and_two_parts = 3;
    talk(hello_and_two_parts);
    auto now = guests(1, 1001);
    now.front().state = "paused";
    snapshot.set_guests(now);

    talk();

    EXPECT_EQ(known(), 1000U);
    EXPECT_EQ(removed, std::set<std::string>{"10000"});
    EXPECT_EQ(node("n1").guests.at("10001").state, "paused");
}

TEST_F(ReportingTest, ReportEndsAlsoIfTheGuestsThatWereLeftForItVanish) {
    connect();
    talk();
    connect();
    constexpr int hello_and_first_part = 2;
    talk(hello_and_first_part);
    snapshot.set_guests(guests(0, 256));

    talk();

    EXPECT_EQ(known(), 256U);
}

TEST_F(ReportingTest, GuestsThatWentWhileLibvirtWasAwayAreGoneWhenItIsBack) {
    connect();
    talk();
    auto host = snapshot.host();
    host.guests_error = "libvirt has not been reached yet";
    snapshot.set_host(host);
    snapshot.set_guests({});
    connect();
    talk();
    EXPECT_EQ(known(), 1000U);

    host.guests_error.clear();
    snapshot.set_host(host);
    snapshot.set_guests(guests(400, 1000));
    constexpr int all_but_the_last_part = 2;
    talk(all_but_the_last_part);
    EXPECT_TRUE(removed.empty());
    talk();

    EXPECT_EQ(known(), 600U);
}

TEST_F(ReportingTest, NewGuestsFindTheirPlaceWhereAllOldOnesWent) {
    snapshot.set_guests(guests(0, 4096));
    connect();
    talk();
    ASSERT_EQ(known(), 4096U);
    snapshot.set_guests(guests(4000, 8096));

    connect();
    talk();

    EXPECT_EQ(known(), 4096U);
    EXPECT_TRUE(node("n1").guests.contains("18095"));
    EXPECT_FALSE(removed.contains("14000"));
}

TEST_F(ReportingTest, SmallNodesGuestsAreGoneAtOnce) {
    snapshot.set_guests(guests(0, 3));
    connect();
    talk();
    snapshot.set_guests({});

    connect();
    talk();

    EXPECT_EQ(known(), 0U);
}

}  // namespace
}  // namespace scout::aggregator
