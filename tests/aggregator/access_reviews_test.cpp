// SPDX-License-Identifier: Apache-2.0
#include "aggregator/access_reviews.h"

#include <chrono>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/aggregator/reviewing_api.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

kube::AccessQuestion list_nodes() {
    return {.verb = "list", .resource = kube::resources::nodes()};
}

kube::AccessQuestion get_vmi(const std::string& space, const std::string& name) {
    return {.verb = "get",
            .resource = kube::resources::virtual_machine_instances(),
            .object = {.space = space, .name = name}};
}

kube::Subject user(const std::string& name) {
    return {.user = name, .uid = "u", .groups = {"g"}, .extra = {{"k", {"v"}}}};
}

class AccessReviewsTest : public testing::Test {
protected:
    Status check(const kube::Subject& subject, const kube::AccessQuestion& question) {
        return test::run_to_end(loop, reviews.check(subject, question));
    }
    void check_meanwhile(const kube::AccessQuestion& question) {
        asio::co_spawn(
            loop, reviews.check(user("jane"), question),
            [this](const std::exception_ptr&, const Status& may) { done += may ? 1 : 0; });
    }

    asio::io_context loop{1};
    test::FakeClock clock;
    test::ReviewingApi api{loop};
    kube::Client client{api, clock, {.rate = {.per_second = 1e6, .burst = 1e6}, .attempts = 1}};
    AccessReviews reviews{
        loop.get_executor(), client, clock, {.limits = {.at_once = 2, .kept = 3}}};
    int done = 0;
};

TEST_F(AccessReviewsTest, AsksWithAllThatIsKnownOfTheUser) {
    ASSERT_TRUE(check(user("jane"), get_vmi("ns", "vm")));

    ASSERT_EQ(api.specs.size(), 1U);
    EXPECT_EQ(boost::json::value(api.specs[0]), boost::json::parse(R"({"user":"jane","uid":"u",
        "groups":["g"],"extra":{"k":["v"]},
        "resourceAttributes":{"verb":"get","group":"kubevirt.io","version":"v1",
            "resource":"virtualmachineinstances","subresource":"","namespace":"ns","name":"vm"}})"));
}

TEST_F(AccessReviewsTest, ARightIsAskedForAgainAfterTenSeconds) {
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(check(user("jane"), list_nodes()));
    }
    EXPECT_EQ(reviews.made(), 1U);
    clock.advance(9s);
    ASSERT_TRUE(check(user("jane"), list_nodes()));
    EXPECT_EQ(reviews.made(), 1U);
    api.allows = [](const auto&) { return false; };
    clock.advance(1s);

    EXPECT_FALSE(check(user("jane"), list_nodes()));
}

TEST_F(AccessReviewsTest, ARefusalIsAskedForAgainAfterFiveSeconds) {
    api.allows = [](const auto&) { return false; };
    api.reason = "no role";
    for (int i = 0; i < 3; ++i) {
        const auto may = check(user("jane"), list_nodes());
        ASSERT_FALSE(may);
        EXPECT_EQ(may.error().code, Errc::refused);
        EXPECT_EQ(may.error().message, "no role");
    }
    EXPECT_EQ(reviews.made(), 1U);
    api.allows = [](const auto&) { return true; };
    clock.advance(5s);

    EXPECT_TRUE(check(user("jane"), list_nodes()));
}

TEST_F(AccessReviewsTest, NoTwoQuestionsShareAnAnswer) {
    auto other_group = user("jane");
    other_group.groups = {"h"};
    auto other_extra = user("jane");
    other_extra.extra = {{"k", {"w"}}};
    auto shifted = user("jane");
    shifted.groups = {};
    shifted.extra = {{"g", {}}, {"k", {"v"}}};
    std::uint64_t made = 0;
    for (const auto& subject : {user("jane"), user("joe"), other_group, other_extra, shifted}) {
        ASSERT_TRUE(check(subject, get_vmi("a", "b")));
        EXPECT_EQ(reviews.made(), ++made);
    }
    for (const auto& question : {get_vmi("ab", ""), get_vmi("", "ab"), list_nodes()}) {
        ASSERT_TRUE(check(user("jane"), question));
        EXPECT_EQ(reviews.made(), ++made);
    }
}

TEST_F(AccessReviewsTest, WhatIsNotKnownIsNeverAllowed) {
    api.away = true;

    const auto may = check(user("jane"), list_nodes());

    ASSERT_FALSE(may);
    EXPECT_EQ(may.error().code, Errc::unavailable);
    EXPECT_THAT(may.error().message, HasSubstr("create subjectaccessreviews.authorization.k8s.io"));
    api.away = false;
    EXPECT_TRUE(check(user("jane"), list_nodes())) << "troubles are not remembered";
}

TEST_F(AccessReviewsTest, TheSameQuestionIsUnderWayOnceAndFewAreAtATime) {
    api.held = true;
    for (int i = 0; i < 4; ++i) {
        check_meanwhile(list_nodes());
        check_meanwhile(get_vmi("a", std::to_string(i)));
    }
    loop.poll();
    EXPECT_EQ(api.under_way, 2U);

    api.held = false;
    api.release.cancel();
    loop.run();

    EXPECT_EQ(done, 8);
    EXPECT_EQ(api.most, 2U);
    EXPECT_EQ(reviews.made(), 5U);
}

TEST_F(AccessReviewsTest, FewAnswersAreRemembered) {
    for (const char* name : {"a", "b", "c", "d"}) {
        ASSERT_TRUE(check(user("jane"), get_vmi("ns", name)));
        clock.advance(1ms);
    }
    ASSERT_TRUE(check(user("jane"), get_vmi("ns", "d")));
    EXPECT_EQ(reviews.made(), 4U);

    ASSERT_TRUE(check(user("jane"), get_vmi("ns", "a")));

    EXPECT_EQ(reviews.made(), 5U);
}

}  // namespace
}  // namespace scout::aggregator
