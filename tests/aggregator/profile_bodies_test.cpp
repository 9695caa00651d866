// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include "tests/aggregator/agent_streams_fixture.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using ProfileBodiesTest = AgentStreamsFixture;

/// Number 100, with the value 1.
constexpr std::string_view field_of_a_newer_version = "\xA0\x06\x01";

TEST_F(ProfileBodiesTest, HelloIsWelcomedAndUnknownProfileAskedFor) {
    open(1);
    hello(1, "n1");
    full(1, small_host());
    EXPECT_EQ(kinds(1), (std::vector{Kind::kWelcome, Kind::kWantProfile}));
    EXPECT_EQ(node("n1").profile, nullptr);

    body(1, small_host());

    ASSERT_NE(node("n1").profile, nullptr);
    EXPECT_TRUE(sink.ended.empty());
}

TEST_F(ProfileBodiesTest, KnownProfileIsNotAskedForAgain) {
    add_node("n0", small_host());
    open(1);

    hello(1, "n1");
    full(1, small_host());

    EXPECT_EQ(kinds(1), std::vector{Kind::kWelcome});
    EXPECT_EQ(node("n1").profile, node("n0").profile);
}

TEST_F(ProfileBodiesTest, BodyIsAskedOfOneAgentOnly) {
    for (SessionId id = 1; id <= 3; ++id) {
        open(id);
        hello(id, "n" + std::to_string(id));
        full(id, small_host());
    }
    EXPECT_EQ(kinds(1).size(), 2U);
    EXPECT_EQ(kinds(2).size(), 1U);
    EXPECT_EQ(kinds(3).size(), 1U);

    body(1, small_host());

    for (const std::string name : {"n1", "n2", "n3"}) {
        EXPECT_NE(node(name).profile, nullptr) << name;
    }
}

TEST_F(ProfileBodiesTest, NextAgentIsAskedWhenTheFirstGoesOrStaysSilent) {
    for (SessionId id = 1; id <= 3; ++id) {
        open(id);
        hello(id, "n" + std::to_string(id));
        full(id, small_host());
    }

    streams.close(1, clock.steady());
    EXPECT_EQ(kinds(2).back(), Kind::kWantProfile);
    EXPECT_EQ(kinds(3).back(), Kind::kWelcome);
    clock.advance(10s);
    streams.tick(clock.steady());
    EXPECT_EQ(kinds(3).back(), Kind::kWantProfile);

    body(3, small_host());
    EXPECT_NE(node("n2").profile, nullptr);
}

TEST_F(ProfileBodiesTest, BodyThatIsNotWhatWasAskedForEndsTheStream) {
    open(1);
    hello(1, "n1");
    full(1, small_host());
    v1::AgentMessage message;
    message.mutable_profile()->set_digest(wire::profile_digest(small_host()));
    message.mutable_profile()->set_profile(wire::encode_profile(large_host()));

    say(1, message);

    ASSERT_TRUE(sink.ended.contains(1));
    EXPECT_EQ(sink.ended.at(1).code, Errc::invalid);
    EXPECT_EQ(fleet.registry().profiles(), 0U);
}

TEST_F(ProfileBodiesTest, ProfileOfANewerAgentServesWithWhatIsKnownOfIt) {
    tell_profile(1, wire::encode_profile(small_host()).append(field_of_a_newer_version));

    EXPECT_FALSE(sink.ended.contains(1));
    ASSERT_NE(node("n1").profile, nullptr);
    EXPECT_EQ(node("n1").profile->profile, small_host());
}

TEST_F(ProfileBodiesTest, BodyThatIsNoProfileEndsTheStream) {
    tell_profile(1, "\xFF\xFF");

    ASSERT_TRUE(sink.ended.contains(1));
    EXPECT_EQ(sink.ended.at(1).code, Errc::invalid);
}

TEST_F(ProfileBodiesTest, ProfileWithoutAnArchitectureIsTaken) {
    auto bare = small_host();
    bare.arch.clear();
    open(1);
    hello(1, "n1");
    full(1, bare);

    body(1, bare);

    EXPECT_TRUE(sink.ended.empty());
    EXPECT_NE(node("n1").profile, nullptr);
    EXPECT_EQ(fleet.matrix().level_of(node("n1")).level, 0U);
}

}  // namespace
}  // namespace scout::aggregator
