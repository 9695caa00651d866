// SPDX-License-Identifier: Apache-2.0
// Users of different rights ask through a real API server, and strangers past it.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "aggregator/questions.h"
#include "base/offload.h"
#include "tests/aggregator/bed_cluster_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;

const std::string base = "/apis/query.virt-scout.io/v1alpha1";

/// Tells which question arrived.
class EchoQuestions final : public Questions {
public:
    Task<Result<std::string>> answer(Question question) override {
        ++answered;
        co_return json::serialize(json::object{{"kind", static_cast<int>(question.kind)},
                                               {"space", question.space},
                                               {"name", question.name},
                                               {"options", question.options.size()},
                                               {"nodes", question.may_see_nodes}});
    }

    int answered = 0;
};

std::string echo(Question::Kind kind, const std::string& space, const std::string& name,
                 bool nodes) {
    return json::serialize(json::object{{"kind", static_cast<int>(kind)},
                                        {"space", space},
                                        {"name", name},
                                        {"options", 0},
                                        {"nodes", nodes}});
}

/// The aggregator's side with the rights of an admin; its accounts are tested with the manifests.
class BedQueryTest : public BedClusterTest {
protected:
    void SetUp() override {
        BedClusterTest::SetUp();
        if (IsSkipped()) {
            return;
        }
        space = new_space();
        side = begin();
        for (const auto& manifest : read_manifest("query.yaml")) {
            apply(manifest);
        }
        for (auto& manifest : read_manifest(query_api_file)) {
            manifest.body["spec"].as_object()["service"] = {{"name", "virt-scout-aggregator"},
                                                            {"namespace", space},
                                                            {"port", side->https_port()}};
            apply(manifest);
        }
        // No Service leads anywhere without kube-proxy, but this one.
        create(scout::test::core("services", "Service"), space,
               {{"metadata", {{"name", "virt-scout-aggregator"}}},
                {"spec", {{"type", "ExternalName"}, {"externalName", "localhost"}}}});
    }
    [[nodiscard]] virtual std::unique_ptr<ClusterSide> begin() {
        return start(access, space, https,
                     [this](ClusterSide& made) { made.answer_users(questions); });
    }
    void TearDown() override {
        if (side) {
            stop(std::move(side));
            done(client->remove(api_service(), {}));
        }
    }

    void apply(const Manifest& manifest) {
        const kube::Target object{.resource = manifest.resource, .object = manifest.object};
        const kube::ApplyOptions options{.manager = "test", .force = true};
        done(client->apply(object, json::serialize(manifest.body), options));
    }
    static kube::Target api_service() {
        return {.resource = {.group = "apiregistration.k8s.io",
                             .version = "v1",
                             .plural = "apiservices",
                             .kind = "APIService",
                             .namespaced = false},
                .object = {.space = {}, .name = "v1alpha1.query.virt-scout.io"}};
    }
    /// Whether the API server has asked us and trusts us, or why not.
    [[nodiscard]] std::string availability() {
        const auto service = done(client->get(api_service()));
        const auto status = scout::test::at(service, "/status/conditions/0/status");
        return status == "True" ? "" : json::serialize(scout::test::at(service, "/status"));
    }
    [[nodiscard]] bool becomes_available() {
        return run_until([this] { return availability().empty(); });
    }

    /// An account of a namespace of its own, as its user.
    [[nodiscard]] std::pair<std::string, kube::ClusterAccess> new_user() {
        const auto home = new_space();
        return {home, scout::test::with_token(access, token_of(home, "default", {}))};
    }
    /// In one namespace alone.
    void allow_in(const std::string& home, const std::string& cluster_role) {
        bind(home, "ClusterRole", cluster_role, scout::test::account_of(home, "default"));
    }
    void make_role(const std::string& name, const std::string& group, const std::string& resource,
                   const std::string& verb) {
        create(scout::test::rbac("clusterroles", "ClusterRole", false), "",
               {{"metadata", {{"name", name}}},
                {"rules", json::array{json::object{{"apiGroups", json::array{group}},
                                                   {"resources", json::array{resource}},
                                                   {"verbs", json::array{verb}}}}}});
    }

    kube::ApiResult<std::string> ask(const kube::ClusterAccess& who, const std::string& path) {
        kube::HttpTransport way(loop.get_executor(), who, clock);
        kube::Client asker(way, clock, {.attempts = 1});
        auto answer = call(asker.get_path(path));
        way.close_idle();
        return answer;
    }
    /// Rights reach the caches of the API server, and ours, a moment after they are stored.
    [[nodiscard]] std::string ask_until_allowed(const kube::ClusterAccess& who,
                                                const std::string& path) {
        kube::ApiResult<std::string> answer;
        const bool allowed = run_until([&] {
            answer = ask(who, path);
            return answer.has_value();
        });
        return allowed ? *answer : answer.error().error.message;
    }
    [[nodiscard]] std::string refusal(unsigned status, const kube::ClusterAccess& who,
                                      const std::string& path) {
        const auto answer = ask(who, path);
        EXPECT_FALSE(answer);
        EXPECT_EQ(answer ? 200U : answer.error().status, status);
        return answer ? "" : answer.error().text;
    }

