// SPDX-License-Identifier: Apache-2.0
// The election as a pure machine, with a Lease that lives in the test.
#include "kube/lease.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace scout::test {
namespace {

using kube::LeaseElection;
using kube::StoredLease;
using namespace std::chrono_literals;

constexpr WallTime wall_start{std::chrono::hours{24 * 365 * 55}};
constexpr SteadyTime start{1000h};

/// The server's side: one Lease that is written only by who knows its version.
class LeaseServer {
public:
    explicit LeaseServer(int version = 0) : version_(version) {}

    std::optional<StoredLease> lease;

    /// Nothing for a conflict.
    std::optional<StoredLease> write(const LeaseElection::Request& request) {
        const bool fits = request.verb == LeaseElection::Verb::create
                              ? !lease
                              : lease && lease->version == request.version;
        if (!fits) {
            return std::nullopt;
        }
        lease = StoredLease{request.record, std::to_string(++version_)};
        return lease;
    }

private:
    int version_;
};

kube::LeaseSettings settings(std::string identity) {
    return {.identity = std::move(identity)};
}

/// One turn without faults.
void turn(LeaseElection& election, LeaseServer& server, SteadyTime now,
          WallTime wall = wall_start) {
    auto request = election.attempt(now, wall);
    if (request.verb == LeaseElection::Verb::read) {
        const auto next = election.read_answer(now, wall, server.lease);
        if (!next) {
            return;
        }
        request = *next;
    }
    if (const auto stored = server.write(request)) {
        election.written(now, now, *stored);
    } else {
        election.conflicted();
    }
}

TEST(LeaseTest, TheFirstCreatesTheLeaseAndLeads) {
    LeaseServer server;
    LeaseElection a{settings("a")};

    turn(a, server, start);

    EXPECT_TRUE(a.may_write(start));
    EXPECT_EQ(a.may_write_until(), start + 12s);
    ASSERT_TRUE(server.lease);
    EXPECT_EQ(server.lease->record.holder, "a");
    EXPECT_EQ(server.lease->record.duration, 15s);
    EXPECT_EQ(server.lease->record.transitions, 0);
}

TEST(LeaseTest, RenewsAndKeepsWhenItWasAcquired) {
    LeaseServer server;
    LeaseElection a{settings("a")};
    turn(a, server, start);

    turn(a, server, start + 2s, wall_start + 2s);

    EXPECT_EQ(a.may_write_until(), start + 2s + 12s);
    EXPECT_EQ(server.lease->record.acquired, wall_start);
    EXPECT_EQ(server.lease->record.renewed, wall_start + 2s);
    EXPECT_EQ(server.lease->record.transitions, 0);
}

TEST(LeaseTest, AnotherWaitsAWholeDurationFromWhenItSawTheLease) {
    LeaseServer server;
    LeaseElection a{settings("a")};
    LeaseElection b{settings("b")};
    turn(a, server, start);

    turn(b, server, start + 9s);
    turn(b, server, start + 23s);
    EXPECT_FALSE(b.may_write(start + 23s));
    EXPECT_EQ(b.free_at(), start + 24s);
    turn(b, server, b.free_at());

    EXPECT_TRUE(b.may_write(start + 24s));
    EXPECT_EQ(b.holder(), "b");
    EXPECT_EQ(server.lease->record.transitions, 1);
}

/// The API server keeps an int32: a lease with more could never be written.
TEST(LeaseTest, TheNumberOfTransitionsStaysWhatAServerTakes) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    for (const std::int64_t odd : {most, std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()}) {
        LeaseServer server;
        server.lease = StoredLease{{.holder = "a", .transitions = odd}, "7"};
        LeaseElection b{settings("b")};
        turn(b, server, start);
        turn(b, server, b.free_at());
        EXPECT_EQ(server.lease->record.holder, "b");
        EXPECT_EQ(server.lease->record.transitions, odd < 0 ? 1 : most);
    }
}

TEST(LeaseTest, WallClocksOfOthersDoNotMatter) {
    LeaseServer server;
    LeaseElection a{settings("a")};
    LeaseElection b{settings("b")};

    // A clock that stands still: every renewal has the same time in it.
    for (auto now = start; now < start + 60s; now += 2s) {
        turn(a, server, now, wall_start - 24h);
        turn(b, server, now + 1s, wall_start + 24h);
        ASSERT_FALSE(b.may_write(now + 1s));
    }
    EXPECT_TRUE(a.may_write(start + 60s));
}

