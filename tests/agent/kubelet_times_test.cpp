// SPDX-License-Identifier: Apache-2.0
// What the kubelet's configuration says, and what time it leaves pods.
#include <gmock/gmock.h>

#include "tests/agent/pressure_watch_fixture.h"

namespace scout::agent {
namespace {

using namespace std::chrono_literals;
using migration::PressureSignal;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class KubeletTimesTest : public PressureWatchFixture {};

TEST_F(KubeletTimesTest, TheKubeletsConfigurationIsFollowed) {
    make("nonsense");
    look();
    EXPECT_THAT(watch->pressure().outlooks(), SizeIs(6));
    EXPECT_THAT(log.str(), HasSubstr("kubelet's defaults are in force"));
    EXPECT_THAT(health.text(), HasSubstr("pressure is not known in full: "));
    tree.folder().write("kubelet/config.yaml", memory_alone);
    clock.advance(59s);
    look();
    EXPECT_THAT(watch->pressure().outlooks(), SizeIs(6));
    clock.advance(2s);
    look();
    EXPECT_THAT(watch->pressure().outlooks(), SizeIs(2));
    EXPECT_EQ(health.text(), "ready\n");
    // What no kubelet would start with changes nothing.
    tree.folder().write("kubelet/config.yaml", head + "evictionHard: {memory.available: 1GB}\n");
    clock.advance(61s);
    look();
    EXPECT_THAT(watch->pressure().outlooks(), SizeIs(2));
    EXPECT_THAT(log.str(), HasSubstr("the one before is in force"));
}

TEST_F(KubeletTimesTest, TheKubeletsGraceIsThatOfNow) {
    make(head +
         "evictionHard: {memory.available: 10Mi}\nevictionSoft: {memory.available: 3500Mi}\n"
         "evictionSoftGracePeriod: {memory.available: 5s}\nevictionMaxPodGracePeriod: 300\n");
    tree.set_memory(16 << 20U);
    look();
    EXPECT_FALSE(watch->pressure().kubelet_grace(60s));
    // The kubelet may have seen it pass five seconds ago.
    tree.set_memory(3 << 20U);
    look();
    EXPECT_EQ(watch->pressure().kubelet_grace(60s), 60s);
    EXPECT_EQ(watch->pressure().acting(), nullptr);
    clock.advance(5s);
    look();
    EXPECT_EQ(watch->pressure().kubelet_grace(60s), 60s);
    EXPECT_NE(watch->pressure().acting(), nullptr);
    tree.set_memory(9 << 10U);
    look();
    EXPECT_EQ(watch->pressure().kubelet_grace(60s), 1s);
}

/// Case 20; in that shutdown virt-handler stops with the VMs, and nothing is moved.
TEST_F(KubeletTimesTest, TimeThatIsOfNoUseToAMoveIsReportedAsSuch) {
    make(memory_alone + "shutdownGracePeriod: 60s\nshutdownGracePeriodCriticalPods: 10s\n");
    look();
    const auto report = watch->teller().next(clock.steady());
    ASSERT_TRUE(report);
    EXPECT_EQ(report->graces,
              (migration::KubeletGraces{.soft = std::nullopt,
                                        .shutdown = 50s,
                                        .handler_stops = true,
                                        .hard_alone = {PressureSignal::memory_available}}));
}

TEST_F(KubeletTimesTest, LogindGivesNoMoreThanItsOwnLimit) {
    make(memory_alone + "shutdownGracePeriod: 60s\nshutdownGracePeriodCriticalPods: 10s\n");
    launchers = {{.pod_uid = "aa-1", .guest = "shop/db", .vm_grace = 30s}};
    const auto given = [this](const migration::LoginManager& says) {
        login = says;
        look();
        return watch->report(clock.steady()).graces.value().shutdown;
    };
    EXPECT_EQ(given({.shutting_down = false, .kubelet_delays = true, .longest_delay = 5s}), 5s);
    EXPECT_EQ(watch->report(clock.steady()).short_guests, 1U);
    EXPECT_THAT(metrics(), HasSubstr("virt_scout_kubelet_shutdown_grace_seconds 5"));
    EXPECT_EQ(given({.shutting_down = false, .kubelet_delays = false, .longest_delay = 90s}),
              std::nullopt);
    EXPECT_EQ(given({.shutting_down = false, .kubelet_delays = true, .longest_delay = 90s}), 50s);
    EXPECT_EQ(watch->report(clock.steady()).short_guests, 0U);
}

/// The kubelet does not start with both ways to say it.
TEST_F(KubeletTimesTest, MoreTimeIsAdvisedInTheWordsOfTheKubeletsConfiguration) {
    make(memory_alone +
         "shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 20}]\n");
    launchers = {{.pod_uid = "aa-1", .guest = "shop/db", .vm_grace = 180s}};
    look();
    EXPECT_THAT(log.str(), AllOf(HasSubstr("raise the step of the kubelet's "
                                           "shutdownGracePeriodByPodPriority"),
                                 Not(HasSubstr("shutdownGracePeriod "))));
}

TEST_F(KubeletTimesTest, AKubeletWithoutAFileIsNotKnown) {
    make();
    std::filesystem::remove(config_file);
    launchers = {{.pod_uid = "aa-1", .guest = "shop/db", .vm_grace = 180s}};
    look();
    const auto report = watch->report(clock.steady());
    EXPECT_FALSE(report.graces);
    EXPECT_FALSE(watch->shutdown());
    EXPECT_EQ(report.short_guests, 0U);
    EXPECT_THAT(report.trouble,
                AllOf(HasSubstr("expected the kubelet's configuration at " + config_file.string()),
                      HasSubstr("set kubelet-config")));
    EXPECT_THAT(log.str(), Not(HasSubstr("guests ask for more time")));
    // One that goes away later is still in force.
    tree.folder().write("kubelet/config.yaml", memory_alone);
    look_after(61s);
    std::filesystem::remove(config_file);
    look_after(61s);
    EXPECT_TRUE(watch->report(clock.steady()).graces);
    EXPECT_THAT(watch->report(clock.steady()).trouble, HasSubstr("found no file"));
}

TEST_F(KubeletTimesTest, AKubeletThatIsNotKnownGivesNoTimes) {
    make("nonsense");
    look();
    const auto report = watch->teller().next(clock.steady());
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->graces);
    EXPECT_THAT(report->trouble, Not(IsEmpty()));
}

/// Case 20.
TEST_F(KubeletTimesTest, GuestsThatAShutdownWouldCutOffAreToldOnce) {
    make(memory_alone + "shutdownGracePeriod: 60s\nshutdownGracePeriodCriticalPods: 10s\n");
    launchers = {{.pod_uid = "aa-1", .guest = "shop/db", .vm_grace = 180s},
                 {.pod_uid = "aa-2", .guest = "shop/web", .vm_grace = 30s}};
    for (int i = 0; i < 3; ++i) {
        look();
        clock.advance(30s);
    }
    EXPECT_THAT(metrics(), AllOf(HasSubstr("virt_scout_kubelet_shutdown_grace_seconds 50"),
                                 HasSubstr("virt_scout_kubelet_shutdown_short_guests 1")));
    const auto text = log.str();
    EXPECT_THAT(text, HasSubstr("guests=1 longest=180s given=50s"));
    EXPECT_EQ(text.find("guests=1"), text.rfind("guests=1"));
    launchers.clear();
    look();
    EXPECT_THAT(metrics(), HasSubstr("virt_scout_kubelet_shutdown_short_guests 0"));
}

TEST_F(KubeletTimesTest, AKubeletThatDoesNotWaitGivesNothing) {
    make();
    launchers = {{.pod_uid = "aa-1", .guest = "shop/db", .vm_grace = 30s}};
    look();
    EXPECT_THAT(metrics(), Not(HasSubstr("virt_scout_kubelet_shutdown_grace_seconds ")));
    EXPECT_THAT(log.str(), HasSubstr("given=nothing, the kubelet does not wait"));
}

}  // namespace
}  // namespace scout::agent
