// SPDX-License-Identifier: Apache-2.0
// Agents that tell by tokens who they are, over gRPC.
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <gmock/gmock.h>

#include "agent/report_stream.h"
#include "aggregator/grpc_server.h"
#include "aggregator/reports_service.h"
#include "tests/aggregator/fake_agent.h"
#include "tests/aggregator/fleet_fixture.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait_until.h"
#include "tests/wire/certificates.h"
#include "wire/endpoint.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using Kind = v1::AggregatorMessage::KindCase;
using testing::HasSubstr;

/// Knows some tokens, and holds its answers where a test wants that. Its own loop is the service's.
class FakeOwners final : public TokenOwners {
public:
    explicit FakeOwners(asio::io_context& loop) : release(loop, SteadyTime::max()) {}

    Task<Result<AgentIdentity>> owner_of(std::string token) override {
        ++asked;
        if (held) {
            co_await release.async_wait(as_result);
        }
        ++answered;
        const auto found = nodes.find(token);
        if (found == nodes.end()) {
            co_return fail(away ? Errc::unavailable : Errc::refused, "token: nobody's");
        }
        AgentIdentity identity{.node = found->second, .pod = "scout/agent-x"};
        co_return identity;
    }

    const std::map<std::string, std::string> nodes{{"token-1", "n1"}, {"token-2", "n2"}};
    asio::steady_timer release;
    std::atomic<bool> held = false;
    std::atomic<bool> away = false;
    std::atomic<int> asked = 0;
    std::atomic<int> answered = 0;
};

class ReportsTokensTest : public FleetFixture {
protected:
    ReportsTokensTest() {
        test::Authority{"test authority"}.issue(folder.path(), "aggregator", "");
        wire::Security security;
        security.tls = wire::TlsFiles{.certificate = folder.path() / "certificate.pem",
                                      .key = folder.path() / "key.pem",
                                      .side = wire::TlsSide::server};
        server = GrpcServer::start(loop.get_executor(), wire::parse_endpoint("127.0.0.1:0").value(),
                                   security, {&reports})
                     .value();
    }
    ~ReportsTokensTest() override {
        on_loop([this] { release_all(); });
        asio::co_spawn(loop, reports.stop(), asio::use_future).get();
        asio::co_spawn(loop, server->stop_accepting(), asio::use_future).get();
        GrpcServer::shut_down({server}, 5s);
        work.reset();
        turning.join();
    }

    wire::Security client() const {
        wire::Security security;
        security.tls =
            wire::TlsFiles{.ca = folder.path() / "ca.pem", .side = wire::TlsSide::client};
        return security;
    }
    std::unique_ptr<FakeAgent> agent(const std::string& token) const {
        return std::make_unique<FakeAgent>(wire::open_channel(server->endpoint(), client()).value(),
                                           token);
    }
    /// Runs it where everything of the service lives, and waits for its end.
    template <class Fn>
    std::invoke_result_t<Fn&> on_loop(Fn fn) {
        return asio::post(loop, std::packaged_task<decltype(fn())()>(std::move(fn))).get();
    }
    void release_all() {
        owners.held = false;
        owners.release.cancel();
    }
    std::size_t sessions() {
        return on_loop([this] { return reports.sessions().size(); });
    }

