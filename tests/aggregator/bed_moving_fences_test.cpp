// SPDX-License-Identifier: Apache-2.0
// What daemonset/base/fences.yaml leaves of the rights by which VMs are moved.
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "cluster/hook_plugin.h"
#include "cluster/move_object.h"
#include "cluster/move_policy.h"
#include "cluster/relief_facts.h"
#include "cluster/target_term.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/support/test_data.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

constexpr kube::CallOptions trial{.dry_run = true};

class BedMovingFencesTest : public BedClusterTest {
protected:
    void SetUp() override {
        SCOUT_BED_OR_SKIP();
        SCOUT_TEST_DATA_OR_SKIP(data);
        BedClusterTest::SetUp();
        serve_kubevirt(data);
        for (const auto* file : {"namespace.yaml", "accounts.yaml", "roles.yaml", "fences.yaml"}) {
            apply_manifest(file);
        }
        shop = new_space();
        create(kube::resources::virtual_machine_instances(), shop,
               {{"metadata", {{"name", "web"}, {"annotations", {{"a", "b"}}}}},
                {"spec", {{"domain", {{"devices", json::object{}}}}}},
                {"status", {{"phase", "Running"}, {"nodeName", "n1"}}}});
        way.emplace(loop.get_executor(),
                    test::with_token(access, token_of("virt-scout", "virt-scout-aggregator", {})),
                    clock);
        own.emplace(*way, clock, kube::ClientConfig{});
        // New policies are in force a moment after they were taken.
        ASSERT_TRUE(
            run_until([this] { return !patch(R"({"metadata":{"labels":{"x":"y"}}})").empty(); }));
    }
    void TearDown() override {
        if (way) {
            way->close_idle();
        }
        BedClusterTest::TearDown();
    }

    [[nodiscard]] static std::string refusal(const kube::ApiResult<std::string>& answer) {
        return answer ? std::string{} : answer.error().text;
    }
    [[nodiscard]] std::string patch(const std::string& body) {
        return refusal(
            call(own->merge_patch({.resource = kube::resources::virtual_machine_instances(),
                                   .object = {.space = shop, .name = "web"}},
                                  body, trial)));
    }
    [[nodiscard]] std::string make_move(json::object metadata, json::object spec) {
        const json::object body{{"apiVersion", "kubevirt.io/v1"},
                                {"kind", "VirtualMachineInstanceMigration"},
                                {"metadata", std::move(metadata)},
                                {"spec", std::move(spec)}};
        return refusal(call(own->create(
            {.resource = kube::resources::migrations(), .object = {.space = shop, .name = {}}},
            json::serialize(body), trial)));
    }
    void make_pod(const std::string& name, json::object labels) {
        create(kube::resources::pods(), shop,
               {{"metadata", {{"name", name}, {"labels", std::move(labels)}}},
                {"spec",
                 {{"automountServiceAccountToken", false},
                  {"containers", {{{"name", "c"}, {"image", "none"}}}}}}});
    }
    [[nodiscard]] std::string remove(const kube::Resource& resource, const std::string& name) {
        const auto answer = call(own->remove(
            {.resource = resource, .object = {.space = shop, .name = name}}, {}, trial));
        return answer ? std::string{} : answer.error().text;
    }

    std::string shop;
    std::optional<kube::HttpTransport> way;
    std::optional<kube::Client> own;
};

TEST_F(BedMovingFencesTest, OfPluginsTheHookThatAsksOurAgentsIsLeft) {
    const cluster::HookOwner owner{.api_version = "rbac.authorization.k8s.io/v1",
                                   .kind = "ClusterRole",
                                   .name = "virt-scout-aggregator",
                                   .uid = "u"};
    const auto apply = [this](const json::value& body) {
        return refusal(call(own->apply(
            {.resource = kube::resources::plugins(), .object = {.space = {}, .name = "virt-scout"}},
            json::serialize(body), {}, trial)));
    };
    const auto good = json::parse(cluster::hook_plugin_body(owner, cluster::hook_condition({})));
    const auto with = [&good](const char* key, const json::value& value) {
        auto body = good;
        body.at("spec").at("nodeHooks").at(0).as_object()[key] = value;
        return body;
    };
    // A new policy is in force a moment after it was taken.
    ASSERT_TRUE(run_until([&] { return !apply(with("condition", "true")).empty(); }));
    EXPECT_EQ(apply(good), "");
    const json::string without_two{cluster::hook_condition({"n1", "n-2.example"})};
    EXPECT_EQ(apply(with("condition", without_two)), "");

    for (const auto& condition : {R"(1 / 0 == 1)", R"(vmi.status.phase == "Running")", ""}) {
        EXPECT_THAT(apply(with("condition", condition)), HasSubstr("node hook asks")) << condition;
    }
    EXPECT_THAT(apply(with("socket", "/var/run/other.sock")), HasSubstr("node hook asks"));
    EXPECT_THAT(apply(with("timeout", "300s")), HasSubstr("node hook asks"));
    EXPECT_THAT(apply(with("permittedHooks", {"PreVMStop", "PreVMStart"})),
                HasSubstr("node hook asks"));
    auto more = good;
    more.at("spec").as_object()["domainHooks"] = json::array{json::object{}};
    EXPECT_NE(apply(more), "");
}

