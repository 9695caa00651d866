// SPDX-License-Identifier: Apache-2.0
// The webhook for first placement between a real API server and a real scheduler.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "aggregator/placement_admission.h"
#include "base/base64.h"
#include "cluster/levels.h"
#include "daemon/http_server.h"
#include "kube/event_client.h"
#include "kube/lease_client.h"
#include "kube/objects/launcher_pod.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/aggregator/host_model_objects.h"
#include "tests/kube/bed_objects.h"
#include "tests/support/test_data.h"
#include "tests/support/wait_until.h"
#include "tests/wire/certificates.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using scout::test::at;
using scout::test::Bed;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

/// What an aggregator does for placement, wired as it does it.
struct Scout {
    Scout(const asio::any_io_executor& loop, const kube::ClusterAccess& access,
          const std::string& space, const Clock& clock)
        : transport(loop, access, clock),
          client(transport, clock, {}),
          nodes(transport, clock, {.resource = kube::resources::nodes(), .selection = {}},
                &kube::decode_node),
          kubevirts(transport, clock, {.resource = kube::resources::kubevirts(), .selection = {}},
                    &kube::decode_kubevirt),
          configs(transport, clock, {.resource = kube::resources::scout_configs(), .selection = {}},
                  &kube::decode_scout_config),
          profiles(transport, clock, {.resource = kube::resources::cpu_profiles(), .selection = {}},
                   &cluster::decode_cpu_profile),
          vmis(transport, clock,
               {.resource = kube::resources::virtual_machine_instances(), .selection = {}},
               &kube::decode_vmi),
          lease(client, {.space = space, .name = "scout"}),
          elector(lease, clock, {.identity = "scout"}, 1),
          settings(loop, {.configs = configs, .kubevirts = kubevirts, .elector = elector}, client,
                   clock, cluster::level_settings({})),
          port(client, {.instance = "scout"}),
          events(loop, port, clock, 1),
          reports(loop,
                  {.nodes = nodes, .profiles = profiles, .elector = elector, .events = events},
                  client, clock),
          labels(loop,
                 {.nodes = nodes,
                  .kubevirts = kubevirts,
                  .objects = profiles,
                  .profiles = reports,
                  .settings = settings,
                  .elector = elector},
                 client, clock, {}),
          admission({.levels = labels, .settings = settings, .vmis = vmis, .events = events}) {}

    kube::HttpTransport transport;
    kube::Client client;
    kube::Informer<kube::Node> nodes;
    kube::Informer<kube::KubeVirt> kubevirts;
    kube::Informer<kube::ScoutConfig> configs;
    kube::Informer<cluster::CpuProfile> profiles;
    kube::Informer<kube::Vmi> vmis;
    kube::ClientLease lease;
    kube::LeaderElector elector;
    LiveSettings settings;
    kube::ClientEvents port;
    kube::EventRecorder events;
    CpuProfiles reports;
    LevelLabels labels;
    PlacementAdmission admission;
};

/// That of daemonset/base, for a server at this URL.
Manifest webhook(const std::string& name, const std::string& url, const std::string& authority) {
    auto manifest = read_manifest("first-placement.yaml").at(0);
    manifest.object.name = name;
    manifest.body["metadata"].as_object()["name"] = name;
    manifest.body["webhooks"].at(0).as_object()["clientConfig"] =
        json::object{{"url", url}, {"caBundle", base64_encode(authority)}};
    return manifest;
}

class BedFirstPlacementTest : public BedClusterTest {
protected:
    static void SetUpTestSuite() {
        if (!scout::test::bed_program().empty()) {
            own_bed = std::make_unique<Bed>(Bed::Options{.scheduler = true});
        }
    }
    static void TearDownTestSuite() { own_bed.reset(); }

    void SetUp() override {
        SCOUT_BED_OR_SKIP();
        use(*own_bed);
        space = new_space();
        apply_manifest("crds/scoutconfigs.yaml");
        if (const auto data = scout::test::test_data()) {
            serve_kubevirt(*data);
        }
        make_node_with_room("a", "x", "2");
        make_node_with_room("b", "x", "2");
        make_node_with_room("roomy", "y", "64");
        start_scout();
        start_server();
        ASSERT_TRUE(run_until([this] {
            return scout->labels.counters().written >= 3 && scout->labels.out_of_step() == 0;
        }));
        ASSERT_TRUE(scout::test::wait_until([this] {
            make_pod({.dry_run = true});
            return asked() > 0;
        }));
    }

