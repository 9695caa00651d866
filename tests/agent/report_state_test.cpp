// SPDX-License-Identifier: Apache-2.0
#include "agent/report_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_hypervisor.h"

namespace scout::agent {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

class ReportStateTest : public testing::Test {
protected:
    ReportStateTest() {
        HostPart host;
        host.profile = std::make_shared<const migration::Profile>();
        host.profile_digest = "d1";
        snapshot.set_host(std::move(host));
        snapshot.set_guests({test::example_guest("a"), test::example_guest("b")});
        snapshot.set_complete();
    }

    template <class T>
    T expect_next() {
        auto message = state.next(snapshot, now);
        if (!message || !std::holds_alternative<T>(*message)) {
            ADD_FAILURE() << "another message, index " << (message ? message->index() : 99);
            return {};
        }
        return std::get<T>(std::move(*message));
    }
    void expect_nothing() { EXPECT_FALSE(state.next(snapshot, now)); }
    void begin() {
        expect_next<HelloMessage>();
        expect_next<FullMessage>();
        expect_nothing();
    }

    Snapshot snapshot;
    SteadyTime now{1h};
    ReportState state{HelloMessage{.node = "n", .host_identity = "i", .agent_version = "v"},
                      ReportPolicy{.guests_per_message = 3}, 1};
};

TEST_F(ReportStateTest, BeginsWithHelloAndOneFullReport) {
    EXPECT_EQ(expect_next<HelloMessage>().node, "n");
    const auto full = expect_next<FullMessage>();
    EXPECT_EQ(full.sequence, 1U);
    EXPECT_EQ(full.host.profile_digest, "d1");
    EXPECT_THAT(full.guests, SizeIs(2));
    expect_nothing();
}

TEST_F(ReportStateTest, HoldsTheFullReportUntilTheFirstProbeEnded) {
    Snapshot incomplete;

    EXPECT_TRUE(std::holds_alternative<HelloMessage>(state.next(incomplete, now).value()));
    EXPECT_FALSE(state.next(incomplete, now));
    now += 1min;
    EXPECT_TRUE(std::holds_alternative<HeartbeatMessage>(state.next(incomplete, now).value()));

    incomplete.set_complete();
    EXPECT_TRUE(std::holds_alternative<FullMessage>(state.next(incomplete, now).value()));
}

TEST_F(ReportStateTest, SendsOnlyWhatChanged) {
    begin();

    snapshot.set_guests({test::example_guest("a", "paused"), test::example_guest("c")});
    const auto guests = expect_next<DeltaMessage>();
    EXPECT_EQ(guests.sequence, 2U);
    EXPECT_FALSE(guests.host);
    ASSERT_THAT(guests.changed, SizeIs(2));
    EXPECT_EQ(guests.changed[0].state, "paused");
    EXPECT_EQ(guests.changed[1].uuid, "c");
    EXPECT_THAT(guests.removed, ElementsAre(Field(&RemovedGuest::uuid, "b")));

    auto host = snapshot.host();
    host.notices = {"microcode changed"};
    snapshot.set_host(host);
    const auto delta = expect_next<DeltaMessage>();
    EXPECT_EQ(delta.sequence, 3U);
    EXPECT_THAT(delta.host.value().notices, ElementsAre("microcode changed"));
    EXPECT_THAT(delta.changed, IsEmpty());

    snapshot.set_host(host);
    snapshot.set_guests({test::example_guest("a", "paused"), test::example_guest("c")});
    expect_nothing();
}

TEST_F(ReportStateTest, TellsHowARemovalWasFound) {
    begin();

    snapshot.remove({.uuid = "a", .found_by = hypervisor::FoundBy::event, .since = WallTime{5s}});
    EXPECT_TRUE(snapshot.set_guests({}));
    const auto delta = expect_next<DeltaMessage>();

    ASSERT_THAT(delta.removed, SizeIs(2));
    EXPECT_EQ(delta.removed[0].uuid, "a");
    EXPECT_EQ(delta.removed[0].found_by, hypervisor::FoundBy::event);
    EXPECT_EQ(delta.removed[0].since, WallTime{5s});
    EXPECT_EQ(delta.removed[1].uuid, "b");
    EXPECT_EQ(delta.removed[1].found_by, hypervisor::FoundBy::resync);
    EXPECT_FALSE(snapshot.set_guests({}));
}

TEST_F(ReportStateTest, TellsTheLatestRemovalOfAGuestThatCameBack) {
    begin();
    snapshot.remove({.uuid = "a", .found_by = hypervisor::FoundBy::event, .since = WallTime{5s}});
    snapshot.set_guests({test::example_guest("a"), test::example_guest("b")});
    snapshot.remove({.uuid = "a", .found_by = hypervisor::FoundBy::resync, .since = WallTime{6s}});

    const auto delta = expect_next<DeltaMessage>();

    ASSERT_THAT(delta.removed, SizeIs(1));
    EXPECT_EQ(delta.removed[0].found_by, hypervisor::FoundBy::resync);
    EXPECT_EQ(delta.removed[0].since, WallTime{6s});
}

TEST_F(ReportStateTest, SendsAProfileOnlyWhenAskedForTheCurrentOne) {
    begin();

    state.wants_profile("d0");
    expect_nothing();

    state.wants_profile("d1");
    EXPECT_EQ(expect_next<ProfileMessage>().digest, "d1");
    expect_nothing();
}

TEST_F(ReportStateTest, SendsTheFullReportAgainWhenAskedOrOnANewStream) {
    begin();

    state.wants_full();
    EXPECT_EQ(expect_next<FullMessage>().sequence, 2U);
    expect_nothing();

    state.connected();
    expect_next<HelloMessage>();
    EXPECT_EQ(expect_next<FullMessage>().sequence, 3U);
}

TEST_F(ReportStateTest, BeatsEveryTenSecondsMoreOrLessWhenNothingHappens) {
    begin();
    for (int i = 0; i < 100; ++i) {
        const auto wait = state.heartbeat_due() - now;
        EXPECT_GE(wait, 8s);
        EXPECT_LE(wait, 12s);
        now = state.heartbeat_due() - 1ms;
        expect_nothing();
        now = state.heartbeat_due();
        EXPECT_EQ(expect_next<HeartbeatMessage>().sequence, 1U);
    }
}

TEST_F(ReportStateTest, LetsADeltaStandForAHeartbeat) {
    begin();
    now += 7s;
    snapshot.set_guests({});

    expect_next<DeltaMessage>();

    EXPECT_GE(state.heartbeat_due() - now, 8s);
}

TEST_F(ReportStateTest, SplitsManyGuestsOverMessages) {
    std::vector<hypervisor::GuestState> many;
    for (int i = 0; i < 8; ++i) {
        many.push_back(test::example_guest("g" + std::to_string(i)));
    }
    snapshot.set_guests(many);

    expect_next<HelloMessage>();
    const auto first = expect_next<FullMessage>();
    EXPECT_THAT(first.guests, SizeIs(3));
    EXPECT_TRUE(first.more);
    const auto second = expect_next<DeltaMessage>();
    EXPECT_THAT(second.changed, SizeIs(3));
    EXPECT_TRUE(second.more);
    const auto last = expect_next<DeltaMessage>();
    EXPECT_THAT(last.changed, SizeIs(2));
    EXPECT_FALSE(last.more);
    expect_nothing();
}

TEST_F(ReportStateTest, SplitsManyRemovalsOverMessages) {
    std::vector<hypervisor::GuestState> many;
    for (int i = 0; i < 5; ++i) {
        many.push_back(test::example_guest("g" + std::to_string(i)));
    }
    snapshot.set_guests(many);
    expect_next<HelloMessage>();
    expect_next<FullMessage>();
    expect_next<DeltaMessage>();

    snapshot.set_guests({});
    const auto first = expect_next<DeltaMessage>();
    const auto last = expect_next<DeltaMessage>();

    EXPECT_THAT(first.removed, SizeIs(3));
    EXPECT_TRUE(first.more);
    EXPECT_THAT(last.removed, SizeIs(2));
    EXPECT_FALSE(last.more);
    expect_nothing();
}

TEST_F(ReportStateTest, SaysThatNothingMoreFollowsWhereWhatWasLeftIsGone) {
    std::vector<hypervisor::GuestState> many;
    for (int i = 0; i < 8; ++i) {
        many.push_back(test::example_guest("g" + std::to_string(i)));
    }
    snapshot.set_guests(many);
    expect_next<HelloMessage>();
    EXPECT_TRUE(expect_next<FullMessage>().more);
    many.resize(3);
    snapshot.set_guests(many);

    const auto last = expect_next<DeltaMessage>();

    EXPECT_FALSE(last.more);
    EXPECT_THAT(last.changed, IsEmpty());
    EXPECT_THAT(last.removed, IsEmpty());
    expect_nothing();
}

}  // namespace
}  // namespace scout::agent
