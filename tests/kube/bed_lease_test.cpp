// SPDX-License-Identifier: Apache-2.0
// Leadership and events on a real API server.
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "kube/event_client.h"
#include "kube/lease_client.h"
#include "tests/kube/bed_fixture.h"
#include "tests/support/relay.h"

namespace scout::kube {
namespace {

namespace json = boost::json;
using test::at;
using namespace std::chrono_literals;

/// One process that stands for leadership, with its own way to the server.
class Candidate {
public:
    Candidate(asio::io_context& loop, const ClusterAccess& access, const Clock& clock,
              const std::string& space, const std::string& identity)
        : relay(loop.get_executor(), access.server.port),
          transport(loop.get_executor(), test::by_way_of(access, relay.port()), clock),
          client(transport, clock, {}),
          lease(client, {.space = space, .name = "leader"}),
          elector(lease, clock,
                  {.identity = identity, .duration = 3s, .renew_deadline = 1500ms, .retry = 200ms},
                  1),
          background(loop) {}

    void stand() {
        background.spawn([this] { return elector.run(); });
    }

    test::Relay relay;
    HttpTransport transport;
    Client client;
    ClientLease lease;
    LeaderElector elector;
    test::Background background;
};

Task<bool> release(LeaderElector* elector) {
    co_await elector->release();
    co_return true;
}

class BedLeaseTest : public test::BedTest {
protected:
    [[nodiscard]] Target lease_in(const std::string& space) const {
        return {.resource = resources::leases(), .object = {.space = space, .name = "leader"}};
    }
};

TEST_F(BedLeaseTest, WhoIsCutOffStopsBeforeAnotherLeads) {
    const auto space = new_space();
    Candidate first(loop, access, clock, space, "first");
    Candidate second(loop, access, clock, space, "second");
    bool both = false;
    const auto watched = [&](const std::function<bool()>& condition) {
        return run_until([&] {
            both = both || (first.elector.leads() && second.elector.leads());
            return condition();
        });
    };
    first.stand();
    ASSERT_TRUE(watched([&] { return first.elector.leads(); }));
    second.stand();
    ASSERT_TRUE(watched([&] { return second.elector.holder() == "first"; }));

    first.relay.freeze();
    ASSERT_TRUE(watched([&] { return second.elector.leads(); }));
    EXPECT_FALSE(first.elector.leads());
    first.relay.mend();
    ASSERT_TRUE(watched([&] { return first.elector.holder() == "second"; }));

    EXPECT_FALSE(both);
    EXPECT_TRUE(second.elector.leads());
    const auto stored = done(client->get(lease_in(space)));
    EXPECT_EQ(at(stored, "/spec/holderIdentity"), "second");
    EXPECT_EQ(at(stored, "/spec/leaseTransitions"), 1);
}

TEST_F(BedLeaseTest, WhoStopsInOrderHandsOverAtOnce) {
    const auto space = new_space();
    Candidate first(loop, access, clock, space, "first");
    Candidate second(loop, access, clock, space, "second");
    first.stand();
    ASSERT_TRUE(run_until([&] { return first.elector.leads(); }));
    first.background.end();
    call(release(&first.elector));
    EXPECT_EQ(at(done(client->get(lease_in(space))), "/spec/holderIdentity"), "");

    // Its first turn: it need not see the lease stand still for the duration.
    second.stand();
    ASSERT_TRUE(run_until([&] { return !second.elector.holder().empty(); }));

    EXPECT_TRUE(second.elector.leads());
}

class BedEventTest : public BedLeaseTest {
protected:
    json::array events_about(const std::string& name) {
        HttpRequest request{.target = collection_path(resources::events(), "default")};
        const auto answer = call(transport->send(std::move(request), 20s));
        json::array found;
        const auto list = json::parse(answer.value().body);
        for (const auto& event : list.at("items").as_array()) {
            if (at(event, "/regarding/name") == json::value(name)) {
                found.push_back(event);
            }
        }
        return found;
    }
};

TEST_F(BedEventTest, WhatHappensAgainIsOneEventThatCounts) {
    const auto node = new_space();
    ClientEvents port(*client, {.instance = "pod-1"});
    EventRecorder recorder(loop.get_executor(), port, clock, 1);
    test::Background background(loop);
    background.spawn([&recorder] { return recorder.run(); });
    const EventNote note{.regarding = {.api_version = "v1", .kind = "Node", .name = node},
                         .warning = true,
                         .reason = "ProfileChanged",
                         .action = "Compare",
                         .note = "lost avx512"};
    recorder.record(note);
    ASSERT_TRUE(run_until([&] { return recorder.counters().written == 1; }));
    recorder.record(note);
    ASSERT_TRUE(run_until([&] { return recorder.counters().written == 2; }));

    const auto found = events_about(node);

    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(at(found[0], "/series/count"), 2);
    EXPECT_EQ(at(found[0], "/note"), "lost avx512");
    EXPECT_EQ(at(found[0], "/type"), "Warning");
    EXPECT_EQ(at(found[0], "/reportingController"), "virt-scout.io/aggregator");
    EXPECT_EQ(recorder.counters().failed, 0U);
}

}  // namespace
}  // namespace scout::kube
