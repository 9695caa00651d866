// SPDX-License-Identifier: Apache-2.0
// The steps of an evacuation on a real API server with KubeVirt's definitions, but without its
// webhooks: what an eviction is where nobody stands in its way.
#include <filesystem>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/evacuation_acts.h"
#include "tests/kube/bed_fixture.h"
#include "tests/kube/bed_objects.h"
#include "tests/support/test_data.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::EvacuationStep;
using migration::MovePhase;
using migration::StepOutcome;
using testing::SizeIs;

class BedEvacuationActsTest : public test::BedTest {
protected:
    void SetUp() override {
        SCOUT_BED_OR_SKIP();
        SCOUT_TEST_DATA_OR_SKIP(data);
        BedTest::SetUp();
        serve(data, "virtualmachineinstances.kubevirt.io");
        serve(data, "virtualmachineinstancemigrations.kubevirt.io");
        space = new_space();
        make_vmi();
        make_pod();
    }

    /// Once in the program.
    void serve(const std::filesystem::path& data, const std::string& name) {
        kube::Target target{.resource = kube::resources::custom_resource_definitions(),
                            .object = {.name = name}};
        if (!call(client->get(target))) {
            // They are megabytes of YAML.
            static const auto definitions = test::kubevirt_definitions(data);
            create(target.resource, {}, definitions.at(name));
        }
        ASSERT_TRUE(run_until([this, &target] {
            const auto answer = call(client->get(target));
            return answer &&
                   answer->find("\"Established\",\"status\":\"True\"") != std::string::npos;
        }));
    }
    void make_vmi() {
        create(kube::resources::virtual_machine_instances(), space,
               {{"metadata", {{"name", "vm1"}, {"namespace", space}}},
                {"spec",
                 {{"evictionStrategy", "LiveMigrate"}, {"domain", {{"devices", json::object{}}}}}},
                {"status", {{"phase", "Running"}, {"nodeName", "n1"}}}});
        subject = {.space = space,
                   .vmi = "vm1",
                   .vmi_uid = uid_of(kube::resources::virtual_machine_instances(), "vm1"),
                   .pod = "launcher",
                   .pod_uid = {},
                   .node = "n1",
                   .strategy = {}};
    }
    void make_pod() {
        create(
            kube::resources::pods(), space,
            {{"metadata",
              {{"name", "launcher"}, {"namespace", space}, {"labels", {{"app", "launcher"}}}}},
             {"spec",
              {{"nodeName", "n1"}, {"containers", {{{"name", "compute"}, {"image", "none"}}}}}}});
        subject.pod_uid = uid_of(kube::resources::pods(), "launcher");
    }
    [[nodiscard]] json::value read(const kube::Resource& resource, const std::string& name) {
        return done(client->get({.resource = resource, .object = {.space = space, .name = name}}));
    }
    [[nodiscard]] std::string uid_of(const kube::Resource& resource, const std::string& name) {
        return std::string{test::at(read(resource, name), "/metadata/uid").as_string()};
    }
    [[nodiscard]] json::value vmi() {
        return read(kube::resources::virtual_machine_instances(), "vm1");
    }
    [[nodiscard]] bool pod_is_going() {
        const auto answer = call(client->get(
            {.resource = kube::resources::pods(), .object = {.space = space, .name = "launcher"}}));
        return !answer || answer->find("deletionTimestamp") != std::string::npos;
    }
    StepOutcome carry_out(EvacuationStep step, const std::string& object = {}) {
        return call(
            EvacuationActs(*client, clock).carry_out(subject, {.step = step, .object = object}));
    }
    std::vector<migration::MoveFacts> moves() {
        return call(EvacuationActs(*client, clock).list_moves(subject)).moves;
    }

    std::string space;
    EvacuationSubject subject;
};

TEST_F(BedEvacuationActsTest, ADryRunTellsThatNobodyStandsInTheWayAndTakesNothing) {
    EXPECT_EQ(carry_out(EvacuationStep::dry_run), StepOutcome::would_evict);
    EXPECT_FALSE(pod_is_going());
}

