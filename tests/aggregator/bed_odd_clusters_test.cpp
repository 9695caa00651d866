// SPDX-License-Identifier: Apache-2.0
// Kinds that come and go, objects of other versions, nodes that no labeller would leave so, and
// credentials that end, on a real API server.
#include <chrono>
#include <fstream>
#include <memory>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "cluster/levels.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/aggregator/host_model_objects.h"
#include "tests/kube/bed_objects.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/wire/certificates.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using scout::test::Authority;
using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;

class BedOddClusterTest : public BedClusterTest {
protected:
    void SetUp() override {
        BedClusterTest::SetUp();
        following.backoff = {50ms, 500ms};
        following.slow_retry = 300ms;
        if (client) {
            apply_manifest("crds/scoutconfigs.yaml");
            apply_manifest("crds/cpuprofiles.yaml");
            static_cast<void>(call(client->remove(config(), {})));  // of another test
        }
    }

    [[nodiscard]] static kube::Target config() {
        return {.resource = kube::resources::scout_configs(),
                .object = {.space = {}, .name = "default"}};
    }
    [[nodiscard]] static kube::Target definition(const std::string& name) {
        return {.resource = kube::resources::custom_resource_definitions(),
                .object = {.space = {}, .name = name}};
    }
    static kube::Target kubevirt(const std::string& name) {
        return {.resource = kube::resources::kubevirts(),
                .object = {.space = "default", .name = name}};
    }
    void deploy(const std::string& name, const std::string& machine) {
        create(kube::resources::kubevirts(), "default",
               {{"metadata", {{"name", name}}},
                {"spec", {{"configuration", {{"machineType", machine}}}}}});
        auto status = kubevirt(name);
        status.subresource = "status";
        done(client->merge_patch(status, R"({"status":{"phase":"Deployed"}})"));
    }
    void make_config(json::object spec) {
        create(kube::resources::scout_configs(), "",
               {{"metadata", {{"name", "default"}}}, {"spec", std::move(spec)}});
    }
    /// With a machine type that no node has, so that all levels are 0.
    static json::object no_machine() { return {{"levels", {{"machineType", "pc-none"}}}}; }
    [[nodiscard]] bool becomes(const std::string& node, const std::string& wanted) {
        return run_until([&] { return level(node) == wanted; });
    }
    [[nodiscard]] static std::string trouble_of(const ClusterSide& side, std::string_view plural) {
        for (const auto& kind : side.facts().kinds) {
            if (kind.plural == plural) {
                return kind.trouble;
            }
        }
        return "(no such kind)";
    }
};

TEST_F(BedOddClusterTest, KindsOfOursMayComeLaterAndGoAgain) {
    for (const auto* name : {"scoutconfigs.virt-scout.io", "cpuprofiles.virt-scout.io"}) {
        done(client->remove(definition(name), {}));
        ASSERT_TRUE(run_until([&] { return !call(client->get(definition(name))); }));
    }
    make_node("kinds", "a", "x");
    make_node("kinds", "b", "x");
    auto side = start(access, new_space());
    ASSERT_TRUE(settle(*side));
    EXPECT_EQ(level("kinds-a"), "100");
    EXPECT_THAT(side->facts().trouble, AllOf(HasSubstr("scoutconfigs.virt-scout.io"),
                                             HasSubstr("cpuprofiles"), HasSubstr("404")));

    apply_manifest("crds/scoutconfigs.yaml");
    apply_manifest("crds/cpuprofiles.yaml");
    make_config(no_machine());
    EXPECT_TRUE(becomes("kinds-a", "0"));
    EXPECT_TRUE(run_until([&] { return trouble_of(*side, "cpuprofiles").empty(); }));

    done(client->remove(definition("scoutconfigs.virt-scout.io"), {}));
    EXPECT_TRUE(becomes("kinds-a", "100")) << "by what the process was given";
    EXPECT_TRUE(run_until([&] { return !trouble_of(*side, "scoutconfigs").empty(); }));
    EXPECT_TRUE(side->facts().synced);
    stop(std::move(side));
}

