// SPDX-License-Identifier: Apache-2.0
// Informer and transport together against a server that fails in one way after the other.
#include <atomic>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <gmock/gmock.h>

#include "base/task_scope.h"
#include "kube/informer.h"
#include "tests/kube/thing.h"
#include "tests/kube/transport_fixture.h"
#include "tests/support/scripted_transport.h"

namespace scout::kube {
namespace {

using test::FakeServer;
using test::Peer;
using test::SeenRequest;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

std::string line(const std::string& type, const std::string& name, const std::string& version) {
    return test::watch_line(type, test::thing_json(name, version)) + "\n";
}

/// False: the connection is closed.
bool misbehave(Peer& peer, unsigned turn) {
    const auto changed = line("MODIFIED", "a", "12");
    switch (turn) {
        case 0:
            // A streaming list, cut anywhere, that breaks in the middle of an event.
            peer.say(test::chunked_head());
            peer.say(test::chunk(line("ADDED", "a", "3") + "{\"type\":\"BOOK"));
            peer.say(test::chunk(test::bookmark_line("9", true).substr(13) + "\n"));
            peer.say(test::chunk(changed.substr(0, changed.size() / 2)));
            return false;
        case 1:
            peer.say(test::answer(500, "oops"));
            return true;
        case 2:
            // An event, and then a connection that is dead without saying so.
            peer.say(test::chunked_head());
            peer.say(test::chunk(changed));
            peer.stay_silent();
            return false;
        case 3:
            peer.say(test::chunked_head());
            peer.say(
                test::chunk(test::watch_line("ERROR", test::status_json(410, "Expired")) + "\n"));
            peer.say(test::chunk(""));
            return true;
        case 4:
            peer.say(test::answer(400, test::status_json(400, "BadRequest")));
            return true;
        case 5:
            peer.say(test::answer(200, test::list_json("20", {test::thing_json("b", "15")})));
            return true;
        default:
            peer.say(test::chunked_head());
            peer.say(test::chunk(line("DELETED", "b", "21")));
            peer.stay_silent();
            return false;
    }
}

ReflectorSettings hasty() {
    ReflectorSettings settings;
    settings.backoff = {1ms, 2ms};
    settings.watch_timeout = 100ms;
    settings.silence_grace = 200ms;
    return settings;
}

std::string text_of(const Informer<test::Thing>::Change& change) {
    const auto& thing = change.now ? *change.now : *change.before;
    return (!change.before ? "add "
            : change.now   ? "update "
                           : "delete ") +
           thing.meta.name + " " + thing.meta.version;
}

/// What misbehave() is asked, and lists of one.
const std::vector<std::string> asked{"sendInitialEvents=true",
                                     "?limit=1",
                                     "&resourceVersion=9",
                                     "?limit=1",
                                     "&resourceVersion=9",
                                     "?limit=1",
                                     "&resourceVersion=12",
                                     "sendInitialEvents=true",
                                     "?limit=100",
                                     "&resourceVersion=20"};

class InformerServerTest : public TransportFixture {};

TEST_F(InformerServerTest, BearsEveryFaultOfTheWay) {
    std::atomic<unsigned> turn{0};
    FakeServer server([&turn](Peer& peer, const SeenRequest& request) {
        if (!request.target.ends_with("?limit=1")) {
            return misbehave(peer, turn++);
        }
        peer.say(test::answer(200, test::list_json("15", {test::thing_json("a", "3")})));
        return true;
    });
    HttpTransport transport(loop.get_executor(), access_to(server.port()), clock);
    Informer<test::Thing> informer(transport, clock, {.resource = test::things(), .selection = {}},
                                   &test::decode_thing, hasty());
    TaskScope scope(loop.get_executor());
    std::vector<std::string> told;
    informer.on_change([&](const auto& change) {
        told.push_back(text_of(change));
        if (told.size() == 5) {
            asio::post(loop, [&] {
                asio::co_spawn(loop, scope.close(),
                               [&](const std::exception_ptr&) { transport.close_idle(); });
            });
        }
    });
    scope.spawn("informer", [&informer] { return informer.run(); });

    loop.run();

    EXPECT_THAT(told,
                ElementsAre("add a 3", "update a 12", "delete a 12", "add b 15", "delete b 15"));
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), asked.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
        EXPECT_THAT(requests[i].target, HasSubstr(asked[i])) << i;
    }
}

}  // namespace
}  // namespace scout::kube
