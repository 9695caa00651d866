// SPDX-License-Identifier: Apache-2.0
#include "aggregator/fleet_matrix.h"

#include "tests/aggregator/fleet_fixture.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

class FleetMatrixTest : public FleetFixture {
protected:
    FleetMatrix::Level level(const std::string& name) const {
        return fleet.matrix().level_of(node(name));
    }
};

TEST_F(FleetMatrixTest, LevelsFollowNodesAsTheyComeAndGo) {
    add_node("small", small_host());
    EXPECT_EQ(level("small").level, 0U);

    add_node("large", large_host());
    EXPECT_EQ(level("small").destinations, 1U);
    EXPECT_EQ(level("small").level, 100U);
    EXPECT_EQ(level("large").destinations, 0U);

    add_node("other", other_host());
    EXPECT_EQ(level("small").destinations, 1U);
    EXPECT_EQ(level("small").level, 50U);
    EXPECT_EQ(fleet.matrix().matrix().classes(), 3U);
}

TEST_F(FleetMatrixTest, StaleNodesStayAndGoneOnesLeave) {
    add_node("small", small_host());
    add_node("large", large_host());
    clock.advance(1min);
    fleet.registry().touch("small", clock.steady());
    fleet.registry().tick(clock.steady());
    EXPECT_EQ(node("large").freshness, Freshness::stale);
    EXPECT_EQ(level("small").destinations, 1U);

    clock.advance(24h);
    fleet.registry().touch("small", clock.steady());
    fleet.registry().tick(clock.steady());

    EXPECT_FALSE(fleet.matrix().place_of(node("large")));
    EXPECT_EQ(level("small").destinations, 0U);
    EXPECT_EQ(level("small").level, 0U);
    fleet.registry().touch("large", clock.steady());
    EXPECT_EQ(level("small").level, 100U);
}

TEST_F(FleetMatrixTest, ChangedProfileMovesTheNode) {
    add_node("a", small_host());
    add_node("b", small_host());
    EXPECT_EQ(level("a").level, 100U);
    EXPECT_EQ(fleet.matrix().matrix().classes(), 1U);

    add_node("b", other_host());

    EXPECT_EQ(level("a").level, 0U);
    EXPECT_EQ(fleet.matrix().matrix().classes(), 2U);
    EXPECT_EQ(fleet.matrix().matrix().nodes(), 2U);
}

TEST_F(FleetMatrixTest, IncrementalResultIsThatOfAFreshStart) {
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 12; ++i) {
            const auto name = "n" + std::to_string(i);
            const auto which = (i * 7 + round) % 3;
            add_node(name, which == 0 ? small_host() : which == 1 ? large_host() : other_host());
        }
    }
    Fleet again{{}, machine, test::small_map(), clock};
    for (const auto& [name, node] : fleet.registry().nodes()) {
        again.registry().restore(node, clock.steady());
    }

    for (const auto& [name, node] : fleet.registry().nodes()) {
        const auto& other = *again.registry().find(name);
        EXPECT_EQ(fleet.matrix().level_of(node).level, again.matrix().level_of(other).level);
        EXPECT_EQ(fleet.matrix().level_of(node).destinations,
                  again.matrix().level_of(other).destinations);
    }
}

}  // namespace
}  // namespace scout::aggregator
