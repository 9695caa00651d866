// SPDX-License-Identifier: Apache-2.0
// The policies of single moves: made for who asks by the rules, and removed whatever happens.
#include <chrono>
#include <string>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "cluster/move_policy.h"
#include "tests/aggregator/mover_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;
using Result = v1::EvacuationResult;

constexpr const char* policies = "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies";

class MovePoliciesTest : public MoverFixture {
protected:
    MovePoliciesTest() {
        put_config({{"mode", "act"}, {"escalation", "post-copy"}});
        put_web({{"app", "web"}, {"kubevirt.io/nodeName", "n1"}});
        api.put("namespaces",
                {{"metadata",
                  {{"name", "shop"}, {"labels", {{"kubernetes.io/metadata.name", "shop"}}}}}});
        put_policy("theirs", {{"kubevirt.io/nodeName", "n1"}});
        api.answer = [this](const kube::HttpRequest& request) {
            kube::HttpResponse response;
            response.head.status = 200;
            response.body = "{}";
            if (request.target.ends_with("/theirs")) {
                response.body = json::serialize(theirs);
            } else if (request.method == "POST" && request.target.starts_with(policies)) {
                response.head.status = create_status;
                made = json::parse(request.body).as_object();
            } else if (request.method == "GET" && request.target.starts_with(policies)) {
                response.head.status = there.empty() ? 404 : 200;
                response.body = json::serialize(there);
            }
            return response;
        };
    }
    void put_web(json::object labels) { put_vmi("web", "n1", {}, {{"labels", std::move(labels)}}); }
    void put_policy(const std::string& name, json::object vmi) {
        theirs = {{"metadata", {{"name", name}}},
                  {"spec",
                   {{"bandwidthPerMigration", "64Mi"},
                    {"experimental", {{"compression", "zstd"}}},
                    {"selectors", {{"virtualMachineInstanceSelector", std::move(vmi)}}}}}};
        api.put("migrationpolicies", theirs);
    }
    void begin(const std::string& state = "held") {
        start();
        open(1, "n1");
        name(1, state);
        api.forget_calls();
    }
    /// As the informer sees it then.
    void put_ours(const std::string& uid) {
        json::object labels;
        labels[cluster::move_policy_label] = uid;
        api.put("migrationpolicies",
                {{"metadata",
                  {{"name", cluster::move_policy_name(uid)}, {"labels", std::move(labels)}}},
                 {"spec", {{"selectors", json::object{}}}}});
        settle();
    }
    void pass(std::chrono::seconds time) {
        clock.advance(time);
        settle();
        // It looks each second of the real clock, too.
        static_cast<void>(run_until([end = std::chrono::steady_clock::now() + 1200ms] {
            return std::chrono::steady_clock::now() > end;
        }));
    }
    [[nodiscard]] static std::string removal(const std::string& uid) {
        return "DELETE " + std::string{policies} + "/" + cluster::move_policy_name(uid);
    }

    json::object theirs;
    json::object made;
    json::object there;  ///< the one of that name, as the server has it
    unsigned create_status = 201;
};

TEST_F(MovePoliciesTest, OneIsACopyOfThatInForceWithItsOwnFieldsAndForOneVmi) {
    begin();
    order(1, 1, "escalate", "2");
    ASSERT_EQ(result(1, 1).outcome(), Result::DONE) << result(1, 1).text();
    const auto wanted = json::parse(R"({
        "apiVersion": "migrations.kubevirt.io/v1alpha1",
        "kind": "MigrationPolicy",
        "metadata": {
            "name": "virt-scout-move-vmi web",
            "labels": {"virt-scout.io/move-of": "vmi web"}},
        "spec": {
            "bandwidthPerMigration": "64Mi",
            "experimental": {"compression": "zstd"},
            "allowPostCopy": true,
            "allowWorkloadDisruption": true,
            "completionTimeoutPerGiB": 2,
            "selectors": {
                "namespaceSelector": {"kubernetes.io/metadata.name": "shop"},
                "virtualMachineInstanceSelector": {
                    "app": "web", "kubevirt.io/nodeName": "n1"}}}})");
    EXPECT_EQ(json::value(made), wanted) << json::serialize(made);
}

