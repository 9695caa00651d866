// SPDX-License-Identifier: Apache-2.0
// Errors that name their cause, and nothing that must not be told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/access.h"
#include "tests/kube/transport_fixture.h"

namespace scout::kube {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ErrorTextsTest : public TransportFixture {
protected:
    test::FakeServer server{[](test::Peer& peer, const test::SeenRequest&) {
        peer.say(test::answer(200, ""));
        return true;
    }};
    HttpTransport transport{loop.get_executor(), access_to(server.port()), clock};
};

TEST_F(ErrorTextsTest, ACallWhoseLimitIsOverWhenItBeginsDoesNotBlameTheCredentials) {
    for (const auto limit : {std::chrono::milliseconds{0}, std::chrono::milliseconds{-5}}) {
        const auto answer = send(transport, get(), limit);
        const auto stream = open(transport, get(), limit);

        ASSERT_FALSE(answer);
        ASSERT_FALSE(stream);
        EXPECT_EQ(answer.error().code, Errc::timed_out);
        EXPECT_EQ(stream.error().code, Errc::timed_out);
        for (const auto& text : {message_of(answer), message_of(stream)}) {
            EXPECT_THAT(text, AllOf(HasSubstr("http://127.0.0.1"), HasSubstr("expected time left"),
                                    Not(HasSubstr("credentials"))));
        }
    }
    EXPECT_EQ(server.connections(), 0U);
}

TEST(ServerUrlTextTest, NoPasswordOfAnUrlThatCannotBeReadIsRepeated) {
    for (const std::string text :
         {"https://me:s3cret@ho st", "https://me:s3cret@host:99999", "https://me:s3cret@host?q",
          "https://me:s3cret/x@host", "https://me:s3cret#x@host", "me:s3cret@host",
          "https://me:s3cret@[::1", "ftp://me:s3cret@host", "https://me:s3cret@"}) {
        const auto refused = parse_server_url(text, true);

        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().code, Errc::invalid);
        EXPECT_THAT(refused.error().message,
                    AllOf(HasSubstr("https://host:6443"), Not(HasSubstr("s3cret"))));
    }
    EXPECT_THAT(parse_server_url("https://host:99999", true).error().message,
                HasSubstr("https://host:99999"));
}

}  // namespace
}  // namespace scout::kube
