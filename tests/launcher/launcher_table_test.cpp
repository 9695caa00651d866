// SPDX-License-Identifier: Apache-2.0
#include "launcher/launcher_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::launcher {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LauncherTableTest : public testing::Test {
protected:
    static LauncherSocket ready(const std::string& pod, std::uint64_t inode = 1) {
        return {.pod_uid = pod, .state = SocketState::ready, .device = 1, .inode = inode};
    }
    static Domain domain(const std::string& name, const std::string& status = "Running",
                         const std::string& reason = "Unknown") {
        Domain made;
        made.name = name;
        made.space = "ns";
        made.uuid = "uuid-" + name;
        made.status = status;
        made.reason = reason;
        made.cpu = migration::GuestCpu{.model = "Haswell"};
        return made;
    }
    /// Asks whoever is due; answers their pods.
    std::vector<std::string> take() {
        std::vector<std::string> pods;
        for (auto& question : table.take_due(now)) {
            pods.push_back(question.socket.pod_uid);
            under_way.push_back(std::move(question));
        }
        return pods;
    }
    bool answer(const std::string& pod, Result<std::optional<Domain>> with) {
        const auto question =
            std::find_if(under_way.begin(), under_way.end(),
                         [&pod](const auto& each) { return each.socket.pod_uid == pod; });
        const auto asked = *question;
        under_way.erase(question);
        return table.answered(asked, std::move(with), now);
    }
    /// One call to every launcher that is due, all answered alike.
    void ask(const std::string& pod, Result<std::optional<Domain>> with) {
        table.ask_all(now);
        static_cast<void>(take());
        answer(pod, std::move(with));
    }
    /// "name:state" of each guest.
    [[nodiscard]] std::vector<std::string> guests() const {
        std::vector<std::string> lines;
        for (const auto& guest : table.guests()) {
            lines.push_back(guest.name + ":" + guest.state);
        }
        return lines;
    }
    static tl::unexpected<Error> silence() { return fail(Errc::timed_out, "no answer in 5 s"); }

    SteadyTime now{1h};
    LauncherTable table;
    std::vector<Question> under_way;
};

TEST_F(LauncherTableTest, GuestIsTheDomainOfItsLauncher) {
    table.found({ready("p1")}, now);
    EXPECT_FALSE(table.all_asked_since(SteadyTime{}));
    EXPECT_THAT(take(), ElementsAre("p1"));

    EXPECT_TRUE(answer("p1", domain("vm-1")));

    EXPECT_TRUE(table.all_asked_since(now));
    const auto guest = table.guests().at(0);
    EXPECT_EQ(guest.uuid, "uuid-vm-1");
    EXPECT_EQ(guest.name, "ns/vm-1");
    EXPECT_EQ(guest.state, "running");
    EXPECT_EQ(guest.cpu.value().model, "Haswell");
    EXPECT_FALSE(guest.persistent);
    EXPECT_FALSE(table.found({ready("p1")}, now));
}

TEST_F(LauncherTableTest, IsAskedAgainAfterItsTimeAndSoonerAfterOneFailure) {
    table.found({ready("p1")}, now);
    take();
    EXPECT_EQ(table.next_due(), SteadyTime::max());
    answer("p1", domain("vm-1"));
    EXPECT_EQ(table.next_due(), now + 10s);
    EXPECT_THAT(take(), IsEmpty());
    now += 10s;
    EXPECT_THAT(take(), ElementsAre("p1"));
    answer("p1", silence());
    EXPECT_EQ(table.next_due(), now + 1s);
    now += 1s;
    take();
    answer("p1", silence());
    EXPECT_EQ(table.next_due(), now + 10s);
}

TEST_F(LauncherTableTest, OneFailureIsNoNewsAndTwoMakeTheGuestUnknown) {
    table.found({ready("p1")}, now);
    ask("p1", domain("vm-1"));
    table.ask_all(now);
    take();
    EXPECT_FALSE(answer("p1", silence()));
    EXPECT_THAT(guests(), ElementsAre("ns/vm-1:running"));
    table.ask_all(now);
    take();
    EXPECT_TRUE(answer("p1", silence()));

    EXPECT_THAT(guests(), ElementsAre("ns/vm-1:unknown"));
    EXPECT_EQ(table.launchers().at("p1").unknown_because(), "no answer in 5 s");
    EXPECT_EQ(table.guests().at(0).cpu.value().model, "Haswell");

    table.ask_all(now);
    take();
    EXPECT_TRUE(answer("p1", domain("vm-1")));
    EXPECT_THAT(guests(), ElementsAre("ns/vm-1:running"));
}

