// SPDX-License-Identifier: Apache-2.0
// Moving VMs on a real API server with KubeVirt's definitions and our own manifests, ordered by an
// agent over gRPC that shows the token of its pod. Without KubeVirt an eviction is one.
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/bed_moving_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
namespace v1 = virt_scout::v1;
using testing::HasSubstr;
using namespace std::chrono_literals;
using Result = v1::EvacuationResult;

TEST_F(BedMovingTest, AnAgentHearsRulesAndFactsAndHasItsOrdersCarriedOut) {
    auto agent = agent_on(one);
    ASSERT_TRUE(run_until([&] { return rules(*agent).mode() == v1::EvacuationRules::MODE_ACT; }));
    name(*agent, {"web"});
    ASSERT_TRUE(run_until([&] { return facts(*agent).has_vmi(); }));
    EXPECT_EQ(facts(*agent).vmi().node(), one);
    EXPECT_EQ(facts(*agent).vmi().grace_seconds(), 77);
    EXPECT_EQ(facts(*agent).pod().launcher_grace_seconds(), 92);
    EXPECT_TRUE(facts(*agent).moves_known());

    EXPECT_EQ(order(*agent, "web", "read-vmi").vmi().uid(), uid_of_vm("web"));
    // Nobody undoes it here, and our own fence lets it pass.
    EXPECT_EQ(order(*agent, "web", "stamp").outcome(), Result::DONE);
    EXPECT_EQ(test::at(vmi("web"), "/status/evacuationNodeName"), json::value(json::string(one)));
    EXPECT_TRUE(run_until([&] { return facts(*agent).vmi().marked_node() == one; }));
    // Nor does anybody stand in the way of an eviction: so there is none.
    EXPECT_EQ(order(*agent, "web", "dry-run").outcome(), Result::WOULD_EVICT);
    EXPECT_EQ(order(*agent, "web", "evict").outcome(), Result::REFUSED);
    EXPECT_TRUE(
        test::at(read(kube::resources::pods(), "virt-launcher-web"), "/metadata/deletionTimestamp")
            .is_null());

    EXPECT_EQ(order(*agent, "web", "create-move").outcome(), Result::DONE);
    ASSERT_TRUE(run_until([&] { return facts(*agent).moves_size() == 1; }));
    const auto move = facts(*agent).moves(0).name();
    EXPECT_THAT(move, HasSubstr("virt-scout-"));
    EXPECT_EQ(order(*agent, "web", "delete-move", move).outcome(), Result::DONE);
    EXPECT_TRUE(run_until([&] { return facts(*agent).moves_size() == 0; }));
    EXPECT_EQ(order(*agent, "web", "touch").outcome(), Result::DONE);
    EXPECT_TRUE(test::at(vmi("web"), "/metadata/annotations/virt-scout.io~1released").is_string());
}

TEST_F(BedMovingTest, AMoveHasAPolicyOfItsOwnUntilItHasEnded) {
    json::object selectors{{"virtualMachineInstanceSelector", {{"kubevirt.io/nodeName", one}}}};
    json::object spec{{"bandwidthPerMigration", "64Mi"}, {"selectors", std::move(selectors)}};
    create(kube::resources::migration_policies(), {},
           {{"metadata", {{"name", shop + "-slow"}}}, {"spec", std::move(spec)}});
    set_mode("act", "pause");
    auto agent = agent_on(one);
    name(*agent, {"web"});
    const auto numbers = [&] { return facts(*agent).numbers(); };
    const auto slow = [&] { return numbers().bandwidth() == 64U << 20U; };
    ASSERT_TRUE(run_until([&] { return rules(*agent).escalation() == "pause" && slow(); }));
    EXPECT_EQ(order(*agent, "web", "escalate", "2").outcome(), Result::DONE);
    EXPECT_TRUE(run_until([&] { return numbers().escalated(); }));
    EXPECT_TRUE(numbers().completion_seconds_per_gib() == 2 && slow()) << "copied";
    name(*agent, {"web"}, "given-up");
    EXPECT_TRUE(run_until([&] { return !numbers().escalated(); })) << "removed";
}

TEST_F(BedMovingTest, AnotherNodesVmIsRefused) {
    auto agent = agent_on(one);
    name(*agent, {"web", "db"});
    ASSERT_TRUE(run_until([&] { return facts(*agent).slots() > 0; }));

    const auto refused = order(*agent, "db", "evict");

    EXPECT_EQ(refused.outcome(), Result::REFUSED);
    EXPECT_THAT(refused.text(), HasSubstr("on node " + one));
    EXPECT_EQ(order(*agent, "db", "read-vmi").outcome(), Result::REFUSED);
    EXPECT_EQ(order(*agent, "db", "touch").outcome(), Result::REFUSED);
    EXPECT_TRUE(test::at(vmi("db"), "/metadata/annotations").is_null());
    EXPECT_EQ(side->facts().evacuations.foreign, 3U);
}

