// SPDX-License-Identifier: Apache-2.0
#include "aggregator/tuned_policies.h"

#include <string>
#include <utility>

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/mover_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr const char* removal =
    "DELETE /apis/migrations.kubevirt.io/v1alpha1/migrationpolicies/drain";

class TunedPoliciesTest : public MoverFixture {
protected:
    void begin() {
        start();
        api.forget_calls();
        scope->spawn("tuned", [this] { return tuned.run(); });
        settle();
    }
    void put(const std::string& name, json::object labels, json::object annotations) {
        api.put("migrationpolicies", {{"metadata",
                                       {{"name", name},
                                        {"uid", "uid of " + name},
                                        {"labels", std::move(labels)},
                                        {"annotations", std::move(annotations)}}},
                                      {"spec", {{"selectors", json::object{}}}}});
        settle();
    }
    void put_tuned(const std::string& expires, const std::string& name = "drain") {
        put(name, {{"virt-scout.io/tune", "true"}}, {{"virt-scout.io/expires", expires}});
    }
    [[nodiscard]] std::string in(std::chrono::seconds time) const {
        return rfc3339(clock.wall() + time);
    }
    /// The rest of the alarm is of the real clock.
    void pass(std::chrono::seconds time) {
        clock.advance(time);
        api.put("migrationpolicies", {{"metadata", {{"name", "bystander"}}}, {"spec", {}}});
        settle();
    }

    TunedPolicies tuned{loop.get_executor(),
                        {.policies = objects.policies, .elector = elector, .events = events},
                        client,
                        clock};
};

TEST_F(TunedPoliciesTest, OneIsRemovedWhenItsTimeIsOver) {
    begin();
    put_tuned(in(2min));
    pass(1min);
    EXPECT_THAT(calls(), IsEmpty());

    pass(1min);
    ASSERT_THAT(calls(), ElementsAre(removal));
    const auto body = json::parse(api.calls().back().body);
    EXPECT_EQ(body.at("preconditions").at("uid"), "uid of drain");
    EXPECT_EQ(body.at("preconditions").at("resourceVersion"),
              json::string{objects.policies.find({}, "drain")->meta.version});
    ASSERT_TRUE(run_until([this] { return !recorded.records.empty(); }));
    EXPECT_EQ(recorded.records.front().note.reason, "MigrationPolicyExpired");
    EXPECT_EQ(recorded.records.front().note.regarding.name, "drain");

    pass(20s);
    EXPECT_THAT(calls(), SizeIs(1)) << "it may have a finalizer";
}

TEST_F(TunedPoliciesTest, ItWakesUpByItselfWhenTheTimeComes) {
    begin();
    put_tuned(in(1s));
    clock.advance(1s);
    EXPECT_TRUE(run_until([this] { return !calls().empty(); }));
    EXPECT_THAT(calls(), ElementsAre(removal));
}

TEST_F(TunedPoliciesTest, OneThatRanOutWhileNobodyLedGoesAtOnce) {
    put_tuned(in(-24h));
    begin();
    EXPECT_THAT(calls(), ElementsAre(removal));
}

TEST_F(TunedPoliciesTest, OneThatIsGivenMoreTimeStays) {
    begin();
    put_tuned(in(1min));
    pass(30s);
    put_tuned(in(10min));
    pass(1min);
    EXPECT_THAT(calls(), IsEmpty());
    pass(10min);
    EXPECT_THAT(calls(), ElementsAre(removal));
}

/// It was changed while it was being removed: what it says now counts.
TEST_F(TunedPoliciesTest, OneThatWasChangedMeanwhileIsJudgedAnew) {
    api.answer = [](const kube::HttpRequest&) {
        kube::HttpResponse response;
        response.head.status = 409;
        response.body = R"({"kind":"Status","reason":"Conflict","code":409})";
        return response;
    };
    put_tuned(in(-1min));
    begin();
    EXPECT_THAT(calls(), Contains(removal));
    api.forget_calls();
    put_tuned(in(1h));
    pass(1min);
    EXPECT_THAT(calls(), IsEmpty());
    EXPECT_THAT(recorded.records, IsEmpty());
}

TEST_F(TunedPoliciesTest, PoliciesOfOthersStay) {
    put("label-alone", {{"virt-scout.io/tune", "true"}}, {});
    put("note-alone", {}, {{"virt-scout.io/expires", in(-1h)}});
    put("other-value", {{"virt-scout.io/tune", "yes"}}, {{"virt-scout.io/expires", in(-1h)}});
    begin();
    pass(1h);
    EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(TunedPoliciesTest, OneWhoseTimeCannotBeReadStaysAndIsToldOnce) {
    put_tuned("tomorrow");
    begin();
    pass(1min);
    pass(1min);
    EXPECT_THAT(calls(), IsEmpty());
    ASSERT_TRUE(run_until([this] { return !recorded.records.empty(); }));
    ASSERT_THAT(recorded.records, SizeIs(1));
    EXPECT_THAT(recorded.again, IsEmpty());
    const auto& note = recorded.records.front().note;
    EXPECT_EQ(note.reason, "MigrationPolicyNeverExpires");
    EXPECT_TRUE(note.warning);
    EXPECT_THAT(note.note, HasSubstr("found tomorrow"));

    put_tuned(in(-1s));
    EXPECT_THAT(calls(), ElementsAre(removal)) << "now it can be read";
}

TEST_F(TunedPoliciesTest, WhoDoesNotLeadRemovesNone) {
    begin();
    lose_leadership();
    put_tuned(in(-1h));
    pass(1min);
    EXPECT_THAT(calls(), testing::Not(Contains(removal)));
}

}  // namespace
}  // namespace scout::aggregator
