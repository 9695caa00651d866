// SPDX-License-Identifier: Apache-2.0
#include "cluster/tune_calls.h"

#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::SizeIs;
using namespace std::chrono_literals;

class TuneCallsTest : public testing::Test {
protected:
    void answer(unsigned status, std::string body = "{}") {
        transport.then({.status = status, .body = std::move(body)});
    }
    [[nodiscard]] static TunePlan plan() {
        TunePlan plan;
        plan.wish.name = "drain";
        plan.wish.fields.post_copy = true;
        plan.based_on = "gold";
        plan.based_on_version = "7";
        return plan;
    }
    [[nodiscard]] kube::ApiResult<void> make(bool dry_run = false) {
        return test::run_to_end(loop, calls.make(plan(), WallTime{}, dry_run));
    }

    asio::io_context loop;
    test::FakeClock clock;
    test::ScriptedTransport transport;
    kube::Client client{transport, clock, {.backoff = {1ms, 2ms}}};
    TuneCalls calls{client};
};

constexpr const char* gold =
    R"({"metadata":{"name":"gold","resourceVersion":"7"},"spec":{"later":{"field":1}}})";

TEST_F(TuneCallsTest, TheRestIsCopiedAlsoWhatIsNotKnown) {
    answer(200, gold);
    answer(201);

    ASSERT_TRUE(make());

    ASSERT_THAT(transport.requests(), SizeIs(2));
    const auto& created = transport.requests().back();
    EXPECT_EQ(created.method, "POST");
    const auto spec = json::parse(created.body).at("spec");
    EXPECT_EQ(spec.at("later"), json::parse(R"({"field":1})"));
    EXPECT_EQ(spec.at("allowPostCopy"), true);
    EXPECT_THAT(created.target, testing::Not(HasSubstr("dryRun")));
}

TEST_F(TuneCallsTest, ARehearsalStoresNothing) {
    answer(200, gold);
    answer(201);
    ASSERT_TRUE(make(true));
    EXPECT_THAT(transport.requests().back().target, HasSubstr("dryRun=All"));
}

TEST_F(TuneCallsTest, OneThatWasChangedSinceItWasPlannedIsNotCopied) {
    answer(200, R"({"metadata":{"name":"gold","resourceVersion":"8"},"spec":{}})");
    const auto made = make();
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().error.message, HasSubstr("policy gold, which it copies, was changed"));
    EXPECT_THAT(transport.requests(), SizeIs(1));
}

TEST_F(TuneCallsTest, OnlyTunedOnesAreEnded) {
    answer(200, R"({"metadata":{"name":"drain","uid":"u",
                    "labels":{"virt-scout.io/tune":"true"}}})");
    answer(200);
    ASSERT_TRUE(test::run_to_end(loop, calls.end("drain")));
    EXPECT_EQ(transport.requests().back().method, "DELETE");
    EXPECT_THAT(transport.requests().back().body, HasSubstr(R"("uid":"u")"));

    answer(200, gold);
    const auto refused = test::run_to_end(loop, calls.end("gold"));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().error.message, HasSubstr("none that policy tune made"));
    EXPECT_THAT(transport.requests(), SizeIs(3));
}

TEST_F(TuneCallsTest, AnAggregatorIsFoundByWhatItServes) {
    answer(200, R"({"resources":[{"name":"nodes"},{"name":"protection"}]})");
    EXPECT_EQ(test::run_to_end(loop, calls.is_ended_by_itself()).value(), true);

    answer(200, R"({"resources":[{"name":"nodes"}]})");
    EXPECT_EQ(test::run_to_end(loop, calls.is_ended_by_itself()).value(), false)
        << "one of 0.2.0 ends none";
    answer(404, test::status_json(404, "NotFound"));
    EXPECT_EQ(test::run_to_end(loop, calls.is_ended_by_itself()).value(), false);
    answer(403, test::status_json(403, "Forbidden"));
    EXPECT_FALSE(test::run_to_end(loop, calls.is_ended_by_itself())) << "nobody knows";
}

}  // namespace
}  // namespace scout::cluster
