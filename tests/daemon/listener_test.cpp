// SPDX-License-Identifier: Apache-2.0
#include "daemon/listener.h"

#include <array>
#include <stdexcept>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/task_scope.h"
#include "tests/support/no_descriptor_left.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"

namespace scout::daemon {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

class ListenerTest : public ::testing::Test {
protected:
    ~ListenerTest() override { test::run_to_end(loop, scope.close()); }

    void accept(Listener& listener, Listener::Take take) {
        scope.spawn("accept", [&listener, take] { return listener.accept_all(take); });
    }
    void accept(Listener& listener) {
        accept(listener, [this](UniqueFd peer) { peers.push_back(std::move(peer)); });
    }
    void turn(std::chrono::milliseconds time = 50ms) {
        loop.restart();
        loop.run_for(time);
    }
    tcp::socket connect(const Listener& listener) {
        tcp::socket socket(loop);
        socket.connect({asio::ip::address_v4::loopback(), listener.address().port()});
        return socket;
    }

    asio::io_context loop{1};
    TaskScope scope{loop.get_executor()};
    std::vector<UniqueFd> peers;
};

const tcp::endpoint any_port{asio::ip::address_v4::loopback(), 0};

TEST_F(ListenerTest, GivesConnectionsThatDoNotBlockAndAreClosedOnExec) {
    auto listener = Listener::at(loop.get_executor(), any_port).value();
    accept(listener);

    const std::array sockets{connect(listener), connect(listener)};
    turn();

    ASSERT_EQ(peers.size(), 2U);
    for (const auto& peer : peers) {
        EXPECT_NE(::fcntl(peer.get(), F_GETFL) & O_NONBLOCK, 0);
        EXPECT_NE(::fcntl(peer.get(), F_GETFD) & FD_CLOEXEC, 0);
    }
}

TEST_F(ListenerTest, UnixSocketHasTheModeThatWasAskedFor) {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() / "a.sock";
    auto listener = Listener::at(loop.get_executor(), path, 0620).value();
    accept(listener);

    asio::local::stream_protocol::socket socket(loop);
    socket.connect({path});
    turn();

    EXPECT_EQ(peers.size(), 1U);
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0620U);
}

TEST_F(ListenerTest, PeerThatAcknowledgesNothingIsEndedByTheKernelIfAskedFor) {
    for (const auto silence : {0ms, 20'000ms}) {
        auto listener = Listener::at(loop.get_executor(), any_port, silence).value();
        peers.clear();
        accept(listener);
        const auto socket = connect(listener);
        turn();
        ASSERT_EQ(peers.size(), 1U);

        int found = -1;
        socklen_t size = sizeof(found);
        ASSERT_EQ(::getsockopt(peers[0].get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &found, &size), 0);
        EXPECT_EQ(found, silence.count());
        listener.close();
        turn();
    }
}

TEST_F(ListenerTest, WaitsWhileThereIsNoDescriptorForAConnection) {
    if (!test::NoDescriptorLeft::possible) {
        GTEST_SKIP() << "UBSan takes descriptors itself";
    }
    auto listener = Listener::at(loop.get_executor(), any_port).value();
    accept(listener);
    const auto waiting = connect(listener);
    {
        const test::NoDescriptorLeft none;
        loop.restart();
        const auto turns = loop.run_for(350ms);
        EXPECT_LE(turns, 40U);
    }
    EXPECT_TRUE(peers.empty());

    turn(300ms);

    EXPECT_EQ(peers.size(), 1U);
}

TEST_F(ListenerTest, GoesOnAfterAConnectionThatCouldNotBeTaken) {
    auto listener = Listener::at(loop.get_executor(), any_port).value();
    int asked = 0;
    accept(listener, [&asked](const UniqueFd&) {
        ++asked;
        throw std::runtime_error("no memory for it");
    });

    const std::array sockets{connect(listener), connect(listener)};
    turn();

    EXPECT_EQ(asked, 2);
}

TEST_F(ListenerTest, WildcardOfIpv6TakesIpv4Too) {
    auto listener = Listener::at(loop.get_executor(), {asio::ip::address_v6::any(), 0});
    if (!listener) {
        GTEST_SKIP() << "no IPv6 here: " << listener.error().message;
    }
    accept(*listener);

    const auto socket = connect(*listener);
    turn();

    EXPECT_EQ(peers.size(), 1U);
}

TEST_F(ListenerTest, SaysWhyItCannotListen) {
    const auto first = Listener::at(loop.get_executor(), any_port).value();
    const auto second = Listener::at(loop.get_executor(), first.address());
    const auto foreign =
        Listener::at(loop.get_executor(), {asio::ip::make_address("192.0.2.1"), 9286});
    const auto nowhere = Listener::at(loop.get_executor(), "/nowhere/a.sock", 0600);

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::unavailable);
    EXPECT_EQ(second.error().message,
              "cannot listen on " + to_text(first.address()) +
                  ": the port is in use by another program; stop it or choose another port");
    ASSERT_FALSE(foreign);
    EXPECT_EQ(foreign.error().message,
              "cannot listen on 192.0.2.1:9286: Cannot assign requested address");
    const std::string path(200, 'x');
    EXPECT_EQ(Listener::at(loop.get_executor(), path, 0600).error().message,
              "cannot listen on " + path + ": File name too long");
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().message,
              "cannot listen on /nowhere/a.sock: No such file or directory");
}

TEST_F(ListenerTest, NobodyIsQueuedAfterTheClose) {
    auto listener = Listener::at(loop.get_executor(), any_port).value();
    accept(listener);

    listener.close();
    turn();

    EXPECT_EQ(scope.running(), 0U);
    EXPECT_THROW(connect(listener), boost::system::system_error);
}

TEST(ListenerTextTest, Ipv6IsInBrackets) {
    EXPECT_EQ(to_text({asio::ip::make_address("::1"), 9291}), "[::1]:9291");
    EXPECT_EQ(to_text({asio::ip::make_address("10.0.0.1"), 1}), "10.0.0.1:1");
}

}  // namespace
}  // namespace scout::daemon
