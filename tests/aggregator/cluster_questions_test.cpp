// SPDX-License-Identifier: Apache-2.0
// What users of a cluster are told of its objects, up to what scoutctl makes of it.
#include "aggregator/cluster_questions.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "aggregator/cluster_objects.h"
#include "aggregator/protection_count.h"
#include "base/task_scope.h"
#include "cli/api_client.h"
#include "cluster/hook_plugin.h"
#include "kube/client.h"
#include "kube/leader_elector.h"
#include "kube/lease_client.h"
#include "tests/aggregator/cluster_questions_fixture.h"

namespace scout::aggregator {
namespace {

using fleet::SubjectKind;
using migration::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

class ClusterQuestionsTest : public ClusterQuestionsFixture {};

TEST_F(ClusterQuestionsTest, SaysNothingBeforeItHasReadWhatTheAnswerRestsOn) {
    const auto answer = ask({.kind = Question::Kind::nodes, .may_see_nodes = true});

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::unavailable);
    EXPECT_THAT(answer.error().message, HasSubstr("not been read yet"));
}

TEST_F(ClusterQuestionsTest, SaysNothingByWhatMayNotBeReadAnyMore) {
    shop.take_away("virtualmachineinstances");
    objects.follow_vms();
    objects.start(scope);
    turn_until([this] { return objects.vmis.reflector().grows_stale() && settings.synced(); });
    ASSERT_TRUE(objects.vmis.synced());

    const auto answer = ask({.kind = Question::Kind::nodes, .may_see_nodes = true});

    ASSERT_FALSE(answer) << *answer;
    EXPECT_EQ(answer.error().code, Errc::unavailable);
    EXPECT_THAT(answer.error().message, HasSubstr("virtualmachineinstances"));
}

TEST_F(ClusterQuestionsTest, TellsTheNodesWithTheirLevelsAndGuests) {
    read_all();
    const auto text = ask({.kind = Question::Kind::nodes, .may_see_nodes = true});
    ASSERT_TRUE(text) << text.error().message;

    FakeServer api(saying(*text));
    const auto answer = reader_of(api, clock)->nodes();

    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_THAT(answer->nodes, SizeIs(3));
    const auto& east = answer->nodes[0];
    EXPECT_EQ(east.name, "east");
    EXPECT_EQ(east.level, 50U);
    EXPECT_EQ(east.destinations, 1U);
    EXPECT_EQ(east.guests, 1U) << "one that has ended is not there";
    EXPECT_EQ(east.freshness, "");
    EXPECT_EQ(east.schedulable, true);
    EXPECT_EQ(answer->nodes[2].level, 0U);
    EXPECT_EQ(api.requests().at(0).target, "/apis/query.virt-scout.io/v1alpha1/nodes");
}

TEST_F(ClusterQuestionsTest, TellsWhereAVmiCanGo) {
    read_all();
    const auto text = ask({.kind = Question::Kind::vmi_where,
                           .space = "shop",
                           .name = "web",
                           .options = {},
                           .may_see_nodes = true});
    ASSERT_TRUE(text) << text.error().message;

    FakeServer api(saying(*text));
    fleet::FleetSubject web{.subject = {.kind = SubjectKind::guest, .name = "shop/web", .node = {}},
                            .text = "shop/web",
                            .described = {}};
    const auto answer = reader_of(api, clock)->where(web, {});

    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->subject, "shop/web");
    EXPECT_EQ(answer->source, "east");
    ASSERT_THAT(answer->nodes, SizeIs(2));
    EXPECT_EQ(answer->nodes[0].node, "north");
    EXPECT_EQ(answer->nodes[0].comparison.gate, Verdict::can);
    EXPECT_EQ(answer->nodes[1].node, "west");
    EXPECT_EQ(answer->nodes[1].comparison.verdict, Verdict::cannot);
    EXPECT_EQ(
        api.requests().at(0).target,
        "/apis/query.virt-scout.io/v1alpha1/namespaces/shop/virtualmachineinstances/web/where");
}

TEST_F(ClusterQuestionsTest, NamesNoNodeToWhoMayNotListThem) {
    read_all();
    const auto text =
        ask({.kind = Question::Kind::vmi_where, .space = "shop", .name = "web", .options = {}});
    ASSERT_TRUE(text) << text.error().message;

    for (const auto* name : {"east", "north", "west"}) {
        EXPECT_THAT(*text, Not(HasSubstr(name)));
    }
    const auto answer = json::parse(*text);
    EXPECT_THAT(answer.at("nodes").as_array(), SizeIs(2));
    EXPECT_THAT(*text, HasSubstr("you may not list nodes"));

    const auto aimed = ask({.kind = Question::Kind::vmi_where,
                            .space = "shop",
                            .name = "web",
                            .options = {{"target", "north"}}});
    ASSERT_FALSE(aimed);
    EXPECT_EQ(aimed.error().code, Errc::refused);
}