    /// Our port, without the API server between.
    [[nodiscard]] kube::ClusterAccess straight(kube::ClusterAccess who) {
        who = scout::test::by_way_of(std::move(who), side->https_port());
        const auto map = done(client->get({.resource = kube::resources::config_maps(),
                                           .object = {.space = space, .name = "virt-scout-ca"}}));
        who.authority = {.text = std::string(map.at("data").at("ca.crt").as_string()), .file = {}};
        who.tls_server_name = "virt-scout-aggregator." + space + ".svc";
        who.impersonation = {{"X-Remote-User", "admin"}, {"X-Remote-Group", "system:masters"}};
        return who;
    }

    const HttpsSettings https{.listen = "127.0.0.1:0", .names = {}, .files = {}};
    std::string space;
    EchoQuestions questions;
    std::unique_ptr<ClusterSide> side;
};

TEST_F(BedQueryTest, AnAdminIsAnsweredAllThatTheApiServerListsOfUs) {
    ASSERT_TRUE(becomes_available()) << availability();

    const auto list = json::parse(ask(access, base).value());
    EXPECT_EQ(list.at("kind"), "APIResourceList");
    using Kind = Question::Kind;
    EXPECT_EQ(ask(access, base + "/nodes").value(), echo(Kind::nodes, "", "", true));
    EXPECT_EQ(ask(access, base + "/nodes/n1/where").value(),
              echo(Kind::node_where, "", "n1", true));
    EXPECT_EQ(ask(access, base + "/namespaces/ns/virtualmachineinstances/vm/where").value(),
              echo(Kind::vmi_where, "ns", "vm", true));
    EXPECT_THAT(ask(access, base + "/baseline?node=a&node=b").value(), HasSubstr("\"options\":2"));
    EXPECT_THAT(refusal(404, access, base + "/nodes/n1/nothing"),
                HasSubstr("the server could not find the requested resource"));
}

TEST_F(BedQueryTest, WhoMayOnlyGetVmisOfANamespaceIsToldOfTheseWithoutNodes) {
    const auto [home, user] = new_user();
    allow_in(home, "virt-scout-query-view");
    make_role(home + "-vmis", "kubevirt.io", "virtualmachineinstances", "get");
    allow_in(home, home + "-vmis");
    ASSERT_TRUE(becomes_available()) << availability();

    EXPECT_EQ(
        ask_until_allowed(user, base + "/namespaces/" + home + "/virtualmachineinstances/vm/where"),
        echo(Question::Kind::vmi_where, home, "vm", false));
    EXPECT_THAT(refusal(403, user, base + "/namespaces/" + home + "/virtualmachineinstances"),
                HasSubstr("cannot list resource \"virtualmachineinstances\" in API group "
                          "\"kubevirt.io\" in the namespace \"" +
                          home + "\""))
        << "the API server lets it pass, we do not";
    for (const auto& path : {"/namespaces/" + space + "/virtualmachineinstances/vm/where",
                             std::string{"/nodes"}, std::string{"/matrix"}}) {
        EXPECT_THAT(refusal(403, user, base + path), HasSubstr("is forbidden"));
    }
    EXPECT_EQ(questions.answered, 1);
}

TEST_F(BedQueryTest, TheRightToOurApiIsNotTheRightToNodes) {
    const auto [home, user] = new_user();
    ASSERT_TRUE(becomes_available()) << availability();
    EXPECT_THAT(refusal(403, user, base + "/nodes"), HasSubstr("\"query.virt-scout.io\""));

    grant(home, "default", "query.virt-scout.io", "*", {"get", "list"});

    EXPECT_TRUE(run_until([&, who = user] {
        const auto answer = ask(who, base + "/nodes");
        return !answer &&
               answer.error().text.find("nodes is forbidden: User \"system:serviceaccount:" + home +
                                        ":default\" cannot list resource \"nodes\" in "
                                        "API group \"\" at the cluster scope") == 0;
    }));
    EXPECT_EQ(questions.answered, 0);
    grant(home, "default", "", "nodes", {"list"});
    EXPECT_EQ(ask_until_allowed(user, base + "/nodes"), echo(Question::Kind::nodes, "", "", true));
}

