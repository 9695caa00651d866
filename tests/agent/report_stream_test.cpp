// SPDX-License-Identifier: Apache-2.0
#include "agent/report_stream.h"

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/report_messages.h"
#include "tests/agent/report_server.h"
#include "tests/support/fake_hypervisor.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"
#include "tests/wire/certificates.h"

namespace scout::agent {
namespace {

using testing::HasSubstr;

class ReportStreamTest : public testing::Test {
protected:
    void connect(const std::string& address) {
        link = make_grpc_link(loop.get_executor(), wire::parse_endpoint(address).value(),
                              wire::Security{.tls = {}, .plaintext = true, .server_name = {}});
        stream = link->open().value();
    }
    Status send(Message message) {
        return test::run_to_end(loop, stream->send(std::move(message)));
    }

    asio::io_context loop{1};
    std::unique_ptr<AggregatorLink> link;
    std::unique_ptr<ReportStream> stream;
};

TEST_F(ReportStreamTest, CarriesMessagesAndRequestsBothWays) {
    test::ReportServer server;
    server.answer = [](const test::v1::AgentMessage& message) {
        std::vector<test::v1::AggregatorMessage> replies;
        if (message.has_hello()) {
            replies.emplace_back().mutable_welcome()->set_aggregator_version("9");
        }
        if (message.has_full()) {
            replies.emplace_back().mutable_want_profile()->set_digest("d1");
            replies.emplace_back().mutable_want_full();
        }
        return replies;
    };
    connect(server.address());

    ASSERT_TRUE(send(HelloMessage{.node = "n", .host_identity = "i", .agent_version = "v"}));
    const auto welcome = test::run_to_end(loop, stream->receive());
    ASSERT_TRUE(send(FullMessage{.sequence = 1,
                                 .host = {.profile = nullptr, .profile_digest = "d1"},
                                 .guests = {test::example_guest("u1")}}));
    const auto profile = test::run_to_end(loop, stream->receive());
    const auto full = test::run_to_end(loop, stream->receive());

    EXPECT_EQ(std::get<Welcome>(welcome.value()).aggregator_version, "9");
    EXPECT_EQ(std::get<WantProfile>(profile.value()).digest, "d1");
    EXPECT_TRUE(std::holds_alternative<WantFull>(full.value()));
    const auto received = server.wait_for([](const auto& message) { return message.has_full(); });
    ASSERT_TRUE(received);
    EXPECT_EQ(received->full().guests(0).uuid(), "u1");
    EXPECT_EQ(received->full().guests(0).found_by(), "resync");
    stream.reset();
}

TEST_F(ReportStreamTest, TellsWhyTheAggregatorRefused) {
    test::ReportServer server;
    server.refuse = grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "another host is node n");
    connect(server.address());

    static_cast<void>(send(HelloMessage{}));
    const auto answer = test::run_to_end(loop, stream->receive());

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::refused);
    EXPECT_THAT(answer.error().message, HasSubstr("another host is node n"));
    const auto later = send(HeartbeatMessage{});
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().code, Errc::refused);
}

TEST_F(ReportStreamTest, SendsTheTokenThatIsInTheFileWhenAStreamBegins) {
    const test::TemporaryFolder folder;
    test::Authority{"test authority"}.issue(folder.path(), "aggregator", "");
    const auto endpoint = wire::parse_endpoint("127.0.0.1:0").value();
    wire::Security serving;
    serving.tls = wire::TlsFiles{.certificate = folder.path() / "certificate.pem",
                                 .key = folder.path() / "key.pem",
                                 .side = wire::TlsSide::server};
    test::ReportServer server{0, wire::server_credentials(endpoint, serving).value()};
    wire::Security asking;
    asking.tls = wire::TlsFiles{.ca = folder.path() / "ca.pem", .side = wire::TlsSide::client};
    const auto file = folder.write("token", "first\n");
    link = make_grpc_link(loop.get_executor(), wire::parse_endpoint(server.address()).value(),
                          asking, file);

    for (const std::string token : {"first", "second"}) {
        static_cast<void>(folder.write("token", token + "\n"));
        stream = link->open().value();
        ASSERT_TRUE(send(HelloMessage{.node = token}));
        ASSERT_TRUE(server.wait_for(
            [&token](const auto& message) { return message.hello().node() == token; }));
    }

    EXPECT_THAT(server.tokens(), testing::ElementsAre("first", "second"));
    std::filesystem::remove(file);
    const auto without = link->open();
    ASSERT_FALSE(without);
    EXPECT_THAT(without.error().message, HasSubstr("token-file: "));
    stream.reset();
}