TEST_F(LauncherTableTest, GuestOfASocketThatIsAwayIsUnknownUntilThePodIsGone) {
    table.found({ready("p1"), ready("p2"), ready("p3")}, now);
    take();
    answer("p1", domain("vm-1"));
    answer("p2", domain("vm-2"));
    answer("p3", domain("vm-3"));

    EXPECT_TRUE(table.found({{.pod_uid = "p1", .state = SocketState::starting},
                             {.pod_uid = "p2", .state = SocketState::unresponsive},
                             {.pod_uid = "p3", .state = SocketState::foreign}},
                            now));
    EXPECT_THAT(guests(), ElementsAre("ns/vm-1:unknown", "ns/vm-2:unknown", "ns/vm-3:unknown"));
    table.ask_all(now);
    EXPECT_THAT(take(), IsEmpty());
    EXPECT_THAT(table.launchers().at("p2").unknown_because(), HasSubstr("virt-handler"));

    EXPECT_TRUE(table.found({}, now));
    EXPECT_THAT(guests(), IsEmpty());
}

TEST_F(LauncherTableTest, GuestIsGoneWhenItsLauncherSaysSo) {
    table.found({ready("p1")}, now);
    ask("p1", domain("vm-1"));
    ask("p1", domain("vm-1", "Shutoff", "Shutdown"));
    EXPECT_THAT(guests(), ElementsAre("ns/vm-1:shutoff"));
    ask("p1", std::nullopt);
    EXPECT_THAT(guests(), IsEmpty());
}

TEST_F(LauncherTableTest, TargetCountsFromWhenTheGuestRunsThereAndTheSourceUntilItLeft) {
    table.found({ready("source"), ready("target")}, now);
    take();
    auto source = domain("vm-1");
    source.migration = MigrationMetadata{.uid = "m1", .start = WallTime{1s}};
    answer("source", source);
    answer("target", domain("vm-1", "Paused", "Migration"));
    EXPECT_THAT(guests(), ElementsAre("ns/vm-1:running"));

    source.status = "Paused";
    source.reason = "Postcopy";
    ask("source", source);
    EXPECT_THAT(guests(), ElementsAre("ns/vm-1:paused"));
    answer("target", domain("vm-1", "Running", "Unknown"));
    EXPECT_THAT(guests(), ElementsAre("ns/vm-1:running")) << "it runs at the target by now";

    EXPECT_EQ(table.next_due(), now + 1s) << "of the source, which migrates";
    now += 10s;
    take();
    answer("target", domain("vm-1", "Running", "Unknown"));
    answer("source", domain("vm-1", "Shutoff", "Migrated"));
    EXPECT_EQ(table.next_due(), now) << "the other one is asked at once";
    EXPECT_THAT(guests(), ElementsAre("ns/vm-1:running"));
    table.found({ready("source")}, now);
    EXPECT_THAT(guests(), IsEmpty()) << "a source that was left has no guest";
}

TEST_F(LauncherTableTest, RestartedVmIsToldByTheLauncherThatRunsIt) {
    table.found({ready("a-new"), ready("b-old")}, now);
    take();
    answer("b-old", domain("vm-1", "Shutoff", "Shutdown"));
    answer("a-new", domain("vm-1"));
    EXPECT_THAT(guests(), ElementsAre("ns/vm-1:running"));
}

TEST_F(LauncherTableTest, AnswerWithoutIdentityIsAFailure) {
    table.found({ready("p1")}, now);
    take();
    EXPECT_FALSE(answer("p1", Domain{}));
    EXPECT_THAT(guests(), IsEmpty());
    EXPECT_THAT(table.launchers().at("p1").fault, HasSubstr("UUID"));
}

