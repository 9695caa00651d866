// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/aggregator/fake_agent.h"
#include "tests/aggregator/fake_clock.h"
#include "tests/aggregator/fleet_fixture.h"
#include "tests/aggregator/running_aggregator.h"
#include "tests/support/temporary_folder.h"
#include "virt_scout/v1/fleet.grpc.pb.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using Kind = v1::AggregatorMessage::KindCase;

class RestartTest : public ::testing::Test {
protected:
    RestartTest() {
        config = test_config();
        config.state_dir = folder.path();
        config.snapshot_file = "a.snapshot";
    }
    v1::NodesResponse nodes(const RunningAggregator& running) {
        const auto fleet = v1::Fleet::NewStub(running.channel(plaintext()));
        grpc::ClientContext context;
        v1::NodesResponse response;
        EXPECT_TRUE(fleet->Nodes(&context, {}, &response).ok());
        return response;
    }
    /// One agent has reported, and all of it has arrived.
    void report_once(const RunningAggregator& running) {
        FakeAgent agent(running.channel(plaintext()));
        agent.hello("n1", "a");
        ASSERT_EQ(agent.next(), Kind::kWelcome);
        agent.full(small_host(), {wire_guest("u1", "vm-1", small_host())});
        ASSERT_EQ(agent.next(), Kind::kWantProfile);
        agent.body(small_host());
        agent.close();
    }

    test::TemporaryFolder folder;
    test::FakeClock clock;
    Config config;
};

TEST_F(RestartTest, AnswersAtOnceWithHonestAges) {
    {
        RunningAggregator first(config, clock);
        ASSERT_TRUE(first.started()) << first.started().error().message;
        report_once(first);
        clock.advance(3s);
    }
    clock.advance(60s);

    RunningAggregator second(config, clock);
    ASSERT_TRUE(second.started()) << second.started().error().message;
    const auto answer = nodes(second);

    ASSERT_EQ(answer.nodes_size(), 1);
    EXPECT_EQ(answer.nodes(0).name(), "n1");
    EXPECT_EQ(answer.nodes(0).age_ms(), 63'000U);
    EXPECT_EQ(answer.nodes(0).freshness(), v1::STALE);
    EXPECT_EQ(answer.nodes(0).guests(), 1U);
    EXPECT_TRUE(answer.nodes(0).comparable());
    FakeAgent agent(second.channel(plaintext()));
    agent.hello("n1", "a");
    ASSERT_EQ(agent.next(), Kind::kWelcome);
    agent.full(small_host());
    agent.close();
    EXPECT_EQ(nodes(second).nodes(0).freshness(), v1::FRESH);
}

TEST_F(RestartTest, DamagedSnapshotIsSetAsideAndTheStartIsEmpty) {
    folder.write("a.snapshot", "virt-scout-snapshot 1 of something else");

    RunningAggregator running(config, clock);

    ASSERT_TRUE(running.started()) << running.started().error().message;
    EXPECT_EQ(nodes(running).nodes_size(), 0);
    std::size_t aside = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        aside += entry.path().filename().string().starts_with("a.snapshot.damaged-") ? 1U : 0U;
    }
    EXPECT_EQ(aside, 1U);
}

TEST_F(RestartTest, StartThatFailsLeavesTheSnapshotAlone) {
    RunningAggregator first(config, clock);
    ASSERT_TRUE(first.started()) << first.started().error().message;
    const auto before = folder.write("a.snapshot", "");
    auto second_config = config;
    second_config.listen_grpc = first.endpoint().target();
    {
        RunningAggregator second(second_config, clock);
        ASSERT_FALSE(second.started());
    }
    EXPECT_EQ(std::filesystem::file_size(before), 0U);
}

TEST_F(RestartTest, FolderThatIsMissingCostsTheSnapshotAndNothingElse) {
    config.state_dir = folder.path() / "missing";

    RunningAggregator running(config, clock);

    ASSERT_TRUE(running.started()) << running.started().error().message;
    report_once(running);
    EXPECT_EQ(nodes(running).nodes_size(), 1);
}

}  // namespace
}  // namespace scout::aggregator
