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
#include "tests/aggregator/host_model_objects.h"
#include "tests/kube/transport_fixture.h"
#include "tests/support/scripted_transport.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using fleet::SubjectKind;
using migration::Verdict;
using scout::test::FakeServer;
using scout::test::Peer;
using scout::test::SeenRequest;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

std::string object_text(json::object metadata, json::object rest) {
    metadata["uid"] = "uid of " + std::string(metadata["name"].as_string());
    metadata["resourceVersion"] = "5";
    rest["metadata"] = std::move(metadata);
    return json::serialize(rest);
}

std::string node(const std::string& name, const std::string& feature) {
    return object_text({{"name", name}, {"labels", node_labels("amd64", feature)}}, {});
}

std::string vmi(const std::string& name, const std::string& node, const std::string& phase) {
    return object_text(
        {{"name", name}, {"namespace", "shop"}},
        {{"spec",
          {{"evictionStrategy", "LiveMigrate"},
           {"domain", {{"cpu", {{"model", "host-model"}}}, {"memory", {{"guest", "1Gi"}}}}}}},
         {"status",
          {{"phase", phase},
           {"nodeName", node},
           {"conditions", {{{"type", "LiveMigratable"}, {"status", "True"}}}}}}});
}

std::string kubevirt() {
    return object_text(
        {{"name", "kubevirt"}, {"namespace", "kubevirt"}},
        {{"spec",
          {{"configuration",
            {{"developerConfiguration", {{"featureGates", json::array{"Plugins"}}}}}}}},
         {"status", {{"phase", "Deployed"}}}});
}

/// Ours, by which nobody is asked on that node.
std::string plugin(const std::string& left_out) {
    return object_text({{"name", cluster::hook_plugin_name}},
                       {{"spec",
                         {{"nodeHooks",
                           {{{"socket", cluster::hook_socket},
                             {"condition", cluster::hook_condition({left_out})}}}}}}});
}

struct Stored {
    std::string_view plural;
    std::vector<std::string> objects;
};

/// Objects of a shop, the host-model guests of whose nodes east and north can go to each other.
class Shop {
public:
    bool answer(Peer& peer, const SeenRequest& request) const {
        for (const auto& kind : kinds_) {
            if (request.target.find("/" + std::string{kind.plural} + "?") == std::string::npos) {
                continue;
            }
            peer.say(scout::test::chunked_head());
            for (const auto& object : kind.objects) {
                peer.say(scout::test::chunk(scout::test::watch_line("ADDED", object) + "\n"));
            }
            peer.say(scout::test::chunk(scout::test::bookmark_line("9", true) + "\n"));
            peer.stay_silent();
            return false;
        }
        peer.say(scout::test::answer(404, scout::test::status_json(404, "NotFound")));
        return true;
    }

private:
    std::vector<Stored> kinds_{
        {"nodes", {node("east", "x"), node("north", "x"), node("west", "y")}},
        {"kubevirts", {kubevirt()}},
        {"scoutconfigs", {}},
        {"virtualmachineinstances",
         {vmi("web", "east", "Running"), vmi("done", "east", "Succeeded"),
          vmi("lost", "west", "Running")}},
        {"virtualmachineinstancemigrations", {}},
        {"pods", {}},
        {"cpuprofiles", {}},
        {"migrationpolicies", {}},
        {"namespaces", {}},
        {"plugins", {plugin("west")}}};
};

class ClusterQuestionsTest : public kube::TransportFixture {
protected:
    ~ClusterQuestionsTest() override { scout::test::run_to_end(loop, scope.close()); }

    void read_all() {
        objects.follow_vms();
        objects.start(scope);
        const auto end = clock.steady() + long_enough;
        while (!is_all_read() && clock.steady() < end) {
            loop.restart();
            loop.run_for(5ms);
        }
    }
    [[nodiscard]] bool is_all_read() const {
        return objects.nodes.synced() && settings.synced() && objects.vmis.synced() &&
               objects.migrations.synced() && objects.launchers.synced() &&
               objects.cpu_profiles.synced() && objects.policies.synced() &&
               objects.namespaces.synced() && objects.plugins.synced();
    }

    Result<std::string> ask(Question question) {
        return scout::test::run_until_done(loop, questions.answer(std::move(question)));
    }

    /// scoutctl, to which somebody gives this answer.
    static std::unique_ptr<fleet::Fleet> reader_of(FakeServer& api, const Clock& clock) {
        return cli::open_api_fleet(access_to(api.port()), clock, long_enough);
    }
    static FakeServer::Handler saying(std::string text) {
        return [text = std::move(text)](Peer& peer, const SeenRequest& /*request*/) {
            peer.say(scout::test::answer(200, text));
            return true;
        };
    }

    Shop shop;
    FakeServer server{
        [this](Peer& peer, const SeenRequest& request) { return shop.answer(peer, request); }};
    TaskScope scope{loop.get_executor()};
    BlockingPool pool{2};
    kube::HttpTransport transport{loop.get_executor(), access_to(server.port()), clock};
    kube::Client client{transport, clock, {}};
    ClusterObjects objects{transport, clock, [] { return kube::ReflectorSettings{}; }};
    kube::ClientLease lease{client, {.space = "scout", .name = "lease"}};
    kube::LeaderElector elector{lease, clock, {.identity = "me"}, 1};
    LiveSettings settings{
        loop.get_executor(),
        {.configs = objects.configs, .kubevirts = objects.kubevirts, .elector = elector},
        client,
        clock,
        cluster::level_settings({})};
    CauseHistory history;
    bool leads = true;
    ClusterQuestions questions{{.objects = objects,
                                .settings = settings,
                                .history = history,
                                .leads = [this] { return leads; }},
                               {},
                               pool,
                               clock};
};

