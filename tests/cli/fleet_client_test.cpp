// SPDX-License-Identifier: Apache-2.0
// The client against a real gRPC server on loopback.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/open_fleet.h"
#include "tests/support/temporary_folder.h"
#include "virt_scout/v1/fleet.grpc.pb.h"

namespace scout::cli {
namespace {

const SystemClock system_clock;

namespace v1 = virt_scout::v1;

/// Answers what the test has put there.
class Service final : public v1::Fleet::Service {
public:
    grpc::Status Nodes(grpc::ServerContext* /*context*/, const v1::NodesRequest* /*request*/,
                       v1::NodesResponse* response) override {
        *response = nodes;
        return status;
    }
    grpc::Status Node(grpc::ServerContext* /*context*/, const v1::NodeRequest* request,
                      v1::NodeResponse* response) override {
        *response = node;
        response->mutable_summary()->set_name(request->name());
        return status;
    }
    grpc::Status Guests(grpc::ServerContext* context, const v1::GuestsRequest* /*request*/,
                        v1::GuestsResponse* /*response*/) override {
        while (!context->IsCancelled()) {
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
        return grpc::Status::CANCELLED;
    }
    grpc::Status Where(grpc::ServerContext* /*context*/, const v1::WhereRequest* request,
                       v1::WhereResponse* response) override {
        where_request = *request;
        response->set_subject(request->subject().name());
        auto& answer = *response->add_nodes();
        answer.set_node("n2");
        answer.mutable_comparison()->set_verdict(v1::CANNOT);
        answer.mutable_comparison()->set_gate(v1::CAN);
        answer.mutable_comparison()->set_truth(v1::CANNOT);
        return status;
    }
    grpc::Status Matrix(grpc::ServerContext* /*context*/, const v1::MatrixRequest* /*request*/,
                        v1::MatrixResponse* response) override {
        *response = matrix;
        return status;
    }
    grpc::Status Watch(grpc::ServerContext* /*context*/, const v1::WatchRequest* /*request*/,
                       grpc::ServerWriter<v1::FleetEvent>* writer) override {
        for (const auto& event : events) {
            writer->Write(event);
        }
        return status;
    }

    v1::NodesResponse nodes;
    v1::NodeResponse node;
    v1::MatrixResponse matrix;
    std::vector<v1::FleetEvent> events;
    v1::WhereRequest where_request;
    grpc::Status status;
};

class FleetClientTest : public testing::Test {
protected:
    FleetClientTest() {
        grpc::ServerBuilder builder;
        builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
        builder.RegisterService(&service);
        server = builder.BuildAndStart();
        settings = {.aggregator = "127.0.0.1:" + std::to_string(port), .plaintext = true};
        fleet = std::move(open_fleet(settings, {}, system_clock).value());
    }
    ~FleetClientTest() override {
        server->Shutdown(std::chrono::system_clock::now());
        server->Wait();
    }
    FleetClientTest(const FleetClientTest&) = delete;
    FleetClientTest& operator=(const FleetClientTest&) = delete;
    FleetClientTest(FleetClientTest&&) = delete;
    FleetClientTest& operator=(FleetClientTest&&) = delete;

