// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <openssl/x509_vfy.h>

#include "aggregator/agent_certificates.h"
#include "base/certificates.h"
#include "tests/aggregator/agent_streams_fixture.h"
#include "tests/support/verify_certificate.h"
#include "wire/convert.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

using testing::HasSubstr;

using AgentStreamsTest = AgentStreamsFixture;

TEST_F(AgentStreamsTest, SequenceGapAsksForAFullReportOnce) {
    add_node("n0", small_host());
    open(1);
    hello(1, "n1");
    full(1, small_host(), 7);
    v1::AgentMessage delta;
    delta.mutable_delta()->set_sequence(8);
    *delta.mutable_delta()->add_changed() = wire_guest("u1", "vm", small_host());
    say(1, delta);
    heartbeat(1, 8);
    EXPECT_EQ(kinds(1).size(), 1U);
    EXPECT_EQ(node("n1").guests.size(), 1U);

    delta.mutable_delta()->set_sequence(10);
    delta.mutable_delta()->clear_changed();
    *delta.mutable_delta()->add_removed() = removed_guest("u1", "event");
    say(1, delta);
    heartbeat(1, 10);

    EXPECT_EQ(kinds(1), (std::vector{Kind::kWelcome, Kind::kWantFull}));
    EXPECT_EQ(node("n1").guests.size(), 1U);
    full(1, small_host(), 11);
    heartbeat(1, 11);
    EXPECT_EQ(kinds(1).size(), 2U);
    EXPECT_TRUE(node("n1").guests.empty());
    EXPECT_EQ(streams.counters().gaps, 1U);
}

TEST_F(AgentStreamsTest, OddRemovalsAreRefusedInWords) {
    constexpr auto last = std::numeric_limits<std::int64_t>::max();
    const auto since = [](std::int64_t time) {
        auto guest = removed_guest("u1", "event");
        guest.set_since_unix_ms(time);
        return guest;
    };
    const std::vector<std::pair<v1::RemovedGuest, std::string>> table{
        {removed_guest("", "event"), "removed.uuid: expected a UUID, found nothing"},
        {removed_guest(std::string(254, 'x'), "event"),
         "removed.uuid: expected at most 253 bytes, found 254"},
        {removed_guest("u1", ""), "removed.found_by: expected 'event' or 'resync', found \"\""},
        {removed_guest("u1", "guess"),
         "removed.found_by: expected 'event' or 'resync', found guess"},
        {since(-1), "removed.since_unix_ms: expected 0 to 253402300799999 ms since 1970, found -1"},
        {since(last), "removed.since_unix_ms: expected 0 to 253402300799999 ms since 1970, found " +
                          std::to_string(last)}};
    for (SessionId id = 1; const auto& [guest, expected] : table) {
        open(id);
        hello(id, "n1");
        full(id, small_host(), 1, {wire_guest("u1", "vm", small_host())});
        v1::AgentMessage delta;
        delta.mutable_delta()->set_sequence(2);
        *delta.mutable_delta()->add_removed() = guest;

        say(id, delta);

        ASSERT_TRUE(sink.ended.contains(id)) << expected;
        EXPECT_EQ(sink.ended.at(id).code, Errc::invalid);
        EXPECT_EQ(sink.ended.at(id).message, expected);
        EXPECT_EQ(node("n1").guests.size(), 1U);
        ++id;
    }
}

TEST_F(AgentStreamsTest, HeartbeatsKeepANodeFresh) {
    open(1);
    hello(1, "n1");
    full(1, small_host());
    for (int i = 0; i < 10; ++i) {
        pass(20s);
        heartbeat(1, 1);
    }
    EXPECT_EQ(node("n1").freshness, Freshness::fresh);

    pass(36s);

    EXPECT_EQ(node("n1").freshness, Freshness::stale);
}