TEST_F(ReportStreamTest, SendsNoTokenOverPlaintext) {
    const test::TemporaryFolder folder;
    test::ReportServer server;
    link = make_grpc_link(loop.get_executor(), wire::parse_endpoint(server.address()).value(),
                          wire::Security{.tls = {}, .plaintext = true, .server_name = {}},
                          folder.write("token", "secret"));
    stream = link->open().value();

    static_cast<void>(send(HelloMessage{}));
    const auto answer = test::run_to_end(loop, stream->receive());

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::refused) << answer.error().message;
    EXPECT_THAT(server.tokens(), testing::IsEmpty());
    stream.reset();
}

TEST_F(ReportStreamTest, TellsThatAnAddressTakesNoReports) {
    test::ReportServer server;
    server.refuse = grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
    connect(server.address());

    static_cast<void>(send(HelloMessage{}));
    const auto answer = test::run_to_end(loop, stream->receive());

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::invalid);
    EXPECT_EQ(answer.error().message,
              "report: this address takes no reports: expected an aggregator's listen-grpc (its "
              "query-socket takes questions only)");
}

TEST_F(ReportStreamTest, FailsSoonWhereNobodyListens) {
    std::string address;
    {
        const test::ReportServer server;
        address = server.address();
    }
    connect(address);

    const auto sent = send(HelloMessage{});

    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, Errc::unavailable);
}

TEST_F(ReportStreamTest, MayGoAwayWithACallInFlight) {
    test::ReportServer server;
    connect(server.address());
    ASSERT_TRUE(send(HelloMessage{}));

    stream.reset();
    link.reset();
    loop.restart();
    loop.run();
}

TEST(ReportMessagesTest, MakesOddTextsOfTheHostFitForTheWire) {
    HostPart host;
    host.facts.bios = "v1 \xff\xc0 \xe2\x82\xac";
    auto guest = test::example_guest("u1");
    guest.name = std::string(1000, 'x');

    const auto message =
        to_wire(Message{FullMessage{.sequence = 1, .host = host, .guests = {std::move(guest)}}});

    EXPECT_EQ(message.full().facts().bios(), "v1 ?? \xe2\x82\xac");
    EXPECT_LE(message.full().guests(0).name().size(), 253U);
    EXPECT_FALSE(message.full().guests(0).has_cpu());
}

TEST(ReportMessagesTest, LeavesOutACpuThatTheAggregatorWouldRefuseAndSaysWhy) {
    const auto with = [](auto change) {
        auto guest = test::example_guest("u1");
        guest.cpu.emplace();
        change(*guest.cpu);
        return guest;
    };
    const std::vector<hypervisor::GuestState> guests{
        with([](auto& cpu) { cpu.model = "EPYC"; }),
        with([](auto& cpu) { cpu.require.assign(5000, "f"); }),
        with([](auto& cpu) { cpu.require = {std::string(254, 'x')}; }),
        with([](auto& cpu) { cpu.require.assign(100, std::string(250, 'x')); }),
        with([](auto& cpu) { cpu.model = "\xff"; })};

    const auto message = to_wire(Message{FullMessage{.sequence = 1, .host = {}, .guests = guests}});

    EXPECT_TRUE(message.full().guests(0).has_cpu());
    EXPECT_EQ(message.full().guests(0).cpu_error(), "");
    for (int i = 1; i < message.full().guests_size(); ++i) {
        EXPECT_FALSE(message.full().guests(i).has_cpu()) << i;
        EXPECT_THAT(message.full().guests(i).cpu_error(), HasSubstr("cannot be reported")) << i;
        EXPECT_THAT(message.full().guests(i).cpu_error(), HasSubstr("expected")) << i;
    }
}

TEST(ReportMessagesTest, ReportsNoDigestOfAProfileThatWouldBeRefused) {
    HostPart host;
    migration::Profile profile;
    profile.models.resize(5000);
    host.profile = std::make_shared<const migration::Profile>(std::move(profile));
    host.profile_digest = "d1";

    const auto message = to_wire(Message{FullMessage{.sequence = 1, .host = host, .guests = {}}});

    EXPECT_EQ(message.full().profile_digest(), "");
    EXPECT_THAT(message.full().probe_error(), HasSubstr("at most 4096 entries"));
}

TEST(ReportMessagesTest, RefusesARequestItDoesNotKnow) {
    const auto request = from_wire(test::v1::AggregatorMessage{});

    ASSERT_FALSE(request);
    EXPECT_THAT(request.error().message, HasSubstr("newer"));
}

}  // namespace
}  // namespace scout::agent
