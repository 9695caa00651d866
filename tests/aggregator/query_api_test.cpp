// SPDX-License-Identifier: Apache-2.0
#include "aggregator/query_api.h"

#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregator/query_paths.h"
#include "tests/aggregator/reviewing_api.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;
using Kind = Question::Kind;

const std::string base = "/apis/query.virt-scout.io/v1alpha1";

/// Remembers what it was asked.
class HeardQuestions final : public Questions {
public:
    Task<Result<std::string>> answer(Question question) override {
        heard.push_back(question);
        if (fault) {
            co_return fail(*fault);
        }
        co_return std::string{"{}"};
    }

    std::vector<Question> heard;
    std::optional<Error> fault;
};

/// "list nodes", "get virtualmachineinstances ns/vm"
std::string right_of(const json::object& spec) {
    const auto& asked = spec.at("resourceAttributes").as_object();
    const auto text = [&asked](const char* key) { return std::string(asked.at(key).as_string()); };
    const auto place = text("namespace") + "/" + text("name");
    return text("verb") + " " + text("resource") + (place == "/" ? "" : " " + place);
}

class QueryApiTest : public testing::Test {
protected:
    Result<kube::Subject> who(const daemon::HttpRequest& request) const {
        const auto user = request.header("X-Remote-User");
        if (user.empty()) {
            return fail(Errc::refused, "found no proxy");
        }
        kube::Subject subject;
        subject.user = user;
        return subject;
    }
    static daemon::HttpRequest get(const std::string& target, const std::string& user = "jane") {
        const auto question = std::min(target.find('?'), target.size());
        daemon::HttpRequest request;
        request.method = "GET";
        request.path = target.substr(0, question);
        request.query = target.substr(std::min(question + 1, target.size()));
        request.headers = {{"X-Remote-User", user}};
        return request;
    }
    daemon::HttpAnswer ask(const std::string& target, const std::string& user = "jane") {
        return test::run_to_end(loop, queries.serve(get(target, user)));
    }
    /// The Status object of a failure, whose code must be that of HTTP.
    json::object failure(unsigned code, const std::string& target,
                         const std::string& user = "jane") {
        const auto answer = ask(target, user);
        EXPECT_EQ(answer.status, code) << answer.body;
        EXPECT_EQ(answer.content_type, "application/json");
        auto status = json::parse(answer.body).as_object();
        EXPECT_EQ(status.at("kind"), "Status");
        EXPECT_EQ(status.at("apiVersion"), "v1");
        EXPECT_EQ(status.at("status"), "Failure");
        EXPECT_EQ(status.at("code"), code);
        return status;
    }
    std::string message(unsigned code, const std::string& target) {
        return std::string(failure(code, target).at("message").as_string());
    }
    /// Only these rights are there: "list nodes".
    void allow(std::vector<std::string> wanted) {
        api.allows = [wanted = std::move(wanted)](const json::object& spec) {
            return std::find(wanted.begin(), wanted.end(), right_of(spec)) != wanted.end();
        };
    }

    asio::io_context loop{1};
    test::FakeClock clock;
    test::ReviewingApi api{loop};
    kube::Client client{api, clock, {.rate = {.per_second = 1e6, .burst = 1e6}, .attempts = 1}};
    AccessReviews rights{loop.get_executor(), client, clock};
    HeardQuestions questions;
    QueryApi queries{questions,
                     [this](const auto& request) { return who(request); },
                     rights,
                     {.for_user = 2, .for_all = 3}};
};

struct PathCase {
    std::string path;
    Kind kind;
    std::string space;
    std::string name;
    std::vector<std::string> rights;
};