TEST(LeaseTest, AProcessThatWasStoppedMayNotWriteWhenItWakes) {
    LeaseServer server;
    LeaseElection a{settings("a")};
    LeaseElection b{settings("b")};
    turn(a, server, start);
    turn(b, server, start + 1s);

    EXPECT_FALSE(a.may_write(start + 30s));

    // It has to look before it renews, though its last lease may still be the stored one.
    EXPECT_EQ(a.attempt(start + 30s, wall_start).verb, LeaseElection::Verb::read);
    turn(b, server, start + 30s);
    turn(a, server, start + 30s);
    EXPECT_TRUE(b.may_write(start + 30s));
    EXPECT_FALSE(a.may_write(start + 30s));
}

TEST(LeaseTest, TheTimeCountsFromWhenARenewalWasSent) {
    LeaseServer server;
    LeaseElection a{settings("a")};
    const auto request = a.read_answer(start, wall_start, std::nullopt);
    ASSERT_TRUE(request);
    const auto stored = server.write(*request);
    ASSERT_TRUE(stored);

    // The answer came late.
    a.written(start + 9s, start, *stored);

    EXPECT_EQ(a.may_write_until(), start + 12s);
}

TEST(LeaseTest, ReleasedLeadershipIsFreeAtOnce) {
    LeaseServer server;
    LeaseElection a{settings("a")};
    LeaseElection b{settings("b")};
    turn(a, server, start);
    turn(b, server, start + 1s);

    const auto request = a.release(wall_start);

    EXPECT_FALSE(a.may_write(start + 1s));
    ASSERT_TRUE(request);
    ASSERT_TRUE(server.write(*request));
    turn(b, server, start + 2s);
    EXPECT_TRUE(b.may_write(start + 2s));
    EXPECT_FALSE(b.release(wall_start)->record.holder == "b");
    EXPECT_FALSE(a.release(wall_start)) << "who does not lead has nothing to give back";
}

TEST(LeaseTest, AConflictEndsTheRightToWriteUntilALookFindsNoOtherHolder) {
    LeaseServer server;
    LeaseElection a{settings("a")};
    turn(a, server, start);
    server.lease->version = "annotated";

    turn(a, server, start + 2s);
    EXPECT_FALSE(a.may_write(start + 2s));
    turn(a, server, start + 4s);
    EXPECT_EQ(a.may_write_until(), start + 4s + 12s);

    server.lease = StoredLease{{.holder = "c"}, "taken"};
    turn(a, server, start + 6s);
    turn(a, server, start + 8s);
    EXPECT_FALSE(a.may_write(start + 8s));
    EXPECT_EQ(a.holder(), "c");
}

/// What can become of a Lease that "a" holds, other than by "a" itself.
struct LeaseFate {
    std::string name;
    std::function<void(std::optional<StoredLease>&)> happen;
};

class LeaseFateTest : public ::testing::TestWithParam<LeaseFate> {
protected:
    LeaseFateTest() {
        server.lease = StoredLease{{.holder = "b", .duration = 15s}, "100"};
        turn(a, server, start - 15s);
        turn(a, server, start);
        turn(b, server, start + 1s);
        EXPECT_EQ(b.holder(), "a");
        GetParam().happen(server.lease);
    }

    LeaseServer server{100};
    LeaseElection a{settings("a")};
    LeaseElection b{settings("b")};
};

TEST_P(LeaseFateTest, LeavesTheHolderItsTimeAndTheLease) {
    turn(b, server, start + 2s);
    EXPECT_FALSE(b.may_write(start + 2s));
    EXPECT_EQ(b.holder(), "a");

    turn(a, server, start + 3s);
    EXPECT_FALSE(a.may_write(start + 3s));
    turn(a, server, start + 3s);
    turn(b, server, start + 4s);

    EXPECT_TRUE(a.may_write(start + 4s));
    EXPECT_FALSE(b.may_write(start + 4s));
}

TEST_P(LeaseFateTest, LetsAnotherLeadWhenTheHolderStaysSilent) {
    turn(b, server, start + 2s);
    EXPECT_EQ(b.free_at(), start + 17s);
    turn(b, server, start + 16s);
    EXPECT_FALSE(b.may_write(start + 16s));

    turn(b, server, b.free_at());

    EXPECT_TRUE(b.may_write(start + 17s));
    EXPECT_EQ(server.lease->record.holder, "b");
    turn(a, server, start + 18s);
    EXPECT_FALSE(a.may_write(start + 18s));
}

