// SPDX-License-Identifier: Apache-2.0
#include "kube/client.h"

#include <functional>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>

#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::kube {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

const Target node{.resource = resources::nodes(), .object = {.name = "n1"}};
const ObjectName pod{.space = "ns", .name = "p"};

class ClientTest : public testing::Test {
protected:
    template <class T>
    T run(Task<T> task) {
        return test::run_to_end(loop, std::move(task));
    }
    [[nodiscard]] const HttpRequest& request(std::size_t index = 0) const {
        return transport.requests().at(index);
    }
    void answer(unsigned status, std::string body = "{}") {
        transport.then({.status = status, .body = std::move(body)});
    }

    asio::io_context loop;
    test::FakeClock clock;
    test::ScriptedTransport transport;
    Client client{transport, clock, {.backoff = {1ms, 2ms}}};
};

TEST_F(ClientTest, GetsAnObject) {
    answer(200, R"({"kind":"Node"})");

    EXPECT_EQ(run(client.get(node)).value(), R"({"kind":"Node"})");

    EXPECT_EQ(request().method, "GET");
    EXPECT_EQ(request().target, "/api/v1/nodes/n1");
    EXPECT_EQ(request().body, "");
}

TEST_F(ClientTest, WritesAskForStrictValidation) {
    for (int i = 0; i < 5; ++i) {
        answer(200);
    }
    const Target collection{.resource = resources::leases(), .object = {.space = "ns"}};
    ASSERT_TRUE(run(client.create(collection, "{\"a\":1}")));
    ASSERT_TRUE(run(client.update(node, "{}")));
    ASSERT_TRUE(run(client.merge_patch(node, "{}", {.dry_run = true})));
    ASSERT_TRUE(run(client.json_patch(node, "[]")));
    ASSERT_TRUE(run(client.apply(node, "{}", {.manager = "a b", .force = true})));

    EXPECT_EQ(request(0).method, "POST");
    EXPECT_EQ(request(0).target,
              "/apis/coordination.k8s.io/v1/namespaces/ns/leases?fieldValidation=Strict");
    EXPECT_EQ(request(0).content_type, "application/json");
    EXPECT_EQ(request(0).body, "{\"a\":1}");
    EXPECT_EQ(request(1).method, "PUT");
    EXPECT_EQ(request(1).target, "/api/v1/nodes/n1?fieldValidation=Strict");
    EXPECT_EQ(request(2).method, "PATCH");
    EXPECT_EQ(request(2).content_type, "application/merge-patch+json");
    EXPECT_EQ(request(2).target, "/api/v1/nodes/n1?fieldValidation=Strict&dryRun=All");
    EXPECT_EQ(request(3).content_type, "application/json-patch+json");
    EXPECT_EQ(request(4).content_type, "application/apply-patch+yaml");
    EXPECT_EQ(request(4).target,
              "/api/v1/nodes/n1?fieldValidation=Strict&fieldManager=a%20b&force=true");
}

TEST_F(ClientTest, DeletesWhatItWasToldToAndNothingElse) {
    answer(200);
    Preconditions same{.uid = "u1", .resource_version = "7"};

    ASSERT_TRUE(run(client.remove(node, same, {.dry_run = true})));

    EXPECT_EQ(request().method, "DELETE");
    EXPECT_EQ(request().body,
              R"({"apiVersion":"v1","kind":"DeleteOptions",)"
              R"("preconditions":{"uid":"u1","resourceVersion":"7"},"dryRun":["All"]})");
}

TEST_F(ClientTest, EvictsAPodAndTakes429ForAnAnswer) {
    const std::string text = "Eviction triggered evacuation of VMI \"ns/vm\"";
    answer(429, R"({"kind":"Status","message":"Eviction triggered evacuation of VMI \"ns/vm\""})");

    const auto evicted = run(client.evict(pod, {.uid = "u"}, {.dry_run = true}));

    ASSERT_FALSE(evicted);
    EXPECT_EQ(evicted.error().status, 429U);
    EXPECT_EQ(evicted.error().text, text);
    EXPECT_EQ(transport.requests().size(), 1U);
    EXPECT_EQ(request().method, "POST");
    EXPECT_EQ(request().target,
              "/api/v1/namespaces/ns/pods/p/eviction?fieldValidation=Strict&dryRun=All");
    EXPECT_EQ(request().body, R"({"apiVersion":"policy/v1","kind":"Eviction",)"
                              R"("metadata":{"name":"p","namespace":"ns"},)"
                              R"("deleteOptions":{"preconditions":{"uid":"u"}}})");
}

TEST_F(ClientTest, RepeatsWhatMayBeMadeTwiceUntilItWorks) {
    answer(500);
    answer(503);
    transport.then({.error = Errc::unavailable});
    transport.then({.error = Errc::timed_out});
    answer(200, "there");

    EXPECT_EQ(run(client.get(node)).value(), "there");
    EXPECT_EQ(client.repeated(), 4U);
}