TEST_F(BedMovingFencesTest, OfAVmiTheMarkAndOurAnnotationAreLeft) {
    EXPECT_EQ(patch(R"({"metadata":{"annotations":{"virt-scout.io/released":"now"}}})"), "");
    EXPECT_EQ(patch(R"({"status":{"evacuationNodeName":"n1"}})"), "");

    EXPECT_THAT(patch(R"({"status":{"evacuationNodeName":"n2"}})"), HasSubstr("but the one"));
    EXPECT_THAT(patch(R"({"status":{"nodeName":"n2"}})"), HasSubstr("only evacuationNodeName"));
    EXPECT_THAT(patch(R"({"status":{"phase":null}})"), HasSubstr("only evacuationNodeName"));
    EXPECT_THAT(patch(R"({"metadata":{"annotations":{"kubevirt.io/eviction-source":"x"}}})"),
                HasSubstr("changes only virt-scout.io/released"));
    EXPECT_THAT(patch(R"({"metadata":{"annotations":{"a":null}}})"), HasSubstr("changes only"));
    EXPECT_THAT(patch(R"({"metadata":{"labels":{"a":"b"}}})"), HasSubstr("nothing else of it"));
    EXPECT_THAT(patch(R"({"metadata":{"finalizers":["a.example/b"]}})"),
                HasSubstr("nothing else of it"));
    EXPECT_THAT(patch(R"({"spec":{"evictionStrategy":"None"}})"), HasSubstr("nothing else of it"));
}

TEST_F(BedMovingFencesTest, PlainMigrationsAreMadeAndRemovedUntilTheyEnd) {
    EXPECT_EQ(make_move({{"generateName", "virt-scout-"}}, {{"vmiName", "web"}}), "");
    EXPECT_THAT(make_move({{"name", "other"}}, {{"vmiName", "web"}}), HasSubstr("is called"));
    EXPECT_THAT(make_move({{"generateName", "virt-scout-"}},
                          {{"vmiName", "web"}, {"priority", "system-critical"}}),
                HasSubstr("no more"));
    for (const auto* phase : {"Running", "Succeeded"}) {
        const std::string name = phase[0] == 'R' ? "runs" : "over";
        create(kube::resources::migrations(), shop,
               {{"metadata", {{"name", name}}}, {"spec", {{"vmiName", "web"}}}});
        const json::object status{{"status", {{"phase", phase}}}};
        done(client->merge_patch({.resource = kube::resources::migrations(),
                                  .object = {.space = shop, .name = name},
                                  .subresource = "status"},
                                 json::serialize(status)));
    }
    EXPECT_EQ(remove(kube::resources::migrations(), "runs"), "");
    EXPECT_THAT(remove(kube::resources::migrations(), "over"), HasSubstr("has ended"));
}