    test::TemporaryFolder folder;
    asio::io_context loop{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{loop.get_executor()};
    FakeOwners owners{loop};
    ReportsService reports{loop.get_executor(), fleet, Proof::token, &owners};
    std::jthread turning{[this] { loop.run(); }};
    std::shared_ptr<GrpcServer> server;
};

TEST_F(ReportsTokensTest, NothingIsReadBeforeTheOwnerIsKnown) {
    owners.held = true;
    const auto agent = this->agent("token-1");
    agent->hello("n1", "machine");
    agent->full(small_host());
    ASSERT_TRUE(test::wait_until([this] { return owners.asked == 1; }));
    EXPECT_EQ(on_loop([this] { return fleet.registry().nodes().size(); }), 0U);

    on_loop([this] { release_all(); });

    EXPECT_EQ(agent->next(), Kind::kWelcome);
    EXPECT_EQ(agent->next(), Kind::kWantProfile) << "the full report came behind the hello";
    agent->close();
}

TEST_F(ReportsTokensTest, AReportForAnotherNodeThanTheTokensIsRefused) {
    const auto agent = this->agent("token-1");

    agent->hello("n2", "machine");

    EXPECT_EQ(agent->next(), Kind::KIND_NOT_SET);
    const auto status = agent->finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(status.error_message(),
              "a report for node n2 is refused: the token is of pod scout/agent-x on node n1: "
              "node-name must be the name of the node that the pod runs on");
}

TEST_F(ReportsTokensTest, AStreamWithoutAGoodTokenEndsWithTheReason) {
    const auto without = agent("");
    EXPECT_EQ(without->next(), Kind::KIND_NOT_SET);
    const auto none = without->finish();
    EXPECT_EQ(none.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(none.error_message(), HasSubstr("set the agent's token-file"));
    EXPECT_EQ(owners.asked, 0);

    for (const bool away : {false, true}) {
        owners.away = away;
        const auto agent = this->agent("token-x");
        agent->hello("n1", "machine");
        EXPECT_EQ(agent->next(), Kind::KIND_NOT_SET);
        const auto status = agent->finish();
        EXPECT_EQ(status.error_code(),
                  away ? grpc::StatusCode::UNAVAILABLE : grpc::StatusCode::PERMISSION_DENIED);
        EXPECT_EQ(status.error_message(), "token: nobody's");
    }
    EXPECT_EQ(on_loop([this] { return reports.sessions().counters().refused; }), 3U);
}

TEST_F(ReportsTokensTest, APeerThatGoesAwayMeanwhileIsDropped) {
    owners.held = true;
    for (const auto* token : {"token-1", "token-x"}) {
        const auto asked = owners.asked.load();
        const auto leaving = agent(token);
        leaving->hello("n1", "machine");
        ASSERT_TRUE(test::wait_until([&] { return owners.asked > asked; }));
        leaving->cancel();
        EXPECT_EQ(leaving->next(), Kind::KIND_NOT_SET);
        EXPECT_EQ(leaving->finish().error_code(), grpc::StatusCode::CANCELLED);
        ASSERT_TRUE(test::wait_until([this] { return sessions() == 0; }));
    }

    on_loop([this] { release_all(); });

    ASSERT_TRUE(test::wait_until([this] { return owners.answered == 2; }));
    EXPECT_EQ(sessions(), 0U);
    const auto next = agent("token-2");
    next->hello("n2", "machine");
    EXPECT_EQ(next->next(), Kind::kWelcome);
    next->close();
}

TEST_F(ReportsTokensTest, AStopEndsStreamsWhoseTokensAreBeingChecked) {
    owners.held = true;
    const auto agent = this->agent("token-1");
    agent->hello("n1", "machine");
    ASSERT_TRUE(test::wait_until([this] { return owners.asked == 1; }));

    asio::co_spawn(loop, reports.stop(), asio::use_future).get();

    EXPECT_EQ(agent->next(), Kind::KIND_NOT_SET);
    EXPECT_EQ(agent->finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(sessions(), 0U);
}

TEST_F(ReportsTokensTest, AnAgentIsKnownByTheTokenInItsFile) {
    asio::io_context own{1};
    const auto file = folder.write("token", "token-1\n");
    const auto link = agent::make_grpc_link(own.get_executor(), server->endpoint(), client(), file);
    const auto hello = [&own, &link](const std::string& node) -> Result<agent::Request> {
        const auto stream = link->open().value();
        const auto sent = test::run_until_done(
            own, stream->send(agent::HelloMessage{.node = node, .host_identity = "m" + node}));
        return sent ? test::run_until_done(own, stream->receive()) : fail(sent.error());
    };

    EXPECT_TRUE(hello("n1"));
    static_cast<void>(folder.write("token", "token-2\n"));
    EXPECT_TRUE(hello("n2"));
    const auto other = hello("n1");

    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Errc::refused);
    EXPECT_THAT(other.error().message, HasSubstr("a report for node n1 is refused"));
}

}  // namespace
}  // namespace scout::aggregator
