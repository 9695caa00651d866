// SPDX-License-Identifier: Apache-2.0
#include "aggregator/placement_admission.h"

#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "base/task_scope.h"
#include "kube/lease_client.h"
#include "tests/aggregator/admission_reviews.h"
#include "tests/aggregator/host_model_objects.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using scout::test::bookmark_line;
using scout::test::watch_line;
using test::patch_of;
using test::warnings_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// With the level label as it was written, if it was.
std::string node(const std::string& name, const std::string& feature,
                 const std::string& level = {}) {
    auto labels = node_labels("amd64", feature);
    if (!level.empty()) {
        labels[cluster::level_label] = level;
    }
    const json::object meta{
        {"name", name}, {"uid", "of " + name}, {"resourceVersion", "5"}, {"labels", labels}};
    return json::serialize(json::object{{"metadata", meta}});
}

std::string kubevirt(const std::string& migrations) {
    return R"({"metadata":{"name":"kubevirt","namespace":"kubevirt","uid":"k",)"
           R"("resourceVersion":"5"},"spec":{"configuration":{"migrations":)" +
           migrations + R"(}},"status":{"phase":"Deployed"}})";
}

std::string scout_config(const std::string& placement) {
    return R"({"metadata":{"name":"default","uid":"c","resourceVersion":"5"},)"
           R"("spec":{"placement":)" +
           placement + "}}";
}

class PlacementAdmissionTest : public testing::Test {
protected:
    PlacementAdmissionTest() {
        learn(profiles, from_profiles, {});
        learn(vmis, from_vmis,
              {R"({"metadata":{"name":"vm","namespace":"ns","uid":"v1","resourceVersion":"5"}})"});
    }

    /// a and b can go to each other: level 50; c is alone: level 0.
    void know_nodes() {
        learn(nodes, from_nodes, {node("a", "x", "50"), node("b", "x", "50"), node("c", "y", "0")});
    }
    /// And no ScoutConfig, or one with this placement.
    void know_demands(const std::string& migrations, const std::string& placement = {}) {
        learn(kubevirts, from_kubevirts, {kubevirt(migrations)});
        learn(
            configs, from_configs,
            placement.empty() ? std::vector<std::string>{} : std::vector{scout_config(placement)});
    }

    template <class T>
    void learn(kube::Informer<T>& informer, scout::test::ScriptedTransport& transport,
               const std::vector<std::string>& objects) {
        std::vector<std::string> lines;
        for (const auto& object : objects) {
            lines.push_back(watch_line("ADDED", object));
        }
        lines.push_back(bookmark_line("9", true));
        transport.then_last_lines(lines);
        scout::test::run_to_end(loop, informer.run());
        ASSERT_TRUE(informer.synced());
    }

    /// What labels do whenever the loop turns.
    void judge() {
        TaskScope scope(loop.get_executor());
        scope.spawn("labels", [this] { return levels.run(); });
        loop.restart();
        loop.poll();
        scout::test::run_to_end(loop, scope.close());
    }

    struct Asked {
        std::string affinity = host_model_affinity;
        json::object labels{{"kubevirt.io", "virt-launcher"}, {"kubevirt.io/created-by", "v1"}};
        bool dry_run = false;
        std::string kind = "Pod";
    };

    static std::string review(const Asked& asked) {
        json::object spec{{"nodeSelector", {{"kubernetes.io/arch", "amd64"}}}};
        spec["affinity"] = json::parse(asked.affinity);
        const json::object meta{{"generateName", "virt-launcher-vm-"},
                                {"labels", asked.labels},
                                {"annotations", {{"kubevirt.io/domain", "vm"}}}};
        return test::review({.kind = asked.kind,
                             .object = {{"metadata", meta}, {"spec", spec}},
                             .dry_run = asked.dry_run});
    }

    daemon::HttpAnswer post(std::string body) {
        daemon::HttpRequest request;
        request.body = std::move(body);
        return scout::test::run_to_end(loop, admission.serve(std::move(request)));
    }

    /// The response of an answer that allows the pod.
    json::object ask(const Asked& asked) {
        judge();
        const auto answer = post(review(asked));
        EXPECT_EQ(answer.status, 200U);
        EXPECT_EQ(answer.content_type, "application/json");
        auto response = json::parse(answer.body).at("response").as_object();
        EXPECT_EQ(response.at("uid").as_string(), "q1");
        EXPECT_TRUE(response.at("allowed").as_bool());
        return response;
    }

    /// What was recorded about VMIs.
    const std::vector<kube::EventRecord>& written() {
        scout::test::run_to_end(loop, events.run());
        return port.records;
    }