const std::vector<PathCase> paths{{"/nodes", Kind::nodes, "", "", {"list nodes"}},
                                  {"/nodes/n1.example",
                                   Kind::node,
                                   "",
                                   "n1.example",
                                   {"list nodes", "list virtualmachineinstances"}},
                                  {"/nodes/n1/where", Kind::node_where, "", "n1", {"list nodes"}},
                                  {"/nodes/n1/upgradeimpact",
                                   Kind::upgrade_impact,
                                   "",
                                   "n1",
                                   {"list nodes", "list virtualmachineinstances"}},
                                  {"/virtualmachineinstances",
                                   Kind::vmis,
                                   "",
                                   "",
                                   {"list virtualmachineinstances", "list nodes"}},
                                  {"/namespaces/ns/virtualmachineinstances",
                                   Kind::vmis,
                                   "ns",
                                   "",
                                   {"list virtualmachineinstances ns/", "list nodes"}},
                                  {"/namespaces/ns/virtualmachineinstances/vm/where",
                                   Kind::vmi_where,
                                   "ns",
                                   "vm",
                                   {"get virtualmachineinstances ns/vm", "list nodes"}},
                                  {"/namespaces/ns/virtualmachineinstances/vm/why",
                                   Kind::vmi_why,
                                   "ns",
                                   "vm",
                                   {"get virtualmachineinstances ns/vm", "list nodes"}},
                                  {"/namespaces/ns/pods/virt-launcher-vm-x/why",
                                   Kind::pod_why,
                                   "ns",
                                   "virt-launcher-vm-x",
                                   {"get pods ns/virt-launcher-vm-x", "list nodes"}},
                                  {"/matrix", Kind::matrix, "", "", {"list nodes"}},
                                  {"/baseline", Kind::baseline, "", "", {"list nodes"}}};

TEST_F(QueryApiTest, EachPathIsOneQuestionAndNeedsItsRights) {
    for (const auto& each : paths) {
        api.specs.clear();
        clock.advance(std::chrono::seconds{10});

        const auto answer = ask(base + each.path);

        EXPECT_EQ(answer.status, 200U) << each.path << answer.body;
        EXPECT_EQ(answer.content_type, "application/json");
        EXPECT_EQ(answer.body, "{}");
        const auto& heard = questions.heard.back();
        EXPECT_EQ(heard.kind, each.kind) << each.path;
        EXPECT_EQ(heard.space, each.space);
        EXPECT_EQ(heard.name, each.name);
        EXPECT_TRUE(heard.may_see_nodes);
        EXPECT_EQ(heard.may_see_vmis, adds_vmis(heard));
        std::vector<std::string> asked;
        for (const auto& spec : api.specs) {
            EXPECT_EQ(spec.at("user"), "jane");
            asked.push_back(right_of(spec));
        }
        EXPECT_EQ(asked, each.rights) << each.path;
    }
    EXPECT_EQ(queries.counters().answered, 11U);
}

TEST_F(QueryApiTest, WhoMayNotListNodesSeesNoneOfThem) {
    allow({"get virtualmachineinstances ns/vm", "list virtualmachineinstances ns/"});

    EXPECT_EQ(ask(base + "/namespaces/ns/virtualmachineinstances/vm/where").status, 200U);
    EXPECT_FALSE(questions.heard.back().may_see_nodes);
    EXPECT_EQ(ask(base + "/namespaces/ns/virtualmachineinstances").status, 200U);
    EXPECT_FALSE(questions.heard.back().may_see_nodes);
    // Nor by trying which guests are on which node.
    EXPECT_THAT(message(403, base + "/namespaces/ns/virtualmachineinstances?node=n1"),
                StartsWith("nodes is forbidden"));
    EXPECT_EQ(questions.heard.size(), 2U);
}

TEST_F(QueryApiTest, WhoMayNotListVmisIsToldOfANodeWithoutThem) {
    allow({"list nodes"});

    EXPECT_EQ(ask(base + "/nodes/n1").status, 200U);
    EXPECT_TRUE(questions.heard.back().may_see_nodes);
    EXPECT_FALSE(questions.heard.back().may_see_vmis);
}

