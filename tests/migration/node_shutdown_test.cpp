// SPDX-License-Identifier: Apache-2.0
#include "migration/node_shutdown.h"

#include <gtest/gtest.h>

#include "migration/eviction_order.h"

namespace scout::migration {
namespace {

using namespace std::chrono_literals;

/// Case 20: the guest is cut off after 50 s, whatever its own grace is.
TEST(NodeShutdownTest, OrdinaryPodsHaveWhatCriticalOnesLeave) {
    const NodeShutdown shutdown{.total = 60s, .critical = 10s, .by_priority = {}};
    EXPECT_EQ(shutdown_grace(shutdown), 50s);
    EXPECT_EQ(shutdown_grace(shutdown, critical_priority), 10s);
}

TEST(NodeShutdownTest, ByDefaultTheKubeletWaitsForNobody) {
    EXPECT_FALSE(shutdown_grace({}));
    EXPECT_EQ(shutdown_grace({.total = 30s, .critical = 30s, .by_priority = {}}), 0s);
}

TEST(NodeShutdownTest, APodBelongsToTheHighestPriorityThatItReaches) {
    const NodeShutdown shutdown{.total = {},
                                .critical = {},
                                .by_priority = {{.priority = 10'000, .grace = 180s},
                                                {.priority = -5, .grace = 20s},
                                                {.priority = 1'000, .grace = 60s}}};
    EXPECT_EQ(shutdown_grace(shutdown, 10'000), 180s);
    EXPECT_EQ(shutdown_grace(shutdown, 9'999), 60s);
    EXPECT_EQ(shutdown_grace(shutdown, 0), 20s);
    EXPECT_EQ(shutdown_grace(shutdown, -100), 20s);
}

/// virt-handler has a priority of its own, and is not critical to the kubelet.
TEST(NodeShutdownTest, VirtHandlerStopsWithVmsUnlessAStepIsBetweenThem) {
    EXPECT_TRUE(handler_stops_with_vms({.total = 330s, .critical = 30s, .by_priority = {}}));
    const auto with = [](std::vector<ShutdownPriority> steps) {
        return handler_stops_with_vms({.total = {}, .critical = {}, .by_priority = steps});
    };
    EXPECT_TRUE(with({{.priority = 0, .grace = 300s}}));
    EXPECT_TRUE(with({{.priority = 0, .grace = 300s}, {.priority = 2'000'000'000, .grace = 10s}}));
    EXPECT_TRUE(with({{.priority = 1'000'000'001, .grace = 1s}, {.priority = 5, .grace = 1s}}))
        << "below the lowest step it is that one";
    EXPECT_FALSE(
        with({{.priority = 0, .grace = 300s}, {.priority = handler_priority, .grace = 9s}}));
    EXPECT_FALSE(with({{.priority = 10'000, .grace = 9s}, {.priority = 0, .grace = 300s}}));
}

TEST(NodeShutdownTest, AllStepsDelayAShutdown) {
    EXPECT_EQ(delay_of({.total = 60s, .critical = 10s, .by_priority = {}}), 60s);
    EXPECT_EQ(delay_of({.total = {},
                        .critical = {},
                        .by_priority = {{.priority = 0, .grace = 300s},
                                        {.priority = handler_priority, .grace = 20s}}}),
              320s);
    EXPECT_EQ(delay_of({}), 0s);
}

TEST(NodeShutdownTest, TheLoginManagerWaitsForALockAndNoLongerThanItsLimit) {
    const NodeShutdown shutdown{.total = 60s, .critical = 10s, .by_priority = {}};
    const LoginManager idle{.shutting_down = true, .kubelet_delays = true, .longest_delay = 90s};
    EXPECT_EQ(shutdown_grace(shutdown, idle), 50s);
    EXPECT_EQ(shutdown_grace(shutdown, LoginManager{true, true, 5500ms}), 5s);
    EXPECT_EQ(shutdown_grace(shutdown, LoginManager{true, false, 90s}), std::nullopt);
    EXPECT_EQ(shutdown_grace({}, idle), std::nullopt);
    EXPECT_EQ(shutdown_grace(shutdown, std::nullopt), 50s);
}

}  // namespace
}  // namespace scout::migration
