// SPDX-License-Identifier: Apache-2.0
#include "cluster/tune_plan.h"

#include <string>
#include <utility>

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/decode_text.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::Labels;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

template <class T>
T decoded(std::string text, Result<T> (*decoder)(kube::JsonObject&)) {
    return kube::decode_text(text, decoder).value();
}

class TunePlanTest : public testing::Test {
protected:
    TunePlanTest() {
        objects.namespaces.push_back(decoded(R"({"metadata":{"name":"shop","labels":{
                "kubernetes.io/metadata.name":"shop","team":"a"}}})",
                                             &kube::decode_labelled));
        put_vmi("web", R"("app":"web","kubevirt.io/nodeName":"n1")");
        put_vmi("db", R"("app":"db","kubevirt.io/nodeName":"n1")");
        objects.kubevirts.push_back(
            decoded(R"({"metadata":{"name":"kubevirt"},"spec":{"configuration":{
                "migrations":{"completionTimeoutPerGiB":200}}},"status":{"phase":"Deployed"}})",
                    &kube::decode_kubevirt));
    }
    void put_vmi(const std::string& name, const std::string& labels,
                 const std::string& status = "{}") {
        objects.vmis.push_back(
            decoded(R"({"metadata":{"name":")" + name + R"(","namespace":"shop","uid":"uid of )" +
                        name + R"(","labels":{)" + labels + R"(}},"status":)" + status + "}",
                    &kube::decode_vmi));
    }
    void put_policy(const std::string& name, const std::string& spec,
                    const std::string& metadata = {}) {
        objects.policies.push_back(decoded(R"({"metadata":{"name":")" + name +
                                               R"(","resourceVersion":"v-)" + name + '"' +
                                               metadata + R"(},"spec":)" + spec + "}",
                                           &kube::decode_migration_policy));
    }
    [[nodiscard]] TunePlan plan(migration::PolicySelectors selectors, TuneFields fields,
                                const std::string& name = "tune") const {
        auto planned = plan_tune(
            objects,
            {.name = name, .selectors = std::move(selectors), .fields = std::move(fields)});
        EXPECT_TRUE(planned) << planned.error().message;
        return planned ? *std::move(planned) : TunePlan{};
    }
    [[nodiscard]] static std::vector<std::string> names_of(const DisplacedPolicy& displaced) {
        std::vector<std::string> names;
        for (const auto& change : displaced.changes) {
            names.emplace_back(change.before.name);
        }
        return names;
    }

    Objects objects;
    const TuneFields post_copy{.bandwidth = {},
                               .completion_seconds_per_gib = {},
                               .auto_converge = {},
                               .post_copy = true,
                               .workload_disruption = {}};
};

constexpr const char* of_web = R"({"virtualMachineInstanceSelector":{"app":"web"}})";

TEST_F(TunePlanTest, WhereOnePolicyIsAppliedToAllTheRestIsCopiedOfIt) {
    put_policy("gold", R"({"selectors":{},"bandwidthPerMigration":"64Mi",
                           "completionTimeoutPerGiB":30})");

    const auto planned = plan({.space = {{"team", "a"}}, .vmi = {}}, post_copy);

    EXPECT_THAT(planned.vms, ElementsAre("shop/web", "shop/db"));
    EXPECT_EQ(planned.based_on, "gold");
    EXPECT_EQ(planned.based_on_version, "v-gold");
    ASSERT_THAT(planned.displaced, SizeIs(1));
    EXPECT_EQ(planned.displaced[0].policy, "gold");
    EXPECT_EQ(planned.displaced[0].vms, 2U);
    EXPECT_THAT(names_of(planned.displaced[0]),
                ElementsAre("allowPostCopy", "allowWorkloadDisruption"))
        << "the one follows the other, and the numbers of gold stay";
    EXPECT_THAT(planned.notes, IsEmpty());
}

TEST_F(TunePlanTest, WhereTheyGoByDifferentOnesWhatIsNotNamedFallsToTheKubeVirtObject) {
    put_policy("gold",
               std::string{R"({"bandwidthPerMigration":"64Mi","selectors":)"} + of_web + "}");

    const auto planned = plan(
        {.space = {{"team", "a"}, {"kubernetes.io/metadata.name", "shop"}}, .vmi = {}}, post_copy);

    EXPECT_EQ(planned.based_on, "");
    ASSERT_THAT(planned.displaced, SizeIs(2));
    EXPECT_EQ(planned.displaced[0].policy, "");
    EXPECT_THAT(names_of(planned.displaced[0]),
                ElementsAre("allowPostCopy", "allowWorkloadDisruption"));
    EXPECT_EQ(planned.displaced[1].policy, "gold");
    ASSERT_THAT(names_of(planned.displaced[1]),
                ElementsAre("allowPostCopy", "allowWorkloadDisruption", "bandwidthMiBps"));
    const auto& bandwidth = planned.displaced[1].changes[2];
    EXPECT_EQ(bandwidth.before.value, (decltype(NumberInForce::value){std::int64_t{64}}));
    EXPECT_EQ(bandwidth.after.value, (decltype(NumberInForce::value){})) << "no limit";
    EXPECT_THAT(planned.notes, ElementsAre(AllOf(HasSubstr("(none, gold)"),
                                                 HasSubstr("as the KubeVirt object has it"))));
}

