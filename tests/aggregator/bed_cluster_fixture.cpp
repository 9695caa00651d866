// SPDX-License-Identifier: Apache-2.0
#include "tests/aggregator/bed_cluster_fixture.h"

#include <filesystem>
#include <map>
#include <stdexcept>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/files.h"
#include "cluster/levels.h"
#include "cluster/yaml_json.h"
#include "tests/aggregator/host_model_objects.h"
#include "tests/kube/bed_objects.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;

std::string text_at(const json::value& object, std::string_view pointer) {
    const auto value = test::at(object, pointer);
    return value.is_string() ? std::string{value.as_string()} : std::string{};
}

/// Plural and whether it has namespaces, of all kinds that the manifests have.
kube::Resource served_as(const std::string& kind, const std::string& api_version) {
    static const std::map<std::string, std::pair<const char*, bool>> kinds{
        {"Namespace", {"namespaces", false}},
        {"ServiceAccount", {"serviceaccounts", true}},
        {"Service", {"services", true}},
        {"Deployment", {"deployments", true}},
        {"DaemonSet", {"daemonsets", true}},
        {"PodDisruptionBudget", {"poddisruptionbudgets", true}},
        {"Role", {"roles", true}},
        {"RoleBinding", {"rolebindings", true}},
        {"ClusterRole", {"clusterroles", false}},
        {"ClusterRoleBinding", {"clusterrolebindings", false}},
        {"APIService", {"apiservices", false}},
        {"CustomResourceDefinition", {"customresourcedefinitions", false}},
        {"ScoutConfig", {"scoutconfigs", false}},
        {"ValidatingAdmissionPolicy", {"validatingadmissionpolicies", false}},
        {"ValidatingAdmissionPolicyBinding", {"validatingadmissionpolicybindings", false}},
        {"MutatingWebhookConfiguration", {"mutatingwebhookconfigurations", false}},
        {"ValidatingWebhookConfiguration", {"validatingwebhookconfigurations", false}}};
    const auto& [plural, namespaced] = kinds.at(kind);
    const auto slash = api_version.find('/');
    const bool core = slash == std::string::npos;
    return {.group = core ? std::string{} : api_version.substr(0, slash),
            .version = core ? api_version : api_version.substr(slash + 1),
            .plural = plural,
            .kind = kind,
            .namespaced = namespaced};
}

/// The documents of a file below daemonset/base.
std::vector<json::value> read_yaml(std::string_view file) {
    const auto path = std::filesystem::path{SCOUT_MANIFESTS} / file;
    const auto text = read_file(path, std::size_t{1} << 20U);
    if (!text) {
        throw std::runtime_error(text.error().message);
    }
    const auto documents = cluster::yaml_to_json(*text);
    if (!documents) {
        throw std::runtime_error(path.string() + ": " + documents.error().message);
    }
    std::vector<json::value> values;
    for (const auto& document : *documents) {
        values.push_back(json::parse(document.json));
    }
    return values;
}

}  // namespace

std::vector<std::string> manifest_files() {
    std::vector<std::string> files;
    const auto list = read_yaml("kustomization.yaml");
    for (const auto& file : list.at(0).at("resources").as_array()) {
        files.emplace_back(file.as_string());
    }
    return files;
}

std::vector<Manifest> read_manifest(std::string_view file) {
    std::vector<Manifest> manifests;
    const auto bodies = read_yaml(file);
    for (const auto& body : bodies) {
        auto resource = served_as(text_at(body, "/kind"), text_at(body, "/apiVersion"));
        kube::ObjectName object{.space = text_at(body, "/metadata/namespace"),
                                .name = text_at(body, "/metadata/name")};
        manifests.push_back({std::move(resource), std::move(object), body.as_object()});
    }
    return manifests;
}

void BedClusterTest::make_node(const std::string& arch, const std::string& name,
                               const std::string& feature) {
    create_node(arch + "-" + name, node_labels(arch, feature));
}

void BedClusterTest::label(const std::string& node, const std::string& key,
                           const json::value& value) {
    const json::object patch{{"metadata", {{"labels", {{key, value}}}}}};
    done(client->merge_patch(target(node), json::serialize(patch)));
}

std::string BedClusterTest::level(const std::string& node) {
    const auto object = done(client->get(target(node)));
    const auto* found =
        object.at("metadata").at("labels").as_object().if_contains(cluster::level_label);
    return found == nullptr ? "none" : std::string(found->as_string());
}

std::string BedClusterTest::version(const std::string& node) {
    return text_at(done(client->get(target(node))), "/metadata/resourceVersion");
}

kube::Target BedClusterTest::target(const std::string& node) {
    return {.resource = kube::resources::nodes(), .object = {.space = {}, .name = node}};
}

void BedClusterTest::apply_manifest(std::string_view file) {
    for (const auto& manifest : read_manifest(file)) {
        const kube::Target object{.resource = manifest.resource, .object = manifest.object};
        kube::ApplyOptions options{.manager = "test", .force = true};
        done(client->apply(object, json::serialize(manifest.body), options));
        if (manifest.resource.kind == "CustomResourceDefinition" &&
            !run_until([&] { return is_served(manifest.body); })) {
            throw std::runtime_error(manifest.object.name + " is not served");
        }
    }
}

void BedClusterTest::serve_kubevirt(const std::filesystem::path& data) {
    static const auto definitions = test::kubevirt_definitions(data);
    for (const auto& [name, definition] : definitions) {
        if (!is_served(definition)) {
            create(kube::resources::custom_resource_definitions(), {}, definition);
        }
    }
    for (const auto& [name, definition] : definitions) {
        if (!run_until([this, &definition] { return is_served(definition); })) {
            throw std::runtime_error(name + " is not served");
        }
    }
}

bool BedClusterTest::is_served(const json::object& definition) {
    const auto& spec = definition.at("spec");
    const kube::Resource resource{.group = text_at(spec, "/group"),
                                  .version = text_at(spec, "/versions/0/name"),
                                  .plural = text_at(spec, "/names/plural"),
                                  .kind = text_at(spec, "/names/kind"),
                                  .namespaced = text_at(spec, "/scope") == "Namespaced"};
    const kube::ObjectName nobody{.space = resource.namespaced ? "default" : "", .name = "none"};
    const auto none = call(client->get({.resource = resource, .object = nobody}));
    // Before it is served the answer is no Status object.
    return !none && none.error().reason == "NotFound";
}

ClusterSettings BedClusterTest::settings(const kube::ClusterAccess& who,
                                         const std::string& space) const {
    return {.access = who,
            .space = space,
            .identity = lease_identity(),
            .levels = {},
            .https = {},
            .following = following};
}

std::unique_ptr<ClusterSide> BedClusterTest::start(const kube::ClusterAccess& who,
                                                   const std::string& space, HttpsSettings https,
                                                   const Preparation& prepare) {
    auto chosen = settings(who, space);
    chosen.https = std::move(https);
    auto side = std::make_unique<ClusterSide>(loop.get_executor(), std::move(chosen), clock);
    if (prepare) {
        prepare(*side);
    }
    const auto started = side->start();
    if (!started) {
        throw std::runtime_error(started.error().message);
    }
    return side;
}

bool BedClusterTest::settle(const ClusterSide& side) {
    return run_until([&side] {
        const auto facts = side.facts();
        return facts.leads && facts.synced && facts.labels_out_of_step == 0;
    });
}

void BedClusterTest::stop(std::unique_ptr<ClusterSide> side) {
    call(side->stop());
}

}  // namespace scout::aggregator