    void TearDown() override {
        if (server) {
            done(client->remove({.resource = hook.resource, .object = hook.object}, {}));
            static_cast<void>(call(client->remove(config(), {})));
            call(server->stop());
        }
    }

    /// A node of an architecture that only this test has.
    void make_node_with_room(const std::string& name, const std::string& feature,
                             const std::string& cpus) {
        make_node(space, name, feature);
        auto node = target(space + "-" + name);
        // A new node is tainted as not ready, and here is no controller that would end that.
        done(client->merge_patch(node, R"({"spec":{"taints":null}})"));
        node.subresource = "status";
        const json::object room{{"cpu", cpus}, {"memory", "64Gi"}, {"pods", "100"}};
        const json::object status{{"status", {{"capacity", room}, {"allocatable", room}}}};
        done(client->merge_patch(node, json::serialize(status)));
    }

    static kube::Target config() {
        return {.resource = kube::resources::scout_configs(),
                .object = {.space = {}, .name = "default"}};
    }

    /// What the ScoutConfig asks for, once we know of it.
    void demand(json::object placement) {
        const json::object object{{"apiVersion", "virt-scout.io/v1alpha1"},
                                  {"kind", "ScoutConfig"},
                                  {"metadata", {{"name", "default"}}},
                                  {"spec", {{"placement", std::move(placement)}}}};
        const auto stored = done(client->apply(config(), json::serialize(object), {}));
        const auto version = at(stored, "/metadata/resourceVersion");
        ASSERT_TRUE(run_until([this, &version] {
            const auto known = scout->configs.find({}, "default");
            return known && version == json::value(known->meta.version);
        }));
    }

    void start_scout() {
        scout.emplace(loop.get_executor(), access, space, clock);
        pods.emplace(*transport, clock,
                     kube::Reflector::Subject{.resource = kube::resources::pods(),
                                              .selection = {.space = space}},
                     &kube::decode_launcher_pod);
        background.emplace(loop);
        background->spawn([this] { return scout->nodes.run(); });
        background->spawn([this] { return scout->kubevirts.run(); });
        background->spawn([this] { return scout->configs.run(); });
        background->spawn([this] { return scout->profiles.run(); });
        background->spawn([this] { return scout->vmis.run(); });
        background->spawn([this] { return scout->elector.run(); });
        background->spawn([this] { return scout->labels.run(); });
        background->spawn([this] { return scout->events.run(); });
        background->spawn([this] { return pods->run(); });
    }

    void start_server() {
        const scout::test::Authority authority("a test");
        const auto pem = authority.make({.common_name = "scout", .names = "IP:127.0.0.1"});
        const daemon::HttpLimits limits{.body_bytes = std::size_t{4} << 20U, .idle = 120s};
        server = daemon::HttpServer::listen(loop.get_executor(), "127.0.0.1:0", limits,
                                            daemon::HttpSecurity::tls)
                     .value();
        ASSERT_TRUE(server->use({.chain = pem.certificate, .key = pem.key}));
        server->route("POST", "/first", [this](daemon::HttpRequest request) {
            return scout->admission.serve(std::move(request));
        });
        server->start();
        const auto url = "https://127.0.0.1:" + std::to_string(server->port()) + "/first";
        hook = webhook(space, url, pem.ca);
        create(hook.resource, "", hook.body);
    }

    struct Pod {
        bool host_model = true;
        bool target = false;
        bool dry_run = false;
    };