TEST_F(MovePoliciesTest, WhatIsNotAllowedOrWouldBeForOthersIsRefused) {
    put_vmi("db", "n1", {}, {{"labels", {{"app", "web"}, {"kubevirt.io/nodeName", "n1"}}}});
    begin();
    order(1, 1, "escalate", "2");
    EXPECT_EQ(result(1, 1).outcome(), Result::REFUSED);
    EXPECT_THAT(result(1, 1).text(), HasSubstr("for both"));

    put_web({{"app", "web"}, {"one", "more"}, {"kubevirt.io/nodeName", "n1"}});
    settle();
    for (const auto* object : {"0", "61", "-1", "two", ""}) {
        static std::uint64_t id = 1;
        order(1, ++id, "escalate", object);
        EXPECT_EQ(result(1, id).outcome(), Result::REFUSED) << object;
    }
    put_config({{"mode", "act"}});
    settle();
    order(1, 20, "escalate", "2");
    EXPECT_EQ(result(1, 20).outcome(), Result::REFUSED);
    EXPECT_THAT(result(1, 20).text(), HasSubstr("escalation is none"));
    EXPECT_TRUE(made.empty());
}

/// It would be told of as escalated, and run as it was handed off.
TEST_F(MovePoliciesTest, NoneIsMadeForAMoveThatWasHandedOff) {
    const json::object labels{{"app", "web"}, {"kubevirt.io/nodeName", "n1"}};
    json::object handed_off{{"migrationUid", "move m"}, {"migrationPolicyName", "theirs"}};
    put_vmi("web", "n1", {{"migrationState", handed_off}}, {{"labels", labels}});
    begin("moving");
    EXPECT_TRUE(facts(1).back().vmi().handed_off());
    order(1, 1, "escalate", "2");
    EXPECT_EQ(result(1, 1).outcome(), Result::REFUSED);
    EXPECT_THAT(result(1, 1).text(), HasSubstr("handed off already"));
    EXPECT_TRUE(made.empty());

    handed_off["completed"] = true;
    put_vmi("web", "n1", {{"migrationState", handed_off}}, {{"labels", labels}});
    settle();
    EXPECT_FALSE(facts(1).back().vmi().handed_off());
    order(1, 2, "escalate", "2");
    EXPECT_EQ(result(1, 2).outcome(), Result::DONE) << result(1, 2).text();
}

TEST_F(MovePoliciesTest, WhatAPolicyForbidsExplicitlyIsNotDone) {
    theirs["spec"].as_object()["allowPostCopy"] = false;
    api.put("migrationpolicies", theirs);
    begin();
    order(1, 1, "escalate", "2");
    EXPECT_EQ(result(1, 1).outcome(), Result::REFUSED);
    EXPECT_THAT(result(1, 1).text(), HasSubstr("policy theirs forbids post-copy"));
    EXPECT_TRUE(made.empty());

    put_config({{"mode", "act"}, {"escalation", "pause"}});
    settle();
    order(1, 2, "escalate", "2");
    EXPECT_EQ(result(1, 2).outcome(), Result::DONE) << result(1, 2).text();
    EXPECT_FALSE(made.at("spec").at("allowPostCopy").as_bool());
}

TEST_F(MovePoliciesTest, AnotherThatIsThereAlreadyGoesFirst) {
    begin();
    order(1, 1, "escalate", "2");
    ASSERT_EQ(result(1, 1).outcome(), Result::DONE);
    there = made;
    there["metadata"].as_object()["uid"] = "of-then";
    create_status = 409;
    order(1, 2, "escalate", "3");
    EXPECT_EQ(result(1, 2).outcome(), Result::UNAVAILABLE);
    EXPECT_THAT(calls(), Contains(HasSubstr("DELETE " + std::string{policies})));
    EXPECT_THAT(api.calls().back().body, HasSubstr(R"("uid":"of-then")"));
}

