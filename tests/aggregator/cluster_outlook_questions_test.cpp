// SPDX-License-Identifier: Apache-2.0
// What users of a cluster are told of what becomes of its VMs, up to what scoutctl makes of it.
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
#include "aggregator/cluster_questions.h"
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

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

class ClusterOutlookQuestionsTest : public ClusterQuestionsFixture {};

TEST_F(ClusterOutlookQuestionsTest, TellsWhichVmsWouldBeMoved) {
    read_all();
    const auto text = ask({.kind = Question::Kind::protections, .may_see_nodes = true});
    ASSERT_TRUE(text) << text.error().message;

    FakeServer api(saying(*text));
    const auto answer = reader_of(api, clock)->protection({});

    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_THAT(answer->vms, SizeIs(2)) << "one that has ended is not there";
    const auto& lost = answer->vms[0];
    EXPECT_EQ(lost.vmi, "shop/lost");
    EXPECT_EQ(lost.answer.verdict, migration::ProtectionVerdict::no_hook);
    EXPECT_THAT(lost.answer.why, HasSubstr("no agent"));
    const auto& web = answer->vms[1];
    EXPECT_EQ(web.vmi, "shop/web");
    EXPECT_EQ(web.node, "east");
    EXPECT_EQ(web.answer.verdict, migration::ProtectionVerdict::guarded) << web.answer.why;
    EXPECT_EQ(web.answer.budget.ends, 45s);
    ASSERT_TRUE(web.answer.forecast);
    EXPECT_TRUE(web.answer.forecast->pessimistic.moved());
    EXPECT_EQ(web.memory, std::uint64_t{1} << 30U);
    EXPECT_EQ(web.with_others, true);
    EXPECT_EQ(api.requests().at(0).target, "/apis/query.virt-scout.io/v1alpha1/protection");
}

TEST_F(ClusterOutlookQuestionsTest, TellsOfOneVmWithoutItsNodeToWhoMayNotListNodes) {
    read_all();
    const auto text = ask({.kind = Question::Kind::vmi_protection, .space = "shop", .name = "web"});
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_THAT(*text, Not(HasSubstr("east")));
    EXPECT_THAT(*text, HasSubstr("protected"));

    FakeServer api(saying(*text));
    const auto answer = reader_of(api, clock)->protection({.vms = {"shop/web"}, .node = {}});
    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_THAT(answer->vms, SizeIs(1));
    EXPECT_EQ(answer->vms[0].node, "");
    EXPECT_EQ(api.requests().at(0).target,
              "/apis/query.virt-scout.io/v1alpha1/namespaces/shop/virtualmachineinstances/web/"
              "protection");
    const auto ended =
        ask({.kind = Question::Kind::vmi_protection, .space = "shop", .name = "done"});
    ASSERT_FALSE(ended);
    EXPECT_THAT(ended.error().message, HasSubstr("Succeeded"));
    const auto nobody =
        ask({.kind = Question::Kind::vmi_protection, .space = "shop", .name = "wbe"});
    ASSERT_FALSE(nobody);
    EXPECT_EQ(nobody.error().code, Errc::not_found);
    EXPECT_THAT(nobody.error().message, HasSubstr("no VMI shop/wbe"));
}

TEST_F(ClusterOutlookQuestionsTest, UnprotectedVmsAreCountedByTheLeaderAlone) {
    leads = false;
    ProtectionCount count(loop.get_executor(), objects, [this] { return leads; }, pool, clock);
    scope.spawn("count", [&count] { return count.run(); });
    read_all();
    loop.restart();
    loop.run_for(50ms);
    EXPECT_FALSE(count.counts());

    leads = true;
    const auto end = clock.steady() + long_enough;
    while (!count.counts() && clock.steady() < end) {
        loop.restart();
        loop.run_for(20ms);
    }
    ASSERT_TRUE(count.counts());
    const auto of = [&count](migration::ProtectionVerdict verdict) {
        return count.counts()->at(static_cast<std::size_t>(verdict));
    };
    EXPECT_EQ(of(migration::ProtectionVerdict::guarded), 1U);
    EXPECT_EQ(of(migration::ProtectionVerdict::no_hook), 1U);
    EXPECT_EQ(of(migration::ProtectionVerdict::unknown), 0U);
    scout::test::run_to_end(loop, scope.close());
}

