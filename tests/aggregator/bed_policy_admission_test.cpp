// SPDX-License-Identifier: Apache-2.0
// The webhook for MigrationPolicies of daemonset/base, asked by a real API server.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/support/test_data.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

constexpr const char* space = "virt-scout";

class BedPolicyAdmissionTest : public BedClusterTest {
protected:
    void SetUp() override {
        BedClusterTest::SetUp();
        const auto data = scout::test::test_data();
        if (!client || !data) {
            GTEST_SKIP() << "no bed, or KubeVirt's definitions are not there";
        }
        serve_kubevirt(*data);
        for (const auto* file :
             {"namespace.yaml", "crds/scoutconfigs.yaml", "crds/cpuprofiles.yaml", "accounts.yaml",
              "roles.yaml", "policy-lint.yaml", "../scoutconfig.yaml"}) {
            apply_manifest(file);
        }
        side = start(test::with_token(access, token_of(space, "virt-scout-aggregator", {})), space,
                     {.listen = "127.0.0.1:0", .names = {"127.0.0.1"}, .files = {}});
        call_by_url(webhook(),
                    "https://127.0.0.1:" + std::to_string(side->https_port()) + "/policies");
        // A webhook that was changed is asked a moment later.
        ASSERT_TRUE(run_until([this] { return !make(unlimited("none"), true).warnings.empty(); }));
    }
    void TearDown() override {
        if (IsSkipped()) {
            return;
        }
        if (side) {
            stop(std::move(side));
        }
        done(client->remove(webhook(), {}));
        for (const auto& name : made) {
            static_cast<void>(call(client->remove(policy(name), {})));
        }
        refuse(nullptr);
    }

    static kube::Target webhook() {
        return {.resource = kube::resources::validating_webhook_configurations(),
                .object = {.space = {}, .name = "virt-scout-policies"}};
    }
    static kube::Target policy(const std::string& name) {
        return {.resource = kube::resources::migration_policies(),
                .object = {.space = {}, .name = name}};
    }
    void refuse(const json::value& mode) {
        const kube::Target config{.resource = kube::resources::scout_configs(),
                                  .object = {.space = {}, .name = "default"}};
        const json::object patch{{"spec", {{"policies", {{"lint", mode}}}}}};
        done(client->merge_patch(config, json::serialize(patch)));
    }

    struct Answer {
        unsigned status = 0;
        std::string body;
        std::vector<std::string> warnings;
    };
    static json::object unlimited(const std::string& name) {
        return {{"apiVersion", "migrations.kubevirt.io/v1alpha1"},
                {"kind", "MigrationPolicy"},
                {"metadata", {{"name", name}}},
                {"spec",
                 {{"selectors", {{"virtualMachineInstanceSelector", {{"of", name}}}}},
                  {"bandwidthPerMigration", "1m"}}}};
    }
    /// As kubectl does it; what is kept is removed after the test.
    Answer make(const json::object& object, bool dry_run = false) {
        return make_as(*transport, object, dry_run);
    }
    Answer make_as(kube::Transport& by, const json::object& object, bool dry_run = false) {
        kube::HttpRequest request;
        request.method = "POST";
        request.target = kube::collection_path(kube::resources::migration_policies(), {}) +
                         (dry_run ? "?dryRun=All" : "");
        request.content_type = "application/json";
        request.body = json::serialize(object);
        const auto answer = call(by.send(std::move(request), 10s)).value();
        if (answer.head.status == 201 && !dry_run) {
            made.emplace_back(object.at("metadata").at("name").as_string());
        }
        return {answer.head.status, answer.body, answer.head.warnings};
    }
    [[nodiscard]] std::uint64_t asked() const { return side->facts().policy_lint.admitted; }

    std::unique_ptr<ClusterSide> side;
    std::vector<std::string> made;
};

TEST_F(BedPolicyAdmissionTest, WhoeverMakesOneIsToldWhatIsWrongWithIt) {
    const auto answer = make(unlimited("told"));

    EXPECT_EQ(answer.status, 201U) << answer.body;
    EXPECT_THAT(answer.warnings, ElementsAre(HasSubstr("virt-scout: told: bandwidthPerMigration"),
                                             HasSubstr("no limit at all")));
    EXPECT_EQ(side->facts().serving.trouble, "");
}

TEST_F(BedPolicyAdmissionTest, ItIsComparedWithThoseThatThereAre) {
    auto first = unlimited("b-first");
    first["spec"].as_object().erase("bandwidthPerMigration");
    EXPECT_THAT(make(first).warnings, IsEmpty());
    auto second = first;
    second["metadata"] = {{"name", "c-second"}};

    EXPECT_TRUE(run_until([&] { return make(second, true).warnings.size() == 2; }));
    EXPECT_THAT(make(second, true).warnings,
                ElementsAre(HasSubstr("as b-first does"), HasSubstr("is never applied")));
}

TEST_F(BedPolicyAdmissionTest, OnlyWhatSaysSomethingNewIsAskedAbout) {
    EXPECT_EQ(make(unlimited("changes")).status, 201U);
    const auto before = asked();

    done(client->merge_patch(policy("changes"), R"({"metadata":{"labels":{"a":"b"}}})"));
    EXPECT_EQ(asked(), before);
    done(client->merge_patch(policy("changes"), R"({"spec":{"allowPostCopy":true}})"));
    EXPECT_EQ(asked(), before + 1);

    kube::HttpTransport ours(loop.get_executor(),
                             test::with_token(access, token_of(space, "virt-scout-aggregator", {})),
                             clock);
    EXPECT_EQ(make_as(ours, unlimited("virt-scout-move-u")).status, 201U);
    ours.close_idle();
    EXPECT_EQ(asked(), before + 1) << "we are not asked about our own";
    done(client->remove(policy("changes"), {}));
    EXPECT_EQ(asked(), before + 1);
}

TEST_F(BedPolicyAdmissionTest, ItIsRefusedWhereTheScoutConfigSaysSo) {
    refuse("refuse");

    ASSERT_TRUE(run_until([this] { return make(unlimited("refused"), true).status == 422; }));
    const auto answer = make(unlimited("refused"));
    EXPECT_EQ(answer.status, 422U);
    EXPECT_THAT(answer.body, HasSubstr("lint.policies.virt-scout.io"));
    EXPECT_THAT(answer.body, HasSubstr("refused: bandwidthPerMigration 1m is less than one byte"));

    refuse("off");
    ASSERT_TRUE(run_until([this] { return make(unlimited("refused"), true).warnings.empty(); }));
    EXPECT_EQ(make(unlimited("refused")).status, 201U);
}

TEST_F(BedPolicyAdmissionTest, WithoutUsPoliciesAreMade) {
    refuse("refuse");
    ASSERT_TRUE(run_until([this] { return make(unlimited("alone"), true).status == 422; }));
    stop(std::move(side));

    const auto answer = make(unlimited("alone"));

    EXPECT_EQ(answer.status, 201U) << answer.body;
    EXPECT_THAT(answer.warnings, IsEmpty());
}

}  // namespace
}  // namespace scout::aggregator