TEST_F(BedMovingFencesTest, OfAMigrationOfOthersTheAnnotationsThatSayWhoWantedItAreLeft) {
    create(kube::resources::migrations(), shop,
           {{"metadata", {{"name", "theirs"}, {"annotations", {{"a", "b"}}}}},
            {"spec", {{"vmiName", "web"}}}});
    const kube::Target theirs{.resource = kube::resources::migrations(),
                              .object = {.space = shop, .name = "theirs"}};
    const auto note = [this, &theirs](const std::string& body) {
        return refusal(call(own->merge_patch(theirs, body, trial)));
    };
    // A new policy is in force a moment after it was taken.
    ASSERT_TRUE(
        run_until([&note] { return !note(R"({"metadata":{"labels":{"x":"y"}}})").empty(); }));
    EXPECT_EQ(
        note(R"({"metadata":{"annotations":{"virt-scout.io/migration-cause":"drain",)"
             R"("virt-scout.io/requested-by":"ann","virt-scout.io/migration-mode":"PostCopy"}}})"),
        "");
    EXPECT_EQ(note(R"({"metadata":{"annotations":{"virt-scout.io/migration-cause":"taint"}}})"),
              "");
    EXPECT_EQ(
        note(R"({"metadata":{"annotations":{"virt-scout.io/migration-cause":"preemption"}}})"), "");
    EXPECT_EQ(note(R"({"metadata":{"annotations":{"virt-scout.io/migration-cause":null}}})"), "");

    EXPECT_THAT(note(R"({"metadata":{"annotations":{"virt-scout.io/migration-cause":"moon"}}})"),
                HasSubstr("words that there are"));
    EXPECT_THAT(note(R"({"metadata":{"annotations":{"virt-scout.io/migration-mode":"Fast"}}})"),
                HasSubstr("words that there are"));
    EXPECT_THAT(note(R"({"metadata":{"annotations":{"virt-scout.io/requested-by":")" +
                     std::string(300, 'x') + R"("}}})"),
                HasSubstr("words that there are"));
    EXPECT_THAT(note(R"({"metadata":{"annotations":{"kubevirt.io/evacuationMigration":"n1"}}})"),
                HasSubstr("changes only virt-scout.io/migration-cause"));
    EXPECT_THAT(note(R"({"metadata":{"annotations":{"a":null}}})"), HasSubstr("changes only"));
    EXPECT_THAT(note(R"({"metadata":{"labels":{"a":"b"}}})"), HasSubstr("nothing else of it"));
    EXPECT_THAT(note(R"({"metadata":{"finalizers":["a.example/b"]}})"),
                HasSubstr("nothing else of it"));
    EXPECT_THAT(note(R"({"spec":{"vmiName":"db"}})"), HasSubstr("nothing else of it"));
    EXPECT_THAT(refusal(call(own->merge_patch({.resource = kube::resources::migrations(),
                                               .object = theirs.object,
                                               .subresource = "status"},
                                              R"({"status":{"phase":"Failed"}})", trial))),
                HasSubstr("cannot patch"));
}

/// The body is what the product makes.
TEST_F(BedMovingFencesTest, OfPoliciesThoseOfSingleMovesAreMadeAndRemoved) {
    cluster::MovePolicy policy{
        .escalation = migration::Escalation::pause,
        .completion_per_gib = std::chrono::seconds{2},
        .selectors = {.space = {{"kubernetes.io/metadata.name", "shop"}},
                      .vmi = {{"kubevirt.io/nodeName", "n1"}, {"app", "web"}}},
        .based_on = {}};
    const auto make = [this](const std::string& body) {
        return refusal(call(own->create(
            {.resource = kube::resources::migration_policies(), .object = {}}, body, trial)));
    };
    const auto good = cluster::move_policy_body(policy, "u-1", {{"bandwidthPerMigration", "1Gi"}});
    const auto other = [&good](const char* name) {
        auto body = json::parse(good);
        body.at("metadata").as_object()["name"] = name;
        return json::serialize(body);
    };
    ASSERT_TRUE(run_until([&] { return !make(other("theirs")).empty(); }));
    EXPECT_EQ(make(good), "");
    EXPECT_THAT(make(other("theirs")), HasSubstr("is called virt-scout-move-"));
    EXPECT_THAT(make(other("virt-scout-move-u-2")), HasSubstr("is called virt-scout-move-"));
    policy.selectors.vmi.erase("kubevirt.io/nodeName");
    EXPECT_THAT(make(cluster::move_policy_body(policy, "u-1", {})), HasSubstr("one node"));
    policy.selectors.space.clear();
    EXPECT_THAT(make(cluster::move_policy_body(policy, "u-1", {})), HasSubstr("one namespace"));

    const auto& kind = kube::resources::migration_policies();
    create(kind, {}, json::parse(good).as_object());
    create(kind, {}, json::parse(other("theirs")).as_object());
    const auto remove_one = [this, &kind](const std::string& name) {
        const auto answer =
            call(own->remove({.resource = kind, .object = {.space = {}, .name = name}}, {}, trial));
        return answer ? std::string{} : answer.error().text;
    };
    EXPECT_EQ(remove_one("virt-scout-move-u-1"), "");
    EXPECT_THAT(remove_one("theirs"), HasSubstr("labelled virt-scout.io/tune"));
    const auto changed =
        call(own->merge_patch({.resource = kind, .object = {.name = "virt-scout-move-u-1"}},
                              R"({"spec":{"allowPostCopy":true}})", trial));
    EXPECT_FALSE(changed) << "neither by right nor by fence";
}