    asio::io_context loop;
    scout::test::FakeClock clock;
    scout::test::ScriptedTransport from_nodes;
    scout::test::ScriptedTransport from_kubevirts;
    scout::test::ScriptedTransport from_configs;
    scout::test::ScriptedTransport from_profiles;
    scout::test::ScriptedTransport from_vmis;
    scout::test::ScriptedTransport unused;
    kube::Client client{unused, clock, {}};
    kube::Informer<kube::Node> nodes{from_nodes,
                                     clock,
                                     {.resource = kube::resources::nodes(), .selection = {}},
                                     &kube::decode_node};
    kube::Informer<kube::KubeVirt> kubevirts{
        from_kubevirts,
        clock,
        {.resource = kube::resources::kubevirts(), .selection = {}},
        &kube::decode_kubevirt};
    kube::Informer<kube::ScoutConfig> configs{
        from_configs,
        clock,
        {.resource = kube::resources::scout_configs(), .selection = {}},
        &kube::decode_scout_config};
    kube::Informer<cluster::CpuProfile> profiles{
        from_profiles,
        clock,
        {.resource = kube::resources::cpu_profiles(), .selection = {}},
        &cluster::decode_cpu_profile};
    kube::Informer<kube::Vmi> vmis{
        from_vmis,
        clock,
        {.resource = kube::resources::virtual_machine_instances(), .selection = {}},
        &kube::decode_vmi};
    kube::ClientLease lease{client, {.space = "scout", .name = "lease"}};
    kube::LeaderElector elector{lease, clock, {.identity = "me"}, 1};
    LiveSettings settings{loop.get_executor(),
                          {.configs = configs, .kubevirts = kubevirts, .elector = elector},
                          client,
                          clock,
                          cluster::level_settings({})};
    test::KeptEvents port;
    kube::EventRecorder events{loop.get_executor(), port, clock, 1};
    CpuProfiles reports{
        loop.get_executor(),
        {.nodes = nodes, .profiles = profiles, .elector = elector, .events = events},
        client,
        clock};
    LevelLabels levels{loop.get_executor(),
                       {.nodes = nodes,
                        .kubevirts = kubevirts,
                        .objects = profiles,
                        .profiles = reports,
                        .settings = settings,
                        .elector = elector},
                       client,
                       clock,
                       {}};
    PlacementAdmission admission{
        {.levels = levels, .settings = settings, .vmis = vmis, .events = events}};
};

TEST_F(PlacementAdmissionTest, AFirstPodIsSentWhereTheLevelIs) {
    know_nodes();
    know_demands(R"({"requireHostModelMigratabilityLevel":50})");

    const auto response = ask({});

    EXPECT_THAT(patch_of(response), HasSubstr(R"("operator":"Gt","values":["49"])"));
    EXPECT_THAT(warnings_of(response), IsEmpty());
    EXPECT_EQ(events.waiting(), 0U);
    EXPECT_EQ(admission.counters().admitted, 1U);
    EXPECT_EQ(admission.counters().patched, 1U);
    EXPECT_EQ(admission.counters().warned, 0U);
}

TEST_F(PlacementAdmissionTest, LevelsThatAreNotWrittenAreToldToTheVmi) {
    learn(nodes, from_nodes, {node("a", "x"), node("b", "x", "49"), node("c", "y", "much")});
    know_demands(R"({"requireHostModelMigratabilityLevel":50})");

    const auto response = ask({});

    EXPECT_NE(patch_of(response), "") << "the demand stays, labels come";
    EXPECT_THAT(warnings_of(response), ElementsAre(HasSubstr("no node carries the label")));
    EXPECT_EQ(written().size(), 1U);
}

TEST_F(PlacementAdmissionTest, ScoutConfigDemandsWhereTheKubeVirtObjectCannot) {
    know_nodes();
    know_demands("{}", R"({"preferedHostModelMigratabilityLevel":{"level":30,"weight":7}})");

    EXPECT_THAT(patch_of(ask({})), HasSubstr(R"("weight":7)"));
    EXPECT_EQ(admission.rules().preferred->source, cluster::DemandSource::scout_config);
}

TEST_F(PlacementAdmissionTest, OtherPodsAreLeftAlone) {
    know_nodes();
    know_demands(R"({"requireHostModelMigratabilityLevel":50})");
    const json::object target{{"kubevirt.io", "virt-launcher"},
                              {"kubevirt.io/migrationJobUID", ""}};

    for (const auto& asked :
         {Asked{.affinity = "null"}, Asked{.labels = target}, Asked{.labels = json::object{}}}) {
        const auto response = ask(asked);
        EXPECT_EQ(patch_of(response), "");
        EXPECT_THAT(warnings_of(response), IsEmpty());
    }
}

TEST_F(PlacementAdmissionTest, UntilTheClusterIsKnownPodsPassWithAWarning) {
    know_demands(R"({"requireHostModelMigratabilityLevel":50})");

    const auto response = ask({});

    EXPECT_EQ(patch_of(response), "");
    EXPECT_THAT(warnings_of(response), ElementsAre(HasSubstr("has been read yet")));
    EXPECT_THAT(warnings_of(ask({.affinity = "null"})), IsEmpty());
    EXPECT_EQ(admission.counters().warned, 1U);
}