TEST_F(QueryApiTest, AMissingRightIsToldAsTheApiServerTellsIt) {
    allow({});
    api.reason = "RBAC: no role";

    const auto status = failure(403, base + "/nodes");
    EXPECT_EQ(status.at("reason"), "Forbidden");
    EXPECT_EQ(status.at("message"),
              "nodes is forbidden: User \"jane\" cannot list resource \"nodes\" in API group \"\" "
              "at the cluster scope: RBAC: no role");
    EXPECT_EQ(status.at("details"), json::parse(R"({"group":"","kind":"nodes"})"));
    EXPECT_EQ(message(403, base + "/namespaces/ns/virtualmachineinstances/vm/where"),
              "virtualmachineinstances.kubevirt.io \"vm\" is forbidden: User \"jane\" cannot get "
              "resource \"virtualmachineinstances\" in API group \"kubevirt.io\" in the namespace "
              "\"ns\": RBAC: no role");
    EXPECT_TRUE(questions.heard.empty());
    EXPECT_EQ(queries.counters().forbidden, 2U);
}

TEST_F(QueryApiTest, NobodyIsAnsweredWhoIsNotKnown) {
    for (const auto& path : {base, base + "/nodes", base + "/nothing"}) {
        const auto status = failure(401, path, "");
        EXPECT_EQ(status.at("reason"), "Unauthorized");
        EXPECT_THAT(std::string(status.at("message").as_string()), HasSubstr("found no proxy"));
    }
    EXPECT_TRUE(api.specs.empty());
    EXPECT_EQ(queries.counters().unknown, 3U);
}

TEST_F(QueryApiTest, WhileItIsNotKnownWhomToBelieveItIsOurFault) {
    QueryApi early(
        questions,
        [](const daemon::HttpRequest& /*request*/) -> Result<kube::Subject> {
            return fail(Errc::unavailable, "not read yet");
        },
        rights);

    daemon::HttpRequest request;
    request.method = "GET";
    request.path = base + "/nodes";
    const auto answer = scout::test::run_until_done(loop, early.serve(request));

    EXPECT_EQ(answer.status, 503U);
    EXPECT_EQ(early.counters().unknown, 0U);
    EXPECT_EQ(early.counters().failed, 1U);
}

TEST_F(QueryApiTest, WithoutTheApiServerNothingIsAllowed) {
    api.away = true;

    EXPECT_EQ(failure(503, base + "/nodes").at("reason"), "ServiceUnavailable");
    EXPECT_TRUE(questions.heard.empty());
    EXPECT_EQ(queries.counters().failed, 1U);
}

TEST_F(QueryApiTest, ErrorsOfTheAnswerHaveTheirCodes) {
    for (const auto& [code, status, reason] : {std::tuple{Errc::not_found, 404U, "NotFound"},
                                               {Errc::invalid, 400U, "BadRequest"},
                                               {Errc::refused, 403U, "Forbidden"},
                                               {Errc::unavailable, 503U, "ServiceUnavailable"},
                                               {Errc::timed_out, 504U, "Timeout"},
                                               {Errc::internal, 500U, "InternalError"}}) {
        questions.fault = Error{code, "because"};
        const auto failed = failure(status, base + "/matrix");
        EXPECT_EQ(failed.at("reason"), reason);
        EXPECT_EQ(failed.at("message"), "because");
    }
}

TEST_F(QueryApiTest, WhatIsNoQuestionIsNotFound) {
    for (const auto* path :
         {"/", "/node", "/nodes/", "/nodes/n1/", "/nodes/n1/other", "/nodes/n1/where/x",
          "/namespaces", "/namespaces/ns", "/namespaces/ns/nodes",
          "/namespaces/ns/virtualmachineinstances/vm", "/virtualmachineinstances/vm/where"}) {
        const auto answer = ask(base + path);
        EXPECT_THAT(answer.status, testing::AnyOf(404U, 400U)) << path;
    }
    EXPECT_THAT(message(404, "/apis/query.virt-scout.io/v1/nodes"),
                StartsWith("the server could not find the requested resource"));
    EXPECT_TRUE(questions.heard.empty());
    EXPECT_TRUE(api.specs.empty()) << "nobody's rights are asked for that";
}