TEST_F(AgentStreamsTest, UnknownGuestsKeepTheLastKnownOnes) {
    open(1);
    hello(1, "n1");
    full(1, small_host(), 1, {wire_guest("u1", "vm", small_host())});
    v1::AgentMessage message;
    message.mutable_full()->set_sequence(2);
    message.mutable_full()->set_profile_digest(wire::profile_digest(small_host()));
    message.mutable_full()->set_guests_error("libvirt does not answer");

    say(1, message);

    EXPECT_EQ(node("n1").guests.size(), 1U);
    EXPECT_EQ(node("n1").host.guests_error, "libvirt does not answer");
}

TEST_F(AgentStreamsTest, ReportForAnotherNodeThanTheCertificateNamesIsRefused) {
    open(1, {.proof = Proof::certificate, .names = {"n1", "n1.example.org"}});
    open(2, {.proof = Proof::certificate, .names = {"n1", "n1.example.org"}});
    open(3, {.proof = Proof::certificate, .names = {}});

    hello(1, "n2");
    hello(2, "n1.example.org");
    hello(3, "n3");

    ASSERT_TRUE(sink.ended.contains(1));
    EXPECT_EQ(sink.ended.at(1).code, Errc::refused);
    EXPECT_NE(sink.ended.at(1).message.find("n2"), std::string::npos);
    EXPECT_NE(sink.ended.at(1).message.find("n1, n1.example.org"), std::string::npos);
    EXPECT_FALSE(sink.ended.contains(2));
    EXPECT_TRUE(sink.ended.contains(3));
    EXPECT_EQ(fleet.registry().find("n2"), nullptr);
}

TEST_F(AgentStreamsTest, SecondHostOfOneNameIsRefusedAndTheFirstStays) {
    open(1);
    hello(1, "n1", "machine-a");
    open(2);

    hello(2, "n1", "machine-b");

    ASSERT_TRUE(sink.ended.contains(2));
    EXPECT_EQ(sink.ended.at(2).code, Errc::refused);
    EXPECT_FALSE(sink.ended.contains(1));
    EXPECT_EQ(streams.size(), 1U);
}

TEST_F(AgentStreamsTest, NewStreamOfTheSameHostTakesOver) {
    open(1);
    hello(1, "n1");
    open(2);

    hello(2, "n1");

    ASSERT_TRUE(sink.ended.contains(1));
    EXPECT_EQ(sink.ended.at(1).code, Errc::unavailable);
    full(2, small_host());
    EXPECT_EQ(kinds(2).back(), Kind::kWantProfile);
}

TEST_F(AgentStreamsTest, SecondAgentOfOneHostIsRefusedWithBothNamedWhileTheFirstIsHeard) {
    open(1);
    hello(1, "n1", "machine-a", "100-1");
    full(1, small_host());
    for (SessionId id = 2; id < 10; ++id) {
        pass(10s);
        heartbeat(1, 1);
        open(id);
        hello(id, "n1", "machine-a", "200-2");

        ASSERT_TRUE(sink.ended.contains(id));
        EXPECT_EQ(sink.ended.at(id).code, Errc::unavailable);
        EXPECT_NE(sink.ended.at(id).message.find("agent 100-1"), std::string::npos);
        EXPECT_NE(sink.ended.at(id).message.find("agent 200-2"), std::string::npos);
    }
    EXPECT_FALSE(sink.ended.contains(1));
    EXPECT_EQ(streams.size(), 1U);
}

TEST_F(AgentStreamsTest, RestartedAgentTakesOverFromOneThatFellSilent) {
    open(1);
    hello(1, "n1", "machine-a", "100-1");
    full(1, small_host());
    pass(24s);
    open(2);
    hello(2, "n1", "machine-a", "200-2");
    ASSERT_TRUE(sink.ended.contains(2));

    pass(1s);
    open(3);
    hello(3, "n1", "machine-a", "200-2");

    EXPECT_FALSE(sink.ended.contains(3));
    ASSERT_TRUE(sink.ended.contains(1));
    EXPECT_EQ(sink.ended.at(1).code, Errc::unavailable);
}

