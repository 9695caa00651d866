// SPDX-License-Identifier: Apache-2.0
// daemonset/base on a real API server, and the cluster's side under the account that it makes.
#include <chrono>
#include <map>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "cluster/cpu_profile.h"
#include "cluster/levels.h"
#include "kube/objects/new_pod.h"
#include "kube/reviews.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/aggregator/host_model_objects.h"
#include "tests/support/profiles.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* space = "virt-scout";
constexpr const char* required_terms =
    "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";

class BedManifestsTest : public BedClusterTest {
protected:
    void SetUp() override {
        BedClusterTest::SetUp();
        if (client) {
            for (const auto& file : manifest_files()) {
                apply_manifest(file);
            }
            apply_manifest("../scoutconfig.yaml");
            apply_manifest(query_api_file);
        }
    }

    [[nodiscard]] kube::ClusterAccess account(const std::string& name) {
        return test::with_token(access, token_of(space, name, {}));
    }
    [[nodiscard]] bool may(const kube::ClusterAccess& who, kube::AccessQuestion question) {
        kube::HttpTransport way(loop.get_executor(), who, clock);
        kube::Client caller(way, clock, {});
        kube::Reviews reviews(caller);
        const auto decision = call(reviews.may_we(std::move(question)));
        way.close_idle();
        return decision && decision->allowed;
    }
    /// What the API server answers somebody to a merge patch, which is not kept.
    [[nodiscard]] std::string refusal(const kube::ClusterAccess& who, const kube::Target& object,
                                      const json::value& patch) {
        kube::HttpTransport way(loop.get_executor(), who, clock);
        kube::Client caller(way, clock, {});
        const auto answer =
            call(caller.merge_patch(object, json::serialize(patch), {.dry_run = true}));
        way.close_idle();
        return answer ? std::string{} : answer.error().text;
    }
    /// The same of the aggregator's account and a node.
    [[nodiscard]] std::string refusal(const std::string& node, const json::object& patch) {
        return refusal(account("virt-scout-aggregator"), target(node), patch);
    }
    /// The first row that `kubectl get` shows of them, by column.
    [[nodiscard]] std::map<std::string, json::value> table(const std::string& ours) {
        const auto answer =
            call(transport->send({.target = "/apis/virt-scout.io/v1alpha1/" + ours,
                                  .accept = "application/json;as=Table;v=v1;g=meta.k8s.io"},
                                 std::chrono::seconds{10}));
        const auto table = json::parse(answer.value().body);
        std::map<std::string, json::value> row;
        for (const auto& column : table.at("columnDefinitions").as_array()) {
            row.emplace(column.at("name").as_string(),
                        table.at("rows").at(0).at("cells").at(row.size()));
        }
        return row;
    }
    /// What becomes of the first launcher pod of a host-model VM.
    [[nodiscard]] json::value dry_run_of_launcher(const std::string& arch) {
        const json::object pod{
            {"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata", {{"name", "launcher"}, {"labels", {{"kubevirt.io", "virt-launcher"}}}}},
            {"spec",
             {{"serviceAccountName", "virt-scout-agent"},
              {"nodeSelector", {{"kubernetes.io/arch", arch}}},
              {"containers", {{{"name", "compute"}, {"image", "none"}}}},
              {"affinity", json::parse(host_model_affinity)}}}};
        kube::CallOptions options;
        options.dry_run = true;
        return done(
            client->create({.resource = kube::resources::pods(), .object = {.space = space}},
                           json::serialize(pod), options));
    }
    /// What becomes of a launcher pod of a VM that has this annotation of ours.
    [[nodiscard]] json::value dry_run_with_grace(const json::object& annotations) {
        const json::object pod{{"apiVersion", "v1"},
                               {"kind", "Pod"},
                               {"metadata",
                                {{"name", "launcher"},
                                 {"labels", {{"kubevirt.io", "virt-launcher"}}},
                                 {"annotations", annotations}}},
                               {"spec",
                                {{"serviceAccountName", "virt-scout-agent"},
                                 {"terminationGracePeriodSeconds", 60},
                                 {"containers",
                                  {{{"name", "compute"},
                                    {"image", "none"},
                                    {"command", {"monitor", "--grace-period-seconds", "45"}}}}}}}};
        kube::CallOptions options;
        options.dry_run = true;
        return done(
            client->create({.resource = kube::resources::pods(), .object = {.space = space}},
                           json::serialize(pod), options));
    }
    /// The bed routes no Services: the webhooks of that object call us by URL.
    void call_by_url(const kube::Target& webhook, const std::string& url) {
        ASSERT_TRUE(run_until([&] {
            return test::at(done(client->get(webhook)), "/webhooks/0/clientConfig/caBundle")
                .is_string();
        }));
        json::array patch;
        const auto count = test::at(done(client->get(webhook)), "/webhooks").as_array().size();
        for (std::size_t i = 0; i < count; ++i) {
            const auto config = "/webhooks/" + std::to_string(i) + "/clientConfig";
            patch.push_back({{"op", "remove"}, {"path", config + "/service"}});
            patch.push_back({{"op", "add"}, {"path", config + "/url"}, {"value", url}});
        }
        done(client->json_patch(webhook, json::serialize(patch)));
    }
    [[nodiscard]] static json::object labels(const std::string& key, const json::value& value) {
        return {{"metadata", {{"labels", {{key, value}}}}}};
    }
    [[nodiscard]] static json::object annotations(const std::string& key,
                                                  const json::value& value) {
        return {{"metadata", {{"annotations", {{key, value}}}}}};
    }
};

