// SPDX-License-Identifier: Apache-2.0
// CPUProfile objects and the annotations that name them, on a real API server.
#include <memory>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregator/registry.h"
#include "cluster/cpu_profile.h"
#include "cluster/levels.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/support/profiles.h"
#include "wire/convert.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

class BedCpuProfilesTest : public BedClusterTest {
protected:
    void SetUp() override {
        BedClusterTest::SetUp();
        if (client) {
            apply_manifest("crds/cpuprofiles.yaml");
        }
    }

    /// As the labels of make_node() have it, with one feature of its own.
    static migration::Profile profile_of(const std::string& arch, const std::string& feature) {
        auto profile =
            scout::test::host({.model = "M", .vendor = "V", .require = {"cx8", "fpu", feature}});
        profile.arch = arch;
        return profile;
    }
    static kube::Target object_of(const migration::Profile& profile) {
        return {.resource = kube::resources::cpu_profiles(),
                .object = {.space = {}, .name = cluster::profile_name(profile)}};
    }
    /// A full report, and the body of the profile after it.
    void report(const std::string& node, const migration::Profile& profile,
                const std::string& source = "labeller") {
        const auto now = clock.steady();
        ASSERT_TRUE(registry.introduce(
            {.node = node, .host_identity = "host of " + node, .agent_version = "test"}, now));
        HostReport host;
        host.profile_digest = wire::profile_digest(profile);
        host.source = source;
        ASSERT_TRUE(registry.report_host(node, host));
        registry.deliver(host.profile_digest, profile);
    }
    std::string annotation(const std::string& node, std::string_view key) {
        const auto object = done(client->get(target(node)));
        const auto* annotations = object.at("metadata").as_object().if_contains("annotations");
        const auto* found =
            annotations == nullptr ? nullptr : annotations->as_object().if_contains(key);
        return found == nullptr ? "none" : std::string(found->as_string());
    }
    std::string unused_since(const migration::Profile& profile) {
        const auto object = call(client->get(object_of(profile)));
        if (!object) {
            return "gone";
        }
        const auto found =
            test::at(json::parse(*object), "/metadata/annotations/virt-scout.io~1unused-since");
        return found.is_string() ? std::string(found.as_string()) : "named";
    }
    std::unique_ptr<ClusterSide> lead() {
        auto side =
            start(access, new_space(), {}, [this](ClusterSide& made) { made.follow(registry); });
        EXPECT_TRUE(settle(*side));
        return side;
    }

    Registry registry{{}, clock};
};

TEST_F(BedCpuProfilesTest, AReportBecomesAnObjectAndLabelAndAnnotationAreOnePatch) {
    const auto profile = profile_of("cpup-one", "x");
    const auto name = cluster::profile_name(profile);
    make_node("cpup-one", "a", "x");
    make_node("cpup-one", "b", "x");
    auto side = lead();

    report("cpup-one-b", profile, "embedded");
    report("cpup-one-a", profile);

    ASSERT_TRUE(
        run_until([&] { return annotation("cpup-one-a", cluster::profile_annotation) == name; }));
    EXPECT_EQ(test::at(done(client->get(object_of(profile))), "/spec/hostModel/name"), "M");
    EXPECT_EQ(annotation("cpup-one-b", cluster::profile_annotation), "none")
        << "what an embedded probe says is not the yardstick";
    ASSERT_TRUE(settle(*side));
    const auto written = side->facts().labels_written;
    report("cpup-one-c", profile);
    make_node("cpup-one", "c", "x");
    ASSERT_TRUE(run_until([&] { return level("cpup-one-c") == "100"; }));
    EXPECT_EQ(annotation("cpup-one-c", cluster::profile_annotation), name);
    ASSERT_TRUE(settle(*side));
    // A node may be seen with its label before the write has been answered.
    ASSERT_TRUE(run_until([&] { return side->facts().labels_written > written; }));
    EXPECT_EQ(side->facts().labels_written, written + 1);
    EXPECT_EQ(side->facts().profiles.made, 1U);
    stop(std::move(side));
}