TEST_F(QueryApiTest, NamesThatNothingCanHaveAreRefused) {
    for (const auto& path :
         {std::string{"/nodes/N1"}, std::string{"/nodes/a%2Fb"}, std::string{"/nodes/a%00"},
          std::string{"/nodes/.."}, std::string{"/nodes/-a"}, std::string{"/nodes/a..b"},
          "/nodes/" + std::string(254, 'a'), std::string{"/namespaces/a.b/virtualmachineinstances"},
          "/namespaces/" + std::string(64, 'a') + "/virtualmachineinstances",
          std::string{"/namespaces//virtualmachineinstances"}}) {
        EXPECT_THAT(message(400, base + path), StartsWith("expected a name")) << path;
    }
    EXPECT_EQ(ask(base + "/nodes/" + std::string(253, 'a')).status, 200U);
    EXPECT_EQ(questions.heard.size(), 1U);
}

TEST_F(QueryApiTest, ParametersAreDecodedAndBounded) {
    EXPECT_EQ(ask(base + "/baseline?node=a&node=b&x=%61+b&y&=z&").status, 200U);
    EXPECT_THAT(questions.heard.back().options,
                ElementsAre(Pair("node", "a"), Pair("node", "b"), Pair("x", "a b"), Pair("y", "")));

    std::string many = "?a";
    for (int i = 0; i < 256; ++i) {
        many += "&a";
    }
    EXPECT_THAT(message(400, base + "/baseline" + many), HasSubstr("at most 256 parameters"));
    EXPECT_THAT(message(400, base + "/baseline?node=" + std::string(512, 'a')),
                HasSubstr("at most 512 bytes"));
}

TEST_F(QueryApiTest, FewQuestionsOfAUserAreUnderWayAtATime) {
    api.held = true;
    std::vector<unsigned> codes;
    const auto ask_meanwhile = [&](const std::string& user) {
        asio::co_spawn(loop, queries.serve(get(base + "/nodes", user)),
                       [&codes](const std::exception_ptr&, const daemon::HttpAnswer& answer) {
                           codes.push_back(answer.status);
                       });
    };
    for (const char* user : {"jane", "jane", "jane", "joe", "jim"}) {
        ask_meanwhile(user);
    }
    loop.poll();
    EXPECT_THAT(codes, ElementsAre(429U, 429U)) << "jane has two, and all have three";
    const auto busy = test::run_until_done(loop, queries.serve(get(base + "/nodes")));
    EXPECT_EQ(busy.headers, (daemon::HttpHeaders{{"Retry-After", "1"}}));
    EXPECT_EQ(json::parse(busy.body).at("reason"), "TooManyRequests");
    EXPECT_EQ(queries.counters().busy, 3U);

    api.held = false;
    api.release.cancel();
    loop.restart();
    loop.run();

    EXPECT_THAT(codes, ElementsAre(429U, 429U, 200U, 200U, 200U));
    EXPECT_EQ(ask(base + "/nodes").status, 200U) << "places are given back";
}

TEST_F(QueryApiTest, DiscoveryNeedsNoRightAndListsWhatThereIs) {
    const auto group = json::parse(ask("/apis/query.virt-scout.io").body);
    EXPECT_EQ(group.at("kind"), "APIGroup");
    EXPECT_EQ(group.at("preferredVersion").at("groupVersion"), "query.virt-scout.io/v1alpha1");
    const auto list = json::parse(ask(base).body);
    EXPECT_EQ(list.at("kind"), "APIResourceList");
    EXPECT_EQ(list.at("groupVersion"), "query.virt-scout.io/v1alpha1");
    std::vector<std::string> names;
    for (const auto& resource : list.at("resources").as_array()) {
        names.emplace_back(resource.at("name").as_string());
        EXPECT_FALSE(resource.at("verbs").as_array().empty());
    }
    EXPECT_THAT(
        names, ElementsAre("nodes", "nodes/where", "nodes/upgradeimpact", "virtualmachineinstances",
                           "virtualmachineinstances/where", "virtualmachineinstances/why",
                           "pods/why", "virtualmachineinstances/protection", "protection",
                           "pressure", "matrix", "baseline"));
    EXPECT_TRUE(api.specs.empty());
}

}  // namespace
}  // namespace scout::aggregator
