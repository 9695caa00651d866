// SPDX-License-Identifier: Apache-2.0
// Names from outside: those that would lead a call to another path.
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/client.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::kube {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ClientNamesTest : public testing::Test {
protected:
    template <class T>
    T run(Task<T> task) {
        return test::run_to_end(loop, std::move(task));
    }
    [[nodiscard]] static Target pod(const std::string& space, const std::string& name) {
        return {.resource = resources::pods(), .object = {.space = space, .name = name}};
    }
    [[nodiscard]] static Target node(const std::string& name) {
        return {.resource = resources::nodes(), .object = {.name = name}};
    }
    /// The error of a call that must not be sent.
    template <class T>
    [[nodiscard]] std::string refusal(Task<ApiResult<T>> call) {
        const auto answer = run(std::move(call));
        EXPECT_TRUE(transport.requests().empty());
        if (answer) {
            return "none";
        }
        EXPECT_EQ(answer.error().error.code, Errc::invalid);
        EXPECT_EQ(answer.error().status, 0U);
        return answer.error().error.message;
    }

    asio::io_context loop;
    test::FakeClock clock;
    test::ScriptedTransport transport;
    Client client{transport, clock, {}};
};

TEST_F(ClientNamesTest, NamesThatAreNoSegmentOfAPathAreNotSent) {
    for (const std::string name : {"", ".", "..", "a/b", "../secrets/x", "a%2Fb", "/"}) {
        EXPECT_THAT(refusal(client.get(node(name))),
                    AllOf(HasSubstr("get nodes"), HasSubstr("expected a name"), HasSubstr(name)));
    }
    for (const std::string space : {"", ".", "..", "a/b", "a%"}) {
        EXPECT_THAT(
            refusal(client.get(pod(space, "p"))),
            AllOf(HasSubstr("get pods"), HasSubstr("expected a namespace"), HasSubstr(space)));
    }
}

TEST_F(ClientNamesTest, NoVerbSendsThem) {
    const auto odd = pod("ns", "a/b");
    const auto nameless = pod("ns", "");
    const ApplyOptions ours{.manager = "m"};
    auto evacuation = nameless;
    evacuation.subresource = "evacuate/cancel";

    EXPECT_THAT(refusal(client.update(odd, "{}")), HasSubstr("update pods ns/a/b: expected"));
    EXPECT_THAT(refusal(client.merge_patch(odd, "{}")), HasSubstr("patch pods"));
    EXPECT_THAT(refusal(client.json_patch(nameless, "[]")), HasSubstr("patch pods"));
    EXPECT_THAT(refusal(client.apply(odd, "{}", ours)), HasSubstr("patch pods"));
    EXPECT_THAT(refusal(client.remove(nameless, {})), HasSubstr("delete pods in namespace ns"));
    EXPECT_THAT(refusal(client.evict({.space = "ns", .name = ""}, {})),
                HasSubstr("create pods/eviction in namespace ns: expected a name"));
    EXPECT_THAT(refusal(client.command(evacuation, "{}")),
                HasSubstr("update pods/evacuate/cancel in namespace ns: expected a name"));
    EXPECT_THAT(refusal(client.create(odd, "{}")), HasSubstr("create pods"));
    EXPECT_THAT(refusal(client.create(pod("..", ""), "{}")), HasSubstr("expected a namespace"));
    EXPECT_THAT(refusal(client.ask(pod("a/b", ""), "{}")), HasSubstr("expected a namespace"));
}

TEST_F(ClientNamesTest, CollectionsPathsAndOddNamesThatAreNamesAreSent) {
    const std::vector<std::function<bool()>> calls = {
        [&] { return run(client.create(pod("ns", ""), "{}")).has_value(); },
        [&] { return run(client.create(node(""), "{}")).has_value(); },
        [&] { return run(client.get_path("/openid/v1/jwks")).has_value(); },
        [&] { return run(client.get(node("system:a..b"))).has_value(); },
        [&] { return run(client.get(node("..."))).has_value(); }};
    for (const auto& call : calls) {
        transport.then_body(200, "{}");
        EXPECT_TRUE(call());
    }

    ASSERT_EQ(transport.requests().size(), calls.size());
    EXPECT_EQ(transport.requests()[0].target, "/api/v1/namespaces/ns/pods?fieldValidation=Strict");
    EXPECT_EQ(transport.requests()[2].target, "/openid/v1/jwks");
}

}  // namespace
}  // namespace scout::kube
