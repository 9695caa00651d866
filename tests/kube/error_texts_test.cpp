// SPDX-License-Identifier: Apache-2.0
// Errors that name their cause, and nothing that must not be told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace scout::kube
