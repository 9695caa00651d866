// SPDX-License-Identifier: Apache-2.0
// Why launchers ended and who wanted migrations, on a real API server with KubeVirt's definitions
// and under our own manifests: what is written, and what is told after all is gone.
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "aggregator/cluster_side.h"
#include "base/offload.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/support/test_data.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* space = "virt-scout";
constexpr const char* account = "virt-scout-aggregator";
const std::string service_name = "virt-scout-aggregator";
constexpr const char* pod = "virt-launcher-web-abcde";
constexpr const char* evacuation = "kubevirt-evacuation-x";

class BedCausesTest : public BedClusterTest {
protected:
    void SetUp() override {
        SCOUT_BED_OR_SKIP();
        SCOUT_TEST_DATA_OR_SKIP(data);
        BedClusterTest::SetUp();
        serve_kubevirt(data);
        for (const auto& file : manifest_files()) {
            apply_manifest(file);
        }
        shop = new_space();
        node = shop + "-one";
        create_node(node, {{"kubevirt.io/schedulable", "true"}});
        create(kube::resources::virtual_machine_instances(), shop,
               {{"metadata", {{"name", "web"}, {"namespace", shop}}},
                {"spec", {{"domain", {{"devices", json::object{}}}}}},
                {"status", {{"phase", "Running"}, {"nodeName", node}}}});
        vmi_uid =
            text_of(read(kube::resources::virtual_machine_instances(), "web"), "/metadata/uid");
        create(
            kube::resources::pods(), shop,
            {{"metadata",
              {{"name", pod},
               {"labels", {{"kubevirt.io", "virt-launcher"}, {"kubevirt.io/created-by", vmi_uid}}},
               {"annotations", {{"kubevirt.io/domain", "web"}}}}},
             {"spec",
              {{"nodeName", node},
               {"automountServiceAccountToken", false},
               {"containers", {{{"name", "compute"}, {"image", "none"}}}}}}});
        side = start(
            scout::test::with_token(access, token_of(space, account, {})), space,
            {.listen = "127.0.0.1:0", .names = {service_name + "." + shop + ".svc"}, .files = {}},
            [this](ClusterSide& made) {
                made.record_causes();
                made.answer_users(pool);
            });
        serve_api();
        ASSERT_TRUE(run_until([this] { return side->facts().leads && side->facts().synced; }));
    }
    void TearDown() override {
        if (side) {
            stop(std::move(side));
            for (const auto& manifest : read_manifest(query_api_file)) {
                done(
                    client->remove({.resource = manifest.resource, .object = manifest.object}, {}));
            }
        }
        BedClusterTest::TearDown();
    }

    /// No Service leads anywhere without kube-proxy, but one of an outer name.
    void serve_api() {
        create(scout::test::core("services", "Service"), shop,
               {{"metadata", {{"name", service_name}}},
                {"spec", {{"type", "ExternalName"}, {"externalName", "localhost"}}}});
        for (auto& manifest : read_manifest(query_api_file)) {
            manifest.body["spec"].as_object()["service"] = {
                {"name", service_name}, {"namespace", shop}, {"port", side->https_port()}};
            const kube::ApplyOptions options{.manager = "test", .force = true};
            done(client->apply({.resource = manifest.resource, .object = manifest.object},
                               json::serialize(manifest.body), options));
        }
    }
    /// What `scoutctl why` is told; null: nothing yet.
    [[nodiscard]] json::value why(const std::string& name) {
        const auto answer = call(client->get_path("/apis/query.virt-scout.io/v1alpha1/namespaces/" +
                                                  shop + "/" + name + "/why"));
        return answer ? json::parse(*answer) : json::value{};
    }

    [[nodiscard]] static std::string text_of(const json::value& object, const char* path) {
        const auto found = scout::test::at(object, path);
        return found.is_string() ? std::string{found.as_string()} : std::string{};
    }
    [[nodiscard]] json::value read(const kube::Resource& resource, const std::string& name) {
        return done(client->get({.resource = resource, .object = {.space = shop, .name = name}}));
    }
    void set_status(const kube::Resource& resource, const std::string& name, json::object status) {
        const json::object patch{{"status", std::move(status)}};
        done(client->merge_patch({.resource = resource,
                                  .object = {.space = shop, .name = name},
                                  .subresource = "status"},
                                 json::serialize(patch)));
    }
    /// The note of our Event of that reason; empty: there is none yet.
    [[nodiscard]] std::string told(const std::string& reason) {
        const auto list = json::parse(
            call(client->get_path("/apis/events.k8s.io/v1/namespaces/" + shop + "/events"))
                .value());
        for (const auto& event : list.at("items").as_array()) {
            if (text_of(event, "/reason") == reason &&
                text_of(event, "/regarding/uid") == vmi_uid) {
                return text_of(event, "/note");
            }
        }
        return {};
    }
    [[nodiscard]] std::string note(const std::string& move, const char* key) {
        const auto object = read(kube::resources::migrations(), move);
        const auto* const notes = object.at("metadata").as_object().if_contains("annotations");
        const auto* const found = notes == nullptr ? nullptr : notes->as_object().if_contains(key);
        return found == nullptr ? std::string{} : std::string{found->as_string()};
    }
    void make_event(const std::string& name, const std::string& reason, const std::string& text) {
        const json::object event{
            {"apiVersion", "v1"},
            {"kind", "Event"},
            {"metadata", {{"name", name}, {"namespace", shop}}},
            {"involvedObject",
             {{"kind", "Pod"}, {"namespace", shop}, {"name", pod}, {"apiVersion", "v1"}}},
            {"reason", reason},
            {"message", text},
            {"type", "Warning"},
            {"source", {{"component", "kubelet"}}},
            {"lastTimestamp", rfc3339(clock.wall())},
            {"firstTimestamp", rfc3339(clock.wall())}};
        const kube::Resource core{
            .group = {}, .version = "v1", .plural = "events", .kind = "Event"};
        done(client->create({.resource = core, .object = {.space = shop, .name = {}}},
                            json::serialize(event)));
    }