INSTANTIATE_TEST_SUITE_P(Fates, LeaseFateTest,
                         ::testing::Values(LeaseFate{"Deleted", [](auto& lease) { lease.reset(); }},
                                           LeaseFate{"Emptied",
                                                     [](auto& lease) {
                                                         lease->record.holder.clear();
                                                         lease->version = "edited";
                                                     }},
                                           LeaseFate{"SetBackToARelease",
                                                     [](auto& lease) {
                                                         lease =
                                                             StoredLease{{.duration = 1s}, "90"};
                                                     }}),
                         [](const auto& fate) { return fate.param.name; });

TEST(LeaseTest, WhatABackupSaysOfThisProcessDoesNotMakeItLead) {
    LeaseServer server;
    LeaseElection b{settings("b")};
    server.lease = StoredLease{{.holder = "a", .duration = 15s}, "100"};
    turn(b, server, start);

    server.lease = StoredLease{{.holder = "b", .duration = 15s}, "90"};
    turn(b, server, start + 2s);
    EXPECT_FALSE(b.may_write(start + 2s));
    turn(b, server, b.free_at());

    EXPECT_TRUE(b.may_write(start + 17s));
}

TEST(LeaseTest, FindsItsOwnWriteWhoseAnswerWasLost) {
    LeaseServer server;
    LeaseElection a{settings("a")};
    const auto request = a.read_answer(start, wall_start, std::nullopt);
    ASSERT_TRUE(server.write(*request));

    turn(a, server, start + 2s);

    EXPECT_TRUE(a.may_write(start + 2s));
    EXPECT_EQ(server.lease->record.transitions, 0);
}

TEST(LeaseTest, NamesWhatIsWrongWithItsTimes) {
    EXPECT_EQ(kube::check(settings("a")), "");
    EXPECT_NE(kube::check(settings("")), "");
    EXPECT_NE(kube::check({.identity = "a", .duration = 10s, .renew_deadline = 10s}), "");
    EXPECT_NE(kube::check({.identity = "a", .retry = 13s}), "");
    EXPECT_NE(kube::check({.identity = "a", .retry = 0s}), "");
}

/// Three contenders whose requests are lost, answered late or never, and who are stopped for a
/// while: at no time may two of them write.
class LeasePropertyTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(LeasePropertyTest, NeverMayTwoWriteAndSomebodyAlwaysCanAgain) {
    std::mt19937_64 random(GetParam());
    const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    LeaseServer server;
    std::array contenders{LeaseElection{settings("a")}, LeaseElection{settings("b")},
                          LeaseElection{settings("c")}};
    std::array<SteadyTime, 3> stopped_until{start, start, start};
    auto now = start;
    unsigned led = 0;

    for (int step = 0; step < 4000; ++step) {
        now += std::chrono::milliseconds{random() % 1500};
        const auto who = random() % contenders.size();
        auto& election = contenders[who];
        if (now >= stopped_until[who]) {
            if (chance(2)) {
                stopped_until[who] = now + std::chrono::seconds{random() % 40};
            }
            const WallTime wall{std::chrono::milliseconds{random() % 1'000'000'000'000}};
            const auto sent = now;
            auto request = election.attempt(now, wall);
            std::optional<LeaseElection::Request> next = request;
            if (request.verb == LeaseElection::Verb::read) {
                next = chance(20) ? std::nullopt : election.read_answer(now, wall, server.lease);
            }
            if (next && !chance(10)) {
                const auto stored = server.write(*next);
                if (chance(80)) {
                    now += std::chrono::milliseconds{random() % 3000};
                    stored ? election.written(now, sent, *stored) : election.conflicted();
                }
            }
        }
        const auto writers =
            std::count_if(contenders.begin(), contenders.end(),
                          [&](const auto& contender) { return contender.may_write(now); });
        ASSERT_LE(writers, 1) << "step " << step;
        led += writers == 1 ? 1 : 0;
    }
    EXPECT_GT(led, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LeasePropertyTest, ::testing::Range<std::uint64_t>(1, 51));

}  // namespace
}  // namespace scout::test