TEST_F(PlacementAdmissionTest, ALevelThatNoNodeHasIsToldToTheVmi) {
    know_nodes();
    know_demands(R"({"requireHostModelMigratabilityLevel":51})");

    const auto response = ask({});

    EXPECT_NE(patch_of(response), "");
    EXPECT_THAT(warnings_of(response),
                ElementsAre(HasSubstr("51 or above, which the KubeVirt object requires; the best "
                                      "there is is 50, on 2 of 3;")));
    const auto& told = written();
    ASSERT_EQ(told.size(), 1U);
    const auto& note = told[0].note;
    EXPECT_EQ(note.regarding, (kube::ObjectReference{.api_version = "kubevirt.io/v1",
                                                     .kind = "VirtualMachineInstance",
                                                     .space = "ns",
                                                     .name = "vm",
                                                     .uid = "v1"}));
    EXPECT_TRUE(note.warning);
    EXPECT_EQ(note.reason, "NoNodeWithMigratabilityLevel");
    EXPECT_THAT(note.note, HasSubstr("best there is is 50, on 2 of 3;"));
}

TEST_F(PlacementAdmissionTest, TheVmiIsToldOnceThoughTheServerAsksTwice) {
    know_nodes();
    know_demands(R"({"requireHostModelMigratabilityLevel":51})");
    auto affinity = json::parse(host_model_affinity);
    auto& expressions = affinity.at("nodeAffinity")
                            .at("requiredDuringSchedulingIgnoredDuringExecution")
                            .at("nodeSelectorTerms")
                            .at(0)
                            .at("matchExpressions");
    expressions.as_array().push_back(json::parse(patch_of(ask({}))).at(0).at("value"));
    EXPECT_EQ(events.waiting(), 1U);

    EXPECT_EQ(patch_of(ask({.affinity = json::serialize(affinity)})), "");

    EXPECT_EQ(events.waiting(), 1U);
}

TEST_F(PlacementAdmissionTest, NothingIsToldOfAVmiThatIsNotThere) {
    know_nodes();
    know_demands(R"({"requireHostModelMigratabilityLevel":51})");
    const json::object of_another{{"kubevirt.io", "virt-launcher"},
                                  {"kubevirt.io/created-by", "invented"}};

    EXPECT_NE(patch_of(ask({.labels = of_another})), "");

    EXPECT_EQ(events.waiting(), 0U);
}

TEST_F(PlacementAdmissionTest, ADryRunTellsOnlyWhoeverAsks) {
    know_nodes();
    know_demands(R"({"requireHostModelMigratabilityLevel":51})");

    const auto response = ask({.dry_run = true});

    EXPECT_NE(patch_of(response), "");
    EXPECT_THAT(warnings_of(response), ElementsAre(HasSubstr("best there is is 50")));
    EXPECT_EQ(events.waiting(), 0U);
}

TEST_F(PlacementAdmissionTest, FaultsOfDemandsAreWarnings) {
    know_nodes();
    know_demands(R"({"requireHostModelMigratabilityLevel":500})");

    const auto response = ask({});

    EXPECT_EQ(patch_of(response), "");
    EXPECT_THAT(warnings_of(response),
                ElementsAre(HasSubstr("virt-scout: requireHostModelMigratabilityLevel")));
}

TEST_F(PlacementAdmissionTest, WhatCannotBeReadPassesWithAWarning) {
    know_nodes();
    know_demands(R"({"requireHostModelMigratabilityLevel":50})");

    EXPECT_THAT(warnings_of(ask({.affinity = R"({"nodeAffinity":7})"})),
                ElementsAre(HasSubstr("/spec/affinity/nodeAffinity: expected an object")));
    EXPECT_THAT(warnings_of(ask({.affinity = "7"})),
                ElementsAre(HasSubstr("spec.affinity: expected an object")));
    EXPECT_THAT(warnings_of(ask({.kind = "Deployment"})),
                ElementsAre(HasSubstr("found Deployment and CREATE")));
    EXPECT_EQ(admission.counters().patched, 0U);
}

TEST_F(PlacementAdmissionTest, WhatIsNoReviewIsRefusedInASentence) {
    for (const char* body : {"", "{}", "[]", "\xff"}) {
        const auto answer = post(body);
        EXPECT_EQ(answer.status, 400U) << body;
        EXPECT_THAT(answer.body, HasSubstr("expected")) << body;
    }
    EXPECT_EQ(admission.counters().refused, 4U);
    EXPECT_EQ(admission.counters().admitted, 0U);
}

}  // namespace
}  // namespace scout::aggregator