    int port = 0;
    Service service;
    std::unique_ptr<grpc::Server> server;
    Settings settings;
    std::unique_ptr<Fleet> fleet;
};

TEST_F(FleetClientTest, NodesComeAsTheyAre) {
    service.nodes.set_map("/maps");
    auto& node = *service.nodes.add_nodes();
    node.set_name("n1");
    node.set_freshness(v1::STALE);
    node.set_age_ms(42);
    node.set_guests(3);
    node.add_notices("kernel changed");

    const auto answer = fleet->nodes();

    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->map, "/maps");
    ASSERT_EQ(answer->nodes.size(), 1U);
    EXPECT_EQ(answer->nodes[0].name, "n1");
    EXPECT_EQ(answer->nodes[0].freshness, "stale");
    EXPECT_EQ(answer->nodes[0].age_ms, 42U);
    EXPECT_EQ(answer->nodes[0].notices, std::vector<std::string>{"kernel changed"});
}

TEST_F(FleetClientTest, ANodeCarriesItsProfileAndGuests) {
    auto& profile = *service.node.mutable_profile();
    profile.set_arch("x86_64");
    profile.set_virt_type("kvm");
    profile.mutable_host_model()->set_name("Alpha");
    service.node.add_supported("sse");
    service.node.add_supported("avx");
    (*service.node.mutable_labels())["a/b"] = "true";
    auto& guest = *service.node.add_guests();
    guest.set_name("vm-7");
    guest.set_found_by("event");

    const auto answer = fleet->node("n1");

    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->line.name, "n1");
    ASSERT_TRUE(answer->profile);
    EXPECT_EQ(answer->profile->profile.host_model->name, "Alpha");
    EXPECT_EQ(answer->profile->supported.features, (migration::FeatureSet{"avx", "sse"}));
    EXPECT_EQ(answer->labels.at("a/b"), "true");
    ASSERT_EQ(answer->guests.size(), 1U);
    EXPECT_EQ(answer->guests[0].node, "n1");
}

TEST_F(FleetClientTest, WhereSendsTheSubjectInItsForm) {
    const auto placement =
        fleet->where({.subject = {.kind = SubjectKind::guest, .name = "vm-7", .node = "n1"},
                      .text = "guest/vm-7@n1",
                      .described = {}},
                     "n2");

    ASSERT_TRUE(placement) << placement.error().message;
    EXPECT_EQ(service.where_request.subject().guest(), "vm-7");
    EXPECT_EQ(service.where_request.subject().node(), "n1");
    EXPECT_EQ(service.where_request.target(), "n2");
    EXPECT_EQ(placement->subject, "guest/vm-7@n1");
    ASSERT_EQ(placement->nodes.size(), 1U);
    EXPECT_TRUE(placement->nodes[0].comparison.gap());

    migration::GuestCpu cpu;
    cpu.model = "Alpha";
    const auto described =
        fleet->where({.subject = {.kind = SubjectKind::file, .name = "vm.xml", .node = {}},
                      .text = "vm.xml",
                      .described = cpu},
                     {});
    ASSERT_TRUE(described) << described.error().message;
    EXPECT_EQ(service.where_request.subject().described().model(), "Alpha");
}

TEST_F(FleetClientTest, AMatrixComesAsClasses) {
    auto& row = *service.matrix.add_rows();
    row.set_node("n1");
    row.set_class_(4);
    service.matrix.add_rows()->set_node("n2");
    auto& of_class = *service.matrix.add_class_rows();
    of_class.set_class_(4);
    of_class.set_cells("y");

    const auto answer = fleet->matrix();

    ASSERT_TRUE(answer) << answer.error().message;
    const auto* matrix = std::get_if<MatrixAnswer>(&*answer);
    ASSERT_NE(matrix, nullptr);
    ASSERT_EQ(matrix->rows.size(), 2U);
    EXPECT_EQ(matrix->rows[0].node_class, 4U);
    EXPECT_EQ(matrix->rows[1].node_class, std::nullopt);
    ASSERT_EQ(matrix->classes.size(), 1U);
    EXPECT_EQ(matrix->classes[0].cells, "y");
}

TEST_F(FleetClientTest, AMatrixWithFaultyCellsIsRefused) {
    for (const auto* cells : {"", "yn", "\x1b"}) {
        service.matrix.clear_class_rows();
        service.matrix.add_class_rows()->set_cells(cells);

        const auto matrix = fleet->matrix();

        ASSERT_FALSE(matrix) << cells;
        EXPECT_EQ(matrix.error().code, Errc::invalid);
    }
}

TEST_F(FleetClientTest, AMatrixOfClassesWithoutCellsIsRefused) {
    auto& row = *service.matrix.add_rows();
    row.set_node("n1");
    row.set_class_(4);

    const auto matrix = fleet->matrix();

    ASSERT_FALSE(matrix);
    EXPECT_NE(matrix.error().message.find("the same version?"), std::string::npos);
}

TEST_F(FleetClientTest, LevelsThatNameANodeThatIsNotListedAreRefused) {
    auto& levels = *service.matrix.mutable_levels();
    levels.set_layer("stock");
    levels.add_nodes()->set_name("n1");
    levels.mutable_nodes(0)->add_out("n9");

    const auto matrix = fleet->matrix();

    ASSERT_FALSE(matrix);
    EXPECT_EQ(matrix.error().code, Errc::invalid);
    EXPECT_NE(matrix.error().message.find("expected the name of a node that is listed, found n9"),
              std::string::npos)
        << matrix.error().message;
}

TEST_F(FleetClientTest, NamesOverTheLimitAreRefused) {
    service.nodes.add_nodes()->set_name(std::string(300, 'n'));

    const auto nodes = fleet->nodes();

    ASSERT_FALSE(nodes);
    EXPECT_EQ(nodes.error().code, Errc::invalid);
}

TEST_F(FleetClientTest, TheReasonOfAFailureArrives) {
    service.status = {grpc::StatusCode::NOT_FOUND, "no node 'n9'"};

    const auto node = fleet->node("n9");

    ASSERT_FALSE(node);
    EXPECT_EQ(node.error().code, Errc::not_found);
    EXPECT_NE(node.error().message.find("no node 'n9'"), std::string::npos);
}

TEST_F(FleetClientTest, AnAggregatorThatAnswersIsNotCalledAbsent) {
    service.status = {grpc::StatusCode::UNAVAILABLE, "the aggregator is stopping"};

    const auto nodes = fleet->nodes();

    ASSERT_FALSE(nodes);
    EXPECT_NE(nodes.error().message.find("is stopping; ask again"), std::string::npos)
        << nodes.error().message;
    EXPECT_EQ(nodes.error().message.find("is it running"), std::string::npos);
}

TEST_F(FleetClientTest, ASilentAggregatorEndsAtTheDeadline) {
    settings.deadline = "50ms";
    const auto impatient = std::move(open_fleet(settings, {}, system_clock).value());

    const auto guests = impatient->guests({});

    ASSERT_FALSE(guests);
    EXPECT_EQ(guests.error().code, Errc::timed_out);
    EXPECT_NE(guests.error().message.find("--deadline"), std::string::npos);
}

TEST_F(FleetClientTest, AnAbsentAggregatorSaysWhatToDo) {
    settings.aggregator = "unix:/nonexistent/aggregator.sock";
    const auto lonely = std::move(open_fleet(settings, {}, system_clock).value());

    const auto nodes = lonely->nodes();

    ASSERT_FALSE(nodes);
    EXPECT_EQ(nodes.error().code, Errc::unavailable);
    EXPECT_TRUE(nodes.error().message.starts_with(
        "aggregator unix:/nonexistent/aggregator.sock: no such socket; is it running there?"))
        << nodes.error().message;
    EXPECT_NE(nodes.error().message.find("--aggregator"), std::string::npos);
}

TEST_F(FleetClientTest, AFileInPlaceOfASocketIsCalledSo) {
    const scout::test::TemporaryFolder folder;
    settings.aggregator = "unix:" + folder.write("aggregator.sock", "").string();

    const auto nodes = open_fleet(settings, {}, system_clock).value()->nodes();

    ASSERT_FALSE(nodes);
    EXPECT_NE(nodes.error().message.find("expected a socket, found something else"),
              std::string::npos)
        << nodes.error().message;
}

TEST_F(FleetClientTest, ASocketThatNobodyListensOnIsCalledSo) {
    const scout::test::TemporaryFolder folder;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto path = (folder.path() / "stale.sock").string();
    path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(socket);
    settings.aggregator = "unix:" + path;

    const auto nodes = open_fleet(settings, {}, system_clock).value()->nodes();

    ASSERT_FALSE(nodes);
    EXPECT_NE(nodes.error().message.find("Connection refused; is it running"), std::string::npos)
        << nodes.error().message;
    EXPECT_EQ(nodes.error().message.find("all addresses"), std::string::npos);
}

TEST_F(FleetClientTest, WatchingPassesGuestsOnAndEndsWithAnError) {
    const auto add = [this](v1::FleetEvent::Kind kind, const char* name) {
        auto& event = service.events.emplace_back();
        event.set_kind(kind);
        event.set_node("n1");
        event.mutable_guest()->set_name(name);
        event.mutable_guest()->set_found_by("event");
    };
    add(v1::FleetEvent::NODE_ADDED, "");
    add(v1::FleetEvent::GUEST_ADDED, "a");
    add(v1::FleetEvent::SYNCED, "");
    add(v1::FleetEvent::GUEST_CHANGED, "a");
    add(v1::FleetEvent::GUEST_REMOVED, "a");
    std::vector<std::string> seen;

    const auto ended = fleet->watch_guests({}, [&](const GuestEvent& event) {
        seen.push_back(std::string(event.event) + " " + event.guest.name + " " + event.guest.node);
        return true;
    });

    EXPECT_EQ(seen, (std::vector<std::string>{"added a n1", "changed a n1", "removed a n1"}));
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, Errc::unavailable);

    const auto stopped = fleet->watch_guests({}, [](const GuestEvent&) { return false; });
    EXPECT_TRUE(stopped);
}

TEST(OpenFleetTest, RefusesWhatIsNotSecured) {
    EXPECT_EQ(open_fleet({.aggregator = "192.0.2.1:9286"}, {}, system_clock).error().code,
              Errc::refused);
    EXPECT_EQ(open_fleet({.aggregator = "192.0.2.1:9286", .plaintext = true}, {}, system_clock)
                  .error()
                  .code,
              Errc::refused);
    EXPECT_EQ(
        open_fleet({.aggregator = "127.0.0.1:9286", .tls_ca = "ca"}, {}, system_clock).error().code,
        Errc::invalid);
    EXPECT_EQ(open_fleet({.aggregator = "nowhere"}, {}, system_clock).error().code, Errc::invalid);
}

}  // namespace
}  // namespace scout::cli
