// SPDX-License-Identifier: Apache-2.0
#include "aggregator/policy_admission.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "kube/lease_client.h"
#include "tests/aggregator/admission_reviews.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using scout::test::bookmark_line;
using scout::test::watch_line;
using test::patch_of;
using test::response_of;
using test::Review;
using test::warnings_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

json::object policy(const std::string& name, json::object spec) {
    return {{"apiVersion", "migrations.kubevirt.io/v1alpha1"},
            {"kind", "MigrationPolicy"},
            {"metadata", {{"name", name}, {"uid", "of " + name}, {"resourceVersion", "5"}}},
            {"spec", std::move(spec)}};
}
json::object choosing(const json::object& labels) {
    return {{"selectors", {{"virtualMachineInstanceSelector", labels}}}};
}

json::object empty_labels(int count) {
    json::object labels;
    for (int i = 0; i < count; ++i) {
        labels["label-" + std::to_string(i)] = "";
    }
    return labels;
}

class PolicyAdmissionTest : public testing::Test {
protected:
    template <class T>
    void learn(kube::Informer<T>& informer, scout::test::ScriptedTransport& transport,
               const std::vector<json::object>& objects) {
        std::vector<std::string> lines;
        for (const auto& object : objects) {
            lines.push_back(watch_line("ADDED", json::serialize(object)));
        }
        lines.push_back(bookmark_line("9", true));
        transport.then_last_lines(lines);
        scout::test::run_to_end(loop, informer.run());
        ASSERT_TRUE(informer.synced());
    }
    void know(const std::vector<json::object>& others) { learn(policies, from_policies, others); }
    void set(const char* mode) {
        learn(configs, from_configs,
              {{{"metadata", {{"name", "default"}, {"uid", "c"}, {"resourceVersion", "5"}}},
                {"spec", {{"policies", {{"lint", mode}}}}}}});
    }

    daemon::HttpAnswer post(std::string body) {
        daemon::HttpRequest request;
        request.body = std::move(body);
        return scout::test::run_to_end(loop, admission.serve(std::move(request)));
    }
    json::object ask(Review review) {
        review.group = "migrations.kubevirt.io";
        review.kind = review.kind.empty() ? "MigrationPolicy" : review.kind;
        const auto answer = post(test::review(review));
        EXPECT_EQ(answer.status, 200U);
        auto response = response_of(answer);
        EXPECT_EQ(response.at("uid").as_string(), "q1");
        EXPECT_EQ(patch_of(response), "");
        return response;
    }
    json::object ask_about(json::object object) { return ask({.object = std::move(object)}); }
    static std::string refusal_of(const json::object& response) {
        return response.at("allowed").as_bool()
                   ? std::string{}
                   : std::string{response.at("status").at("message").as_string()};
    }

    asio::io_context loop;
    scout::test::FakeClock clock;
    scout::test::ScriptedTransport from_policies;
    scout::test::ScriptedTransport from_configs;
    scout::test::ScriptedTransport from_kubevirts;
    scout::test::ScriptedTransport unused;
    kube::Client client{unused, clock, {}};
    kube::Informer<kube::MigrationPolicy> policies{
        from_policies,
        clock,
        {.resource = kube::resources::migration_policies(), .selection = {}},
        &kube::decode_migration_policy};
    kube::Informer<kube::ScoutConfig> configs{
        from_configs,
        clock,
        {.resource = kube::resources::scout_configs(), .selection = {}},
        &kube::decode_scout_config};
    kube::Informer<kube::KubeVirt> kubevirts{
        from_kubevirts,
        clock,
        {.resource = kube::resources::kubevirts(), .selection = {}},
        &kube::decode_kubevirt};
    kube::ClientLease lease{client, {.space = "scout", .name = "lease"}};
    kube::LeaderElector elector{lease, clock, {.identity = "me"}, 1};
    LiveSettings settings{loop.get_executor(),
                          {.configs = configs, .kubevirts = kubevirts, .elector = elector},
                          client,
                          clock,
                          cluster::level_settings({})};
    PolicyAdmission admission{policies, settings};
};

const json::object unlimited{{"selectors", json::object{}}, {"bandwidthPerMigration", "500m"}};

TEST_F(PolicyAdmissionTest, OfAGoodOneNothingIsSaid) {
    know({policy("a", choosing({{"db", "my"}}))});

    const auto response = ask_about(policy("b", choosing({{"db", "pg"}})));

    EXPECT_TRUE(response.at("allowed").as_bool());
    EXPECT_THAT(warnings_of(response), IsEmpty());
    EXPECT_EQ(admission.counters().admitted, 1U);
    EXPECT_EQ(admission.counters().warned, 0U);
}

