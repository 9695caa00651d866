// SPDX-License-Identifier: Apache-2.0
#include "wire/bearer_token.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>

#include "tests/support/temporary_folder.h"
#include "virt_scout/v1/fleet.grpc.pb.h"

namespace scout::wire {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ReadTokenTest, CutsWhatLiesBehindTheToken) {
    const test::TemporaryFolder folder;

    EXPECT_EQ(read_token(folder.write("a", "abc.DEF-_.~+/0==")).value(), "abc.DEF-_.~+/0==");
    EXPECT_EQ(read_token(folder.write("b", "abc\n")).value(), "abc");
    EXPECT_EQ(read_token(folder.write("c", "abc \r\n\n")).value(), "abc");
}

TEST(ReadTokenTest, RefusesWhatIsNoTokenAndDoesNotQuoteIt) {
    const test::TemporaryFolder folder;
    struct Case {
        std::string text;
        std::string reason;
    };
    for (const auto& [text, reason] :
         {Case{"", "found nothing"}, Case{"\n", "found nothing"},
          Case{"sec ret", "characters that no token has"},
          Case{"sec\nret", "characters that no token has"},
          Case{"secret\xff", "characters that no token has"},
          Case{std::string(token_limit + 1, 's'), "at most 6144 bytes, found 6145"},
          Case{std::string(100'000, 's'), "at most 6160"}}) {
        const auto token = read_token(folder.write("token", text));

        ASSERT_FALSE(token) << reason;
        EXPECT_EQ(token.error().code, Errc::invalid);
        EXPECT_THAT(token.error().message, HasSubstr(reason));
        EXPECT_THAT(token.error().message, HasSubstr("/token"));
        EXPECT_THAT(token.error().message, Not(HasSubstr("sec")));
    }
    EXPECT_EQ(read_token(folder.path() / "none").error().code, Errc::not_found);
}

/// Answers with the token that it was called with, or with why there is none.
class Echo final : public virt_scout::v1::Fleet::Service {
    grpc::Status Nodes(grpc::ServerContext* context,
                       const virt_scout::v1::NodesRequest* /*request*/,
                       virt_scout::v1::NodesResponse* response) override {
        const auto token = token_of(*context);
        response->set_map(token ? "token " + *token : token.error().message);
        return grpc::Status::OK;
    }
};

class TokenOfCallTest : public testing::Test {
protected:
    TokenOfCallTest() {
        int port = 0;
        grpc::ServerBuilder builder;
        builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
        builder.RegisterService(&echo);
        server = builder.BuildAndStart();
        stub = virt_scout::v1::Fleet::NewStub(grpc::CreateChannel(
            "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
    }
    ~TokenOfCallTest() override { server->Shutdown(std::chrono::system_clock::now()); }

    std::string call_with(const std::vector<std::string>& values) {
        grpc::ClientContext context;
        for (const auto& value : values) {
            context.AddMetadata("authorization", value);
        }
        virt_scout::v1::NodesResponse response;
        const auto status = stub->Nodes(&context, {}, &response);
        return status.ok() ? response.map() : status.error_message();
    }

    Echo echo;
    std::unique_ptr<grpc::Server> server;
    std::unique_ptr<virt_scout::v1::Fleet::Stub> stub;
};

TEST_F(TokenOfCallTest, IsTheOneThatCameWithTheCall) {
    EXPECT_EQ(call_with({"Bearer abc.def"}), "token abc.def");
}

TEST_F(TokenOfCallTest, AnythingElseIsRefusedWithWhatToDo) {
    EXPECT_THAT(call_with({}), HasSubstr("set the agent's token-file"));
    for (const std::string value : {"Basic abc", "Bearer", "abc"}) {
        EXPECT_THAT(call_with({value}), HasSubstr("expected one value \"Bearer\" and a token"));
    }
    EXPECT_THAT(call_with({"Bearer a b"}), HasSubstr("characters that no token has"));
    EXPECT_THAT(call_with({"Bearer " + std::string(token_limit + 1, 's')}),
                HasSubstr("at most 6144 bytes"));
    EXPECT_THAT(call_with({"Bearer a", "Bearer b"}), HasSubstr("expected"));
}

}  // namespace
}  // namespace scout::wire
