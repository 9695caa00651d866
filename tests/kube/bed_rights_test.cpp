// SPDX-License-Identifier: Apache-2.0
// Who may do what, and who somebody is, as a real API server says.
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/base64.h"
#include "kube/reviews.h"
#include "tests/kube/bed_fixture.h"
#include "tests/kube/fake_server.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait_until.h"

namespace scout::kube {
namespace {

namespace json = boost::json;
using test::at;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

const std::string audience = "virt-scout.io/agents";

class BedRightsTest : public test::BedTest {
protected:
    void SetUp() override {
        BedTest::SetUp();
        if (client) {
            space = new_space();
        }
    }

    [[nodiscard]] std::string account() const {
        return "system:serviceaccount:" + space + ":default";
    }
    [[nodiscard]] Subject subject() const {
        return {.user = account(),
                .groups = {"system:serviceaccounts", "system:serviceaccounts:" + space}};
    }
    [[nodiscard]] Target map(const std::string& name) const {
        return {.resource = test::core("configmaps", "ConfigMap"),
                .object = {.space = space, .name = name}};
    }
    void make_map(const std::string& name) {
        create(map("").resource, space, {{"metadata", {{"name", name}}}});
    }

    std::string space;
};

TEST_F(BedRightsTest, ARefusalNamesWhoMayNotDoWhat) {
    make_map("a");
    HttpTransport theirs(loop.get_executor(),
                         test::with_token(access, token_of(space, "default", "")), clock);
    Client reader(theirs, clock, {});

    const auto refused = call(reader.get(map("a")));

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error.code, Errc::refused);
    EXPECT_THAT(refused.error().error.message,
                HasSubstr("get configmaps " + space +
                          "/a: HTTP 403 Forbidden: configmaps "
                          "\"a\" is forbidden: User \"" +
                          account() + "\" cannot get resource \"configmaps\""));
    grant(space, "default", "", "configmaps", {"get"});
    // Rights reach the server's own caches a moment after they are stored.
    EXPECT_TRUE(test::wait_until([&] { return call(reader.get(map("a"))).has_value(); }));
}

TEST_F(BedRightsTest, AnswersWhatWeAndOthersMayDo) {
    Reviews reviews(*client);
    const AccessQuestion evict{.verb = "create",
                               .resource = resources::pods(),
                               .subresource = "eviction",
                               .object = {.space = space}};

    EXPECT_TRUE(call(reviews.may_we(evict)).value().allowed);
    EXPECT_FALSE(call(reviews.may(subject(), evict)).value().allowed);

    grant(space, "default", "", "pods/eviction", {"create"});
    EXPECT_TRUE(
        test::wait_until([&] { return call(reviews.may(subject(), evict)).value().allowed; }));
    const auto reason = call(reviews.may(subject(), evict)).value().reason;
    EXPECT_THAT(reason, HasSubstr("RBAC: allowed by ClusterRoleBinding"));
}

TEST_F(BedRightsTest, ATokenBoundToAPodTellsPodAndNode) {
    const auto node = space + "-node";
    create_node(node, {});
    const json::object container{{"name", "c"}, {"image", "none"}};
    create(resources::pods(), space,
           {{"metadata", {{"name", "agent"}}},
            {"spec", {{"nodeName", node}, {"containers", json::array{container}}}}});
    const auto token = token_of(space, "default", audience,
                                {{"kind", "Pod"}, {"apiVersion", "v1"}, {"name", "agent"}});
    Reviews reviews(*client);

    const auto owner = call(reviews.owner_of(token, {audience})).value();
    EXPECT_TRUE(owner.authenticated) << owner.error;
    EXPECT_EQ(owner.subject.user, account());
    EXPECT_THAT(owner.audiences, testing::ElementsAre(audience));
    EXPECT_THAT(owner.subject.extra, Contains(Pair("authentication.kubernetes.io/pod-name",
                                                   testing::ElementsAre("agent"))));
    EXPECT_THAT(owner.subject.extra, Contains(Pair("authentication.kubernetes.io/node-name",
                                                   testing::ElementsAre(node))));

    const auto elsewhere = call(reviews.owner_of(token, {"somebody-else"})).value();
    EXPECT_FALSE(elsewhere.authenticated);
    EXPECT_THAT(elsewhere.error, HasSubstr("audience"));
    EXPECT_FALSE(call(reviews.owner_of(token + "x", {audience})).value().authenticated);
}

TEST_F(BedRightsTest, ATokenBoundToANodeTellsTheNode) {
    const auto node = space + "-node";
    create_node(node, {});
    const auto token = token_of(space, "default", audience,
                                {{"kind", "Node"}, {"apiVersion", "v1"}, {"name", node}});
    Reviews reviews(*client);

    const auto owner = call(reviews.owner_of(token, {audience})).value();

    EXPECT_TRUE(owner.authenticated) << owner.error;
    EXPECT_THAT(owner.subject.extra, Contains(Pair("authentication.kubernetes.io/node-name",
                                                   testing::ElementsAre(node))));
}

TEST_F(BedRightsTest, ATokenThatWasReplacedIsReadAgainWhenItIsRefused) {
    const test::TemporaryFolder folder;
    auto theirs = test::with_token(access, "");
    theirs.token_file = folder.write("token", "long.expired.token");
    HttpTransport way(loop.get_executor(), theirs, clock);
    Client reader(way, clock, {});
    Reviews reviews(reader);
    const AccessQuestion question{.verb = "get", .resource = resources::nodes()};

    const auto refused = call(reviews.may_we(question));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, 401U);
    EXPECT_THAT(refused.error().error.message, HasSubstr("does not take these credentials"));

