// SPDX-License-Identifier: Apache-2.0
#include "kube/reviews.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::kube {
namespace {

class ReviewsTest : public testing::Test {
protected:
    template <class T>
    T run(Task<T> task) {
        return test::run_to_end(loop, std::move(task));
    }

    asio::io_context loop;
    test::FakeClock clock;
    test::ScriptedTransport transport;
    Client client{transport, clock, {}};
    Reviews reviews{client};
    AccessQuestion question{.verb = "get",
                            .resource = resources::virtual_machine_instances(),
                            .object = {.space = "ns", .name = "vm"}};
};

TEST_F(ReviewsTest, AsksForOurselves) {
    transport.then_body(201, R"({"status":{"allowed":true,"reason":"RBAC"}})");

    const auto decision = run(reviews.may_we(question));

    ASSERT_TRUE(decision) << decision.error().error.message;
    EXPECT_TRUE(decision->allowed);
    EXPECT_EQ(decision->reason, "RBAC");
    EXPECT_EQ(transport.requests()[0].target,
              "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews?fieldValidation=Strict");
    EXPECT_EQ(transport.requests()[0].body,
              R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview",)"
              R"("spec":{"resourceAttributes":{"verb":"get","group":"kubevirt.io","version":"v1",)"
              R"("resource":"virtualmachineinstances","subresource":"","namespace":"ns",)"
              R"("name":"vm"}}})");
}

TEST_F(ReviewsTest, AsksForSomebodyElse) {
    transport.then_body(201, R"({"status":{"allowed":false,"evaluationError":"role gone"}})");
    const Subject eve{.user = "eve", .uid = "7", .groups = {"a"}, .extra = {{"k", {"v"}}}};

    const auto decision = run(reviews.may(eve, question));

    ASSERT_TRUE(decision);
    EXPECT_FALSE(decision->allowed);
    EXPECT_EQ(decision->reason, "role gone");
    EXPECT_TRUE(transport.requests()[0].body.ends_with(
        R"("user":"eve","uid":"7","groups":["a"],"extra":{"k":["v"]}}})"))
        << transport.requests()[0].body;
}

TEST_F(ReviewsTest, TellsWhoseATokenIs) {
    transport.then_body(201, R"({"status":{"authenticated":true,"audiences":["virt-scout"],"user":{
            "username":"system:serviceaccount:scout:agent","uid":"u","groups":["g"],
            "extra":{"authentication.kubernetes.io/node-name":["n1"]}}}})");

    const auto owner = run(reviews.owner_of("token", {"virt-scout"}));

    ASSERT_TRUE(owner);
    EXPECT_TRUE(owner->authenticated);
    EXPECT_EQ(owner->subject.user, "system:serviceaccount:scout:agent");
    EXPECT_EQ(owner->subject.extra.at("authentication.kubernetes.io/node-name"),
              std::vector<std::string>{"n1"});
    EXPECT_EQ(owner->audiences, std::vector<std::string>{"virt-scout"});
    EXPECT_EQ(transport.requests()[0].body,
              R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview",)"
              R"("spec":{"token":"token","audiences":["virt-scout"]}})");
}

TEST_F(ReviewsTest, ATokenThatIsNoGoodIsAnAnswer) {
    transport.then_body(201, R"({"status":{"error":"expired"}})");

    const auto owner = run(reviews.owner_of("token", {}));

    ASSERT_TRUE(owner);
    EXPECT_FALSE(owner->authenticated);
    EXPECT_EQ(owner->error, "expired");
}

TEST_F(ReviewsTest, AnAnswerWithoutAStatusIsAnError) {
    for (const auto* body : {"", "[]", "{}", R"({"status":1})"}) {
        transport.then_body(201, body);
        const auto decision = run(reviews.may_we(question));
        ASSERT_FALSE(decision) << body;
        EXPECT_EQ(decision.error().error.code, Errc::internal);
    }
    transport.then_body(403, "");
    EXPECT_EQ(run(reviews.may_we(question)).error().status, 403U);
}

}  // namespace
}  // namespace scout::kube