TEST_F(LauncherTableTest, AnotherSocketIsAnotherConversation) {
    table.found({ready("p1", 1)}, now);
    ask("p1", domain("vm-1"));
    table.ask_all(now);
    take();

    EXPECT_TRUE(table.found({ready("p1", 2)}, now));
    EXPECT_THAT(take(), ElementsAre("p1")) << "at once, whatever the old one does";
    EXPECT_FALSE(answer("p1", domain("vm-9"))) << "the old one's answer";
    EXPECT_THAT(guests(), ElementsAre("ns/vm-1:running"));
    answer("p1", domain("vm-2"));
    EXPECT_THAT(guests(), ElementsAre("ns/vm-2:running"));
}

TEST_F(LauncherTableTest, LaunchersThatFailLeavePlacesToTheOthers) {
    std::vector<LauncherSocket> sockets;
    for (int i = 0; i < 20; ++i) {
        sockets.push_back(ready("bad-" + std::to_string(i)));
        sockets.push_back(ready("good-" + std::to_string(i)));
    }
    table.found(sockets, now);
    const auto answer_all = [this](bool bad_too) {
        for (auto pods = take(); !pods.empty(); pods = take()) {
            for (const auto& pod : pods) {
                const bool good = pod.starts_with("good");
                if (good || bad_too) {
                    answer(pod, good ? Result<std::optional<Domain>>{domain(pod)} : silence());
                }
            }
        }
    };
    answer_all(true);
    EXPECT_EQ(table.guests().size(), 20U);

    now += 10s;
    answer_all(false);

    EXPECT_EQ(under_way.size(), 2U) << "that hang";
    EXPECT_THAT(under_way[0].socket.pod_uid, testing::StartsWith("bad"));
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(table.launchers().at("good-" + std::to_string(i)).asked, now);
    }
    EXPECT_EQ(table.next_due(), now + 10s);
}

TEST_F(LauncherTableTest, AtMostEightAreAskedAtOnce) {
    std::vector<LauncherSocket> sockets;
    for (int i = 0; i < 200; ++i) {
        sockets.push_back(ready("p" + std::to_string(i)));
    }
    table.found(sockets, now);

    EXPECT_EQ(take().size(), 8U);
    EXPECT_EQ(take().size(), 0U);
    EXPECT_EQ(table.next_due(), SteadyTime::max());
    answer(under_way[0].socket.pod_uid, std::nullopt);
    EXPECT_EQ(take().size(), 1U);
}

TEST_F(LauncherTableTest, LauncherThatWasToldToStopIsAskedEachSecond) {
    table.found({ready("p1"), ready("p2")}, now);
    take();
    auto marked = domain("vm-1");
    marked.marked = true;
    answer("p1", marked);
    answer("p2", domain("vm-2"));
    now += 999ms;
    EXPECT_THAT(take(), IsEmpty());
    now += 1ms;
    EXPECT_THAT(take(), ElementsAre("p1"));
    EXPECT_TRUE(table.asked_since("p1", SteadyTime{1h}));
}

TEST_F(LauncherTableTest, MarkIsDatedFromWhenItCouldBeAtTheEarliest) {
    auto stopping = domain("a");
    stopping.marked = true;
    const auto& launcher = [this]() -> const Launcher& { return table.launchers().at("p1"); };
    table.found({ready("p1")}, now);
    ask("p1", domain("a"));
    EXPECT_EQ(launcher().unmarked, now);
    EXPECT_EQ(launcher().marked_since, std::nullopt);
    const auto last = now;
    now += 9s;
    ask("p1", stopping);
    EXPECT_EQ(launcher().marked_since, last) << "found by a look";
    now += 9s;
    ask("p1", stopping);
    EXPECT_EQ(launcher().marked_since, last);

    table.found({ready("p1"), ready("p2")}, now);
    const auto& second = [this]() -> const Launcher& { return table.launchers().at("p2"); };
    ask("p2", domain("b"));
    now += 9s;
    table.hurry("p2", now);
    static_cast<void>(take());
    auto other = domain("b");
    other.marked = true;
    answer("p2", other);
    EXPECT_EQ(second().marked_since, now) << "somebody came to ask";

    table.found({ready("p1"), ready("p2"), ready("p3")}, now);
    auto third = domain("c");
    third.marked = true;
    ask("p3", third);
    EXPECT_EQ(table.launchers().at("p3").marked_since, now) << "never seen without";
}