TEST_F(ClusterQuestionsTest, SaysNothingBeforeItHasReadWhatTheAnswerRestsOn) {
    const auto answer = ask({.kind = Question::Kind::nodes, .may_see_nodes = true});

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::unavailable);
    EXPECT_THAT(answer.error().message, HasSubstr("not been read yet"));
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
    EXPECT_THAT(told->levels.nodes[0].out, ElementsAre("north"));
    EXPECT_THAT(told->levels.refused, Not(IsEmpty()));
    EXPECT_EQ(told->levels.refused[0].from, "east");
    EXPECT_THAT(told->levels.refused[0].reasons, Not(IsEmpty()));
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

TEST_F(ClusterQuestionsTest, TellsWhichVmsWouldBeMoved) {
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

TEST_F(ClusterQuestionsTest, TellsOfOneVmWithoutItsNodeToWhoMayNotListNodes) {
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
}

TEST_F(ClusterQuestionsTest, UnprotectedVmsAreCountedByTheLeaderAlone) {
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

TEST_F(ClusterQuestionsTest, TellsThePressureThatAgentsAndKubeletsTold) {
    Registry registry({}, clock);
    questions.hear(registry);
    const Introduction east{.node = "east", .host_identity = "e", .agent_version = ""};
    ASSERT_TRUE(registry.introduce(east, clock.steady()));
    migration::PressureReport report;
    report.lines.resize(1);
    report.lines[0].at = 100;
    report.order = {{.first = {{.vmi = "shop/web", .pod_uid = "p", .usage = {}, .vm_grace = {}}}}};
    report.graces = migration::KubeletGraces{};
    ASSERT_TRUE(registry.report_pressure("east", report, clock.steady()));
    read_all();
    const Question question{.kind = Question::Kind::pressure,
                            .options = {{"node", "east"}, {"node", "west"}},
                            .may_see_nodes = true,
                            .may_see_vmis = true};
    const auto text = ask(question);
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

    auto blind = question;
    blind.may_see_vmis = false;
    EXPECT_THAT(*ask(blind), Not(HasSubstr("shop/web")));
    // The kubelet of east evicts at once: its VM cannot be moved then.
    const auto protection =
        ask({.kind = Question::Kind::vmi_protection, .space = "shop", .name = "web"});
    ASSERT_TRUE(protection);
    EXPECT_THAT(*protection, HasSubstr("too-big"));

    leads = false;
    const auto standby = ask(question);
    ASSERT_TRUE(standby);
    EXPECT_THAT(*standby, HasSubstr("\"hearsAgents\":false"));
    FakeServer other(saying(*standby));
    EXPECT_FALSE(reader_of(other, clock)->pressure({})->hears_agents);
    EXPECT_THAT(other.requests(), SizeIs(6)) << "another replica may lead";
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
}

TEST_F(ClusterQuestionsTest, TellsWhatBecameOfAVmAfterItIsGone) {
    const auto early = ask({.kind = Question::Kind::vmi_why, .space = "shop", .name = "db"});
    EXPECT_EQ(early.error().code, Errc::unavailable);
    read_all();
    KeptEnd end{.space = "shop",
                .vmi_name = "db",
                .pod = "virt-launcher-db-abcde",
                .pod_uid = "p",
                .node = "east",
                .phase = "Failed",
                .ended = clock.wall(),
                .answer = {}};
    end.answer = {.cause = migration::Cause::node_pressure,
                  .resource = "memory",
                  .evidence = {"node east has MemoryPressure"},
                  .certain = true,
                  .ended = true};
    history.put(std::move(end), clock.wall());
    KeptMove move{.space = "shop", .vmi_name = "db", .uid = "m", .move = {}};
    move.move.name = "kubevirt-evacuation-x";
    move.move.phase = "Succeeded";
    move.move.mode = "PreCopy";
    move.move.source = "west";
    move.move.target = "east";
    move.move.created = clock.wall();
    move.move.request = {.requester = migration::Requester::drain, .user = {}, .why = "evicted"};
    history.put(std::move(move), clock.wall());

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
    EXPECT_EQ(story->ended, clock.wall());
    EXPECT_EQ(story->answer.cause, migration::Cause::node_pressure);
    EXPECT_EQ(story->answer.resource, "memory");
    EXPECT_THAT(story->answer.evidence, ElementsAre("node east has MemoryPressure"));
    EXPECT_TRUE(story->answer.certain);
    ASSERT_THAT(story->moves, SizeIs(1));
    EXPECT_EQ(story->moves.front().request.requester, migration::Requester::drain);
    EXPECT_EQ(story->moves.front().mode, "PreCopy");
    EXPECT_EQ(story->moves.front().created, clock.wall());

    const auto of_pod = ask({.kind = Question::Kind::pod_why,
                             .space = "shop",
                             .name = "virt-launcher-db-abcde",
                             .may_see_nodes = true});
    EXPECT_EQ(of_pod, of_vm);
    const auto hidden = ask({.kind = Question::Kind::vmi_why, .space = "shop", .name = "db"});
    ASSERT_TRUE(hidden) << hidden.error().message;
    EXPECT_THAT(*hidden, AllOf(Not(HasSubstr("east")), Not(HasSubstr("west"))));
    EXPECT_THAT(*hidden, HasSubstr("node (a node) has MemoryPressure"));
}

TEST_F(ClusterQuestionsTest, OfAVmThatRunsNothingIsToldToHaveEndedItAndOfNoneThatItIsNotKnown) {
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