TEST_F(BedEvacuationActsTest, ABudgetIsARefusalAndNoMark) {
    create({.group = "policy",
            .version = "v1",
            .plural = "poddisruptionbudgets",
            .kind = "PodDisruptionBudget"},
           space,
           {{"metadata", {{"name", "b"}, {"namespace", space}}},
            {"spec",
             {{"maxUnavailable", 0}, {"selector", {{"matchLabels", {{"app", "launcher"}}}}}}}});
    // Without the controller that counts it stays as it is made: nothing may be disrupted.
    auto phase = json::parse(R"({"status":{"phase":"Running"}})");
    done(client->merge_patch({.resource = kube::resources::pods(),
                              .object = {.space = space, .name = "launcher"},
                              .subresource = "status"},
                             json::serialize(phase)));
    EXPECT_EQ(carry_out(EvacuationStep::dry_run), StepOutcome::refused);
    EXPECT_EQ(carry_out(EvacuationStep::evict), StepOutcome::refused);
    EXPECT_FALSE(pod_is_going());
}

TEST_F(BedEvacuationActsTest, APodOfTheSameNameIsAnotherOne) {
    subject.pod_uid = "00000000-0000-0000-0000-000000000000";
    // The API server takes it for a conflict that may pass, for longer than is waited.
    EXPECT_EQ(carry_out(EvacuationStep::evict), StepOutcome::unavailable);
    EXPECT_FALSE(pod_is_going());
}

TEST_F(BedEvacuationActsTest, AStampStaysWhereNobodyUndoesIt) {
    EXPECT_EQ(carry_out(EvacuationStep::stamp), StepOutcome::done);
    EXPECT_EQ(test::at(vmi(), "/status/evacuationNodeName"), "n1");
    const auto facts = call(EvacuationActs(*client, clock).read_vmi(subject)).facts;
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->marked_node, "n1");
    EXPECT_EQ(facts->phase, "Running");
}

TEST_F(BedEvacuationActsTest, AnotherVmiOfTheNameIsNotTouched) {
    subject.vmi_uid = "00000000-0000-0000-0000-000000000000";
    EXPECT_EQ(carry_out(EvacuationStep::stamp), StepOutcome::refused);
    EXPECT_EQ(carry_out(EvacuationStep::touch), StepOutcome::refused);
    EXPECT_TRUE(test::at(vmi(), "/metadata/annotations").is_null());
    EXPECT_TRUE(test::at(vmi(), "/status/evacuationNodeName").is_null());
}

TEST_F(BedEvacuationActsTest, ATouchChangesTheVmi) {
    EXPECT_EQ(carry_out(EvacuationStep::touch), StepOutcome::done);
    EXPECT_TRUE(test::at(vmi(), "/metadata/annotations/virt-scout.io~1released").is_string());
}

TEST_F(BedEvacuationActsTest, AMigrationOfOursIsMadeListedAndDeleted) {
    EXPECT_EQ(carry_out(EvacuationStep::create_move), StepOutcome::done);
    // The label is KubeVirt's webhook's.
    const auto all =
        done(client->get_path(kube::collection_path(kube::resources::migrations(), space)));
    const auto name = std::string{test::at(all, "/items/0/metadata/name").as_string()};
    done(client->merge_patch(
        {.resource = kube::resources::migrations(), .object = {.space = space, .name = name}},
        R"({"metadata":{"labels":{"kubevirt.io/vmi-name":"vm1"}}})"));

    const auto listed = moves();
    ASSERT_THAT(listed, SizeIs(1));
    EXPECT_EQ(listed.front().name, name);
    EXPECT_EQ(listed.front().phase, MovePhase::pending);
    EXPECT_EQ(carry_out(EvacuationStep::delete_move, name), StepOutcome::done);
    EXPECT_EQ(carry_out(EvacuationStep::delete_move, name), StepOutcome::done);
    EXPECT_THAT(moves(), SizeIs(0));
}

TEST_F(BedEvacuationActsTest, WithoutKubeVirtsServerNoMarkIsCancelled) {
    // Its API group is not served: as good as nothing to cancel.
    EXPECT_EQ(carry_out(EvacuationStep::cancel_mark), StepOutcome::done);
}

}  // namespace
}  // namespace scout::cluster