TEST_F(PolicyAdmissionTest, WhatIsWrongIsWarnedOfUnlessItIsToBeRefused) {
    know({policy("a", choosing({{"db", "pg"}}))});
    const auto loses = policy("b", choosing({{"db", "pg"}}));

    auto response = ask_about(loses);
    EXPECT_TRUE(response.at("allowed").as_bool());
    EXPECT_THAT(warnings_of(response), ElementsAre("virt-scout: b: chooses VMI label db=pg, as a "
                                                   "does",
                                                   HasSubstr("b: is never applied: ")));
    response = ask_about(policy("c", unlimited));
    EXPECT_THAT(warnings_of(response), ElementsAre(HasSubstr("m is milli"), HasSubstr("no limit")));
    EXPECT_EQ(admission.counters().warned, 2U);
    EXPECT_EQ(admission.counters().denied, 0U);

    set("refuse");
    response = ask_about(loses);
    EXPECT_THAT(refusal_of(response), HasSubstr("b: is never applied: of policies with equal"));
    EXPECT_THAT(warnings_of(response), IsEmpty());
    EXPECT_NE(refusal_of(ask_about(policy("c", unlimited))), "");
    EXPECT_THAT(warnings_of(ask_about(policy("c", choosing({{"db", ""}})))),
                ElementsAre(HasSubstr("an empty value stands for the empty value only")))
        << "it does what it says";
    EXPECT_EQ(admission.counters().denied, 2U);
}

TEST_F(PolicyAdmissionTest, NothingIsSaidWhereNobodyWantsToHear) {
    know({policy("a", choosing({{"db", "pg"}}))});
    set("off");

    const auto response = ask_about(policy("b", choosing({{"db", "pg"}})));

    EXPECT_TRUE(response.at("allowed").as_bool());
    EXPECT_THAT(warnings_of(response), IsEmpty());
}

TEST_F(PolicyAdmissionTest, OnesThatTakeThePlaceOfOthersAreToldWhich) {
    know({policy("b", choosing({{"db", "pg"}}))});

    EXPECT_THAT(warnings_of(ask_about(policy("a", choosing({{"db", "pg"}})))),
                ElementsAre(HasSubstr("a: takes the place of b, never applied")));
    EXPECT_THAT(warnings_of(ask_about(policy("b", choosing({{"db", "pg"}})))), IsEmpty())
        << "that is itself";
}

TEST_F(PolicyAdmissionTest, WhatKubeVirtRefusesIsNotSaidTwice) {
    know({});
    set("refuse");

    for (const auto& spec :
         {json::object{{"selectors", json::object{}}, {"completionTimeoutPerGiB", -1}},
          json::object{{"selectors", json::object{}}, {"maxDowntimeMs", 300}},
          json::object{{"selectors", json::object{}}, {"ofANewerKubeVirt", true}},
          json::object{}}) {
        const auto response = ask_about(policy("a", spec));
        EXPECT_TRUE(response.at("allowed").as_bool()) << spec;
        EXPECT_THAT(warnings_of(response), IsEmpty()) << spec;
    }
}

TEST_F(PolicyAdmissionTest, ThoseOfSingleMovesPassWithoutAWord) {
    know({policy("a", unlimited)});
    set("refuse");
    auto ours = policy("virt-scout-move-u1", unlimited);
    ours["metadata"].as_object()["labels"] = {{"virt-scout.io/move-of", "u1"}};

    const auto response = ask_about(ours);
    EXPECT_TRUE(response.at("allowed").as_bool());
    EXPECT_THAT(warnings_of(response), IsEmpty());

    ours["metadata"].as_object()["labels"] = {{"virt-scout.io/move-of", "u2"}};
    EXPECT_NE(refusal_of(ask_about(ours)), "") << "it is called so, and is none";
}

TEST_F(PolicyAdmissionTest, OfChangesOnlyThoseOfTheSpecAreJudged) {
    know({});
    set("refuse");
    const auto before = policy("a", unlimited);
    auto after = before;
    after["metadata"].as_object()["labels"] = {{"team", "x"}};
    after["status"] = {{"seen", true}};

    const auto untouched = ask({.object = after, .operation = "UPDATE", .old_object = before});
    EXPECT_TRUE(untouched.at("allowed").as_bool());
    EXPECT_THAT(warnings_of(untouched), IsEmpty());

    after["spec"].as_object()["allowPostCopy"] = true;
    const auto changed = ask({.object = after, .operation = "UPDATE", .old_object = before});
    EXPECT_THAT(refusal_of(changed), HasSubstr("a: bandwidthPerMigration 500m"));
}

