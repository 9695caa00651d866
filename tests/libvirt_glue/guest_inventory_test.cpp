// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/guest_inventory.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

namespace scout::hypervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

WallTime at(int seconds) {
    return WallTime{std::chrono::seconds{seconds}};
}

GuestState guest(std::string uuid, std::string name, std::string state) {
    GuestState made;
    made.uuid = std::move(uuid);
    made.name = std::move(name);
    made.state = std::move(state);
    made.memory_kib = 1024;
    return made;
}

IncomingEvent incoming(Lifecycle lifecycle, std::string uuid, std::string name = "db") {
    IncomingEvent event;
    event.lifecycle = lifecycle;
    event.uuid = std::move(uuid);
    event.name = std::move(name);
    return event;
}

/// "removed A db running @7 resync": all that the contract carries.
std::vector<std::string> told(const std::vector<GuestEvent>& events) {
    std::vector<std::string> lines;
    for (const auto& event : events) {
        const auto seconds =
            std::chrono::duration_cast<std::chrono::seconds>(event.since.time_since_epoch());
        std::string line(to_string(event.kind));
        line += ' ' + event.uuid + ' ' + event.name + ' ' + event.state + " @" +
                std::to_string(seconds.count()) + ' ' + std::string(to_string(event.found_by));
        lines.push_back(std::move(line));
    }
    return lines;
}

/// Knows A "db" running and B "web" shut off since second 1.
class GuestInventoryTest : public ::testing::Test {
protected:
    GuestInventoryTest() {
        inventory.begin_reading();
        first =
            inventory.resynced({guest("B", "web", "shutoff"), guest("A", "db", "running")}, at(1));
    }

    GuestInventory inventory;
    std::vector<GuestEvent> first;
};

TEST_F(GuestInventoryTest, TellsAllGuestsOfTheFirstList) {
    EXPECT_THAT(told(first),
                ElementsAre("added A db running @1 resync", "added B web shutoff @1 resync"));
    EXPECT_TRUE(inventory.known());
    EXPECT_EQ(inventory.size(), 2U);
}

TEST_F(GuestInventoryTest, SaysNothingWhenAListIsAsKnown) {
    inventory.begin_reading();

    const auto events =
        inventory.resynced({guest("A", "db", "running"), guest("B", "web", "shutoff")}, at(5));

    EXPECT_THAT(told(events), IsEmpty());
    EXPECT_EQ(inventory.guests().front().since, at(1));
}

TEST_F(GuestInventoryTest, MakesEveryStateUnknownAndNothingGoneWhenLibvirtGoesAway) {
    const auto events = inventory.lost(at(10));

    EXPECT_THAT(told(events), ElementsAre("state-changed A db unknown @10 event",
                                          "state-changed B web unknown @10 event"));
    EXPECT_EQ(inventory.size(), 2U);
    EXPECT_FALSE(inventory.known());
    EXPECT_THAT(told(inventory.lost(at(11))), IsEmpty());
}

TEST_F(GuestInventoryTest, FindsByResyncWhatWasUndefinedWhileLibvirtWasAway) {
    static_cast<void>(inventory.lost(at(10)));
    inventory.begin_reading();

    const auto events = inventory.resynced({guest("A", "db", "running")}, at(13));

    EXPECT_THAT(told(events), ElementsAre("removed B web unknown @13 resync",
                                          "state-changed A db running @13 resync"));
    const auto after = inventory.apply(incoming(Lifecycle::suspended, "A"), at(14));
    EXPECT_THAT(told(after), ElementsAre("state-changed A db paused @14 event"));
}

TEST_F(GuestInventoryTest, FindsByResyncWhatCameAndWhatChanged) {
    inventory.begin_reading();

    const auto events = inventory.resynced(
        {guest("A", "db", "paused"), guest("B", "www", "shutoff"), guest("C", "new", "running")},
        at(5));

    EXPECT_THAT(told(events),
                ElementsAre("state-changed A db paused @5 resync",
                            "updated B www shutoff @1 resync", "added C new running @5 resync"));
}

TEST_F(GuestInventoryTest, TakesTheSameNameWithANewUuidForAnotherGuest) {
    inventory.begin_reading();
    const auto listed =
        inventory.resynced({guest("D", "db", "running"), guest("B", "web", "shutoff")}, at(5));
    EXPECT_THAT(told(listed),
                ElementsAre("removed A db running @5 resync", "added D db running @5 resync"));

    const auto heard = inventory.apply(incoming(Lifecycle::defined, "E", "db"), at(6));
    EXPECT_THAT(told(heard),
                ElementsAre("removed D db running @6 event", "added E db shutoff @6 event"));
}

TEST_F(GuestInventoryTest, IgnoresEventsWhileNothingIsKnown) {
    static_cast<void>(inventory.lost(at(10)));

    EXPECT_THAT(told(inventory.apply(incoming(Lifecycle::started, "A"), at(11))), IsEmpty());
    EXPECT_THAT(told(inventory.apply(incoming(Lifecycle::undefined, "B"), at(11))), IsEmpty());
    EXPECT_THAT(told(inventory.read_again(guest("A", "db", "running"), at(11))), IsEmpty());
    EXPECT_THAT(told(inventory.not_found("A", at(11))), IsEmpty());
    EXPECT_FALSE(inventory.has_stale());
    EXPECT_EQ(inventory.guests().front().state, "unknown");
}