TEST_F(BedQueryTest, HeadersAreNothingWithoutTheProxysCertificate) {
    ASSERT_TRUE(becomes_available()) << availability();
    auto stranger = straight(access);
    stranger.client_certificate = {};
    stranger.client_key = {};

    EXPECT_THAT(refusal(401, stranger, base + "/nodes"),
                HasSubstr("expected a certificate of the API server's front proxy, found none"));
    // An admin's own certificate is of another authority.
    EXPECT_THAT(refusal(401, straight(access), base + "/nodes"), HasSubstr("found none"));
    EXPECT_EQ(questions.answered, 0);

    auto proxy = straight(access);
    const auto folder = bed->kubeconfig().parent_path();
    proxy.client_certificate = {.text = {}, .file = folder / "front-proxy.crt"};
    proxy.client_key = {.text = {}, .file = folder / "front-proxy.key"};
    EXPECT_EQ(ask(proxy, base + "/nodes").value(), echo(Question::Kind::nodes, "", "", true));
}

/// Answered from the objects of the bed.
class BedAnswersTest : public BedQueryTest {
protected:
    std::unique_ptr<ClusterSide> begin() override {
        return start(access, space, https, [this](ClusterSide& made) { made.answer_users(pool); });
    }

    BlockingPool pool{2};
};

TEST_F(BedAnswersTest, TellsOfNodesAndWhereTheirGuestsCanGo) {
    const std::string arch = "answers";
    make_node(arch, "a", "x");
    make_node(arch, "b", "x");
    make_node(arch, "c", "y");
    ASSERT_TRUE(becomes_available()) << availability();

    json::value nodes;
    EXPECT_TRUE(run_until([&] {
        const auto answer = ask(access, base + "/nodes");
        nodes = answer ? json::parse(*answer) : json::value{answer.error().error.message};
        return answer && answer->find("answers-c") != std::string::npos;
    })) << nodes;
    for (const auto& node : nodes.at("nodes").as_array()) {
        if (node.at("name") == "answers-a") {
            EXPECT_EQ(node.at("level"), 50) << nodes;
            EXPECT_EQ(node.at("destinations"), 1) << nodes;
        }
    }
    const auto where = ask_until_allowed(access, base + "/nodes/answers-a/where");
    ASSERT_THAT(where, HasSubstr("answers-b"));
    const auto placement = json::parse(where);
    for (const auto& node : placement.at("nodes").as_array()) {
        if (node.at("node") == "answers-b" || node.at("node") == "answers-c") {
            EXPECT_EQ(node.at("comparison").at("gate"),
                      node.at("node") == "answers-b" ? "CAN" : "CANNOT")
                << node;
        }
    }
    EXPECT_THAT(refusal(404, access, base + "/nodes/answers-d/where"), HasSubstr("answers-"));
    // It rests on more kinds, which are read when they are read.
    const auto unknown_vm = base + "/namespaces/ns/virtualmachineinstances/vm/where";
    EXPECT_TRUE(run_until([&] {
        const auto answer = ask(access, unknown_vm);
        return !answer && answer.error().status == 404;
    }));
    EXPECT_THAT(refusal(404, access, unknown_vm), HasSubstr("ns/vm"));
}

/// An aggregator that may not ask what users may do.
class BedUnaskedTest : public BedQueryTest {
protected:
    std::unique_ptr<ClusterSide> begin() override {
        for (const auto& manifest : read_manifest("roles.yaml")) {
            const auto* rules = manifest.body.if_contains("rules");
            if (rules != nullptr && manifest.object.name == "virt-scout-aggregator") {
                grant(space, manifest.resource.kind == "ClusterRole", without_reviews(*rules));
            }
        }
        const auto who = scout::test::with_token(access, token_of(space, "default", {}));
        return start(who, space, https,
                     [this](ClusterSide& made) { made.answer_users(questions); });
    }

    [[nodiscard]] static json::array without_reviews(const json::value& rules) {
        json::array rest;
        for (const auto& rule : rules.as_array()) {
            if (rule.at("resources") != json::value(json::array{"subjectaccessreviews"})) {
                rest.push_back(rule);
            }
        }
        return rest;
    }
};

TEST_F(BedUnaskedTest, NobodyIsAnsweredWhileItIsNotKnownWhoMayAndTheRestGoesOn) {
    make_node("unasked", "a", "x");
    ASSERT_TRUE(becomes_available()) << availability();

    EXPECT_THAT(refusal(503, access, base + "/nodes"),
                AllOf(HasSubstr("system:serviceaccount:" + space + ":default\" cannot create"),
                      HasSubstr("subjectaccessreviews")));
    EXPECT_EQ(questions.answered, 0);
    EXPECT_TRUE(settle(*side));
    EXPECT_EQ(level("unasked-a"), "0");

    grant(space, "default", "authorization.k8s.io", "subjectaccessreviews", {"create"});
    EXPECT_EQ(ask_until_allowed(access, base + "/nodes"),
              echo(Question::Kind::nodes, "", "", true));
}

}  // namespace
}  // namespace scout::aggregator