migration::PressureReport pressed_report() {
    migration::PressureReport report;
    report.lines.resize(1);
    report.lines[0].at = 100;
    const migration::PressedLauncher web{
        .vmi = "shop/web", .pod_uid = "p", .usage = {}, .vm_grace = {}};
    report.order = {{.first = {web}},
                    {.signal = migration::PressureSignal::nodefs_available, .first = {web}}};
    report.graces = migration::KubeletGraces{.hard_alone = migration::hard_alone(report.lines)};
    return report;
}

const Question of_pressure{.kind = Question::Kind::pressure,
                           .options = {{"node", "east"}, {"node", "west"}},
                           .may_see_nodes = true,
                           .may_see_vmis = true};

TEST_F(ClusterOutlookQuestionsTest, TellsThePressureThatAgentsAndKubeletsTold) {
    Registry registry({}, clock);
    questions.hear(registry);
    const Introduction east{.node = "east", .host_identity = "e", .agent_version = ""};
    ASSERT_TRUE(registry.introduce(east, clock.steady()));
    const auto report = pressed_report();
    ASSERT_TRUE(registry.report_pressure("east", report, clock.steady()));
    read_all();
    const auto text = ask(of_pressure);
    ASSERT_TRUE(text) << text.error().message;

    FakeServer api(saying(*text));
    const auto answer = reader_of(api, clock)->pressure({"east", "west"});
    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_THAT(answer->nodes, SizeIs(2));
    ASSERT_TRUE(answer->nodes[0].told);
    EXPECT_EQ(*answer->nodes[0].told->report, report);
    EXPECT_FALSE(answer->nodes[1].told);
    EXPECT_EQ(api.requests().at(0).target,
              "/apis/query.virt-scout.io/v1alpha1/pressure?node=east&node=west");

    auto blind = of_pressure;
    blind.may_see_vmis = false;
    EXPECT_THAT(*ask(blind), Not(HasSubstr("shop/web")));
    // The kubelet of east evicts at once: its VM cannot be moved then.
    const auto protection =
        ask({.kind = Question::Kind::vmi_protection, .space = "shop", .name = "web"});
    ASSERT_TRUE(protection);
    EXPECT_THAT(*protection, HasSubstr("too-big"));

    leads = false;
    const auto standby = ask(of_pressure);
    ASSERT_TRUE(standby);
    EXPECT_THAT(*standby, HasSubstr("\"hearsAgents\":false"));
    FakeServer other(saying(*standby));
    EXPECT_FALSE(reader_of(other, clock)->pressure({})->hears_agents);
    EXPECT_THAT(other.requests(), SizeIs(6)) << "another replica may lead";
}

KeptEnd end_of_db(WallTime now) {
    return {.space = "shop",
            .vmi_name = "db",
            .pod = "virt-launcher-db-abcde",
            .pod_uid = "p",
            .node = "east",
            .phase = "Failed",
            .ended = now,
            .answer = {.cause = migration::Cause::node_pressure,
                       .resource = "memory",
                       .evidence = {"node east has MemoryPressure"},
                       .certain = true,
                       .ended = true}};
}

KeptMove move_of_db(WallTime now) {
    KeptMove kept{.space = "shop", .vmi_name = "db", .uid = "m", .move = {}};
    kept.move.name = "kubevirt-evacuation-x";
    kept.move.phase = "Succeeded";
    kept.move.mode = "PreCopy";
    kept.move.source = "west";
    kept.move.target = "east";
    kept.move.created = now;
    kept.move.request = {.requester = migration::Requester::drain, .user = {}, .why = "evicted"};
    return kept;
}