TEST_F(BedOddClusterTest, ANewerScoutConfigIsObeyedAsFarAsItIsKnown) {
    const auto crd = definition("scoutconfigs.virt-scout.io");
    const std::string spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    done(client->json_patch(
        crd, R"([{"op":"add","path":")" + spec + R"(/future","value":{"type":"string"}}])"));
    auto newer = no_machine();
    newer["future"] = "unknown to us";
    ASSERT_TRUE(run_until([&] {
        const json::object object{{"apiVersion", "virt-scout.io/v1alpha1"},
                                  {"kind", "ScoutConfig"},
                                  {"metadata", {{"name", "default"}}},
                                  {"spec", newer}};
        return call(client->create({.resource = config().resource}, json::serialize(object)))
            .has_value();
    }));
    make_node("newer", "a", "x");
    make_node("newer", "b", "x");

    auto side = start(access, new_space());

    EXPECT_TRUE(becomes("newer-a", "0"));
    EXPECT_TRUE(run_until([this] {
        return test::at(done(client->get(config())), "/status/conditions/0/status") == "True";
    }));
    EXPECT_EQ(test::at(done(client->get(config())), "/spec/future"), "unknown to us");
    stop(std::move(side));
    done(client->json_patch(crd, R"([{"op":"remove","path":")" + spec + R"(/future"}])"));
}

TEST_F(BedOddClusterTest, AnOlderKindCostsItsStatusAndNothingElse) {
    const auto crd = definition("scoutconfigs.virt-scout.io");
    const std::string field =
        "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/inForce";
    done(client->json_patch(crd, R"([{"op":"remove","path":")" + field + R"("}])"));
    make_config(no_machine());
    make_node("older", "a", "x");
    make_node("older", "b", "x");
    auto side = start(access, new_space());

    EXPECT_TRUE(becomes("older-a", "0"));
    ASSERT_TRUE(settle(*side));
    done(client->remove(config(), {}));
    EXPECT_TRUE(becomes("older-a", "100"));
    stop(std::move(side));
    apply_manifest("crds/scoutconfigs.yaml");
}

TEST_F(BedOddClusterTest, OfTwoKubeVirtsTheFirstThatIsDeployedIsInForceAndNoneIsNoTrouble) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    auto crd = scout::test::kubevirt_definitions(data).at("kubevirts.kubevirt.io");
    create(kube::resources::custom_resource_definitions(), "", crd);
    ASSERT_TRUE(run_until([&] {
        const auto none = call(client->get(kubevirt("none")));
        return !none && none.error().reason == "NotFound";
    }));
    make_node("twofold", "a", "x");
    make_node("twofold", "b", "x");
    auto side = start(access, new_space());
    ASSERT_TRUE(settle(*side));
    EXPECT_EQ(level("twofold-a"), "100");

    deploy("first", "pc-none");
    EXPECT_TRUE(becomes("twofold-a", "0"));
    const auto written = version("twofold-a");
    for (const auto* name : {"second", "third", "fourth", "fifth"}) {
        deploy(name, "q35");
    }
    done(client->remove(kubevirt("fifth"), {}));
    make_node("twofold", "c", "y");
    EXPECT_TRUE(becomes("twofold-c", "0"));
    EXPECT_EQ(version("twofold-a"), written);

    done(client->remove(kubevirt("first"), {}));
    EXPECT_TRUE(becomes("twofold-a", "50"));
    for (const auto* name : {"second", "third", "fourth"}) {
        done(client->remove(kubevirt(name), {}));
    }
    ASSERT_TRUE(settle(*side));
    EXPECT_EQ(level("twofold-a"), "50");
    stop(std::move(side));
    done(client->remove(definition("kubevirts.kubevirt.io"), {}));
}

TEST_F(BedOddClusterTest, ANodeWithTwoHostModelsGetsNoLevelAndIsNobodysDestination) {
    make_node("torn", "a", "x");
    make_node("torn", "b", "x");
    make_node("torn", "c", "x");
    auto side = start(access, new_space());
    ASSERT_TRUE(settle(*side));
    label("torn-a", "host-model-cpu.node.kubevirt.io/Other", "true");

    EXPECT_TRUE(becomes("torn-a", "none"));
    ASSERT_TRUE(settle(*side));
    EXPECT_EQ(level("torn-b"), "100");
    label("torn-a", "host-model-cpu.node.kubevirt.io/Other", nullptr);
    EXPECT_TRUE(becomes("torn-a", "100"));
    stop(std::move(side));
}

