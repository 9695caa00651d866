// SPDX-License-Identifier: Apache-2.0
#include "aggregator/event_stream.h"

#include <string>
#include <vector>

#include "tests/aggregator/fleet_fixture.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
namespace v1 = virt_scout::v1;

class EventStreamTest : public FleetFixture {
protected:
    EventStreamTest() {
        fleet.registry().observe([this](const Change& change) {
            for (auto* stream : {&all, &only_n2}) {
                kept_up &= stream->push(change, fleet.now());
            }
        });
    }
    /// Up to `most` events as "KIND node[/guest]".
    std::vector<std::string> take(EventStream& stream, std::size_t most = 10'000) {
        std::vector<std::string> out;
        while (out.size() < most) {
            const auto event = stream.next(fleet.registry(), fleet.matrix(), fleet.now());
            if (!event) {
                break;
            }
            out.push_back(v1::FleetEvent::Kind_Name(event->kind()) + " " + event->node() +
                          (event->has_guest() ? "/" + event->guest().uuid() : ""));
        }
        return out;
    }
    void change_guest(const std::string& node, const std::string& state) {
        auto guest = guest_of(fleet.registry(), "u1", "vm", small_host());
        guest.state = state;
        add_guest(node, guest);
    }

    EventStream all{""};
    EventStream only_n2{"n2"};
    bool kept_up = true;
};

TEST_F(EventStreamTest, WhatIsThereComesFirstThenSyncedThenChanges) {
    add_node("n1", small_host());
    change_guest("n1", "running");
    add_node("n2", small_host());

    EXPECT_EQ(take(all), (std::vector<std::string>{"NODE_ADDED n1", "GUEST_ADDED n1/u1",
                                                   "NODE_ADDED n2", "SYNCED "}));
    change_guest("n1", "paused");
    ASSERT_TRUE(fleet.registry().change_guests("n1", {}, {{.uuid = "u1"}}));
    pass(36s);

    EXPECT_EQ(take(all), (std::vector<std::string>{"GUEST_CHANGED n1/u1", "GUEST_REMOVED n1/u1",
                                                   "NODE_CHANGED n1", "NODE_CHANGED n2"}));
    EXPECT_TRUE(take(all).empty());
}

TEST_F(EventStreamTest, ChangesOfNodesThatWereNotReachedAreSeenOnce) {
    add_node("n1", small_host());
    add_node("n3", small_host());
    EXPECT_EQ(take(all, 1), std::vector<std::string>{"NODE_ADDED n1"});

    change_guest("n3", "running");
    add_node("n2", small_host());
    change_guest("n1", "running");

    EXPECT_EQ(take(all),
              (std::vector<std::string>{"GUEST_ADDED n1/u1", "NODE_ADDED n2", "NODE_ADDED n3",
                                        "GUEST_ADDED n3/u1", "SYNCED "}));
}

TEST_F(EventStreamTest, OneNodeCanBeWatchedAlone) {
    add_node("n1", small_host());
    add_node("n2", small_host());
    EXPECT_EQ(take(only_n2), (std::vector<std::string>{"NODE_ADDED n2", "SYNCED "}));

    change_guest("n1", "running");
    change_guest("n2", "running");

    EXPECT_EQ(take(only_n2), std::vector<std::string>{"GUEST_ADDED n2/u1"});
}

TEST_F(EventStreamTest, NodeThatComesLaterCanBeWatchedFromTheStart) {
    EXPECT_EQ(take(only_n2), std::vector<std::string>{"SYNCED "});

    add_node("n2", small_host());

    EXPECT_EQ(take(only_n2, 1), std::vector<std::string>{"NODE_ADDED n2"});
}

TEST_F(EventStreamTest, BurstIsNoReasonToEndAWatcherThatReads) {
    add_node("n1", small_host());
    take(all);
    for (std::size_t i = 0; i < EventStream::burst_limit; ++i) {
        change_guest("n1", std::to_string(i));
    }
    EXPECT_TRUE(kept_up);
    clock.advance(EventStream::patience);
    take(all, 1);
    clock.advance(EventStream::patience);

    change_guest("n1", "taken in its turn");

    EXPECT_TRUE(kept_up);
    change_guest("n1", "one too many");
    EXPECT_FALSE(kept_up);
}

TEST_F(EventStreamTest, WatcherThatTakesNothingForLongIsTooSlow) {
    add_node("n1", small_host());
    take(all);
    for (std::size_t i = 0; i < EventStream::queue_limit; ++i) {
        change_guest("n1", std::to_string(i));
    }
    clock.advance(EventStream::patience);
    change_guest("n1", "in time");
    EXPECT_TRUE(kept_up);
    clock.advance(1ms);

    change_guest("n1", "too late");

    EXPECT_FALSE(kept_up);
}

TEST_F(EventStreamTest, NodesThatChangeTogetherAreToldOnceEachAsTheyAreThen) {
    constexpr int nodes = 1500;
    for (int i = 0; i < nodes; ++i) {
        add_node("n" + std::to_string(i), small_host());
    }
    take(all);

    for (int i = 0; i < 20; ++i) {
        pass(36s);
        for (int k = 0; k < nodes; ++k) {
            fleet.registry().touch("n" + std::to_string(k), clock.steady());
        }
    }
    EXPECT_TRUE(kept_up);
    pass(36s);

    const auto first = all.next(fleet.registry(), fleet.matrix(), fleet.now());
    ASSERT_TRUE(first);
    EXPECT_EQ(first->kind(), v1::FleetEvent::NODE_CHANGED);
    EXPECT_EQ(first->summary().freshness(), v1::STALE);
    EXPECT_EQ(take(all).size(), nodes - 1U);
}

TEST_F(EventStreamTest, ForgottenNodeIsToldWithItsGuestsAndOnlyByItsName) {
    add_node("n1", small_host());
    change_guest("n1", "running");
    take(all);

    pass(8 * 24h);

    EXPECT_EQ(take(all, 1), std::vector<std::string>{"GUEST_REMOVED n1/u1"});
    const auto removed = all.next(fleet.registry(), fleet.matrix(), fleet.now());
    ASSERT_TRUE(removed);
    EXPECT_EQ(removed->kind(), v1::FleetEvent::NODE_REMOVED);
    EXPECT_FALSE(removed->has_summary());
}

TEST_F(EventStreamTest, ManyGuestsThatWereThereAreNotTakenForSlowness) {
    add_node("n1", small_host());
    for (int i = 0; i < 2000; ++i) {
        add_guest("n1", guest_of(fleet.registry(), std::to_string(i), "vm", small_host()));
    }
    EXPECT_EQ(take(all, 1).size(), 1U);

    change_guest("n1", "running");

    EXPECT_TRUE(kept_up);
    EXPECT_EQ(take(all).size(), 2002U);
}

}  // namespace
}  // namespace scout::aggregator