TEST_F(PolicyAdmissionTest, UntilOthersAreKnownItIsSaidThatTheyAreNot) {
    const auto response = ask_about(policy("c", unlimited));

    EXPECT_TRUE(response.at("allowed").as_bool());
    EXPECT_THAT(warnings_of(response), ElementsAre(HasSubstr("m is milli"), HasSubstr("no limit"),
                                                   HasSubstr("not compared with others")));
}

TEST_F(PolicyAdmissionTest, WhatIsNoQuestionIsRefused) {
    know({});
    for (const char* body : {"", "{}", "[]", "\xff"}) {
        const auto answer = post(body);
        EXPECT_EQ(answer.status, 400U) << body;
        EXPECT_THAT(answer.body, HasSubstr("expected")) << body;
    }
    EXPECT_EQ(admission.counters().refused, 4U);
    EXPECT_THAT(warnings_of(ask({.kind = "Other", .object = {}})),
                ElementsAre(HasSubstr("expected a MigrationPolicy that is created or changed")));
    EXPECT_THAT(warnings_of(ask({.object = policy("a", unlimited), .operation = "DELETE"})),
                ElementsAre(HasSubstr("and DELETE")));
}

TEST_F(PolicyAdmissionTest, WhatNoPolicyLooksLikePassesSoon) {
    know({});
    set("refuse");
    json::object deep;
    for (int i = 0; i < 500; ++i) {
        deep = {{"a", std::move(deep)}};
    }

    EXPECT_THAT(warnings_of(ask_about(policy("a", deep))),
                ElementsAre(HasSubstr("the policy is not looked at: expected a map as JSON")));
    const std::string large(std::size_t{1} << 20U, 'x');
    EXPECT_THAT(warnings_of(ask_about(policy("a", choosing({{"large", large}})))),
                ElementsAre(HasSubstr("expected at most 131072 bytes, found 10")));
    EXPECT_THAT(warnings_of(ask_about(policy("a", choosing(empty_labels(10'000))))),
                ElementsAre(HasSubstr("expected at most 131072 bytes, found 1")));
    EXPECT_THAT(warnings_of(ask_about(policy("a", choosing(empty_labels(7'000))))), SizeIs(9))
        << "an empty value is told of each";
}

/// The budget is 10 ms on the loop; many times that here, for builds with sanitizers. Counted in
/// time of the processor: that of the wall is also that of others.
TEST_F(PolicyAdmissionTest, OneAmongAThousandTakesLittleMoreThanItsReading) {
    std::vector<json::object> others;
    for (int i = 0; i < 1000; ++i) {
        others.push_back(policy("p" + std::to_string(i),
                                choosing({{"app", std::to_string(i)}, {"env", "prod"}})));
    }
    know(others);
    const auto usual = test::review({.group = "migrations.kubevirt.io",
                                     .kind = "MigrationPolicy",
                                     .object = policy("z", choosing({{"app", "7"}}))});
    const auto large = test::review({.group = "migrations.kubevirt.io",
                                     .kind = "MigrationPolicy",
                                     .object = policy("z", choosing(empty_labels(7'000)))});

    const auto least_of = [](const auto& work) {
        auto least = std::numeric_limits<std::clock_t>::max();
        for (int i = 0; i < 5; ++i) {
            const auto begin = std::clock();
            work();
            least = std::min(least, std::clock() - begin);
        }
        return least;
    };
    const auto taken = [this, &least_of](const std::string& body) {
        return least_of([this, &body] { EXPECT_EQ(post(body).status, 200U); });
    };
    const auto read = least_of([&large] { EXPECT_TRUE(json::parse(large).is_object()); });
    const auto of_large = taken(large);
    const auto of_usual = taken(usual);
    EXPECT_LT(of_large, 50 * std::max<std::clock_t>(read, 100)) << "reading it took " << read;
    EXPECT_LT(of_usual, std::max<std::clock_t>(of_large, 1000));
    RecordProperty("usual_us", std::to_string(of_usual));
    RecordProperty("large_us", std::to_string(of_large));
}

}  // namespace
}  // namespace scout::aggregator
