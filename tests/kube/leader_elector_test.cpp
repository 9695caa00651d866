// SPDX-License-Identifier: Apache-2.0
#include "kube/leader_elector.h"

#include <functional>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/task_scope.h"
#include "kube/lease_client.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::test {
namespace {

using kube::StoredLease;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// A Lease in memory; calls are counted, and `before_answer` runs within each.
class MemoryLease final : public kube::LeasePort {
public:
    std::optional<StoredLease> lease;
    bool down = false;
    bool loses_answers = false;  ///< of writes, which are done
    unsigned calls = 0;
    std::function<void()> before_answer = [] {};

    Task<Result<std::optional<StoredLease>>> read(std::chrono::milliseconds limit) override {
        limits.push_back(limit);
        ++calls;
        before_answer();
        if (down) {
            co_return fail(Errc::unavailable, "down");
        }
        co_return lease;
    }
    Task<Result<std::optional<StoredLease>>> create(kube::LeaseRecord record,
                                                    std::chrono::milliseconds limit) override {
        limits.push_back(limit);
        co_return store({.record = std::move(record)}, !lease);
    }
    Task<Result<std::optional<StoredLease>>> update(StoredLease next,
                                                    std::chrono::milliseconds limit) override {
        limits.push_back(limit);
        const bool fits = lease && lease->version == next.version;
        co_return store(std::move(next), fits);
    }

    std::vector<std::chrono::milliseconds> limits;

private:
    Result<std::optional<StoredLease>> store(StoredLease next, bool fits) {
        ++calls;
        before_answer();
        if (down) {
            return fail(Errc::unavailable, "down");
        }
        if (!fits) {
            return std::nullopt;
        }
        next.version = std::to_string(++version_);
        lease = std::move(next);
        if (loses_answers) {
            return fail(Errc::timed_out, "no answer");
        }
        return lease;
    }

    int version_ = 0;
};

/// The elector's waits are real and short; what time it is comes from the test.
class LeaderElectorTest : public ::testing::Test {
protected:
    static kube::LeaseSettings settings() {
        return {.identity = "me", .duration = 150ms, .renew_deadline = 100ms, .retry = 2ms};
    }
    LeaderElectorTest() {
        elector.on_change([this](bool leads) { told.push_back(leads); });
    }

    /// Lets the elector run until so many calls were made, then stops it.
    void run_for_calls(unsigned calls) {
        const auto wanted = port.calls + calls;
        port.before_answer = [this, wanted] {
            within_call();
            if (port.calls >= wanted && !stopping) {
                stopping = true;
                asio::post(loop, [this] {
                    asio::co_spawn(loop, scope.close(), [](const std::exception_ptr&) {});
                });
            }
        };
        scope.spawn("elector", [this] { return elector.run(); });
        loop.run();
    }

