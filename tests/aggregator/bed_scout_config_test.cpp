// SPDX-License-Identifier: Apache-2.0
// The ScoutConfig of daemonset/base on a real API server.
#include <memory>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/bed_cluster_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

class BedScoutConfigTest : public BedClusterTest {
protected:
    void SetUp() override {
        BedClusterTest::SetUp();
        if (client) {
            apply_manifest("crds/scoutconfigs.yaml");
            static_cast<void>(call(client->remove(config(), {})));  // of another test
        }
    }

    [[nodiscard]] static kube::Target config() {
        return {.resource = kube::resources::scout_configs(),
                .object = {.space = {}, .name = "default"}};
    }

    /// What the API server says to an object of that name and specification; empty: it takes it.
    [[nodiscard]] std::string refusal(const std::string& name, json::object spec) {
        const json::object object{{"apiVersion", "virt-scout.io/v1alpha1"},
                                  {"kind", "ScoutConfig"},
                                  {"metadata", {{"name", name}}},
                                  {"spec", std::move(spec)}};
        kube::CallOptions options;
        options.dry_run = true;
        const auto answer =
            call(client->create({.resource = kube::resources::scout_configs(), .object = {}},
                                json::serialize(object), options));
        return answer ? std::string{} : answer.error().text;
    }

    void set(json::object spec) {
        create(kube::resources::scout_configs(), "",
               {{"apiVersion", "virt-scout.io/v1alpha1"},
                {"kind", "ScoutConfig"},
                {"metadata", {{"name", "default"}}},
                {"spec", std::move(spec)}});
    }

    [[nodiscard]] std::string condition(const char* key) {
        const auto object = done(client->get(config()));
        const auto value = test::at(object, std::string{"/status/conditions/0/"} + key);
        return value.is_string() ? std::string{value.as_string()} : std::string{};
    }
};

TEST_F(BedScoutConfigTest, TheServerRefusesWhatWouldNotBeObeyed) {
    const json::object level{{"level", 50}};
    const auto levels = [](const char* key, const char* value) {
        return json::object{{"levels", {{key, value}}}};
    };
    const auto placement = [](json::object fields) {
        return json::object{{"placement", std::move(fields)}};
    };

    EXPECT_EQ(refusal("default", {}), "");
    EXPECT_THAT(refusal("other", {}), HasSubstr("only the ScoutConfig 'default' is in force"));
    EXPECT_THAT(refusal("default", levels("layer", "all")), HasSubstr("spec.levels.layer"));
    EXPECT_THAT(refusal("default", levels("cordonedFor", "10")), HasSubstr("cordonedFor"));
    EXPECT_THAT(refusal("default", levels("notReadyFor", "25h")), HasSubstr("24h at most"));
    EXPECT_THAT(refusal("default", levels("nothing", "x")), HasSubstr("unknown field"));
    EXPECT_EQ(refusal("default", levels("cordonedFor", "0s")), "");
    const auto keep = [](const char* time) { return json::object{{"history", {{"keep", time}}}}; };
    EXPECT_EQ(refusal("default", keep("0s")), "");
    EXPECT_EQ(refusal("default", keep("168h")), "");
    EXPECT_THAT(refusal("default", keep("169h")), HasSubstr("168h at most"));
    EXPECT_THAT(refusal("default", keep("7d")), HasSubstr("spec.history.keep"));
    EXPECT_THAT(refusal("default", placement({{"requireHostModelMigratabilityLevel", 101}})),
                HasSubstr("less than or equal to 100"));
    EXPECT_THAT(refusal("default", placement({{"requireHostModelMigratabilityLevel", -1}})),
                HasSubstr("greater than or equal to 0"));
    const auto preferred = [&placement](int wanted, int weight) {
        return placement(
            {{"preferedHostModelMigratabilityLevel", {{"level", wanted}, {"weight", weight}}}});
    };
    EXPECT_EQ(refusal("default", preferred(0, 1)), "");
    EXPECT_EQ(refusal("default", preferred(100, 100)), "");
    EXPECT_THAT(refusal("default", preferred(5, 0)), HasSubstr("greater than or equal to 1"));
    EXPECT_THAT(refusal("default", preferred(5, 101)), HasSubstr("less than or equal to 100"));
    EXPECT_THAT(refusal("default", preferred(-1, 5)), HasSubstr("greater than or equal to 0"));
    EXPECT_THAT(refusal("default", preferred(101, 5)), HasSubstr("less than or equal to 100"));
    EXPECT_THAT(
        refusal("default", placement({{"preferedHostModelMigratabilityLevel", {{"weight", 3}}}})),
        HasSubstr("level"));
    EXPECT_EQ(refusal("default", placement({{"preferredHostModelMigratabilityLevel", level}})), "");
    EXPECT_THAT(refusal("default", placement({{"preferedHostModelMigratabilityLevel", level},
                                              {"preferredHostModelMigratabilityLevel", level}})),
                HasSubstr("two spellings"));
}

TEST_F(BedScoutConfigTest, ChangesWorkWithoutARestartAndTheStatusTells) {
    make_node("config", "a", "x");
    make_node("config", "b", "x");
    auto side = start(access, new_space());
    ASSERT_TRUE(run_until([this] { return level("config-a") == "100"; }));

    // No node has that machine type.
    set({{"levels", {{"machineType", "pc-none"}}}});
    ASSERT_TRUE(run_until([this] { return level("config-a") == "0"; }));
    ASSERT_TRUE(run_until([this] { return !condition("message").empty(); }));
    EXPECT_EQ(condition("status"), "True");
    EXPECT_THAT(condition("message"), HasSubstr("pc-none"));

    const json::object other{
        {"spec", {{"levels", {{"cordonedFor", "90s"}, {"machineType", nullptr}}}}}};
    done(client->merge_patch(config(), json::serialize(other)));
    ASSERT_TRUE(run_until([this] { return level("config-a") == "100"; }));
    ASSERT_TRUE(
        run_until([this] { return condition("message").find("90s") != std::string::npos; }));
    const auto told = done(client->get(config()));
    EXPECT_EQ(test::at(told, "/status/observedGeneration"), test::at(told, "/metadata/generation"));
    EXPECT_EQ(test::at(told, "/status/inForce/cordonedFor"), "90s");

    done(client->merge_patch(config(), R"({"spec":{"levels":{"machineType":"pc-none"}}})"));
    ASSERT_TRUE(run_until([this] { return level("config-a") == "0"; }));
    done(client->remove(config(), {}));
    ASSERT_TRUE(run_until([this] { return level("config-a") == "100"; }))
        << "without the object all is as the process was given it";
    stop(std::move(side));
}

}  // namespace
}  // namespace scout::aggregator