TEST_F(BedManifestsTest, ACpuProfileIsNamedByItsContentAndNeverChanges) {
    const auto profile = scout::test::host({.model = "Large", .usable = {"Small"}});
    const auto name = cluster::profile_name(profile);
    const kube::Target object{.resource = kube::resources::cpu_profiles(),
                              .object = {.space = {}, .name = name}};
    done(client->apply(object, cluster::cpu_profile_body(profile).value(), {}));

    const auto changed = call(client->merge_patch(object, R"({"spec":{"vendor":"AMD"}})"));
    const auto misnamed =
        call(client->create({.resource = kube::resources::cpu_profiles(), .object = {}},
                            R"({"apiVersion":"virt-scout.io/v1alpha1","kind":"CPUProfile",)"
                            R"("metadata":{"name":"mine"},"spec":{}})"));

    ASSERT_FALSE(changed);
    EXPECT_THAT(changed.error().text, HasSubstr("a CPUProfile never changes"));
    ASSERT_FALSE(misnamed);
    EXPECT_THAT(misnamed.error().text, HasSubstr("named by its content"));
    done(client->remove(object, {}));
}

TEST_F(BedManifestsTest, TheAggregatorKeepsLabelsUnderItsAccount) {
    make_node("manifests", "a", "x");
    make_node("manifests", "b", "x");

    auto side = start(account("virt-scout-aggregator"), space);

    ASSERT_TRUE(run_until([this] { return level("manifests-b") == "100"; }));
    ASSERT_TRUE(settle(*side));
    EXPECT_EQ(side->facts().labels_failed, 0U);
    EXPECT_THAT(side->facts().trouble, Not(HasSubstr("forbidden")));
    ASSERT_TRUE(run_until([this] {
        const auto config = done(client->get({.resource = kube::resources::scout_configs(),
                                              .object = {.space = {}, .name = "default"}}));
        return test::at(config, "/status/conditions/0/status") == "True";
    }));
    const auto shown = table("scoutconfigs");
    EXPECT_EQ(shown.at("In force"), "True");
    EXPECT_EQ(shown.at("Layer"), "stock");
    EXPECT_EQ(shown.at("Evacuation"), "observe");
    EXPECT_TRUE(shown.at("Protecting").is_string());
    stop(std::move(side));
}

TEST_F(BedManifestsTest, KubectlKnowsOurKindsByShortNamesAndShowsWhatTellsThemApart) {
    std::map<std::string, json::value> short_names;
    const auto list = done(client->get_path("/apis/virt-scout.io/v1alpha1"));
    for (const auto& resource : list.at("resources").as_array()) {
        short_names.emplace(resource.at("name").as_string(), test::at(resource, "/shortNames"));
    }
    EXPECT_EQ(short_names.at("scoutconfigs"), json::array{"scout"});
    EXPECT_EQ(short_names.at("cpuprofiles"), json::array{"cpup"});

    const auto profile = scout::test::host({.model = "Small", .vendor = "V"});
    const auto name = cluster::profile_name(profile);
    const kube::Target object{.resource = kube::resources::cpu_profiles(),
                              .object = {.space = {}, .name = name}};
    done(client->apply(object, cluster::cpu_profile_body(profile).value(), {}));
    const auto shown = table("cpuprofiles/" + name);
    EXPECT_EQ(shown.at("Name"), json::value(json::string(name)));
    EXPECT_EQ(shown.at("Architecture"), json::value(json::string(profile.arch)));
    EXPECT_EQ(shown.at("Vendor"), "V");
    EXPECT_EQ(shown.at("Host model"), "Small");
    EXPECT_TRUE(shown.contains("Unused since"));
    EXPECT_TRUE(shown.contains("Age"));
    done(client->remove(object, {}));
}

