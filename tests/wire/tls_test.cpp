// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/wait_until.h"
#include "tests/wire/certificates.h"
#include "virt_scout/v1/fleet.grpc.pb.h"
#include "wire/endpoint.h"
#include "wire/grpc_logs.h"

namespace scout::wire {
namespace {

using namespace std::chrono_literals;
namespace v1 = virt_scout::v1;

/// Answers with the common name of the client's certificate.
class WhoAmI final : public v1::Fleet::CallbackService {
    grpc::ServerUnaryReactor* Nodes(grpc::CallbackServerContext* context,
                                    const v1::NodesRequest* /*request*/,
                                    v1::NodesResponse* response) override {
        for (const auto& name : context->auth_context()->FindPropertyValues("x509_common_name")) {
            response->set_map(std::string{name.data(), name.size()});
        }
        auto* reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }
};

class TlsTest : public ::testing::Test {
protected:
    static void SetUpTestSuite() { route_grpc_logs(); }

    Security files_of(const std::string& side) const {
        const auto files = folder.path() / side;
        Security security;
        security.tls = TlsFiles{.ca = files / "ca.pem",
                                .certificate = files / "certificate.pem",
                                .key = files / "key.pem",
                                .reload_every = 1s};
        return security;
    }

    /// Certificate and key of the server, and of the client the CA: clients show no certificate.
    Security one_sided(const std::string& side) const {
        auto security = files_of(side);
        auto& files = security.tls.value();
        if (side == "server") {
            files.side = TlsSide::server;
            files.ca.clear();
        } else {
            files.side = TlsSide::client;
            files.certificate.clear();
            files.key.clear();
        }
        return security;
    }

    void serve() { serve(files_of("server")); }
    void serve(const Security& security) {
        const auto endpoint = parse_endpoint("127.0.0.1:0").value();
        auto credentials = server_credentials(endpoint, security);
        ASSERT_TRUE(credentials) << credentials.error().message;
        grpc::ServerBuilder builder;
        builder.AddListeningPort(endpoint.target(), *credentials, &port);
        builder.RegisterService(&service);
        server = builder.BuildAndStart();
        ASSERT_NE(server, nullptr);
    }

    void TearDown() override {
        if (server) {
            server->Shutdown(std::chrono::system_clock::now());
        }
    }

    /// The name that the server saw, or the error. A channel of its own, so a fresh handshake.
    Result<std::string> ask(const Security& security) const {
        Endpoint endpoint{
            .unix_path = {}, .host = "127.0.0.1", .port = static_cast<std::uint16_t>(port)};
        auto channel = open_channel(endpoint, security);
        if (!channel) {
            return fail(std::move(channel.error()));
        }
        const auto stub = v1::Fleet::NewStub(*channel);
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + 10s);
        v1::NodesResponse response;
        const auto status = stub->Nodes(&context, {}, &response);
        if (!status.ok()) {
            return fail(Errc::unavailable, status.error_message());
        }
        return response.map();
    }