TEST_F(BedCpuProfilesTest, OneNodeUsesUpOnlySoManyObjects) {
    make_node("cpup-many", "a", "x");
    make_node("cpup-many", "b", "x");
    auto side = lead();
    for (unsigned i = 0; i < 8; ++i) {
        report("cpup-many-a", profile_of("cpup-many", "f" + std::to_string(i)));
        ASSERT_TRUE(run_until([&] { return side->facts().profiles.made == i + 1; }));
    }

    report("cpup-many-a", profile_of("cpup-many", "f8"));
    report("cpup-many-b", profile_of("cpup-many", "f9"));

    ASSERT_TRUE(run_until([&] { return side->facts().profiles.made == 9; }));
    EXPECT_EQ(unused_since(profile_of("cpup-many", "f9")), "named");
    EXPECT_EQ(unused_since(profile_of("cpup-many", "f8")), "gone");
    stop(std::move(side));
}

TEST_F(BedCpuProfilesTest, ARestartWithoutAgentsWritesNothing) {
    const auto profile = profile_of("cpup-two", "x");
    make_node("cpup-two", "a", "x");
    make_node("cpup-two", "b", "x");
    auto side = lead();
    report("cpup-two-a", profile);
    ASSERT_TRUE(run_until([&] {
        return annotation("cpup-two-a", cluster::profile_annotation) != "none" &&
               side->facts().nodes_by_profile > 0;
    }));
    ASSERT_TRUE(settle(*side));
    const auto by_profile = side->facts().nodes_by_profile;
    stop(std::move(side));
    const auto before = version("cpup-two-a");

    auto again = start(access, new_space());
    ASSERT_TRUE(run_until([&] { return again->facts().nodes_by_profile == by_profile; }))
        << again->facts().nodes_by_profile << " of " << by_profile;
    ASSERT_TRUE(settle(*again));

    EXPECT_EQ(again->facts().labels_written, 0U);
    EXPECT_EQ(version("cpup-two-a"), before);
    stop(std::move(again));
}

TEST_F(BedCpuProfilesTest, WhenAProfileChangesTheOldOneIsKeptAndTold) {
    const auto first = profile_of("cpup-three", "x");
    const auto second = profile_of("cpup-three", "y");
    make_node("cpup-three", "a", "x");
    auto side = lead();
    report("cpup-three-a", first);
    ASSERT_TRUE(run_until([&] {
        return annotation("cpup-three-a", cluster::profile_annotation) ==
               cluster::profile_name(first);
    }));

    report("cpup-three-a", second);

    ASSERT_TRUE(run_until([&] {
        return annotation("cpup-three-a", cluster::profile_annotation) ==
               cluster::profile_name(second);
    }));
    EXPECT_EQ(annotation("cpup-three-a", cluster::former_profile_annotation),
              cluster::profile_name(first));
    EXPECT_EQ(unused_since(first), "named");
    std::string events;
    EXPECT_TRUE(run_until([&] {
        events =
            call(client->get_path("/apis/events.k8s.io/v1/namespaces/default/events")).value_or("");
        return events.find("CPUProfileChanged") != std::string::npos;
    }));
    EXPECT_THAT(events, HasSubstr("the CPU profile changed from " + cluster::profile_name(first) +
                                  " (host-model M) to " + cluster::profile_name(second)));
    stop(std::move(side));
}

TEST_F(BedCpuProfilesTest, WhatNoNodeNamesIsMarkedAndAfterAWhileRemoved) {
    const auto unused = profile_of("cpup-four", "x");
    const auto old = profile_of("cpup-four", "y");
    const auto named = profile_of("cpup-four", "z");
    for (const auto& profile : {unused, old, named}) {
        done(client->apply(object_of(profile), cluster::cpu_profile_body(profile).value(), {}));
    }
    const json::object mark{
        {"metadata",
         {{"annotations", {{cluster::unused_annotation, "2020-01-01T00:00:00.000000Z"}}}}}};
    for (const auto& profile : {old, named}) {
        done(client->merge_patch(object_of(profile), json::serialize(mark)));
    }
    make_node("cpup-four", "a", "x");
    const json::object naming{
        {"metadata",
         {{"annotations", {{cluster::profile_annotation, cluster::profile_name(named)}}}}}};
    done(client->merge_patch(target("cpup-four-a"), json::serialize(naming)));

    auto side = lead();

    ASSERT_TRUE(run_until([&] { return unused_since(old) == "gone"; }));
    ASSERT_TRUE(run_until([&] { return unused_since(named) == "named"; }));
    ASSERT_TRUE(run_until([&] { return unused_since(unused).starts_with("20"); }));
    stop(std::move(side));
}

}  // namespace
}  // namespace scout::aggregator