TEST_F(ClusterOutlookQuestionsTest, TellsWhatBecameOfAVmAfterItIsGone) {
    const auto early = ask({.kind = Question::Kind::vmi_why, .space = "shop", .name = "db"});
    EXPECT_EQ(early.error().code, Errc::unavailable);
    read_all();
    const WallTime now = std::chrono::floor<std::chrono::milliseconds>(clock.wall());
    history.put(end_of_db(now), clock.wall());
    history.put(move_of_db(now), clock.wall());

    const auto of_vm = ask(
        {.kind = Question::Kind::vmi_why, .space = "shop", .name = "db", .may_see_nodes = true});
    ASSERT_TRUE(of_vm) << of_vm.error().message;
    FakeServer api(saying(*of_vm));
    const auto story = reader_of(api, clock)->why("shop/db");
    ASSERT_TRUE(story) << story.error().message;
    EXPECT_EQ(story->vmi, "shop/db");
    EXPECT_EQ(story->vmi_phase, "");
    EXPECT_EQ(story->pod, "virt-launcher-db-abcde");
    EXPECT_EQ(story->pod_phase, "");
    EXPECT_EQ(story->node, "east");
    EXPECT_EQ(story->ended, now);
    EXPECT_EQ(story->answer.cause, migration::Cause::node_pressure);
    EXPECT_EQ(story->answer.resource, "memory");
    EXPECT_THAT(story->answer.evidence, ElementsAre("node east has MemoryPressure"));
    EXPECT_TRUE(story->answer.certain);
    ASSERT_THAT(story->moves, SizeIs(1));
    EXPECT_EQ(story->moves.front().request.requester, migration::Requester::drain);
    EXPECT_EQ(story->moves.front().mode, "PreCopy");
    EXPECT_EQ(story->moves.front().created, now);

    const auto of_pod = ask({.kind = Question::Kind::pod_why,
                             .space = "shop",
                             .name = "virt-launcher-db-abcde",
                             .may_see_nodes = true});
    EXPECT_EQ(of_pod.value(), of_vm.value());
    const auto hidden = ask({.kind = Question::Kind::vmi_why, .space = "shop", .name = "db"});
    ASSERT_TRUE(hidden) << hidden.error().message;
    EXPECT_THAT(*hidden, AllOf(Not(HasSubstr("east")), Not(HasSubstr("west"))));
    EXPECT_THAT(*hidden, HasSubstr("node (a node) has MemoryPressure"));
}

TEST_F(ClusterOutlookQuestionsTest,
       OfAVmThatRunsNothingIsToldToHaveEndedItAndOfNoneThatItIsNotKnown) {
    read_all();
    const auto runs = ask({.kind = Question::Kind::vmi_why, .space = "shop", .name = "web"});
    ASSERT_TRUE(runs) << runs.error().message;
    FakeServer api(saying(*runs));
    const auto story = reader_of(api, clock)->why("shop/web");
    ASSERT_TRUE(story) << story.error().message;
    EXPECT_EQ(story->vmi_phase, "Running");
    EXPECT_EQ(story->answer.cause, std::nullopt);
    EXPECT_FALSE(story->answer.ended);

    for (const auto kind : {Question::Kind::vmi_why, Question::Kind::pod_why}) {
        const auto nobody = ask({.kind = kind, .space = "shop", .name = "wbe"});
        ASSERT_FALSE(nobody);
        EXPECT_EQ(nobody.error().code, Errc::not_found);
        EXPECT_THAT(nobody.error().message, HasSubstr("in the last 1d anything is kept"));
    }
    EXPECT_THAT(reader_of(api, clock)->why("web").error().message, HasSubstr("NAMESPACE/NAME"));
}

}  // namespace
}  // namespace scout::aggregator