TEST_F(AgentStreamsTest, RefusedAgentMakesTheNodeNoYounger) {
    open(1);
    hello(1, "n1", "machine-a", "100-1");
    pass(20s);

    open(2);
    hello(2, "n1", "machine-a", "200-2");

    EXPECT_EQ(age(node("n1"), clock.steady()), 20s);
}

TEST_F(AgentStreamsTest, OddGuestCpuMarksItsGuestAndTheReportIsTaken) {
    open(1);
    hello(1, "n1");
    auto odd = wire_guest("u1", "odd", small_host());
    for (int i = 0; i < 5000; ++i) {
        odd.mutable_cpu()->add_require("f" + std::to_string(i));
    }
    auto long_name = wire_guest("u2", "long", small_host());
    long_name.mutable_cpu()->add_require(std::string(300, 'x'));
    auto marked = wire_guest("u3", "marked", small_host());
    marked.clear_cpu();
    marked.set_cpu_error("its document cannot be read");

    full(1, small_host(), 1, {odd, long_name, marked, wire_guest("u4", "good", small_host())});

    EXPECT_TRUE(sink.ended.empty());
    const auto& guests = node("n1").guests;
    ASSERT_EQ(guests.size(), 4U);
    EXPECT_EQ(guests.at("u1").cpu, nullptr);
    EXPECT_NE(guests.at("u1").cpu_error.find("at most 4096 entries"), std::string::npos);
    EXPECT_NE(guests.at("u2").cpu_error.find("at most 253 bytes"), std::string::npos);
    EXPECT_EQ(guests.at("u3").cpu_error, "its document cannot be read");
    EXPECT_NE(guests.at("u4").cpu, nullptr);
}

TEST_F(AgentStreamsTest, WrongMessagesEndTheStreamAndNothingElse) {
    struct Case {
        std::string what;
        std::function<void(v1::AgentMessage&)> make;
    };
    const std::vector<Case> cases{
        {"full before hello", [](auto& m) { m.mutable_full(); }},
        {"heartbeat before hello", [](auto& m) { m.mutable_heartbeat(); }},
        {"nothing", [](auto&) {}},
        {"no name", [](auto& m) { m.mutable_hello()->set_host_identity("a"); }},
        {"odd name",
         [](auto& m) {
             m.mutable_hello()->set_host_identity("a");
             m.mutable_hello()->set_node("a b\x1b[2J");
         }},
        {"long name",
         [](auto& m) {
             m.mutable_hello()->set_host_identity("a");
             m.mutable_hello()->set_node(std::string(254, 'n'));
         }},
        {"no identity", [](auto& m) { m.mutable_hello()->set_node("n1"); }},
    };
    SessionId id = 0;
    for (const auto& [what, make] : cases) {
        open(++id);
        v1::AgentMessage message;
        make(message);
        say(id, message);
        ASSERT_TRUE(sink.ended.contains(id)) << what;
        EXPECT_EQ(sink.ended.at(id).code, Errc::invalid) << what;
    }
    EXPECT_TRUE(fleet.registry().nodes().empty());
    EXPECT_EQ(streams.size(), 0U);
}

TEST_F(AgentStreamsTest, OversizedReportsAreRefused) {
    open(1);
    hello(1, "n1");
    v1::AgentMessage message;
    for (int i = 0; i < 4097; ++i) {
        message.mutable_full()->add_guests()->set_uuid(std::to_string(i));
    }

    say(1, message);

    ASSERT_TRUE(sink.ended.contains(1));
    EXPECT_EQ(sink.ended.at(1).message, "guests: expected at most 4096 entries, found 4097");
}

TEST_F(AgentStreamsTest, StreamWithoutHelloIsEndedInTime) {
    open(1);
    clock.advance(29s);
    streams.tick(clock.steady());
    EXPECT_EQ(streams.size(), 1U);

    clock.advance(1s);
    streams.tick(clock.steady());

    EXPECT_EQ(streams.size(), 0U);
    EXPECT_EQ(sink.ended.at(1).code, Errc::timed_out);
}