TEST_F(BedMovingTest, TheTargetOfItsMigrationMayBeRemovedAndNoOtherPod) {
    const std::string target = "virt-launcher-web-target";
    auto agent = agent_on(one);
    name(*agent, {"web"});
    EXPECT_EQ(order(*agent, "web", "create-move").outcome(), Result::DONE);
    ASSERT_TRUE(run_until([&] { return facts(*agent).moves_size() == 1; }));
    const auto move = facts(*agent).moves(0).name();
    const auto move_uid = std::string{
        test::at(read(kube::resources::migrations(), move), "/metadata/uid").as_string()};
    create(kube::resources::pods(), shop,
           {{"metadata",
             {{"name", target},
              {"labels",
               {{"kubevirt.io", "virt-launcher"},
                {"kubevirt.io/created-by", uid_of_vm("web")},
                {"kubevirt.io/migrationJobUID", move_uid}}},
              {"annotations", {{"kubevirt.io/domain", "web"}}}}},
            {"spec",
             {{"nodeName", two},
              {"terminationGracePeriodSeconds", 0},
              {"automountServiceAccountToken", false},
              {"containers", {{{"name", "compute"}, {"image", "none"}}}}}}});
    const json::object state{
        {"status", {{"migrationState", {{"migrationUid", move_uid}, {"targetPod", target}}}}}};
    done(client->merge_patch({.resource = kube::resources::virtual_machine_instances(),
                              .object = {.space = shop, .name = "web"}},
                             json::serialize(state)));
    ASSERT_TRUE(run_until([&] {
        return facts(*agent).moves_size() == 1 && facts(*agent).moves(0).target_pod() == target;
    }));

    EXPECT_EQ(order(*agent, "web", "delete-target", "virt-launcher-db").outcome(), Result::REFUSED);
    EXPECT_EQ(order(*agent, "web", "delete-target", "virt-launcher-web").outcome(),
              Result::REFUSED);
    EXPECT_EQ(order(*agent, "web", "delete-target", target).outcome(), Result::DONE);
    EXPECT_TRUE(run_until([&] {
        return !call(client->get(
            {.resource = kube::resources::pods(), .object = {.space = shop, .name = target}}));
    }));
}

TEST_F(BedMovingTest, TheHookComesWithAnAgentAndGoesWithTheModeAndLeavesOthersFieldsAlone) {
    EXPECT_EQ(hook_condition(), "none");
    auto agent = agent_on(one);
    // A leader makes none before it has listened for agents long enough.
    const auto is_there = [this, &agent] {
        agent->beat();
        return hook_condition() != "none";
    };
    ASSERT_TRUE(run_until(is_there) || run_until(is_there));
    const auto owner = test::at(done(client->get(plugin())), "/metadata/ownerReferences/0");
    EXPECT_EQ(test::at(owner, "/kind"), "ClusterRole");
    const auto role = done(client->get({.resource = kube::resources::cluster_roles(),
                                        .object = {.space = {}, .name = "virt-scout-aggregator"}}));
    EXPECT_EQ(test::at(owner, "/uid"), test::at(role, "/metadata/uid"));
    // The other node has no agent, which is known once nobody has heard of one for long enough.
    const auto leaves_out_two = [this, &agent] {
        agent->beat();
        return hook_condition().find("\"" + two + "\"") != std::string::npos;
    };
    ASSERT_TRUE(run_until(leaves_out_two) || run_until(leaves_out_two));
    EXPECT_EQ(hook_condition().find("\"" + one + "\""), std::string::npos);

    done(client->merge_patch(plugin(), R"({"metadata":{"labels":{"of":"others"}},)"
                                       R"("spec":{"failureStrategy":"Ignore"}})"));
    done(client->json_patch(
        plugin(), R"([{"op":"replace","path":"/spec/nodeHooks/0/timeout","value":"9s"}])"));
    EXPECT_TRUE(run_until([this] {
        return test::at(done(client->get(plugin())), "/spec/nodeHooks/0/timeout") == "5s";
    })) << "what is ours is put right";
    const auto now = done(client->get(plugin()));
    EXPECT_EQ(test::at(now, "/metadata/labels/of"), "others");
    EXPECT_EQ(test::at(now, "/spec/failureStrategy"), "Ignore");
    const auto reason = [this] {
        return test::at(done(client->get(config())), "/status/conditions/1/reason");
    };
    EXPECT_TRUE(run_until([&reason] { return reason() == "NodeHook"; }));

    set_mode("observe");
    EXPECT_TRUE(run_until([this] { return hook_condition() == "none"; }));
    EXPECT_TRUE(run_until([&reason] { return reason() == "NotActing"; }));
}

}  // namespace
}  // namespace scout::aggregator