TEST_F(BedManifestsTest, ALauncherPodIsToldTheLevelThatTheScoutConfigRequires) {
    make_node("placement", "a", "x");
    make_node("placement", "b", "x");
    auto side = start(account("virt-scout-aggregator"), space,
                      {.listen = "127.0.0.1:0", .names = {"127.0.0.1"}, .files = {}});
    const kube::Target config{.resource = kube::resources::scout_configs(),
                              .object = {.space = {}, .name = "default"}};
    const kube::Target webhook{.resource = kube::resources::mutating_webhook_configurations(),
                               .object = {.space = {}, .name = "virt-scout-first"}};
    done(client->merge_patch(
        config, R"({"spec":{"placement":{"requireHostModelMigratabilityLevel":40}}})"));
    call_by_url(webhook, "https://127.0.0.1:" + std::to_string(side->https_port()) + "/first");
    ASSERT_TRUE(run_until([this] { return level("placement-b") == "100"; }));

    // A webhook that was changed is asked a moment later.
    json::value required;
    EXPECT_TRUE(run_until([&] {
        required = test::at(dry_run_of_launcher("placement"), required_terms);
        return json::serialize(required).find("migratability-level") != std::string::npos;
    }));
    EXPECT_EQ(test::at(required, "/0/matchExpressions/1"),
              (json::value{{"key", cluster::level_label}, {"operator", "Gt"}, {"values", {"39"}}}));
    EXPECT_EQ(required.as_array().size(), 1U);
    EXPECT_GT(side->facts().placement.patched, 0U);
    EXPECT_EQ(side->facts().serving.trouble, "");
    done(client->merge_patch(config, R"({"spec":{"placement":null}})"));
    stop(std::move(side));
    done(client->remove(webhook, {}));
}

TEST_F(BedManifestsTest, ALauncherGetsTheTimeThatItsVmOrItsNamespaceWants) {
    auto side = start(account("virt-scout-aggregator"), space,
                      {.listen = "127.0.0.1:0", .names = {"127.0.0.1"}, .files = {}});
    const kube::Target webhook{.resource = kube::resources::mutating_webhook_configurations(),
                               .object = {.space = {}, .name = "virt-scout-grace"}};
    call_by_url(webhook, "https://127.0.0.1:" + std::to_string(side->https_port()) + "/grace");
    const auto grace_of = [this](const json::object& annotations) {
        const auto pod = dry_run_with_grace(annotations);
        return json::serialize(test::at(pod, "/spec/containers/0/command/2")) + " of " +
               json::serialize(test::at(pod, "/spec/terminationGracePeriodSeconds"));
    };
    const json::object wanting{{kube::grace_key, "300"}};

    // A webhook that was changed is asked a moment later.
    EXPECT_TRUE(run_until([&] { return grace_of(wanting) == R"("300" of 315)"; }));
    EXPECT_EQ(grace_of({}), R"("45" of 60)") << "nobody wants more";
    EXPECT_EQ(side->facts().grace.patched, side->facts().grace.admitted)
        << "of pods for which nobody wants more nothing is asked";

    const kube::Target own{.resource = kube::resources::namespaces(),
                           .object = {.space = {}, .name = space}};
    done(client->merge_patch(own, json::serialize(labels(kube::grace_key, "200"))));
    EXPECT_TRUE(run_until([&] { return grace_of({}) == R"("200" of 215)"; }));
    EXPECT_EQ(grace_of(wanting), R"("300" of 315)") << "the VM comes first";
    done(client->merge_patch(own, json::serialize(labels(kube::grace_key, nullptr))));
    stop(std::move(side));
    done(client->remove(webhook, {}));
}

