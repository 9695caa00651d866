// SPDX-License-Identifier: Apache-2.0
#include "aggregator/grpc_server.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include "aggregator/reports_service.h"
#include "tests/aggregator/fake_agent.h"
#include "tests/aggregator/fleet_fixture.h"
#include "tests/aggregator/running_aggregator.h"
#include "tests/support/no_descriptor_left.h"
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

/// Its loop turns as long as it is in scope.
class GrpcServerTest : public FleetFixture {
protected:
    ~GrpcServerTest() override {
        work.reset();
        turning.join();
    }
    std::shared_ptr<GrpcServer> start(const std::string& address, const wire::Security& security,
                                      std::chrono::milliseconds handshake_limit = 10s) {
        return start(address, security, reports, handshake_limit);
    }
    std::shared_ptr<GrpcServer> start(const std::string& address, const wire::Security& security,
                                      ReportsService& service,
                                      std::chrono::milliseconds handshake_limit = 10s) {
        auto server = GrpcServer::start(loop.get_executor(), wire::parse_endpoint(address).value(),
                                        security, {&service}, handshake_limit);
        EXPECT_TRUE(server) << server.error().message;
        return std::move(server).value();
    }
    void stop(const std::shared_ptr<GrpcServer>& server, std::chrono::milliseconds limit = 5s) {
        asio::co_spawn(loop, server->stop_accepting(), asio::use_future).get();
        GrpcServer::shut_down({server}, limit);
    }

    test::TemporaryFolder folder;
    asio::io_context loop{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{loop.get_executor()};
    ReportsService reports{loop.get_executor(), fleet, Proof::none};
    std::jthread turning{[this] { loop.run(); }};
};

TEST_F(GrpcServerTest, CutsOffWhoNeverFinishesTheHandshake) {
    const test::Authority authority{"test authority"};
    authority.issue(folder.path(), "aggregator", "");
    for (const auto& security : {server_files(folder.path()), plaintext()}) {
        const auto server = start("127.0.0.1:0", security, 200ms);
        asio::io_context own{1};
        auto socket = connect_silently(own, server->endpoint().port);
        const auto begun = std::chrono::steady_clock::now();

        std::string rest;
        boost::system::error_code ended;
        boost::asio::read(socket, boost::asio::dynamic_buffer(rest), ended);

        EXPECT_TRUE(ended);
        EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s);
        stop(server);
    }
}

TEST_F(GrpcServerTest, StopsInTimeWithHalfOpenConnections) {
    const auto server = start("127.0.0.1:0", plaintext(), 1h);
    asio::io_context own{1};
    const auto first = connect_silently(own, server->endpoint().port);
    const auto second = connect_silently(own, server->endpoint().port);
    const auto begun = std::chrono::steady_clock::now();

    stop(server, 500ms);

    EXPECT_LT(std::chrono::steady_clock::now() - begun, 4s);
}

TEST_F(GrpcServerTest, SuccessorKeepsTheSocketThatItTookOver) {
    const auto path = (folder.path() / "a.sock").string();
    const auto first = start("unix:" + path, {});
    std::filesystem::remove(path);
    const auto second = start("unix:" + path, {});

    stop(first);

    EXPECT_FALSE(wire::UnixSocketPlace::claim(path)) << "nobody listens there";
    stop(second);
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(GrpcServerTest, ServesAgainWhenDescriptorsAreFreeAgain) {
    if (!test::NoDescriptorLeft::possible) {
        GTEST_SKIP() << "UBSan takes descriptors itself";
    }
    const auto server = start("127.0.0.1:0", plaintext());
    asio::io_context own{1};
    asio::ip::tcp::socket socket(own, asio::ip::tcp::v4());
    {
        const test::NoDescriptorLeft none;
        socket.connect({asio::ip::address_v4::loopback(), server->endpoint().port});
        std::this_thread::sleep_for(300ms);
    }

    // Who serves says first what it can do: an HTTP/2 frame of at least nine bytes.
    std::array<char, 9> frame{};
    EXPECT_EQ(asio::read(socket, asio::buffer(frame)), frame.size());
    stop(server);
}

TEST_F(GrpcServerTest, NameOfThisMachineServesOnTheLoopback) {
    const auto server = start("localhost:0", plaintext());
    ASSERT_NE(server->endpoint().port, 0);
    auto literal = server->endpoint();
    literal.host = "127.0.0.1";
    FakeAgent agent(wire::open_channel(literal, plaintext()).value());

    agent.hello("n1", "a");

    EXPECT_EQ(agent.next(), Kind::kWelcome);
    agent.close();
    stop(server);
}

TEST_F(GrpcServerTest, OtherNameIsLookedUp) {
    const test::Authority authority{"test authority"};
    authority.issue(folder.path(), "aggregator", "");

    // Known without a name server, but no address by its form.
    const auto server = start("127.1:0", server_files(folder.path()));

    asio::io_context own{1};
    EXPECT_TRUE(connect_silently(own, server->endpoint().port).is_open());
    stop(server);
}

TEST_F(GrpcServerTest, NameWithoutAnAddressIsTold) {
    const test::Authority authority{"test authority"};
    authority.issue(folder.path(), "aggregator", "");
    const auto files = server_files(folder.path());
    const std::string name(64, 'x');  // no name server is asked for a label of this length
    const auto server = GrpcServer::start(
        loop.get_executor(), wire::parse_endpoint(name + ":0").value(), files, {&reports});

    ASSERT_FALSE(server);
    EXPECT_EQ(server.error().code, Errc::unavailable);
    EXPECT_NE(server.error().message.find(name), std::string::npos);
}

TEST_F(GrpcServerTest, PeerWithoutACertificateSpeaksForNoNodeWhereOneIsNeeded) {
    for (const auto proof : {Proof::certificate, Proof::none}) {
        ReportsService proving(loop.get_executor(), fleet, proof);
        const auto server = start("127.0.0.1:0", plaintext(), proving);
        FakeAgent agent(wire::open_channel(server->endpoint(), plaintext()).value());

        agent.hello("n1", "a");

        EXPECT_EQ(agent.next(), proof == Proof::none ? Kind::kWelcome : Kind::KIND_NOT_SET);
        if (proof == Proof::certificate) {
            EXPECT_EQ(agent.finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
        } else {
            agent.close();
        }
        stop(server);
    }
}

}  // namespace
}  // namespace scout::aggregator
