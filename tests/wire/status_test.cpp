// SPDX-License-Identifier: Apache-2.0
#include "wire/status.h"

#include <array>

#include <gtest/gtest.h>

namespace scout::wire {
namespace {

TEST(StatusTest, EveryCodeOfOursComesBackAsItself) {
    for (const auto code : {Errc::not_found, Errc::unavailable, Errc::timed_out, Errc::cancelled,
                            Errc::invalid, Errc::refused, Errc::internal}) {
        const auto there = to_grpc(Error{code, "why"});
        const auto back = from_grpc(there, "ask");

        EXPECT_FALSE(there.ok());
        EXPECT_EQ(back.code, code);
        EXPECT_EQ(back.message, "ask: why");
    }
}

TEST(StatusTest, CodesThatOnlyGrpcHasBecomeTheNearestOfOurs) {
    EXPECT_EQ(from_grpc({grpc::StatusCode::RESOURCE_EXHAUSTED, "x"}, "s").code, Errc::unavailable);
    EXPECT_EQ(from_grpc({grpc::StatusCode::UNAUTHENTICATED, "x"}, "s").code, Errc::refused);
    EXPECT_EQ(from_grpc({grpc::StatusCode::UNIMPLEMENTED, "x"}, "s").code, Errc::invalid);
    EXPECT_EQ(from_grpc({grpc::StatusCode::DATA_LOSS, "x"}, "s").code, Errc::internal);
}

TEST(StatusTest, LongMessagesAreCutSoThatTheTrailerGetsThrough) {
    EXPECT_EQ(to_grpc(Error{Errc::invalid, std::string(100'000, 'x')}).error_message().size(),
              2048U);
}

TEST(StatusTest, SilentPeerStillGivesASentence) {
    EXPECT_EQ(from_grpc({grpc::StatusCode::UNAVAILABLE, ""}, "ask").message,
              "ask: the peer gave no reason (gRPC status 14)");
}

}  // namespace
}  // namespace scout::wire