    folder.write("token", token_of(space, "default", ""));
    EXPECT_TRUE(call(reviews.may_we(question)));
}

TEST_F(BedRightsTest, SpeaksForSomebodyElse) {
    auto theirs = access;
    theirs.impersonation = {{"Impersonate-User", "jane"}, {"Impersonate-Group", "support"}};
    HttpTransport way(loop.get_executor(), theirs, clock);
    Client reader(way, clock, {});
    const Target self{.resource = {.group = "authentication.k8s.io",
                                   .version = "v1",
                                   .plural = "selfsubjectreviews",
                                   .kind = "SelfSubjectReview",
                                   .namespaced = false}};

    const auto who = done(reader.ask(
        self, R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})"));

    EXPECT_EQ(at(who, "/status/userInfo/username"), "jane");
    EXPECT_EQ(at(who, "/status/userInfo/groups/0"), "support");
}

/// An admission webhook that lets nothing through.
bool refuse(test::Peer& peer, const test::SeenRequest& request) {
    const auto review = json::parse(request.body);
    const json::object response{{"uid", at(review, "/request/uid")},
                                {"allowed", false},
                                {"status", {{"message", "not on a Saturday"}, {"code", 403}}}};
    peer.say(test::answer(200,
                          json::serialize(json::object{{"apiVersion", "admission.k8s.io/v1"},
                                                       {"kind", "AdmissionReview"},
                                                       {"response", response}}),
                          "Content-Type: application/json\r\n"));
    return true;
}

TEST_F(BedRightsTest, AWebhookIsReachedByItsUrlAndItsWordsComeThrough) {
    const test::Authority authority("webhooks");
    const auto own = authority.make("webhook", "localhost");
    test::FakeServer server(&refuse, test::FakeServer::Tls{.own = own});
    const Resource webhooks{.group = "admissionregistration.k8s.io",
                            .version = "v1",
                            .plural = "validatingwebhookconfigurations",
                            .kind = "ValidatingWebhookConfiguration",
                            .namespaced = false};
    const json::object rule{{"apiGroups", json::array{""}},
                            {"apiVersions", json::array{"v1"}},
                            {"operations", json::array{"CREATE"}},
                            {"resources", json::array{"configmaps"}}};
    const json::object here{{"matchLabels", {{"kubernetes.io/metadata.name", space}}}};
    create(webhooks, "",
           {{"metadata", {{"name", space}}},
            {"webhooks",
             json::array{json::object{
                 {"name", "refuse.virt-scout.io"},
                 {"admissionReviewVersions", json::array{"v1"}},
                 {"sideEffects", "None"},
                 {"namespaceSelector", here},
                 {"rules", json::array{rule}},
                 {"clientConfig",
                  {{"url", "https://127.0.0.1:" + std::to_string(server.port()) + "/refuse"},
                   {"caBundle", base64_encode(own.ca)}}}}}}});

    ApiResult<std::string> answer;
    const CallOptions dry{.dry_run = true};
    const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})";
    ASSERT_TRUE(test::wait_until([&] {
        answer = call(client->create(map(""), body, dry));
        return !answer;
    }));

    EXPECT_EQ(answer.error().status, 403U);
    EXPECT_THAT(answer.error().error.message,
                HasSubstr("admission webhook \"refuse.virt-scout.io\" denied the request: "
                          "not on a Saturday"));
    done(client->remove({.resource = webhooks, .object = {.name = space}}, {}));
}

}  // namespace
}  // namespace scout::kube