TEST_F(GuestInventoryTest, DoesNotReviveAGuestThatWasUndefinedWhileTheListWasRead) {
    inventory.begin_reading();
    const auto event = inventory.apply(incoming(Lifecycle::undefined, "B", "web"), at(5));
    EXPECT_THAT(told(event), ElementsAre("removed B web shutoff @5 event"));

    const auto events =
        inventory.resynced({guest("A", "db", "running"), guest("B", "web", "shutoff")}, at(6));

    EXPECT_THAT(told(events), IsEmpty());
    EXPECT_THAT(inventory.take_stale(10), ElementsAre("B"));
    inventory.begin_reading();
    EXPECT_THAT(told(inventory.not_found("B", at(7))), IsEmpty());
    EXPECT_EQ(inventory.size(), 1U);
}

TEST_F(GuestInventoryTest, KeepsAGuestThatCameWhileTheListWasRead) {
    inventory.begin_reading();
    static_cast<void>(inventory.apply(incoming(Lifecycle::defined, "C", "new"), at(5)));

    const auto events =
        inventory.resynced({guest("A", "db", "running"), guest("B", "web", "shutoff")}, at(6));

    EXPECT_THAT(told(events), IsEmpty());
    EXPECT_EQ(inventory.size(), 3U);
    EXPECT_THAT(inventory.take_stale(10), ElementsAre("C"));
}

TEST_F(GuestInventoryTest, SetsAnswersAsideThatAreOlderThanAnEvent) {
    static_cast<void>(inventory.apply(incoming(Lifecycle::suspended, "A"), at(5)));
    EXPECT_THAT(inventory.take_stale(10), ElementsAre("A"));
    inventory.begin_reading();
    static_cast<void>(inventory.apply(incoming(Lifecycle::resumed, "A"), at(6)));

    EXPECT_THAT(told(inventory.read_again(guest("A", "db", "paused"), at(7))), IsEmpty());

    EXPECT_THAT(inventory.take_stale(10), ElementsAre("A"));
    inventory.begin_reading();
    EXPECT_THAT(told(inventory.read_again(guest("A", "db", "running"), at(8))), IsEmpty());
    EXPECT_EQ(inventory.guests().front().since, at(6));
}

TEST_F(GuestInventoryTest, KeepsAnUndefinedGuestUntilItStops) {
    EXPECT_THAT(told(inventory.apply(incoming(Lifecycle::undefined, "A"), at(5))), IsEmpty());

    const auto stopped = inventory.apply(incoming(Lifecycle::stopped, "A"), at(6));
    EXPECT_THAT(told(stopped), ElementsAre("state-changed A db shutoff @6 event"));

    static_cast<void>(inventory.take_stale(10));
    inventory.begin_reading();
    EXPECT_THAT(told(inventory.not_found("A", at(7))),
                ElementsAre("removed A db shutoff @7 event"));
}

TEST_F(GuestInventoryTest, TellsARenameAsAnUpdateOfTheSameGuest) {
    const auto events = inventory.apply(incoming(Lifecycle::defined, "A", "db-old"), at(5));

    EXPECT_THAT(told(events), ElementsAre("updated A db-old running @1 event"));
}

TEST_F(GuestInventoryTest, TellsWhatReadingAgainChanged) {
    auto bigger = guest("A", "db", "running");
    bigger.memory_kib = 2048;
    bigger.cpu.emplace().model = "EPYC";
    inventory.begin_reading();

    const auto events = inventory.read_again(bigger, at(5));

    EXPECT_THAT(told(events), ElementsAre("updated A db running @1 event"));
    EXPECT_EQ(inventory.guests().front().cpu->model, "EPYC");
    EXPECT_EQ(inventory.guests().front().memory_kib, 2048U);
}

TEST_F(GuestInventoryTest, CompletesOneOffEventsWithNameAndState) {
    GuestEvent reboot;
    reboot.kind = EventKind::rebooted;
    reboot.uuid = "A";
    EXPECT_THAT(told(inventory.complete(reboot, at(9))),
                ElementsAre("rebooted A db running @9 event"));

    reboot.uuid = "Z";
    EXPECT_THAT(told(inventory.complete(reboot, at(9))), IsEmpty());
}

TEST_F(GuestInventoryTest, HandsOutStaleGuestsInPortions) {
    static_cast<void>(inventory.apply(incoming(Lifecycle::suspended, "A"), at(5)));
    static_cast<void>(inventory.apply(incoming(Lifecycle::started, "B", "web"), at(5)));

    EXPECT_THAT(inventory.take_stale(1), ElementsAre("A"));
    EXPECT_THAT(inventory.take_stale(1), ElementsAre("B"));
    EXPECT_FALSE(inventory.has_stale());
}

struct LifecycleCase {
    Lifecycle lifecycle;
    std::string_view state;
};

class LifecycleStateTest : public ::testing::TestWithParam<LifecycleCase> {};

TEST_P(LifecycleStateTest, FollowsFromTheEventAlone) {
    GuestInventory inventory;
    static_cast<void>(inventory.resynced({guest("A", "db", "nostate")}, at(1)));

    const auto events = inventory.apply(incoming(GetParam().lifecycle, "A"), at(2));

    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events.front().state, GetParam().state);
    EXPECT_EQ(events.front().kind, EventKind::state_changed);
}

INSTANTIATE_TEST_SUITE_P(EveryTransition, LifecycleStateTest,
                         ::testing::Values(LifecycleCase{Lifecycle::started, "running"},
                                           LifecycleCase{Lifecycle::suspended, "paused"},
                                           LifecycleCase{Lifecycle::resumed, "running"},
                                           LifecycleCase{Lifecycle::stopped, "shutoff"},
                                           LifecycleCase{Lifecycle::shutdown, "shutdown"},
                                           LifecycleCase{Lifecycle::pm_suspended, "pmsuspended"},
                                           LifecycleCase{Lifecycle::crashed, "crashed"}));

}  // namespace
}  // namespace scout::hypervisor