    test::TemporaryFolder folder;
    test::Authority authority{"test authority"};
    WhoAmI service;
    int port = 0;
    std::unique_ptr<grpc::Server> server;
};

TEST_F(TlsTest, BothSidesProveThemselves) {
    authority.issue(folder.path() / "server", "aggregator", "aggregator.example.org");
    authority.issue(folder.path() / "client", "node-1", "");
    serve();

    const auto seen = ask(files_of("client"));

    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(*seen, "node-1");
}

TEST_F(TlsTest, ServerNameIsCheckedAgainstItsCertificate) {
    authority.issue(folder.path() / "server", "aggregator", "aggregator.example.org");
    authority.issue(folder.path() / "client", "node-1", "");
    serve();
    auto right = files_of("client");
    right.server_name = "aggregator.example.org";
    auto wrong = files_of("client");
    wrong.server_name = "other.example.org";

    EXPECT_TRUE(ask(right));
    EXPECT_FALSE(ask(wrong));
}

TEST_F(TlsTest, ClientOfAnotherAuthorityIsRefused) {
    const test::Authority stranger{"stranger"};
    authority.issue(folder.path() / "server", "aggregator", "");
    stranger.issue(folder.path() / "client", "node-1", "");
    std::filesystem::copy_file(folder.path() / "server" / "ca.pem",
                               folder.path() / "client" / "ca.pem",
                               std::filesystem::copy_options::overwrite_existing);
    serve();

    EXPECT_FALSE(ask(files_of("client")));
}

TEST_F(TlsTest, ServerOfAnotherAuthorityIsRefused) {
    const test::Authority stranger{"stranger"};
    authority.issue(folder.path() / "server", "aggregator", "");
    stranger.issue(folder.path() / "client", "node-1", "");
    serve();

    EXPECT_FALSE(ask(files_of("client")));
}

TEST_F(TlsTest, PlaintextClientGetsNothingFromATlsServer) {
    authority.issue(folder.path() / "server", "aggregator", "");
    serve();
    Security plaintext;
    plaintext.plaintext = true;

    EXPECT_FALSE(ask(plaintext));
}

TEST_F(TlsTest, ChangedFilesAreUsedWithoutARestart) {
    const test::Authority next{"next authority"};
    authority.issue(folder.path() / "server", "aggregator", "");
    next.issue(folder.path() / "client", "node-2", "");
    serve();
    ASSERT_FALSE(ask(files_of("client")));

    next.issue(folder.path() / "server", "aggregator", "");

    const auto limit = std::chrono::steady_clock::now() + 15s;
    auto seen = ask(files_of("client"));
    while (!seen && std::chrono::steady_clock::now() < limit) {
        seen = ask(files_of("client"));
    }
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(*seen, "node-2");
}

TEST_F(TlsTest, ClientWithTheCaAloneChecksItsServerAndShowsNoCertificate) {
    const test::Authority stranger{"stranger"};
    authority.issue(folder.path() / "server", "aggregator", "");
    authority.issue(folder.path() / "client", "node-1", "");
    stranger.issue(folder.path() / "stranger", "node-1", "");
    serve(one_sided("server"));

    const auto seen = ask(one_sided("client"));

    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(*seen, "");
    EXPECT_FALSE(ask(one_sided("stranger")));
    const auto with_certificate = ask(files_of("client"));
    ASSERT_TRUE(with_certificate) << with_certificate.error().message;
    EXPECT_EQ(*with_certificate, "") << "nobody asked for it";
}

TEST_F(TlsTest, ServerThatAsksForCertificatesRefusesAClientWithoutOne) {
    authority.issue(folder.path() / "server", "aggregator", "");
    authority.issue(folder.path() / "client", "node-1", "");
    serve();

    EXPECT_FALSE(ask(one_sided("client")));
}

TEST_F(TlsTest, ChangedFilesOfOneSideAreUsedWithoutARestart) {
    const test::Authority next{"next authority"};
    authority.issue(folder.path() / "server", "aggregator", "");
    next.issue(folder.path() / "client", "node-1", "");
    serve(one_sided("server"));
    ASSERT_FALSE(ask(one_sided("client")));

    next.issue(folder.path() / "server", "aggregator", "");

    EXPECT_TRUE(test::wait_until([this] { return ask(one_sided("client")).has_value(); }));
}

TEST_F(TlsTest, FilesOfTheOtherSideAreRefused) {
    authority.issue(folder.path() / "server", "aggregator", "");
    authority.issue(folder.path() / "client", "node-1", "");
    const auto endpoint = parse_endpoint("127.0.0.1:0").value();

    const auto serving = server_credentials(endpoint, one_sided("client"));
    const auto asking = open_channel(endpoint, one_sided("server"));

    ASSERT_FALSE(serving);
    EXPECT_EQ(serving.error().code, Errc::invalid);
    ASSERT_FALSE(asking);
    EXPECT_EQ(asking.error().code, Errc::invalid);
}

TEST_F(TlsTest, WrongFilesAreToldAtTheStartWithTheirNames) {
    const auto endpoint = parse_endpoint("127.0.0.1:0").value();
    authority.issue(folder.path() / "server", "aggregator", "");
    auto no_file = files_of("server");
    no_file.tls->ca = folder.path() / "none.pem";
    auto other_key = files_of("server");
    authority.issue(folder.path() / "other", "aggregator", "");
    other_key.tls->key = folder.path() / "other" / "key.pem";
    auto no_pem = files_of("server");
    no_pem.tls->certificate = folder.write("text.pem", "hello");

    for (const auto& [security, file] :
         {std::pair{no_file, "none.pem"}, std::pair{other_key, "other/key.pem"},
          std::pair{no_pem, "text.pem"}}) {
        const auto credentials = server_credentials(endpoint, security);

        ASSERT_FALSE(credentials) << file;
        EXPECT_EQ(credentials.error().code, Errc::invalid);
        EXPECT_NE(credentials.error().message.find(file), std::string::npos)
            << credentials.error().message;
    }
}

}  // namespace
}  // namespace scout::wire
