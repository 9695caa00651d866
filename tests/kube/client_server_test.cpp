// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "kube/client.h"
#include "tests/kube/transport_fixture.h"

namespace scout::kube {
namespace {

using test::FakeServer;
using test::Peer;
using test::SeenRequest;
using namespace std::chrono_literals;

const Target node{.resource = resources::nodes(), .object = {.name = "n1"}};

/// Client and transport together against a server that fails in every way, one after the other.
class ClientServerTest : public TransportFixture {
protected:
    static bool misbehave(Peer& peer, unsigned turn) {
        switch (turn) {
            case 0:
                peer.say(test::answer(500, "oops"));
                return true;
            case 1:
                return false;
            case 2:
                peer.say(test::answer(429, "{}", "Retry-After: 1\r\n"));
                return true;
            case 3:
                peer.say(test::chunked_head() + "a\r\nabc");
                return false;
            default:
                peer.say(test::answer(200, "fine"));
                return true;
        }
    }
};

TEST_F(ClientServerTest, AnIdempotentCallComesThrough) {
    std::atomic<unsigned> turn{0};
    FakeServer server([&turn](Peer& peer, const SeenRequest&) { return misbehave(peer, turn++); });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    Client client(transport, clock, {.backoff = {1ms, 2ms}});
    const ApplyOptions ours{.manager = "m"};

    const auto applied = test::run_until_done(loop, client.apply(node, "{}", ours));

    ASSERT_TRUE(applied) << applied.error().error.message;
    EXPECT_EQ(*applied, "fine");
    EXPECT_EQ(client.repeated(), 4U);
    EXPECT_EQ(server.requests().size(), 5U);
}

TEST_F(ClientServerTest, ACreateIsMadeOnceAndItsLossIsTold) {
    std::atomic<unsigned> turn{1};
    FakeServer server([&turn](Peer& peer, const SeenRequest&) { return misbehave(peer, turn++); });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    Client client(transport, clock, {.backoff = {1ms, 2ms}});
    const Target leases{.resource = resources::leases(), .object = {.space = "ns"}};

    const auto created = test::run_until_done(loop, client.create(leases, "{}"));

    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().status, 0U);
    EXPECT_EQ(created.error().error.code, Errc::unavailable);
    EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(ClientServerTest, AServerThatHangsCostsOneAttemptNotTheCall) {
    std::atomic<bool> first{true};
    FakeServer server([&first](Peer& peer, const SeenRequest&) {
        if (first.exchange(false)) {
            peer.stay_silent();
            return false;
        }
        peer.say(test::answer(200, "fine"));
        return true;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    Client client(transport, clock, {.attempt_limit = soon, .backoff = {1ms, 2ms}});

    EXPECT_EQ(test::run_until_done(loop, client.get(node)).value(), "fine");
}

}  // namespace
}  // namespace scout::kube