TEST_F(BedManifestsTest, TheFenceLeavesTheAggregatorNothingOfANodeButItsLevel) {
    make_node("fence", "a", "x");
    // A new policy is in force a moment after it was taken.
    ASSERT_TRUE(run_until([this] { return !refusal("fence-a", labels("else", "x")).empty(); }));

    EXPECT_THAT(refusal("fence-a", labels("kubevirt.io/schedulable", "false")),
                HasSubstr("changes only kubevirt/host-model-migratability-level"));
    EXPECT_THAT(refusal("fence-a", labels("kubevirt.io/schedulable", nullptr)),
                HasSubstr("changes only"));
    const std::string level_key{cluster::level_label};
    EXPECT_THAT(refusal("fence-a", labels(level_key, "101")), HasSubstr("from 0 to 100"));
    EXPECT_THAT(refusal("fence-a", labels(level_key, "007")), HasSubstr("from 0 to 100"));
    EXPECT_THAT(refusal("fence-a", {{"spec", {{"unschedulable", true}}}}),
                HasSubstr("nothing else of it"));
    EXPECT_THAT(
        refusal("fence-a", annotations("a", "b")),
        HasSubstr("changes only virt-scout.io/cpu-profile and virt-scout.io/cpu-profile-be"));
    const auto name = "cpu-" + std::string(40, 'a');
    for (const auto* key : {"virt-scout.io/cpu-profile", "virt-scout.io/cpu-profile-before"}) {
        EXPECT_THAT(refusal("fence-a", annotations(key, "x")), HasSubstr("names of CPUProfiles"));
        EXPECT_EQ(refusal("fence-a", annotations(key, json::string_view{name})), "");
        EXPECT_EQ(refusal("fence-a", annotations(key, nullptr)), "");
    }
    EXPECT_EQ(refusal("fence-a", labels(level_key, "100")), "");
    EXPECT_EQ(refusal("fence-a", labels(level_key, nullptr)), "");
    label("fence-a", "else", "x");  // others are not fenced
}

/// An overlay may move all to another namespace.
TEST_F(BedManifestsTest, TheFenceHoldsForAccountsOfThatNameInEveryNamespace) {
    make_node("fence", "b", "x");
    const auto other = new_space();
    create(test::core("serviceaccounts", "ServiceAccount"), other,
           {{"metadata", {{"name", "virt-scout-aggregator"}, {"namespace", other}}}});
    grant(other, "virt-scout-aggregator", "", "nodes", {"patch"});
    const auto who = test::with_token(access, token_of(other, "virt-scout-aggregator", {}));

    ASSERT_TRUE(
        run_until([&] { return !refusal(who, target("fence-b"), labels("else", "x")).empty(); }));
    EXPECT_THAT(refusal(who, target("fence-b"), labels("else", "x")), HasSubstr("changes only"));
    EXPECT_EQ(refusal(who, target("fence-b"), labels(std::string{cluster::level_label}, "7")), "");
}

TEST_F(BedManifestsTest, OfItsWebhookTheAggregatorChangesTheBundleAlone) {
    const auto who = account("virt-scout-aggregator");
    const kube::Target webhook{.resource = kube::resources::mutating_webhook_configurations(),
                               .object = {.space = {}, .name = "virt-scout-first"}};
    const auto with = [this, &webhook](const char* key, const json::value& value) {
        auto hooks = test::at(done(client->get(webhook)), "/webhooks");
        hooks.at(0).as_object()[key] = value;
        return json::value{{"webhooks", hooks}};
    };
    const auto rules = json::parse(
        R"([{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*/*"]}])");
    // A new policy is in force a moment after it was taken.
    ASSERT_TRUE(run_until([&] { return !refusal(who, webhook, with("rules", rules)).empty(); }));

    for (const auto& [key, value] : {std::pair<const char*, json::value>{"rules", rules},
                                     {"objectSelector", json::object{}},
                                     {"namespaceSelector", {{"matchLabels", {{"a", "b"}}}}},
                                     {"matchConditions", json::array{}},
                                     {"failurePolicy", "Fail"},
                                     {"timeoutSeconds", 30},
                                     {"reinvocationPolicy", "Never"},
                                     {"clientConfig", {{"url", "https://elsewhere.example/"}}}}) {
        EXPECT_THAT(refusal(who, webhook, with(key, value)), HasSubstr("nothing else of it"))
            << key;
    }
    EXPECT_THAT(refusal(who, webhook, labels("a", "b")), HasSubstr("nothing else of it"));
    EXPECT_THAT(refusal(who, webhook, json::value{{"webhooks", json::array{}}}),
                HasSubstr("nothing else of it"));
    auto hooks = test::at(done(client->get(webhook)), "/webhooks");
    hooks.at(0).at("clientConfig").as_object()["caBundle"] = "QUJD";
    // The API server looks at what is in it, the fence has no say.
    EXPECT_THAT(refusal(who, webhook, json::value{{"webhooks", hooks}}),
                Not(HasSubstr("nothing else of it")));
}