TEST_F(BedOddClusterTest, NamesAndLabelsAtTheirLimitsAreTaken) {
    const std::string long_value(63, 'v');
    const std::string long_feature(63, 'f');
    // The API has 253 characters for a name, and 63 for each part between dots.
    std::string long_name = "limits-" + std::string(50, 'n');
    while (long_name.size() + 64 <= 253) {
        long_name += "." + std::string(63, 'n');
    }
    auto labels = node_labels("limits", long_feature);
    for (int i = 0; i < 2000; ++i) {
        labels["cpu-feature.node.kubevirt.io/f" + std::to_string(i)] = "true";
    }
    labels["site"] = long_value;
    create_node(long_name, labels);
    make_node("limits", "b", long_feature);
    const json::object unicode{{"metadata", {{"annotations", {{"site", "Köln – 東京 🙂"}}}}}};
    done(client->merge_patch(target("limits-b"), json::serialize(unicode)));
    auto side = start(access, new_space());
    ASSERT_TRUE(settle(*side));
    EXPECT_EQ(level(long_name), "100");
    EXPECT_EQ(level("limits-b"), "100");

    const auto refused =
        call(client->merge_patch(target("limits-b"), R"({"metadata":{"labels":{"site":"Köln"}}})"));
    ASSERT_FALSE(refused) << "so no node of an API server has one";
    EXPECT_EQ(refused.error().status, 422U);
    done(client->remove(target(long_name), {}));
    EXPECT_TRUE(becomes("limits-b", "0"));
    stop(std::move(side));
}

/// As the user of a certificate, or of a token, in files.
class BedCredentialsTest : public BedOddClusterTest {
protected:
    [[nodiscard]] static bool names(const ClusterSide& side, std::string_view what) {
        const auto facts = side.facts();
        return facts.trouble.find(what) != std::string::npos &&
               facts.leaderless.find(what) != std::string::npos;
    }

    scout::test::TemporaryFolder folder;
};

TEST_F(BedCredentialsTest, ATokenThatIsRefusedIsNamedAndItsSuccessorTaken) {
    const auto space = new_space();
    bind({}, "ClusterRole", "cluster-admin", scout::test::account_of(space, "default"));
    auto who = scout::test::with_token(access, {});
    who.token_file = folder.write("token", "long.expired.token");
    make_node("token", "a", "x");

    auto side = start(who, space);
    ASSERT_TRUE(run_until([&] { return names(*side, "does not take these credentials"); }));
    EXPECT_FALSE(side->facts().synced);
    folder.write("token", token_of(space, "default", ""));

    ASSERT_TRUE(settle(*side));
    EXPECT_EQ(level("token-a"), "0");
    EXPECT_EQ(trouble_of(*side, "nodes"), "");
    stop(std::move(side));
}

TEST_F(BedCredentialsTest, ACertificateThatHasExpiredIsNamedAndItsSuccessorTaken) {
    const auto space = new_space();
    bind({}, "ClusterRole", "cluster-admin", {{"kind", "User"}, {"name", "shown"}});
    // The API server reads its file again when it changes.
    const Authority authority{"clients of a test"};
    const auto expired = authority.make(
        Authority::Spec{.common_name = "shown", .names = "DNS:shown", .valid_until = -1h});
    std::ofstream(bed->kubeconfig().parent_path() / "ca.crt", std::ios::app) << expired.ca;
    auto who = access;
    who.client_certificate = {.file = folder.write("certificate.pem", expired.certificate)};
    who.client_key = {.file = folder.write("key.pem", expired.key)};
    make_node("shown", "a", "x");

    auto side = start(who, space);
    ASSERT_TRUE(run_until([&] { return names(*side, "does not take these credentials"); }));
    const auto good = authority.make(Authority::Spec{.common_name = "shown", .names = "DNS:shown"});
    folder.write("certificate.pem", good.certificate);
    folder.write("key.pem", good.key);

    ASSERT_TRUE(settle(*side));
    EXPECT_EQ(level("shown-a"), "0");
    stop(std::move(side));
}

}  // namespace
}  // namespace scout::aggregator