TEST_F(ClientTest, GivesUpAfterFiveAttempts) {
    for (int i = 0; i < 9; ++i) {
        answer(500);
    }

    const auto patched = run(client.merge_patch(node, "{}"));

    ASSERT_FALSE(patched);
    EXPECT_EQ(patched.error().status, 500U);
    EXPECT_THAT(patched.error().error.message, HasSubstr("patch nodes n1: HTTP 500"));
    EXPECT_EQ(transport.requests().size(), 5U);
}

TEST_F(ClientTest, RepeatsOnlyCallsThatMayBeMadeTwice) {
    const Target collection{.resource = resources::leases(), .object = {.space = "ns"}};
    struct Case {
        std::string name;
        std::function<bool()> call;  ///< true: it worked in the end
        bool repeats;
    };
    const ApplyOptions ours{.manager = "m"};
    const Case cases[] = {
        {"create", [&] { return run(client.create(collection, "{}")).has_value(); }, false},
        {"create dry",
         [&] { return run(client.create(collection, "{}", {.dry_run = true})).has_value(); }, true},
        {"update", [&] { return run(client.update(node, "{}")).has_value(); }, false},
        {"json", [&] { return run(client.json_patch(node, "[]")).has_value(); }, false},
        {"merge", [&] { return run(client.merge_patch(node, "{}")).has_value(); }, true},
        {"apply", [&] { return run(client.apply(node, "{}", ours)).has_value(); }, true},
        {"delete", [&] { return run(client.remove(node, {})).has_value(); }, false},
        {"delete uid", [&] { return run(client.remove(node, {.uid = "u"})).has_value(); }, true},
        {"evict", [&] { return run(client.evict(pod, {})).has_value(); }, false},
        {"ask", [&] { return run(client.ask(collection, "{}")).has_value(); }, true}};
    for (const auto& each : cases) {
        answer(503);
        if (each.repeats) {
            answer(200);
        }
        EXPECT_EQ(each.call(), each.repeats) << each.name;
        EXPECT_EQ(transport.left(), 0U) << each.name;
    }
}

TEST_F(ClientTest, DoesNotRepeatWhatTheServerUnderstoodAndRefused) {
    for (const unsigned status : {400U, 401U, 403U, 404U, 409U, 410U, 422U}) {
        answer(status);
        EXPECT_EQ(run(client.get(node)).error().status, status);
        EXPECT_EQ(transport.left(), 0U);
    }
    transport.then({.error = Errc::invalid});
    EXPECT_EQ(run(client.get(node)).error().error.code, Errc::invalid);
}

TEST_F(ClientTest, AnObjectThatIsGoneAtTheSecondAttemptWasDeleted) {
    transport.then({.error = Errc::unavailable});
    answer(404);
    EXPECT_TRUE(run(client.remove(node, {.uid = "u"})));

    answer(404);
    EXPECT_EQ(run(client.remove(node, {.uid = "u"})).error().status, 404U);
}

TEST_F(ClientTest, DoesNotWaitLongerForTheServerThanTheCallMayTake) {
    transport.then({.status = 429, .body = "{}", .retry_after = 31s});

    const auto got = run(client.get(node));

    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().status, 429U);
    EXPECT_EQ(got.error().retry_after, 31s);
    EXPECT_EQ(transport.requests().size(), 1U);
}

TEST_F(ClientTest, WaitsAsLongAsTheServerAsks) {
    SystemClock real;
    Client patient(transport, real, {.backoff = {1ms, 2ms}});
    transport.then({.status = 429, .body = "{}", .retry_after = 1s});
    answer(200);
    const auto before = real.steady();

    EXPECT_TRUE(run(patient.get(node)));

    EXPECT_GE(real.steady() - before, 1s);
}

TEST_F(ClientTest, HoldsBackCallsBeyondItsRate) {
    Client slow(transport, clock, {.rate = {.per_second = 0.01, .burst = 1}});
    answer(200);
    answer(200);
    ASSERT_TRUE(run(slow.get(node)));

    const auto held = run(slow.get(node));
    const auto urgent = run(slow.get(node, {.urgency = Urgency::urgent}));

    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().error.code, Errc::timed_out);
    EXPECT_THAT(held.error().error.message, HasSubstr("get nodes n1: too many calls"));
    EXPECT_TRUE(urgent);
}

TEST_F(ClientTest, NamesWhoOwnsTheFieldsOfAConflict) {
    answer(409,
           R"({"kind":"Status","reason":"Conflict","message":"Apply failed with 1 conflict",)"
           R"("details":{"causes":[{"reason":"FieldManagerConflict",)"
           R"("message":"conflict with \"kubectl\" using v1","field":".metadata.labels.a"}]}})");
    const ApplyOptions ours{.manager = "m"};

    const auto applied = run(client.apply(node, "{}", ours));

    ASSERT_FALSE(applied);
    ASSERT_EQ(applied.error().conflicts.size(), 1U);
    EXPECT_EQ(applied.error().conflicts[0].manager, "kubectl");
    EXPECT_EQ(transport.requests().size(), 1U);
}

}  // namespace
}  // namespace scout::kube