TEST_F(ClusterQuestionsTest, TellsTheMatrixWithWhatIsRefused) {
    read_all();
    const auto text = ask({.kind = Question::Kind::matrix, .may_see_nodes = true});
    ASSERT_TRUE(text) << text.error().message;

    FakeServer api(saying(*text));
    const auto answer = reader_of(api, clock)->matrix();

    ASSERT_TRUE(answer) << answer.error().message;
    const auto* told = std::get_if<fleet::LevelsAnswer>(&*answer);
    ASSERT_NE(told, nullptr);
    ASSERT_THAT(told->levels.nodes, SizeIs(3));
    EXPECT_EQ(told->levels.nodes[0].name, "east");
    EXPECT_THAT(told->levels.out(0), ElementsAre("north"));
    EXPECT_THAT(told->levels.refused(0), Not(IsEmpty()));
    for (const auto& refusal : told->levels.refused(0)) {
        EXPECT_EQ(told->levels.nodes[refusal.to].name, "west");
        EXPECT_THAT(*refusal.reasons, Not(IsEmpty()));
    }
}

TEST_F(ClusterQuestionsTest, TellsVmisOfANamespaceOrANode) {
    read_all();
    const auto of_shop =
        ask({.kind = Question::Kind::vmis, .space = "shop", .may_see_nodes = true});
    ASSERT_TRUE(of_shop) << of_shop.error().message;
    FakeServer api(saying(*of_shop));
    const auto guests = reader_of(api, clock)->guests({});
    ASSERT_TRUE(guests) << guests.error().message;
    ASSERT_THAT(guests->guests, SizeIs(2));
    EXPECT_EQ(guests->guests[1].name, "shop/web");
    EXPECT_EQ(guests->guests[1].node, "east");
    EXPECT_EQ(guests->guests[1].found_by, "");

    const auto of_north =
        ask({.kind = Question::Kind::vmis, .options = {{"node", "north"}}, .may_see_nodes = true});
    ASSERT_TRUE(of_north) << of_north.error().message;
    EXPECT_THAT(json::parse(*of_north).at("guests").as_array(), IsEmpty());
}

TEST_F(ClusterQuestionsTest, NamesTheVmisOfANodeToWhoMayListThem) {
    read_all();
    const auto guests_told = [this](bool may_see_vmis) {
        const auto text = ask({.kind = Question::Kind::node,
                               .name = "east",
                               .may_see_nodes = true,
                               .may_see_vmis = may_see_vmis});
        return text ? json::parse(*text) : json::value{text.error().message};
    };

    const auto told = guests_told(true);
    EXPECT_THAT(told.at("guests").as_array(), SizeIs(1));
    FakeServer api(saying(json::serialize(told)));
    const auto east = reader_of(api, clock)->node("east");
    ASSERT_TRUE(east) << east.error().message;
    EXPECT_THAT(east->guests, SizeIs(1));
    const auto hidden = guests_told(false);
    EXPECT_THAT(hidden.at("guests").as_array(), IsEmpty());
    EXPECT_THAT(json::serialize(hidden.at("summary").at("notices")),
                HasSubstr("VMIs are not told"));
}

TEST_F(ClusterQuestionsTest, TellsWhatIsWrongWithAQuestion) {
    read_all();
    const auto unknown =
        ask({.kind = Question::Kind::node, .name = "easst", .may_see_nodes = true});
    EXPECT_EQ(unknown.error().code, Errc::not_found);
    EXPECT_THAT(unknown.error().message, HasSubstr("east"));

    const auto odd = ask(
        {.kind = Question::Kind::baseline, .options = {{"nodes", "east"}}, .may_see_nodes = true});
    EXPECT_EQ(odd.error().code, Errc::invalid);
    EXPECT_THAT(odd.error().message, HasSubstr("expected node"));

    const auto twice = ask({.kind = Question::Kind::vmis,
                            .options = {{"node", "east"}, {"node", "west"}},
                            .may_see_nodes = true});
    EXPECT_EQ(twice.error().code, Errc::invalid);

    const auto nobody = ask({.kind = Question::Kind::vmi_where,
                             .space = "shop",
                             .name = "wbe",
                             .options = {},
                             .may_see_nodes = true});
    EXPECT_EQ(nobody.error().code, Errc::not_found);
    EXPECT_THAT(nobody.error().message, HasSubstr("no VMI shop/wbe"))
        << "and no word of rights, which the user has";
}

TEST_F(ClusterQuestionsTest, ScoutctlSaysWhatIsMissing) {
    FakeServer empty([](Peer& peer, const SeenRequest& /*request*/) {
        peer.say(scout::test::answer(404, "404 page not found\n"));
        return true;
    });
    const auto nothing = reader_of(empty, clock)->nodes();
    ASSERT_FALSE(nothing);
    EXPECT_THAT(nothing.error().message, HasSubstr("no query API of virt-scout"));

    FakeServer strict([](Peer& peer, const SeenRequest& /*request*/) {
        peer.say(scout::test::answer(403, scout::test::status_json(403, "Forbidden")));
        return true;
    });
    const auto refused = reader_of(strict, clock)->nodes();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::refused);

    fleet::FleetSubject bare{.subject = {.kind = SubjectKind::guest, .name = "web", .node = {}},
                             .text = "web",
                             .described = {}};
    const auto where = reader_of(strict, clock)->where(bare, {});
    ASSERT_FALSE(where);
    EXPECT_THAT(where.error().message, HasSubstr("NAMESPACE/NAME"));
}

}  // namespace
}  // namespace scout::aggregator
