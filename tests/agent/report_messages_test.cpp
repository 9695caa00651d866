// SPDX-License-Identifier: Apache-2.0
#include "agent/report_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/pressure_messages.h"

namespace scout::agent {
namespace {

namespace v1 = virt_scout::v1;

/// A leader tells only those who say so: the stream of any other agent would end.
TEST(ReportMessagesTest, TheHelloSaysWhetherStandingsAreTaken) {
    for (const bool ranks : {false, true}) {
        const HelloMessage hello{.node = "n",
                                 .host_identity = "i",
                                 .agent_version = "v",
                                 .instance = "1-2",
                                 .ranks_launchers = ranks};
        EXPECT_EQ(to_wire(Message{hello}).hello().ranks_launchers(), ranks);
        EXPECT_FALSE(to_wire(Message{hello}).hello().follows_launchers());
    }
}

TEST(ReportMessagesTest, StandingsComeIn) {
    const migration::PodStandings told{
        {"u", {.priority = 3, .memory_request = 2, .storage_request = 1}}};
    v1::AggregatorMessage message;
    *message.mutable_launcher_standings() = wire::to_wire(told);
    const auto request = from_wire(message);
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(std::get<migration::PodStandings>(*request), told);
}

TEST(ReportMessagesTest, WhatIsNotKnownEndsTheStreamInWords) {
    const auto request = from_wire(v1::AggregatorMessage{});
    ASSERT_FALSE(request);
    EXPECT_THAT(request.error().message, testing::HasSubstr("update the agent"));
}

}  // namespace
}  // namespace scout::agent