/// The answer to the first try was lost: KubeVirt may look for it at any moment.
TEST_F(MovePoliciesTest, TheSameThatIsThereAlreadyStays) {
    begin();
    order(1, 1, "escalate", "2");
    ASSERT_EQ(result(1, 1).outcome(), Result::DONE);
    there = made;
    there["metadata"].as_object()["uid"] = "of-now";
    there["metadata"].as_object()["generation"] = 1;
    create_status = 409;
    order(1, 2, "escalate", "2");
    EXPECT_EQ(result(1, 2).outcome(), Result::DONE);
    const auto is_removal = HasSubstr("DELETE");
    EXPECT_THAT(calls(), Not(Contains(is_removal)));

    const auto same = std::exchange(there, {});
    order(1, 3, "escalate", "2");
    EXPECT_EQ(result(1, 3).outcome(), Result::UNAVAILABLE) << "it went meanwhile";
    EXPECT_THAT(calls(), Not(Contains(is_removal)));
    there = same;
    there["metadata"].as_object().erase("labels");
    order(1, 4, "escalate", "2");
    EXPECT_EQ(result(1, 4).outcome(), Result::UNAVAILABLE) << "nobody would find it to remove it";
    EXPECT_THAT(calls(), Contains(is_removal));
}

TEST_F(MovePoliciesTest, ItStaysAsLongAsItsMoveGoesOn) {
    begin("moving");
    put_ours("vmi web");
    pass(40s);
    EXPECT_THAT(calls(), IsEmpty());
    name(1, "moved");
    EXPECT_TRUE(run_until([this] { return !calls().empty(); }));
    EXPECT_THAT(calls(), Contains(HasSubstr("DELETE " + std::string{policies})));
}

/// Its leader, or its agent, may have died meanwhile.
TEST_F(MovePoliciesTest, OneThatNobodyNamesGoesAfterHalfAMinute) {
    put_ours("uid-of-one-that-is-gone");
    begin();
    pass(1s);
    pass(28s);
    EXPECT_THAT(calls(), IsEmpty());
    pass(3s);
    EXPECT_THAT(calls(), Contains(removal("uid-of-one-that-is-gone")));
}

TEST_F(MovePoliciesTest, WhenItsAgentDiesItGoesToo) {
    begin("moving");
    put_ours("vmi web");
    desk->close(1);
    pass(1s);
    EXPECT_THAT(calls(), IsEmpty());
    pass(31s);
    EXPECT_THAT(calls(), Contains(HasSubstr("DELETE " + std::string{policies})));
}

TEST_F(MovePoliciesTest, WhateverTheAgentSaysItGoesWithItsVmi) {
    begin("moving");
    put_ours("vmi web");
    pass(1s);
    EXPECT_THAT(calls(), IsEmpty());
    put_vmi("web", "n2");
    settle();
    EXPECT_TRUE(run_until([this] { return !calls().empty(); }));
    EXPECT_THAT(calls(), Contains(HasSubstr("DELETE " + std::string{policies})));
}

TEST_F(MovePoliciesTest, WhenNothingIsEscalatedAnyMoreThoseThatWaitLoseIt) {
    begin("moving");
    put_ours("vmi web");
    put_config({{"mode", "act"}});
    pass(1s);
    EXPECT_THAT(calls(), IsEmpty());
    name(1, "held");
    EXPECT_TRUE(run_until([this] { return !calls().empty(); }));
}

TEST_F(MovePoliciesTest, RemovingItIsTriedAgainAndNotAllTheTime) {
    begin("given-up");
    put_ours("vmi web");
    pass(1s);
    EXPECT_THAT(calls(), SizeIs(1));
    pass(5s);
    EXPECT_THAT(calls(), SizeIs(1));
    pass(5s);
    EXPECT_THAT(calls(), SizeIs(2));
}

TEST_F(MovePoliciesTest, OthersPoliciesStayWhateverTheyAreCalled) {
    api.put("migrationpolicies", {{"metadata", {{"name", "virt-scout-move-u"}}},
                                  {"spec", {{"selectors", json::object{}}}}});
    begin();
    pass(20s);
    pass(20s);
    EXPECT_THAT(calls(), IsEmpty());
}

}  // namespace
}  // namespace scout::aggregator