    /// As KubeVirt makes it, as stored.
    json::value make_pod(const Pod& pod) {
        json::object labels{{"kubevirt.io", "virt-launcher"}, {"kubevirt.io/created-by", vmi_uid}};
        if (pod.target) {
            labels["kubevirt.io/migrationJobUID"] = "m1";
        }
        json::object spec{{"nodeSelector", {{"kubernetes.io/arch", space}}}};
        spec["containers"] =
            json::array{json::object{{"name", "compute"},
                                     {"image", "launcher"},
                                     {"resources", {{"requests", {{"cpu", "1"}}}}}}};
        if (pod.host_model) {
            spec["affinity"] = json::parse(host_model_affinity);
        }
        const json::object meta{{"generateName", "virt-launcher-vm-"},
                                {"labels", std::move(labels)},
                                {"annotations", {{"kubevirt.io/domain", "vm"}}}};
        const json::object whole{
            {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", meta}, {"spec", std::move(spec)}};
        kube::Target collection{.resource = kube::resources::pods(), .object = {.space = space}};
        const kube::CallOptions options{.dry_run = pod.dry_run};
        return done(client->create(std::move(collection), json::serialize(whole), options));
    }

    /// "a", "b" or "roomy", where the scheduler put it; "" if it did not.
    std::string node_of(const json::value& pod) {
        const std::string name{pod.at("metadata").at("name").as_string()};
        std::string node;
        static_cast<void>(run_until([this, &name, &node] {
            const auto found = pods->find(space, name);
            node = found ? found->node.str() : "";
            return !node.empty();
        }));
        return node.empty() ? node : node.substr(space.size() + 1);
    }

    [[nodiscard]] std::uint64_t asked() const { return scout->admission.counters().admitted; }

    static inline std::unique_ptr<Bed> own_bed;
    std::string space;
    std::string vmi_uid = "v1";
    std::optional<Scout> scout;
    std::optional<kube::Informer<kube::LauncherPod>> pods;
    std::unique_ptr<daemon::HttpServer> server;
    Manifest hook;
    std::optional<scout::test::Background> background;
};

TEST_F(BedFirstPlacementTest, AHostModelVmGoesWhereTheLevelIs) {
    EXPECT_EQ(node_of(make_pod({})), "roomy") << "nothing is demanded";

    demand({{"requireHostModelMigratabilityLevel", 50}});
    const auto pod = make_pod({});

    EXPECT_THAT(json::serialize(pod), HasSubstr(R"("values":["49"])"));
    EXPECT_THAT(node_of(pod), AnyOf("a", "b"));
}

TEST_F(BedFirstPlacementTest, APreferredLevelOutweighsRoom) {
    demand({{"preferedHostModelMigratabilityLevel", {{"level", 50}, {"weight", 100}}}});

    EXPECT_THAT(node_of(make_pod({})), AnyOf("a", "b"));
}

TEST_F(BedFirstPlacementTest, NamedModelsAndMigrationTargetsDoNotAskUs) {
    demand({{"requireHostModelMigratabilityLevel", 50}});
    const auto before = asked();

    const auto named = make_pod({.host_model = false});
    const auto target = make_pod({.target = true});

    EXPECT_EQ(asked(), before);
    EXPECT_THAT(json::serialize(named), Not(HasSubstr(cluster::level_label)));
    EXPECT_THAT(json::serialize(target), Not(HasSubstr(cluster::level_label)));
    EXPECT_EQ(node_of(target), "roomy");
}

TEST_F(BedFirstPlacementTest, ALevelThatNoNodeHasIsToldOnTheVmiButNotByADryRun) {
    if (!scout::test::test_data()) {
        GTEST_SKIP() << "KubeVirt's definitions are not there";
    }
    create(kube::resources::virtual_machine_instances(), space,
           {{"metadata", {{"name", "vm"}, {"namespace", space}}},
            {"spec", {{"domain", {{"devices", json::object{}}}}}}});
    ASSERT_TRUE(run_until([this] { return scout->vmis.find(space, "vm") != nullptr; }));
    vmi_uid = scout->vmis.find(space, "vm")->meta.uid;
    demand({{"requireHostModelMigratabilityLevel", 51}});
    const auto tried = make_pod({.dry_run = true});
    EXPECT_THAT(json::serialize(tried), HasSubstr(R"("values":["50"])"));
    EXPECT_EQ(scout->events.waiting(), 0U);

    const auto pod = make_pod({});

    EXPECT_THAT(json::serialize(pod), HasSubstr(R"("values":["50"])"));
    ASSERT_TRUE(run_until([this] { return scout->events.counters().written == 1; }));
    const auto events =
        done(client->get_path(kube::collection_path(kube::resources::events(), space)));
    json::array ours;
    for (const auto& event : events.at("items").as_array()) {
        if (at(event, "/reason") == json::value("NoNodeWithMigratabilityLevel")) {
            ours.push_back(event);
        }
    }
    ASSERT_EQ(ours.size(), 1U);
    EXPECT_EQ(at(ours[0], "/regarding/name"), json::value("vm"));
    EXPECT_EQ(at(ours[0], "/regarding/uid"), json::value(vmi_uid));
    EXPECT_THAT(
        json::serialize(at(ours[0], "/note")),
        testing::AllOf(HasSubstr("the best there is is 50, on 2 of "), Not(HasSubstr(space))));
}

/// Of a KubeVirt whose object has the proposal's fields, and that is upgraded to one while we run.
class BedProposedFieldsTest : public BedFirstPlacementTest {
protected:
    void SetUp() override {
        BedFirstPlacementTest::SetUp();
        const auto data = scout::test::test_data();
        if (!data) {
            GTEST_SKIP() << "KubeVirt's definitions are not there";
        }
        create(kube::resources::kubevirts(), space,
               {{"metadata", {{"name", "kubevirt"}}},
                {"spec", {{"configuration", {{"migrations", json::object{}}}}}}});
        stock = done(client->get(definition())).as_object();
    }
    void TearDown() override {
        if (!stock.empty()) {
            done(client->remove(kubevirt(), {}));
            use_definition(stock);
        }
        BedFirstPlacementTest::TearDown();
    }

    [[nodiscard]] kube::Target kubevirt() const {
        return {.resource = kube::resources::kubevirts(),
                .object = {.space = space, .name = "kubevirt"}};
    }
    [[nodiscard]] static kube::Target definition() {
        return {.resource = kube::resources::custom_resource_definitions(),
                .object = {.space = {}, .name = "kubevirts.kubevirt.io"}};
    }
    void use_definition(json::object wanted) {
        const auto now = done(client->get(definition()));
        wanted.at("metadata").as_object()["resourceVersion"] = at(now, "/metadata/resourceVersion");
        done(client->update(definition(), json::serialize(wanted)));
    }
    /// Whether the server takes that wish.
    [[nodiscard]] bool require(const json::value& level) {
        const json::object migrations{{"requireHostModelMigratabilityLevel", level}};
        const json::object wish{{"spec", {{"configuration", {{"migrations", migrations}}}}}};
        return call(client->merge_patch(kubevirt(), json::serialize(wish))).has_value();
    }
    [[nodiscard]] std::optional<cluster::LevelRequirement> required() const {
        return scout->settings.current().placement.required;
    }

    json::object stock;
};

TEST_F(BedProposedFieldsTest, WhatKubeVirtRequiresIsInForceOnceItsObjectHasTheField) {
    demand({{"requireHostModelMigratabilityLevel", 20}});
    EXPECT_FALSE(require(50)) << "stock KubeVirt's object has no such field";
    const cluster::LevelRequirement ours{.level = 20,
                                         .source = cluster::DemandSource::scout_config};
    EXPECT_EQ(required(), ours);

    auto proposed = stock;
    scout::test::add_proposed_fields(proposed);
    const auto watches = scout->kubevirts.reflector().counters().watches;
    use_definition(std::move(proposed));
    // For a second the server goes on with watches by the old one, which leave new fields out.
    ASSERT_TRUE(
        run_until([&] { return scout->kubevirts.reflector().counters().watches > watches; }));
    // A definition takes a moment to be in force.
    ASSERT_TRUE(run_until([this] { return require(50); }));
    const cluster::LevelRequirement theirs{.level = 50, .source = cluster::DemandSource::kubevirt};
    ASSERT_TRUE(run_until([this, &theirs] { return required() == theirs; }));

    const auto pod = make_pod({});
    EXPECT_THAT(json::serialize(pod), HasSubstr(R"("values":["49"])"));
    EXPECT_THAT(node_of(pod), AnyOf("a", "b"));

    EXPECT_TRUE(require(nullptr));
    EXPECT_TRUE(run_until([this, &ours] { return required() == ours; }));
}

TEST_F(BedFirstPlacementTest, WithoutUsPodsAreMadeAsTheyAre) {
    demand({{"requireHostModelMigratabilityLevel", 50}});
    call(server->stop());

    const auto pod = make_pod({});

    EXPECT_THAT(json::serialize(pod), Not(HasSubstr(cluster::level_label)));
    EXPECT_EQ(node_of(pod), "roomy");
}

}  // namespace
}  // namespace scout::aggregator
