// SPDX-License-Identifier: Apache-2.0
// What is planned for aborting a migration, and what is learnt from those that were aborted.
#include <string>

#include <gmock/gmock.h>

#include "agent/evacuations.h"
#include "tests/agent/evacuations_fixture.h"

namespace scout::agent {
namespace {

using namespace std::chrono_literals;
using migration::MovePhase;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class EvacuationsAbortTest : public EvacuationsFixture {
protected:
    static launcher::Domain migrating(const std::string& vm) {
        auto domain = marked(vm);
        domain.migration = launcher::MigrationMetadata{.uid = "m", .start = WallTime{}};
        return domain;
    }
    /// As its launcher tells it after the abort.
    static launcher::Domain aborted(const std::string& vm) {
        auto domain = migrating(vm);
        domain.migration->end = WallTime{};
        domain.migration->failed = true;
        return domain;
    }
    /// Its migration copies memory.
    void move(const std::string& name) {
        vm(name);
        say("p-" + name, marked(name));
        settle();
        cluster.at("uid-" + name).moves.front().phase = MovePhase::running;
        say("p-" + name, migrating(name));
        tell(name);
        settle();
        ASSERT_EQ(state_of("p-" + name), "moving");
    }
    /// Seconds from now on, up to a minute, until its migration is told to end.
    [[nodiscard]] int cancelled_after(const std::string& name) {
        for (int second = 0; second < 60; ++second) {
            if (state_of("p-" + name) != "moving") {
                return second;
            }
            live(1s);
        }
        return 60;
    }
};

TEST_F(EvacuationsAbortTest, AGuestWithoutKvmIsCancelledEarlier) {
    hear_rules();
    for (const auto& [type, after] : {std::pair{"kvm", 31}, std::pair{"qemu", 22}}) {
        const std::string name{type};
        vm(name);
        auto domain = marked(name);
        domain.cpu = migration::GuestCpu{.virt_type = type};
        say("p-" + name, domain);
        settle();
        tell(name);
        settle();
        EXPECT_EQ(cancelled_after(name), after) << type;
    }
}

TEST_F(EvacuationsAbortTest, ItsStopIsNotReleasedBeforeItsLauncherHasAborted) {
    hear_rules();
    move("a");
    EXPECT_EQ(cancelled_after("a"), 32);
    EXPECT_THAT(cluster.at("uid-a").moves, testing::IsEmpty());
    live(2s);
    EXPECT_EQ(state_of("p-a"), "given-up");
    EXPECT_THAT(steps, Not(Contains("touch")));
    live(4s);
    EXPECT_EQ(state_of("p-a"), "given-up");
    EXPECT_THAT(reason_of("p-a"), HasSubstr("still being aborted"));
    say("p-a", aborted("a"));
    settle();
    EXPECT_EQ(state_of("p-a"), "released");
    EXPECT_THAT(reason_of("p-a"), HasSubstr("left to shut down"));
}

TEST_F(EvacuationsAbortTest, TheNextOneOfTheNodeIsCancelledEarlier) {
    hear_rules();
    move("a");
    EXPECT_EQ(cancelled_after("a"), 32);
    live(8s);
    say("p-a", aborted("a"));
    settle();
    ASSERT_EQ(state_of("p-a"), "released");
    say("p-a", std::nullopt);

    move("b");
    EXPECT_EQ(cancelled_after("b"), 25) << "eight seconds, and a quarter more";
    say("p-b", aborted("b"));
    live(1s);
    say("p-b", std::nullopt);

    pass(2h);
    move("c");
    EXPECT_EQ(cancelled_after("c"), 32) << "what was slow then need not be now";
}

}  // namespace
}  // namespace scout::agent
