// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "aggregator/snapshot_messages.h"
#include "base/files.h"
#include "tests/aggregator/fake_agent.h"
#include "tests/aggregator/fleet_fixture.h"
#include "tests/aggregator/running_aggregator.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temporary_folder.h"
#include "virt_scout/v1/fleet.grpc.pb.h"
#include "virt_scout/v1/snapshot.pb.h"

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

    /// Snapshots that were set aside, by name.
    std::vector<std::filesystem::path> aside() const {
        std::vector<std::filesystem::path> found;
        const auto files = list_files(folder.path()).value();
        for (const auto& file : files) {
            if (file.filename().string().starts_with("a.snapshot.damaged-")) {
                found.push_back(file);
            }
        }
        return found;
    }
    std::string valid_snapshot() const {
        return encode_snapshot(Registry{RegistryOptions{}, clock}, clock.wall(), clock.steady());
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

TEST_F(RestartTest, SnapshotThatCannotBeUsedIsSetAsideAndTheStartIsEmpty) {
    constexpr std::size_t damaged = 38;
    for (const std::size_t size : {damaged, std::size_t{0}, snapshot_limit + 1}) {
        const auto before = aside().size();
        const auto file = folder.write("a.snapshot", "virt-scout-snapshot 1 of something else");
        std::filesystem::resize_file(file, size);
        {
            RunningAggregator running(config, clock);
            ASSERT_TRUE(running.started()) << running.started().error().message;
            EXPECT_EQ(nodes(running).nodes_size(), 0);
        }
        const auto now = aside();
        ASSERT_EQ(now.size(), before + 1) << size;
        EXPECT_EQ(std::filesystem::file_size(now.back()), size);
        clock.advance(1s);
    }
}

TEST_F(RestartTest, WhatCannotBeSetAsideIsNeverOverwritten) {
    std::filesystem::create_directory(folder.path() / "a.snapshot");
    folder.write("a.snapshot/precious", "");
    {
        RunningAggregator running(config, clock);
        ASSERT_TRUE(running.started()) << running.started().error().message;
        report_once(running);
    }
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "a.snapshot" / "precious"));
    EXPECT_TRUE(aside().empty());
}

TEST_F(RestartTest, SecondAggregatorOnOneStateFolderIsRefusedAndTheFirstOneNamed) {
    RunningAggregator first(config, clock);
    ASSERT_TRUE(first.started()) << first.started().error().message;
    const auto before = folder.write("a.snapshot", "of the first");
    {
        RunningAggregator second(config, clock);
        ASSERT_FALSE(second.started());
        const auto& said = second.started().error().message;
        EXPECT_NE(said.find("another aggregator uses this state-dir"), std::string::npos) << said;
        EXPECT_NE(said.find("process " + std::to_string(::getpid())), std::string::npos) << said;
    }
    EXPECT_EQ(read_file(before).value(), "of the first");
}

TEST_F(RestartTest, StartThatFailsLeavesTheSnapshotAlone) {
    RunningAggregator first(test_config(), clock);
    ASSERT_TRUE(first.started()) << first.started().error().message;
    const auto before = folder.write("a.snapshot", valid_snapshot());
    config.listen_grpc = first.endpoint().target();
    {
        RunningAggregator second(config, clock);
        ASSERT_FALSE(second.started());
    }
    EXPECT_EQ(read_file(before).value(), valid_snapshot());
}

TEST_F(RestartTest, LastSnapshotIsWrittenBeforeTheStreamsEnd) {
    RunningAggregator running(config, clock);
    ASSERT_TRUE(running.started()) << running.started().error().message;
    FakeAgent agent(running.channel(plaintext()));
    agent.hello("n1", "a");
    ASSERT_EQ(agent.next(), Kind::kWelcome);
    agent.full(small_host());
    ASSERT_EQ(agent.next(), Kind::kWantProfile);

    const std::jthread stopping([&running] { running.stop(); });
    ASSERT_EQ(agent.next(), Kind::KIND_NOT_SET);

    const auto snapshot = read_file(folder.path() / "a.snapshot");
    ASSERT_TRUE(snapshot) << snapshot.error().message;
    EXPECT_EQ(decode_snapshot(*snapshot).value().nodes_size(), 1);
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
