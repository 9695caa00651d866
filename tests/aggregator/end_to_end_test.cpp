// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/aggregator/fake_agent.h"
#include "tests/aggregator/fleet_fixture.h"
#include "tests/aggregator/running_aggregator.h"
#include "tests/support/temporary_folder.h"
#include "tests/wire/certificates.h"
#include "virt_scout/v1/fleet.grpc.pb.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using Kind = v1::AggregatorMessage::KindCase;

/// An agent's first talk, up to where the aggregator knows everything.
void report(FakeAgent& agent, const std::string& node, const migration::Profile& profile,
            const std::vector<v1::Guest>& guests, bool profile_known) {
    agent.hello(node, "id-" + node);
    ASSERT_EQ(agent.next(), Kind::kWelcome);
    agent.full(profile, guests);
    if (!profile_known) {
        ASSERT_EQ(agent.next(), Kind::kWantProfile);
        agent.body(profile);
    }
}

class EndToEndTest : public ::testing::Test {
protected:
    static std::unique_ptr<v1::Fleet::Stub> ask(const std::shared_ptr<grpc::Channel>& channel) {
        return v1::Fleet::NewStub(channel);
    }
    static v1::NodesResponse nodes(v1::Fleet::Stub& fleet) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + 10s);
        v1::NodesResponse response;
        const auto status = fleet.Nodes(&context, {}, &response);
        EXPECT_TRUE(status.ok()) << status.error_message();
        return response;
    }
    /// Asks until the answer is as wanted: reports arrive when they arrive.
    static v1::NodesResponse nodes_when(
        v1::Fleet::Stub& fleet, const std::function<bool(const v1::NodesResponse&)>& wanted) {
        const auto limit = std::chrono::steady_clock::now() + 10s;
        auto answer = nodes(fleet);
        while (!wanted(answer) && std::chrono::steady_clock::now() < limit) {
            answer = nodes(fleet);
        }
        EXPECT_TRUE(wanted(answer)) << answer.ShortDebugString();
        return answer;
    }
    /// A client that buffers 64 KiB and no more; others take megabytes before they stop the sender.
    static std::shared_ptr<grpc::Channel> narrow_channel(const wire::Endpoint& endpoint) {
        grpc::ChannelArguments arguments;
        arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
        arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 65'536);
        return grpc::CreateCustomChannel(endpoint.target(), grpc::InsecureChannelCredentials(),
                                         arguments);
    }
    static bool all_comparable(const v1::NodesResponse& answer, int count) {
        return answer.nodes_size() == count &&
               std::all_of(answer.nodes().begin(), answer.nodes().end(),
                           [](const auto& node) { return node.comparable(); });
    }

    test::TemporaryFolder folder;
    SystemClock clock;
};