TEST_F(AgentStreamsTest, MessageThatCannotBeHandledEndsOnlyItsStream) {
    fleet.registry().observe([](const Change& change) {
        if (change.node.name == "bad" && change.kind == ChangeKind::node_changed) {
            throw std::out_of_range{"what nobody thought of"};
        }
    });
    open(1);
    hello(1, "good");
    open(2);
    hello(2, "bad");

    full(2, large_host());

    ASSERT_TRUE(sink.ended.contains(2));
    EXPECT_EQ(sink.ended.at(2).code, Errc::internal);
    EXPECT_EQ(streams.counters().refused, 1U);
    full(1, small_host());
    body(1, small_host());
    EXPECT_NE(node("good").profile, nullptr);
}

TEST_F(AgentStreamsTest, ForgottenNodeComesBackOnANewStream) {
    open(1);
    hello(1, "n1");
    full(1, small_host());
    pass(8 * 24h);
    ASSERT_EQ(fleet.registry().find("n1"), nullptr);

    heartbeat(1, 1);

    ASSERT_TRUE(sink.ended.contains(1));
    EXPECT_EQ(sink.ended.at(1).code, Errc::unavailable);
    open(2);
    hello(2, "n1");
    full(2, small_host());
    EXPECT_EQ(node("n1").freshness, Freshness::fresh);
}

TEST_F(AgentStreamsTest, StoppingEndsAll) {
    for (SessionId id = 1; id <= 3; ++id) {
        open(id);
    }
    hello(1, "n1");
    full(1, small_host());

    streams.end_all({Errc::unavailable, "stopping"});

    EXPECT_EQ(sink.ended.size(), 3U);
    EXPECT_EQ(streams.size(), 0U);
}

TEST_F(AgentStreamsTest, ACertificateIsForTheNodeOfTheHello) {
    const CertificateRules rules;
    const auto authority = renew({}, clock.wall(), rules).value();
    AgentCertificates certificates{{}, rules, clock};
    certificates.use(authority);
    AgentStreams signing{fleet.registry(), sink, &certificates};
    v1::AgentMessage ask;
    ask.mutable_signing_request()->set_pem(make_signing_request().value().request);
    v1::AgentMessage greeting;
    greeting.mutable_hello()->set_node("n1");
    greeting.mutable_hello()->set_host_identity("id-n1");
    const auto say = [&](const v1::AgentMessage& message) {
        signing.receive(1, message, clock.steady());
        return sink.sent[1].empty() ? v1::AggregatorMessage{} : sink.sent[1].back();
    };

    signing.open(1, {}, clock.steady());
    say(greeting);
    const auto chain = say(ask).certificate().chain();
    EXPECT_EQ(scout::test::verify_certificate(chain, authority.current.chain,
                                              {.name = "n1", .now = clock.wall()}),
              X509_V_OK);

    EXPECT_THAT(say(ask).certificate().error(), HasSubstr("a moment ago"));
    clock.advance(10s);
    EXPECT_NE(say(ask).certificate().chain(), "");
    EXPECT_TRUE(sink.ended.empty());

    signing.open(2, {}, clock.steady());
    signing.receive(2, ask, clock.steady());
    EXPECT_TRUE(sink.ended.contains(2)) << "nobody has said hello";
}

TEST_F(AgentStreamsTest, OutsideOfAClusterNoCertificateIsSignedAndReportsGoOn) {
    v1::AgentMessage ask;
    ask.mutable_signing_request()->set_pem("rubbish");
    open(1);
    hello(1, "n1");

    say(1, ask);

    EXPECT_THAT(sink.sent[1].back().certificate().error(), HasSubstr("in no cluster"));
    full(1, small_host());
    EXPECT_TRUE(sink.ended.empty());
}

}  // namespace
}  // namespace scout::aggregator