/// With hundreds told to stop at once virt-handler comes late to ask about the last ones.
TEST_F(LauncherTableTest, MarksOfOneMomentAreDatedByTheFirstOne) {
    const auto marked = [](const std::string& vm) {
        auto stopping = domain(vm);
        stopping.marked = true;
        return stopping;
    };
    table.found({ready("p1"), ready("p2"), ready("p3")}, now);
    static_cast<void>(take());
    for (const auto* pod : {"p1", "p2", "p3"}) {
        answer(pod, domain(pod));
    }
    now += 5s;
    const auto first = now;
    table.hurry("p1", now);
    static_cast<void>(take());
    answer("p1", marked("p1"));
    EXPECT_EQ(table.next_due(), now) << "the others are asked at once";
    now += 100ms;
    static_cast<void>(take());
    answer("p3", domain("p3"));
    now += 5s;
    table.hurry("p2", now);
    table.hurry("p3", now);
    static_cast<void>(take());
    answer("p2", marked("p2"));
    answer("p3", marked("p3"));

    EXPECT_EQ(table.launchers().at("p1").marked_since, first);
    EXPECT_EQ(table.launchers().at("p2").marked_since, first);
    EXPECT_EQ(table.launchers().at("p3").marked_since, now) << "it was seen without in between";
}

TEST_F(LauncherTableTest, LauncherWithAMigrationUnderWayIsAskedEachSecond) {
    auto moving = domain("a");
    moving.migration = MigrationMetadata{};
    moving.migration->start = WallTime{1h};
    ASSERT_TRUE(migration_in_progress(moving));
    table.found({ready("p1"), ready("p2")}, now);
    ask("p1", moving);
    answer("p2", domain("b", "Paused", "Migration"));
    now += 1s;
    EXPECT_THAT(take(), testing::UnorderedElementsAre("p1", "p2"));
    answer("p1", domain("a"));
    answer("p2", domain("b"));
    now += 1s;
    EXPECT_THAT(take(), IsEmpty());
}

TEST_F(LauncherTableTest, HurriedLauncherWaitsForNobody) {
    std::vector<LauncherSocket> sockets;
    for (int i = 0; i < 20; ++i) {
        sockets.push_back(ready("p" + std::to_string(10 + i)));
    }
    table.found(sockets, now);
    ASSERT_EQ(take().size(), 8U);
    EXPECT_THAT(take(), IsEmpty());

    table.hurry("p25", now);
    table.hurry("p10", now);
    table.hurry("nobody", now);
    EXPECT_EQ(table.next_due(), now);
    EXPECT_THAT(take(), ElementsAre("p25"));
    EXPECT_FALSE(table.asked_since("p25", now));
    answer("p25", domain("vm"));
    EXPECT_TRUE(table.asked_since("p25", now));
    EXPECT_TRUE(table.asked_since("nobody", now));
    // Its place was one of its own.
    EXPECT_THAT(take(), IsEmpty());

    // One that is being asked is asked once more, with what it knows then.
    now += 1ms;
    answer("p10", domain("vm"));
    EXPECT_FALSE(table.asked_since("p10", now));
    EXPECT_THAT(take(), testing::Contains("p10"));
    answer("p10", domain("vm"));
    EXPECT_TRUE(table.asked_since("p10", now));
}

TEST_F(LauncherTableTest, LaunchersThatFailAreHurriedToo) {
    table = LauncherTable({.failing_at_once = 1});
    table.found({ready("p1"), ready("p2"), ready("p3")}, now);
    take();
    for (const auto* pod : {"p1", "p2", "p3"}) {
        answer(pod, silence());
    }
    now += 1s;
    EXPECT_THAT(take(), ElementsAre("p1"));
    table.hurry("p3", now);
    EXPECT_THAT(take(), ElementsAre("p3"));
    answer("p3", silence());
    EXPECT_THAT(take(), IsEmpty());
    answer("p1", silence());
    EXPECT_THAT(take(), ElementsAre("p2"));
}

}  // namespace
}  // namespace scout::launcher
