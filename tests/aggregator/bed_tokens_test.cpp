// SPDX-License-Identifier: Apache-2.0
// Tokens of pods on a real API server: whose they are, and which are refused.
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gmock/gmock.h>

#include "aggregator/cluster_token_owners.h"
#include "kube/resource.h"
#include "tests/kube/bed_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

class BedTokensTest : public scout::test::BedTest {
protected:
    void SetUp() override {
        BedTest::SetUp();
        if (IsSkipped()) {
            return;
        }
        space = new_space();
        create(scout::test::core("serviceaccounts", "ServiceAccount"), space,
               {{"metadata", {{"name", "virt-scout-agent"}}}});
        grant(space, "default", "authentication.k8s.io", "tokenreviews", {"create"});
        // Exactly the rights that it needs: one rule, and what every account may do.
        own_transport.emplace(loop.get_executor(),
                              scout::test::with_token(access, token_of(space, "default", {})),
                              clock);
        own_client.emplace(*own_transport, clock, kube::ClientConfig{});
        owners.emplace(loop.get_executor(), *own_client, clock, TokenRules{.space = space});
    }

    /// A pod on a node of its own, and what a token is bound to it by.
    json::object pod_on(const std::string& node, const std::string& account) {
        create_node(space + "-" + node, {});
        const auto name = "agent-on-" + node;
        create(kube::resources::pods(), space,
               {{"metadata", {{"name", name}}},
                {"spec",
                 {{"nodeName", space + "-" + node},
                  {"serviceAccountName", account},
                  {"automountServiceAccountToken", false},
                  {"terminationGracePeriodSeconds", 0},
                  {"containers", json::array{{{"name", "agent"}, {"image", "none"}}}}}}});
        return {{"kind", "Pod"}, {"apiVersion", "v1"}, {"name", name}};
    }

    Result<AgentIdentity> ask(const std::string& token) { return call(owners->owner_of(token)); }
    std::string reason(const std::string& token) {
        const auto owner = ask(token);
        EXPECT_FALSE(owner);
        EXPECT_EQ(owner ? Errc::internal : owner.error().code, Errc::refused);
        return owner ? "" : owner.error().message;
    }

    std::string space;
    std::optional<kube::HttpTransport> own_transport;
    std::optional<kube::Client> own_client;
    std::optional<ClusterTokenOwners> owners;
};

TEST_F(BedTokensTest, ATokenOfAPodIsTakenForThePodsNode) {
    const auto token =
        token_of(space, "virt-scout-agent", "virt-scout", pod_on("one", "virt-scout-agent"));

    const auto owner = ask(token);

    ASSERT_TRUE(owner) << owner.error().message;
    EXPECT_EQ(owner->node, space + "-one");
    EXPECT_EQ(owner->pod, space + "/agent-on-one");
    EXPECT_TRUE(ask(token));
    EXPECT_EQ(owners->reviews(), 1U);
}

TEST_F(BedTokensTest, OtherTokensOfTheClusterAreRefusedWithTheirReasons) {
    const auto bound = pod_on("two", "virt-scout-agent");
    const auto other = pod_on("three", "default");

    EXPECT_THAT(reason(token_of(space, "virt-scout-agent", "", bound)),
                HasSubstr("expected one for audience virt-scout, found one for "));
    EXPECT_THAT(reason(token_of(space, "default", "virt-scout", other)),
                HasSubstr("expected one of account " + space + "/virt-scout-agent, found one of " +
                          space + "/default"));
    EXPECT_THAT(reason(token_of(space, "virt-scout-agent", "virt-scout")),
                HasSubstr("expected one that is bound to a pod on a node, found no pod"));
    EXPECT_EQ(owners->reviews(), 0U);
}

TEST_F(BedTokensTest, TheTokenOfAPodThatIsGoneIsRefused) {
    const auto token =
        token_of(space, "virt-scout-agent", "virt-scout", pod_on("four", "virt-scout-agent"));
    kube::Target pod{.resource = kube::resources::pods(),
                     .object = {.space = space, .name = "agent-on-four"}};
    done(client->remove(std::move(pod), {}));

    EXPECT_THAT(reason(token), HasSubstr("the API server does not take it"));
}

TEST_F(BedTokensTest, WithoutTheRightToReviewNobodyIsToldToGoAway) {
    const auto bare = new_space();
    kube::HttpTransport poor{loop.get_executor(),
                             scout::test::with_token(access, token_of(bare, "default", {})), clock};
    kube::Client poor_client{poor, clock, {}};
    ClusterTokenOwners poor_owners{loop.get_executor(), poor_client, clock, {.space = space}};
    const auto token =
        token_of(space, "virt-scout-agent", "virt-scout", pod_on("five", "virt-scout-agent"));

    const auto owner = call(poor_owners.owner_of(token));

    ASSERT_FALSE(owner);
    EXPECT_EQ(owner.error().code, Errc::unavailable);
    EXPECT_THAT(owner.error().message, HasSubstr("create tokenreviews.authentication.k8s.io"));
    poor.close_idle();
}

}  // namespace
}  // namespace scout::aggregator