TEST_F(BedManifestsTest, TheSameOfTheWebhookThatIsAskedAboutPolicies) {
    const auto who = account("virt-scout-aggregator");
    const kube::Target webhook{.resource = kube::resources::validating_webhook_configurations(),
                               .object = {.space = {}, .name = "virt-scout-policies"}};
    const auto with = [this, &webhook](const char* key, const json::value& value) {
        auto hooks = test::at(done(client->get(webhook)), "/webhooks");
        hooks.at(0).as_object()[key] = value;
        return json::value{{"webhooks", hooks}};
    };
    // A new policy is in force a moment after it was taken.
    ASSERT_TRUE(
        run_until([&] { return !refusal(who, webhook, with("failurePolicy", "Fail")).empty(); }));

    for (const auto& [key, value] : {std::pair<const char*, json::value>{"failurePolicy", "Fail"},
                                     {"matchConditions", json::array{}},
                                     {"clientConfig", {{"url", "https://elsewhere.example/"}}}}) {
        EXPECT_THAT(refusal(who, webhook, with(key, value)), HasSubstr("nothing else of it"))
            << key;
    }
    auto hooks = test::at(done(client->get(webhook)), "/webhooks");
    hooks.at(0).at("clientConfig").as_object()["caBundle"] = "QUJD";
    // The API server looks at what is in it, the fence has no say.
    EXPECT_THAT(refusal(who, webhook, json::value{{"webhooks", hooks}}),
                Not(HasSubstr("nothing else of it")));
}

TEST_F(BedManifestsTest, OfItsApiTheAggregatorChangesTheBundleAlone) {
    const auto who = account("virt-scout-aggregator");
    auto services = test::core("apiservices", "APIService", false);
    services.group = "apiregistration.k8s.io";
    const kube::Target api{.resource = services,
                           .object = {.space = {}, .name = "v1alpha1.query.virt-scout.io"}};
    ASSERT_TRUE(run_until([&] {
        return !refusal(who, api, json::value{{"spec", {{"versionPriority", 1}}}}).empty();
    }));

    for (const auto* spec : {R"({"service":{"name":"other"}})", R"({"groupPriorityMinimum":20000})",
                             R"({"insecureSkipTLSVerify":true,"caBundle":null})"}) {
        EXPECT_THAT(refusal(who, api, json::value{{"spec", json::parse(spec)}}),
                    HasSubstr("nothing else of it"))
            << spec;
    }
    EXPECT_EQ(refusal(who, api, json::value{{"spec", {{"caBundle", "QUJD"}}}}), "");
}

TEST_F(BedManifestsTest, NobodyHasARightThatIsRootInDisguise) {
    for (const auto* name : {"virt-scout-aggregator", "virt-scout-agent"}) {
        const auto who = account(name);
        EXPECT_FALSE(may(who, {.verb = "create", .resource = kube::resources::pods()})) << name;
        EXPECT_FALSE(
            may(who, {.verb = "get", .resource = kube::resources::nodes(), .subresource = "proxy"}))
            << name;
        EXPECT_FALSE(may(who, {.verb = "get",
                               .resource = test::core("secrets", "Secret"),
                               .object = {.space = "kube-system", .name = {}}}))
            << name;
        EXPECT_FALSE(may(who, {.verb = "delete", .resource = kube::resources::nodes()})) << name;
    }
    EXPECT_TRUE(may(account("virt-scout-aggregator"),
                    {.verb = "patch", .resource = kube::resources::nodes()}));
    EXPECT_FALSE(
        may(account("virt-scout-agent"), {.verb = "list", .resource = kube::resources::nodes()}));
}

TEST_F(BedManifestsTest, TheAggregatorMayKnowUsersAndAskAboutThem) {
    const auto who = account("virt-scout-aggregator");
    const auto of = [](const char* group, const char* plural, const char* kind) {
        auto resource = test::core(plural, kind, false);
        resource.group = group;
        return resource;
    };
    const auto maps = kube::resources::config_maps();
    const auto services = of("apiregistration.k8s.io", "apiservices", "APIService");

    EXPECT_TRUE(may(who, {.verb = "create",
                          .resource = of("authorization.k8s.io", "subjectaccessreviews",
                                         "SubjectAccessReview")}));
    EXPECT_TRUE(may(who, {.verb = "patch",
                          .resource = services,
                          .object = {.space = {}, .name = "v1alpha1.query.virt-scout.io"}}));
    EXPECT_FALSE(may(who, {.verb = "patch",
                           .resource = services,
                           .object = {.space = {}, .name = "v1.kubevirt.io"}}));
    for (const auto* verb : {"list", "watch"}) {
        EXPECT_TRUE(may(who, {.verb = verb,
                              .resource = maps,
                              .object = {.space = "kube-system",
                                         .name = "extension-apiserver-authentication"}}));
        EXPECT_FALSE(may(
            who, {.verb = verb, .resource = maps, .object = {.space = "kube-system", .name = {}}}));
    }
}

}  // namespace
}  // namespace scout::aggregator