    asio::io_context loop;
    FakeClock clock;
    MemoryLease port;
    kube::LeaderElector elector{port, clock, settings(), 1};
    TaskScope scope{loop.get_executor()};
    std::function<void()> within_call = [] {};
    bool stopping = false;
    std::vector<bool> told;
};

TEST_F(LeaderElectorTest, LeadsRenewsAndGivesBack) {
    run_for_calls(6);

    EXPECT_TRUE(elector.leads());
    EXPECT_THAT(told, ElementsAre(true));
    loop.restart();
    run_to_end(loop, elector.release());
    EXPECT_FALSE(elector.leads());
    EXPECT_LE(elector.may_write_for(), 0ms);
    EXPECT_THAT(told, ElementsAre(true, false));
    EXPECT_EQ(port.lease->record.holder, "");
}

/// As when it is stopped in the middle of one.
TEST_F(LeaderElectorTest, GivesBackALeaseWhoseLastRenewalItDidNotHearOf) {
    run_for_calls(6);
    ASSERT_TRUE(elector.leads());
    port.lease->version = "renewed";

    loop.restart();
    run_to_end(loop, elector.release());

    EXPECT_EQ(port.lease->record.holder, "");
}

TEST_F(LeaderElectorTest, DoesNotGiveBackWhatIsAnothersByNow) {
    run_for_calls(6);
    ASSERT_TRUE(elector.leads());
    port.lease = StoredLease{{.holder = "other", .duration = 15s}, "o"};

    loop.restart();
    run_to_end(loop, elector.release());

    EXPECT_EQ(port.lease->record.holder, "other");
}

TEST_F(LeaderElectorTest, StandsByWhileAnotherHoldsTheLease) {
    port.lease = StoredLease{{.holder = "other", .duration = 15s}, "o"};

    run_for_calls(5);

    EXPECT_FALSE(elector.leads());
    EXPECT_LE(elector.may_write_for(), 0ms);
    EXPECT_THAT(told, ElementsAre());
    EXPECT_EQ(elector.holder(), "other");
    loop.restart();
    run_to_end(loop, elector.release());
    EXPECT_EQ(port.lease->record.holder, "other");
}

TEST_F(LeaderElectorTest, LosesLeadershipWhenRenewalsFailUntilTheDeadline) {
    within_call = [this] {
        port.down = port.calls > 2;
        clock.advance(port.calls > 2 ? 40ms : 0ms);
    };

    run_for_calls(8);

    EXPECT_FALSE(elector.leads());
    EXPECT_THAT(told, ElementsAre(true, false));
}

TEST_F(LeaderElectorTest, NeverGivesARenewalMoreTimeThanIsLeft) {
    within_call = [this] { clock.advance(port.calls == 2 ? 60ms : 0ms); };

    run_for_calls(3);

    // Created after a look; the answer took 60 ms of the 100 ms.
    ASSERT_EQ(port.limits.size(), 3U);
    EXPECT_EQ(port.limits[2], 40ms);
}

TEST_F(LeaderElectorTest, ARenewalThatGetsNoAnswerLeavesTimeForAnother) {
    within_call = [this] {
        port.down = port.calls == 3;
        clock.advance(port.calls == 3 ? port.limits.back() : 0ms);
    };

    run_for_calls(5);

    // It may have been stored: before the next one there is a look.
    ASSERT_EQ(port.limits.size(), 5U);
    EXPECT_EQ(port.limits[2], 50ms);
    EXPECT_TRUE(elector.leads());
    EXPECT_THAT(told, ElementsAre(true));
}

TEST_F(LeaderElectorTest, ARenewalWhoseAnswerIsLostCostsNoLeadership) {
    within_call = [this] { port.loses_answers = port.calls == 3; };

    run_for_calls(6);

    EXPECT_TRUE(elector.leads());
    EXPECT_THAT(told, ElementsAre(true));
}

TEST_F(LeaderElectorTest, AConflictEndsLeadershipAndIsFollowedByALookAtOnce) {
    std::vector<bool> led;
    within_call = [this, &led] {
        led.push_back(elector.leads());
        if (port.calls == 3) {
            asio::post(loop, [this] { port.lease->version = "annotated"; });
        }
    };

    run_for_calls(6);

    // Look, create, renewal, one that conflicts, look, renewal.
    EXPECT_THAT(led, ElementsAre(false, false, true, true, false, false));
    EXPECT_TRUE(elector.leads());
    EXPECT_THAT(told, ElementsAre(true, false, true));
}

TEST_F(LeaderElectorTest, ALeaseThatIsDeletedIsMadeAnewByItsHolder) {
    within_call = [this] {
        if (port.calls == 3) {
            asio::post(loop, [this] { port.lease.reset(); });
        }
    };

    run_for_calls(6);

    EXPECT_THAT(told, ElementsAre(true, false, true));
    EXPECT_TRUE(elector.leads());
    ASSERT_TRUE(port.lease);
    EXPECT_EQ(port.lease->record.holder, "me");
}

TEST(ClientLeaseTest, WritesWhatClientGoReads) {
    const StoredLease lease{{.holder = "me",
                             .duration = 15s,
                             .acquired = WallTime{1000ms},
                             .renewed = WallTime{2001ms},
                             .transitions = 3},
                            "17"};

    const auto text = kube::lease_json({.space = "ns", .name = "l"}, lease);

    EXPECT_THAT(text, HasSubstr(R"("acquireTime":"1970-01-01T00:00:01.000000Z")"));
    EXPECT_THAT(text, HasSubstr(R"("renewTime":"1970-01-01T00:00:02.001000Z")"));
    const auto again = kube::parse_lease(text);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->record, lease.record);
    EXPECT_EQ(again->version, "17");
}

TEST(ClientLeaseTest, ReadsLeasesOfOthersAndNamesWhatIsWrong) {
    const auto empty = kube::parse_lease(R"({"metadata":{"resourceVersion":"1"},"spec":{}})");
    ASSERT_TRUE(empty);
    EXPECT_EQ(empty->record.holder, "");

    const auto wild = kube::parse_lease(
        R"({"metadata":{},"spec":{"holderIdentity":"x","leaseDurationSeconds":-5}})");
    ASSERT_TRUE(wild);
    EXPECT_EQ(wild->record.duration, 0s);

    const auto wrong = kube::parse_lease(R"({"spec":{"renewTime":"yesterday"}})");
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message, HasSubstr("spec.renewTime"));
}

TEST(ClientLeaseTest, TellsAConflictFromAFailure) {
    asio::io_context loop;
    FakeClock clock;
    ScriptedTransport transport;
    kube::Client client(transport, clock, {});
    kube::ClientLease lease(client, {.space = "ns", .name = "l"});
    transport.then_body(404, status_json(404, "NotFound"));
    transport.then_body(409, status_json(409, "AlreadyExists"));
    transport.then_body(409, status_json(409, "Conflict"));
    transport.then_body(404, status_json(404, "NotFound"));
    transport.then_body(403, status_json(403, "Forbidden"));

    const auto read = run_to_end(loop, lease.read(5s));
    const auto created = run_to_end(loop, lease.create({.holder = "me"}, 5s));
    const auto updated = run_to_end(loop, lease.update({{.holder = "me"}, "4"}, 5s));
    const auto deleted = run_to_end(loop, lease.update({{.holder = "me"}, "4"}, 5s));
    const auto refused = run_to_end(loop, lease.update({{.holder = "me"}, "4"}, 5s));

    ASSERT_TRUE(read);
    EXPECT_FALSE(*read);
    ASSERT_TRUE(created);
    EXPECT_FALSE(*created);
    ASSERT_TRUE(updated);
    EXPECT_FALSE(*updated);
    ASSERT_TRUE(deleted);
    EXPECT_FALSE(*deleted);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::refused);
    EXPECT_EQ(transport.requests()[2].method, "PUT");
    EXPECT_THAT(transport.requests()[2].target,
                HasSubstr("/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"));
}

}  // namespace
}  // namespace scout::test
