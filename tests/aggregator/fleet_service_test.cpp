// SPDX-License-Identifier: Apache-2.0
#include "aggregator/fleet_service.h"

#include <deque>

#include <boost/asio/io_context.hpp>
#include <grpcpp/test/default_reactor_test_peer.h>

#include "tests/aggregator/fleet_fixture.h"

namespace scout::aggregator {
namespace {

/// One call without a transport.
struct Call {
    grpc::CallbackServerContext context;
    grpc::testing::DefaultReactorTestPeer reactor{&context};
    v1::NodesResponse response;
};

class FleetServiceTest : public FleetFixture {};

TEST_F(FleetServiceTest, OnlySoManyAnswersInTurnsGoOnAtOnce) {
    for (int i = 0; i < 1200; ++i) {
        const Introduction introduction{
            .node = "n" + std::to_string(i), .host_identity = "a", .agent_version = ""};
        ASSERT_TRUE(fleet.registry().introduce(introduction, clock.steady()));
    }
    boost::asio::io_context loop{1};
    FleetService service(loop.get_executor(), fleet);
    const v1::NodesRequest request;
    std::deque<Call> calls(17);
    for (auto& call : calls) {
        service.Nodes(&call.context, &request, &call.response);
    }

    loop.run();

    for (std::size_t i = 0; i < calls.size(); ++i) {
        ASSERT_TRUE(calls[i].reactor.test_status_set());
        EXPECT_EQ(calls[i].reactor.test_status().error_code(),
                  i < 16 ? grpc::StatusCode::OK : grpc::StatusCode::RESOURCE_EXHAUSTED);
    }
    EXPECT_EQ(calls.front().response.nodes_size(), 1200);
    Call later;
    service.Nodes(&later.context, &request, &later.response);
    loop.restart();
    loop.run();
    EXPECT_TRUE(later.reactor.test_status().ok());
}

}  // namespace
}  // namespace scout::aggregator