TEST_F(TunePlanTest, WhoeverNamesMoreLabelsIsNotDisplaced) {
    put_policy("narrow", R"({"selectors":{"namespaceSelector":{"team":"a"},
                             "virtualMachineInstanceSelector":{"app":"web"}}})");

    const auto planned = plan({.space = {{"team", "a"}}, .vmi = {}}, post_copy);

    EXPECT_THAT(planned.vms, ElementsAre("shop/db"));
    ASSERT_THAT(planned.outranked_by, SizeIs(1));
    EXPECT_EQ(planned.outranked_by[0].policy, "narrow");
    EXPECT_EQ(planned.outranked_by[0].why, "names more labels: 2, this one 1");
    EXPECT_THAT(planned.outranked_by[0].vms, ElementsAre("shop/web"));
}

TEST_F(TunePlanTest, ATieGoesByLabelsOfTheVmAndThenByTheName) {
    put_policy("b", std::string{R"({"selectors":)"} + of_web + "}");
    const auto by_space = plan({.space = {{"team", "a"}}, .vmi = {}}, post_copy);
    ASSERT_THAT(by_space.outranked_by, SizeIs(1));
    EXPECT_THAT(by_space.outranked_by[0].why, HasSubstr("more of the VMI's: 1, this one 0"));

    const auto higher = plan({.space = {}, .vmi = {{"app", "web"}}}, post_copy, "c");
    ASSERT_THAT(higher.outranked_by, SizeIs(1));
    EXPECT_THAT(higher.outranked_by[0].why, HasSubstr("has a lower name: a --name below it"));
    EXPECT_THAT(higher.vms, IsEmpty());

    const auto lower = plan({.space = {}, .vmi = {{"app", "web"}}}, post_copy, "a");
    EXPECT_THAT(lower.vms, ElementsAre("shop/web"));
    EXPECT_EQ(lower.based_on, "b");
}

TEST_F(TunePlanTest, PoliciesOfSingleMovesComeAndGo) {
    put_policy("virt-scout-move-u", R"({"selectors":{"namespaceSelector":{"team":"a"},
        "virtualMachineInstanceSelector":{"app":"web"}}})",
               R"(,"labels":{"virt-scout.io/move-of":"u"})");
    const auto planned = plan({.space = {}, .vmi = {{"app", "web"}}}, post_copy);
    EXPECT_THAT(planned.vms, ElementsAre("shop/web"));
    EXPECT_EQ(planned.based_on, "");
}

TEST_F(TunePlanTest, WhatIsHandedOffAndWhatIsRoundedIsSaid) {
    put_vmi("old", R"("app":"old")", R"({"migrationState":{"migrationUid":"m"}})");
    auto fields = post_copy;
    fields.bandwidth = "100Ki";
    const auto planned = plan({.space = {}, .vmi = {{"app", "old"}}}, fields);
    EXPECT_THAT(planned.notes, testing::Contains(HasSubstr("becomes 1 MiB/s")));
    EXPECT_THAT(planned.notes, testing::Contains(HasSubstr("1 of these VMs are being migrated")));

    fields.bandwidth = "fast";
    EXPECT_FALSE(plan_tune(objects, {.name = "t", .selectors = {}, .fields = fields}));
    put_policy("t", R"({"selectors":{}})");
    EXPECT_FALSE(plan_tune(objects, {.name = "t", .selectors = {}, .fields = post_copy}));
}

TEST_F(TunePlanTest, OneVmIsChosenByWhatNoOtherHas) {
    const auto web = choose_alone(objects, objects.vmis[0]);
    ASSERT_TRUE(web) << web.error().message;
    EXPECT_EQ(web->selectors.vmi, (Labels{{"app", "web"}}));
    EXPECT_EQ(web->selectors.space,
              (Labels{{"kubernetes.io/metadata.name", "shop"}, {"team", "a"}}));
    EXPECT_EQ(web->note, "");

    put_vmi("web-2", R"("app":"web","kubevirt.io/nodeName":"n2")");
    const auto by_node = choose_alone(objects, objects.vmis[0]);
    ASSERT_TRUE(by_node) << by_node.error().message;
    EXPECT_TRUE(by_node->selectors.vmi.contains("kubevirt.io/nodeName"));
    EXPECT_THAT(by_node->note, HasSubstr("until the VM leaves"));

    put_vmi("web-3", R"("app":"web","kubevirt.io/nodeName":"n1","more":"")");
    const auto shared = choose_alone(objects, objects.vmis[0]);
    ASSERT_FALSE(shared);
    EXPECT_EQ(shared.error().code, Errc::refused);
    EXPECT_THAT(shared.error().message, AllOf(HasSubstr("shop/web-3 would go by the same policy"),
                                              HasSubstr("--selector")));
}

TEST_F(TunePlanTest, ItsBodyIsACopyWithItsOwnFieldsAndItsEnd) {
    auto fields = post_copy;
    fields.completion_seconds_per_gib = 5;
    const auto end = WallTime{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30}};
    const auto body = tune_policy_body(
        {.name = "tune", .selectors = {.space = {}, .vmi = {{"app", "web"}}}, .fields = fields},
        end,
        json::parse(R"({"experimental":{"compression":"zstd"},"completionTimeoutPerGiB":30,
                        "selectors":{"virtualMachineInstanceSelector":{"other":"x"}}})")
            .as_object());
    EXPECT_EQ(json::parse(body), json::parse(R"({
        "apiVersion": "migrations.kubevirt.io/v1alpha1",
        "kind": "MigrationPolicy",
        "metadata": {
            "name": "tune",
            "labels": {"virt-scout.io/tune": "true"},
            "annotations": {"virt-scout.io/expires": "2026-11-30T00:00:00Z"}},
        "spec": {
            "experimental": {"compression": "zstd"},
            "completionTimeoutPerGiB": 5,
            "allowPostCopy": true,
            "selectors": {
                "namespaceSelector": {},
                "virtualMachineInstanceSelector": {"app": "web"}}}})"));
}

}  // namespace
}  // namespace scout::cluster