TEST_F(BedMovingFencesTest, OfPoliciesOfUsersThoseAreRemovedThatSayWhenTheyEnd) {
    const auto& kind = kube::resources::migration_policies();
    const auto put = [this, &kind](const std::string& name, json::object labels,
                                   json::object annotations) {
        create(kind, {},
               {{"metadata",
                 {{"name", name},
                  {"labels", std::move(labels)},
                  {"annotations", std::move(annotations)}}},
                {"spec", {{"selectors", json::object{}}}}});
    };
    const json::object ends{{"virt-scout.io/expires", "2026-11-30T18:00:00Z"}};
    const json::object label{{"virt-scout.io/tune", "true"}};
    put("fence-tuned", label, ends);
    put("fence-label-alone", label, {});
    put("fence-note-alone", {}, ends);
    put("fence-other-label", {{"virt-scout.io/tune", "false"}}, ends);
    const auto remove_one = [this, &kind](const std::string& name) {
        const auto answer =
            call(own->remove({.resource = kind, .object = {.space = {}, .name = name}}, {}, trial));
        return answer ? std::string{} : answer.error().text;
    };
    ASSERT_TRUE(run_until([&] { return !remove_one("fence-note-alone").empty(); }));
    EXPECT_EQ(remove_one("fence-tuned"), "");
    for (const auto* name : {"fence-label-alone", "fence-note-alone", "fence-other-label"}) {
        EXPECT_THAT(remove_one(name), HasSubstr("labelled virt-scout.io/tune")) << name;
    }
    const json::object made{
        {"apiVersion", "migrations.kubevirt.io/v1alpha1"},
        {"kind", "MigrationPolicy"},
        {"metadata", {{"name", "fence-new"}, {"labels", label}, {"annotations", ends}}},
        {"spec", {{"selectors", json::object{}}}}};
    EXPECT_THAT(
        refusal(call(own->create({.resource = kind, .object = {}}, json::serialize(made), trial))),
        HasSubstr("is called virt-scout-move-"))
        << "users make them, with their own rights";
}

TEST_F(BedMovingFencesTest, OfPodsLaunchersAreEvictedAndTargetsRemoved) {
    make_pod("virt-launcher-web-a", {{"kubevirt.io", "virt-launcher"}});
    make_pod("virt-launcher-web-b",
             {{"kubevirt.io", "virt-launcher"}, {"kubevirt.io/migrationJobUID", "u"}});
    make_pod("etcd-0", {{"app", "etcd"}});
    const auto evict = [this](const std::string& name) {
        const auto answer = call(own->evict({.space = shop, .name = name}, {}, trial));
        return answer ? std::string{} : answer.error().text;
    };
    EXPECT_EQ(evict("virt-launcher-web-a"), "");
    EXPECT_THAT(evict("etcd-0"), HasSubstr("launchers alone"));
    EXPECT_EQ(remove(kube::resources::pods(), "virt-launcher-web-b"), "");
    EXPECT_THAT(remove(kube::resources::pods(), "virt-launcher-web-a"),
                HasSubstr("but targets of migrations"));
    EXPECT_THAT(remove(kube::resources::pods(), "etcd-0"), HasSubstr("but targets"));
}

TEST_F(BedMovingFencesTest, MigrationsAheadOfPressureAreOurs) {
    const migration::ReliefMove move{.node = "n1",
                                     .pod_uid = "p",
                                     .vmi = shop + "/web",
                                     .vmi_uid = "u",
                                     .signal = migration::PressureSignal::memory_available,
                                     .soft = true,
                                     .at = 1,
                                     .expected = std::nullopt,
                                     .frees = 1};
    const auto body = cluster::with_sentinel(cluster::relief_object(move, {"n1", "n2.example"}));
    // Other tests leave it here, and no Service leads to anybody.
    static_cast<void>(call(client->remove({.resource = {.group = "admissionregistration.k8s.io",
                                                        .version = "v1",
                                                        .plural = "mutatingwebhookconfigurations",
                                                        .kind = "MutatingWebhookConfiguration",
                                                        .namespaced = false},
                                           .object = {.space = {}, .name = "virt-scout-target"}},
                                          {})));
    kube::ApiResult<std::string> made;
    ASSERT_TRUE(run_until([&] {
        made = call(own->create(
            {.resource = kube::resources::migrations(), .object = {.space = shop, .name = {}}},
            body, trial));
        return made.has_value();
    })) << made.error().text;
    const auto carried = cluster::read_carried_move(*made);
    ASSERT_TRUE(carried) << carried.error().message;
    EXPECT_THAT(carried->request.faults, testing::IsEmpty());
    EXPECT_EQ(carried->sentinel(), cluster::sentinel_of(carried->request.wish.term.value()));
    kube::Node node;
    node.meta.name = "n2.example";
    EXPECT_FALSE(cluster::is_asked_for(cluster::asked_of_nodes(*carried), node));
    node.meta.name = "n3";
    EXPECT_TRUE(cluster::is_asked_for(cluster::asked_of_nodes(*carried), node));
}

}  // namespace
}  // namespace scout::aggregator
