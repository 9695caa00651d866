// SPDX-License-Identifier: Apache-2.0
// How a guest was found to be gone, from the hypervisor's event to the line of `guests --watch`.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "agent/agent.h"
#include "agent/report_stream.h"
#include "aggregator/messages.h"
#include "cli/open_fleet.h"
#include "cli/render_json.h"
#include "tests/aggregator/fleet_fixture.h"
#include "tests/aggregator/running_aggregator.h"
#include "tests/support/fake_hypervisor.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using hypervisor::FoundBy;

class RemovedGuestsTest : public ::testing::Test {
protected:
    ~RemovedGuestsTest() override { EXPECT_TRUE(pool.stop(5s)); }

    agent::Agent make_agent(agent::AggregatorLink& link) {
        agent::AgentOptions options{.node_name = "n1",
                                    .listen_http = "",
                                    .prober = {.host_root = root.path(),
                                               .state_dir = state.path(),
                                               .labeller_dir = labeller.path()},
                                    .report = {},
                                    .seed = 1};
        return agent::Agent(std::move(options), {.loop = loop.get_executor(),
                                                 .clock = clock,
                                                 .pool = pool,
                                                 .probed = hypervisor,
                                                 .watched = hypervisor,
                                                 .link = &link});
    }
    Status watch(const wire::Endpoint& endpoint) {
        cli::Settings settings;
        settings.aggregator = endpoint.target();
        settings.plaintext = true;
        const auto fleet = cli::open_fleet(settings, {}, clock);
        return fleet
                   ? (*fleet)->watch_guests("", [this](const auto& event) { return follow(event); })
                   : Status{tl::unexpect, fleet.error()};
    }
    /// Removes one guest after the other as the watcher sees what it is to see. Any thread.
    bool follow(const cli::GuestEvent& event) {
        lines.push_back(boost::json::serialize(cli::to_json(event)));
        const bool is_first = event.guest.uuid == "u1";
        if (event.event == "added" && !is_first) {
            asio::post(loop, [this] { hypervisor.remove("u1", FoundBy::event, WallTime{60s}); });
        } else if (event.event == "removed" && is_first) {
            asio::post(loop, [this] { hypervisor.remove("u2", FoundBy::resync, WallTime{120s}); });
        }
        return event.event != "removed" || is_first;
    }

    asio::io_context loop{1};
    SystemClock clock;
    BlockingPool pool{2};
    test::TemporaryFolder root;
    test::TemporaryFolder state;
    test::TemporaryFolder labeller;
    test::FakeHypervisor hypervisor{loop.get_executor(), pool};
    std::vector<std::string> lines;
};

TEST_F(RemovedGuestsTest, WatchTellsHowAndSinceWhen) {
    RunningAggregator running(test_config(), clock);
    ASSERT_TRUE(running.started()) << running.started().error().message;
    hypervisor.running = {test::example_guest("u1"), test::example_guest("u2")};
    const auto link = agent::make_grpc_link(loop.get_executor(), running.endpoint(), plaintext());
    auto agent = make_agent(*link);
    Status watched;
    std::atomic<bool> seen{false};
    std::thread watcher([&] {
        watched = watch(running.endpoint());
        seen = true;
    });
    auto story = [&]() -> Task<> {
        const auto started = co_await agent.start();
        EXPECT_TRUE(started);
        asio::steady_timer timer(loop);
        for (int turn = 0; turn < 2000 && !seen; ++turn) {
            timer.expires_after(10ms);
            co_await timer.async_wait(as_result);
        }
        co_await agent.stop();
    };
    test::run_to_end(loop, story());
    running.stop();  // ends a watching that still waits
    watcher.join();

    EXPECT_TRUE(watched) << watched.error().message;
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_THAT(
        lines[2],
        testing::HasSubstr(R"("event":"removed","uuid":"u1","name":"guest-u1","state":"running",)"
                           R"("since":"1970-01-01T00:01:00Z","foundBy":"event","node":"n1")"));
    EXPECT_THAT(
        lines[3],
        testing::HasSubstr(R"("event":"removed","uuid":"u2","name":"guest-u2","state":"running",)"
                           R"("since":"1970-01-01T00:02:00Z","foundBy":"resync","node":"n1")"));
}

TEST(RemovedGuestsMessageTest, TooManyAreRefused) {
    v1::Delta delta;
    for (int i = 0; i <= 4096; ++i) {
        *delta.add_removed() = removed_guest(std::to_string(i), "event");
    }

    EXPECT_EQ(removed_from_wire(delta.removed()).error().message,
              "removed: expected at most 4096 entries, found 4097");
}

}  // namespace
}  // namespace scout::aggregator