    std::string shop;
    std::string node;
    std::string vmi_uid;
    BlockingPool pool{2};
    std::unique_ptr<ClusterSide> side;
};

TEST_F(BedCausesTest, WhatItsNodeKilledIsToldOnTheVmiAndKeptAfterAllIsGone) {
    set_status(kube::resources::pods(), pod,
               {{"phase", "Failed"},
                {"reason", "Evicted"},
                {"message", "The node was low on resource: memory. Threshold quantity: 100Mi."}});
    ASSERT_TRUE(run_until([this] { return !told("LauncherEnded").empty(); }));
    EXPECT_THAT(told("LauncherEnded"), AllOf(HasSubstr(pod), HasSubstr("node-pressure, memory")));

    done(client->remove(
        {.resource = kube::resources::pods(), .object = {.space = shop, .name = pod}}, {}));
    done(client->remove({.resource = kube::resources::virtual_machine_instances(),
                         .object = {.space = shop, .name = "web"}},
                        {}));
    json::value story;
    ASSERT_TRUE(run_until([this, &story] {
        story = why("virtualmachineinstances/web");
        return story.is_object() && text_of(story, "/vmiPhase").empty() &&
               text_of(story, "/podPhase").empty();
    })) << story;
    EXPECT_EQ(text_of(story, "/pod"), pod);
    EXPECT_EQ(text_of(story, "/node"), node);
    EXPECT_EQ(text_of(story, "/cause"), "node-pressure");
    EXPECT_EQ(text_of(story, "/resource"), "memory");
    EXPECT_EQ(why(std::string{"pods/"} + pod), story);
    EXPECT_EQ(side->facts().launcher_ends.front(), 1U);
    EXPECT_EQ(side->facts().history_entries, 1U);
}

TEST_F(BedCausesTest, AKillThatOnlyAnEventTellsOfIsFoundByIt) {
    make_event("killing", "Killing", "Container compute failed liveness probe, will be restarted");
    set_status(kube::resources::pods(), pod, {{"phase", "Failed"}});

    ASSERT_TRUE(run_until([this] { return !told("LauncherEnded").empty(); }));
    EXPECT_THAT(told("LauncherEnded"), HasSubstr("ended: liveness"));
}

TEST_F(BedCausesTest, WhoWantedAMigrationIsWrittenOnItThroughTheFence) {
    create(kube::resources::migrations(), shop,
           {{"metadata",
             {{"name", evacuation},
              {"labels", {{"x", "y"}}},
              {"annotations", {{"kubevirt.io/evacuationMigration", node}}}}},
            {"spec", {{"vmiName", "web"}, {"priority", "system-critical"}}}});

    ASSERT_TRUE(
        run_until([this] { return !note(evacuation, "virt-scout.io/migration-cause").empty(); }));
    EXPECT_EQ(note(evacuation, "virt-scout.io/migration-cause"), "drain");
    EXPECT_EQ(note(evacuation, "kubevirt.io/evacuationMigration"), node);
    ASSERT_TRUE(run_until([this] { return !told("MigrationRequested").empty(); }));
    EXPECT_THAT(told("MigrationRequested"), HasSubstr("wanted by drain"));

    set_status(
        kube::resources::migrations(), evacuation,
        {{"phase", "Succeeded"},
         {"migrationState", {{"mode", "PostCopy"}, {"migrationUid", "u"}, {"completed", true}}}});
    ASSERT_TRUE(run_until(
        [this] { return note(evacuation, "virt-scout.io/migration-mode") == "PostCopy"; }));
    EXPECT_EQ(note(evacuation, "virt-scout.io/migration-cause"), "drain");
    ASSERT_TRUE(run_until([this] { return side->facts().migrations[1][2][0] == 1; }));
}

}  // namespace
}  // namespace scout::aggregator