TEST_F(EndToEndTest, AgentsReportAndUsersAskOverTheQuerySocket) {
    auto config = test_config();
    config.query_socket = folder.path() / "query.sock";
    RunningAggregator running(config, clock);
    ASSERT_TRUE(running.started()) << running.started().error().message;
    FakeAgent small(running.channel(plaintext()));
    FakeAgent large(running.channel(plaintext()));
    report(small, "small", small_host(), {wire_guest("u1", "vm-1", small_host())}, false);
    report(large, "large", large_host(), {}, false);
    wire::Endpoint socket;
    socket.unix_path = config.query_socket;
    const auto fleet = ask(wire::open_channel(socket, {}).value());

    const auto answer = nodes_when(*fleet, [](const auto& now) { return all_comparable(now, 2); });

    EXPECT_EQ(answer.nodes(1).name(), "small");
    EXPECT_EQ(answer.nodes(1).freshness(), v1::FRESH);
    struct stat info{};
    ASSERT_EQ(::stat(config.query_socket.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0660U);

    grpc::ClientContext context;
    v1::WhereRequest request;
    request.mutable_subject()->set_guest("vm-1");
    v1::WhereResponse where;
    const auto status = fleet->Where(&context, request, &where);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(where.source(), "small");
    ASSERT_EQ(where.nodes_size(), 1);
    EXPECT_EQ(where.nodes(0).node(), "large");
}

TEST_F(EndToEndTest, QuerySocketTakesNoReports) {
    auto config = test_config();
    config.query_socket = folder.path() / "query.sock";
    RunningAggregator running(config, clock);
    ASSERT_TRUE(running.started()) << running.started().error().message;
    wire::Endpoint socket;
    socket.unix_path = config.query_socket;

    FakeAgent agent(wire::open_channel(socket, {}).value());
    agent.hello("n1", "a");

    EXPECT_EQ(agent.next(), Kind::KIND_NOT_SET);
    EXPECT_EQ(agent.finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(EndToEndTest, AgentsMayReportOverAUnixSocketToo) {
    auto config = test_config();
    config.plaintext = false;
    config.listen_grpc = "unix:" + (folder.path() / "agents.sock").string();
    RunningAggregator running(config, clock);
    ASSERT_TRUE(running.started()) << running.started().error().message;
    FakeAgent agent(running.channel({}));
    report(agent, "n1", small_host(), {}, false);
    const auto fleet = ask(running.channel({}));

    nodes_when(*fleet, [](const auto& now) { return all_comparable(now, 1); });
}

TEST_F(EndToEndTest, UnknownNamesComeBackAsNotFound) {
    RunningAggregator running(test_config(), clock);
    ASSERT_TRUE(running.started()) << running.started().error().message;
    const auto fleet = ask(running.channel(plaintext()));
    grpc::ClientContext context;
    v1::NodeRequest request;
    request.set_name("none");
    v1::NodeResponse response;

    const auto status = fleet->Node(&context, request, &response);

    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_EQ(status.error_message(), "node none is not known");
}

TEST_F(EndToEndTest, CertificateMustNameTheNode) {
    const test::Authority authority{"authority"};
    const auto files = [this](const std::string& side) {
        wire::Security security;
        security.tls.emplace();
        security.tls->ca = folder.path() / side / "ca.pem";
        security.tls->certificate = folder.path() / side / "certificate.pem";
        security.tls->key = folder.path() / side / "key.pem";
        return security;
    };
    authority.issue(folder.path() / "server", "aggregator", "");
    authority.issue(folder.path() / "agent", "n1", "n1.example.org");
    auto config = test_config();
    config.plaintext = false;
    config.tls_ca = folder.path() / "server" / "ca.pem";
    config.tls_cert = folder.path() / "server" / "certificate.pem";
    config.tls_key = folder.path() / "server" / "key.pem";
    RunningAggregator running(config, clock);
    ASSERT_TRUE(running.started()) << running.started().error().message;

    FakeAgent own(running.channel(files("agent")));
    own.hello("n1.example.org", "a");
    EXPECT_EQ(own.next(), Kind::kWelcome);
    FakeAgent foreign(running.channel(files("agent")));
    foreign.hello("n2", "a");
    EXPECT_EQ(foreign.next(), Kind::KIND_NOT_SET);

    const auto status = foreign.finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_NE(status.error_message().find("n2"), std::string::npos);
}

TEST_F(EndToEndTest, WatcherSeesWhatIsThereAndWhatChanges) {
    RunningAggregator running(test_config(), clock);
    ASSERT_TRUE(running.started()) << running.started().error().message;
    FakeAgent agent(running.channel(plaintext()));
    report(agent, "n1", small_host(), {wire_guest("u1", "vm-1", small_host())}, false);
    const auto fleet = ask(running.channel(plaintext()));
    nodes_when(*fleet, [](const auto& now) { return all_comparable(now, 1); });
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 10s);
    const auto stream = fleet->Watch(&context, {});
    const auto next = [&stream] {
        v1::FleetEvent event;
        return stream->Read(&event) ? event.kind() : v1::FleetEvent::KIND_UNKNOWN;
    };

    EXPECT_EQ(next(), v1::FleetEvent::NODE_ADDED);
    EXPECT_EQ(next(), v1::FleetEvent::GUEST_ADDED);
    EXPECT_EQ(next(), v1::FleetEvent::SYNCED);
    v1::AgentMessage delta;
    delta.mutable_delta()->set_sequence(2);
    *delta.mutable_delta()->add_removed() = removed_guest("u1", "event");
    agent.send(delta);
    EXPECT_EQ(next(), v1::FleetEvent::GUEST_REMOVED);

    running.stop();

    EXPECT_EQ(next(), v1::FleetEvent::KIND_UNKNOWN);
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

/// The memory of each guest is the number of the message.
v1::AgentMessage changes_of_fifty(std::uint64_t sequence) {
    v1::AgentMessage delta;
    delta.mutable_delta()->set_sequence(sequence);
    auto guest = wire_guest("u1", std::string(200, 'x'), small_host());
    guest.set_memory_kib(sequence);
    for (const auto* state : {"paused", "running"}) {
        for (int i = 0; i < 50; ++i) {
            guest.set_uuid(std::to_string(i));
            guest.set_state(state);
            *delta.mutable_delta()->add_changed() = guest;
        }
    }
    return delta;
}

TEST_F(EndToEndTest, WatcherThatDoesNotReadIsEnded) {
    RunningAggregator running(test_config(), clock);
    ASSERT_TRUE(running.started()) << running.started().error().message;
    FakeAgent agent(running.channel(plaintext()));
    report(agent, "n1", small_host(), {}, false);
    const auto fleet = ask(narrow_channel(running.endpoint()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 20s);
    const auto stream = fleet->Watch(&context, {});
    v1::FleetEvent event;
    while (stream->Read(&event) && event.kind() != v1::FleetEvent::SYNCED) {
    }

    constexpr std::uint64_t last = 400;
    for (std::uint64_t sequence = 2; sequence <= last; ++sequence) {
        agent.send(changes_of_fifty(sequence));
    }
    v1::GuestsResponse guests;
    const auto limit = std::chrono::steady_clock::now() + 10s;
    while ((guests.guests_size() == 0 || guests.guests(0).guest().memory_kib() != last) &&
           std::chrono::steady_clock::now() < limit) {
        grpc::ClientContext asking;
        guests.Clear();
        ASSERT_TRUE(fleet->Guests(&asking, {}, &guests).ok());
    }
    while (stream->Read(&event)) {
    }

    // It was dropped: a reason would have waited behind what it does not read.
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace scout::aggregator
