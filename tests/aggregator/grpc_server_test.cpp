// SPDX-License-Identifier: Apache-2.0
#include "aggregator/grpc_server.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <gtest/gtest.h>

#include "aggregator/reports_service.h"
#include "tests/aggregator/fake_agent.h"
#include "tests/aggregator/fleet_fixture.h"
#include "tests/aggregator/running_aggregator.h"
#include "tests/support/temporary_folder.h"
#include "tests/wire/certificates.h"
#include "wire/endpoint.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using Kind = v1::AggregatorMessage::KindCase;

boost::asio::ip::tcp::socket connect_silently(asio::io_context& loop, std::uint16_t port) {
    asio::ip::tcp::socket socket(loop);
    socket.connect({asio::ip::address_v4::loopback(), port});
    return socket;
}

wire::Security server_files(const std::filesystem::path& folder) {
    wire::Security security;
    security.tls = wire::TlsFiles{.ca = folder / "ca.pem",
                                  .certificate = folder / "certificate.pem",
                                  .key = folder / "key.pem"};
    return security;
}

class GrpcServerTest : public FleetFixture {
protected:
    test::TemporaryFolder folder;
    asio::io_context loop{1};
    ReportsService reports{loop.get_executor(), fleet, Proof::none};
};

TEST_F(GrpcServerTest, CutsOffWhoNeverFinishesTheHandshake) {
    const test::Authority authority{"test authority"};
    authority.issue(folder.path(), "aggregator", "");
    for (const auto& security : {server_files(folder.path()), plaintext()}) {
        const auto server = GrpcServer::start(wire::parse_endpoint("127.0.0.1:0").value(), security,
                                              {&reports}, 200ms);
        ASSERT_TRUE(server) << server.error().message;
        auto socket = connect_silently(loop, (*server)->endpoint().port);
        const auto begun = std::chrono::steady_clock::now();

        std::string rest;
        boost::system::error_code ended;
        boost::asio::read(socket, boost::asio::dynamic_buffer(rest), ended);

        EXPECT_TRUE(ended);
        EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s);
    }
}

TEST_F(GrpcServerTest, StopsInTimeWithHalfOpenConnections) {
    const std::shared_ptr server =
        GrpcServer::start(wire::parse_endpoint("127.0.0.1:0").value(), plaintext(), {&reports}, 1h)
            .value();
    const auto first = connect_silently(loop, server->endpoint().port);
    const auto second = connect_silently(loop, server->endpoint().port);
    const auto begun = std::chrono::steady_clock::now();

    GrpcServer::shut_down({server}, 500ms);

    EXPECT_LT(std::chrono::steady_clock::now() - begun, 4s);
}

TEST_F(GrpcServerTest, SuccessorKeepsTheSocketThatItTookOver) {
    const auto endpoint =
        wire::parse_endpoint("unix:" + (folder.path() / "a.sock").string()).value();
    std::shared_ptr first = GrpcServer::start(endpoint, {}, {&reports}).value();
    std::filesystem::remove(endpoint.unix_path);
    const std::shared_ptr second = GrpcServer::start(endpoint, {}, {&reports}).value();

    GrpcServer::shut_down({first}, 5s);
    first.reset();

    EXPECT_FALSE(wire::UnixSocketPlace::claim(endpoint.unix_path)) << "nobody listens there";
    GrpcServer::shut_down({second}, 5s);
    EXPECT_FALSE(std::filesystem::exists(endpoint.unix_path));
}

/// Runs the loop of a service for as long as it is in scope.
class TurningLoop {
public:
    explicit TurningLoop(asio::io_context& loop)
        : work_(loop.get_executor()), thread_([&loop] { loop.run(); }) {}
    void stop() {
        work_.reset();
        thread_.join();
    }

private:
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::jthread thread_;
};

TEST_F(GrpcServerTest, PeerWithoutACertificateSpeaksForNoNodeWhereOneIsNeeded) {
    for (const auto proof : {Proof::needed, Proof::none}) {
        ReportsService proving(loop.get_executor(), fleet, proof);
        const std::shared_ptr server =
            GrpcServer::start(wire::parse_endpoint("127.0.0.1:0").value(), plaintext(), {&proving})
                .value();
        loop.restart();
        TurningLoop turning(loop);
        FakeAgent agent(wire::open_channel(server->endpoint(), plaintext()).value());

        agent.hello("n1", "a");

        EXPECT_EQ(agent.next(), proof == Proof::none ? Kind::kWelcome : Kind::KIND_NOT_SET);
        if (proof == Proof::needed) {
            EXPECT_EQ(agent.finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
        } else {
            agent.close();
        }
        GrpcServer::shut_down({server}, 5s);
        turning.stop();
    }
}

}  // namespace
}  // namespace scout::aggregator
