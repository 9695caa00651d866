// SPDX-License-Identifier: Apache-2.0
#include "kube/resource.h"

#include <algorithm>

#include "base/percent.h"

namespace scout::kube {

std::string collection_path(const Resource& resource, std::string_view space) {
    std::string path = resource.group.empty() ? "/api/" : "/apis/";
    if (!resource.group.empty()) {
        path += percent_encode(resource.group) + "/";
    }
    path += percent_encode(resource.version);
    if (resource.namespaced && !space.empty()) {
        path += "/namespaces/" + percent_encode(space);
    }
    return path + "/" + percent_encode(resource.plural);
}

std::string object_path(const Resource& resource, const ObjectName& object,
                        std::string_view subresource) {
    std::string path = collection_path(resource, object.space) + "/" + percent_encode(object.name);
    // One may lie in another: "evacuate/cancel".
    while (!subresource.empty()) {
        const auto end = std::min(subresource.find('/'), subresource.size());
        path += "/" + percent_encode(subresource.substr(0, end));
        subresource.remove_prefix(std::min(end + 1, subresource.size()));
    }
    return path;
}

bool is_path_segment(std::string_view name) noexcept {
    return !name.empty() && name != "." && name != ".." &&
           name.find_first_of("/%") == std::string_view::npos;
}

std::string display_name(const Resource& resource) {
    return resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
}

namespace resources {

const Resource& nodes() {
    static const Resource resource{
        .version = "v1", .plural = "nodes", .kind = "Node", .namespaced = false};
    return resource;
}

const Resource& namespaces() {
    static const Resource resource{
        .version = "v1", .plural = "namespaces", .kind = "Namespace", .namespaced = false};
    return resource;
}

const Resource& pods() {
    static const Resource resource{.version = "v1", .plural = "pods", .kind = "Pod"};
    return resource;
}

const Resource& secrets() {
    static const Resource resource{.version = "v1", .plural = "secrets", .kind = "Secret"};
    return resource;
}

const Resource& config_maps() {
    static const Resource resource{.version = "v1", .plural = "configmaps", .kind = "ConfigMap"};
    return resource;
}

const Resource& virtual_machine_instances() {
    static const Resource resource{.group = "kubevirt.io",
                                   .version = "v1",
                                   .plural = "virtualmachineinstances",
                                   .kind = "VirtualMachineInstance"};
    return resource;
}

const Resource& migrations() {
    static const Resource resource{.group = "kubevirt.io",
                                   .version = "v1",
                                   .plural = "virtualmachineinstancemigrations",
                                   .kind = "VirtualMachineInstanceMigration"};
    return resource;
}

const Resource& kubevirts() {
    static const Resource resource{
        .group = "kubevirt.io", .version = "v1", .plural = "kubevirts", .kind = "KubeVirt"};
    return resource;
}

const Resource& migration_policies() {
    static const Resource resource{.group = "migrations.kubevirt.io",
                                   .version = "v1alpha1",
                                   .plural = "migrationpolicies",
                                   .kind = "MigrationPolicy",
                                   .namespaced = false};
    return resource;
}

const Resource& plugins() {
    static const Resource resource{.group = "plugin.kubevirt.io",
                                   .version = "v1alpha1",
                                   .plural = "plugins",
                                   .kind = "Plugin",
                                   .namespaced = false};
    return resource;
}

const Resource& scout_configs() {
    static const Resource resource{.group = "virt-scout.io",
                                   .version = "v1alpha1",
                                   .plural = "scoutconfigs",
                                   .kind = "ScoutConfig",
                                   .namespaced = false};
    return resource;
}

const Resource& cpu_profiles() {
    static const Resource resource{.group = "virt-scout.io",
                                   .version = "v1alpha1",
                                   .plural = "cpuprofiles",
                                   .kind = "CPUProfile",
                                   .namespaced = false};
    return resource;
}

const Resource& leases() {
    static const Resource resource{
        .group = "coordination.k8s.io", .version = "v1", .plural = "leases", .kind = "Lease"};
    return resource;
}

const Resource& events() {
    static const Resource resource{
        .group = "events.k8s.io", .version = "v1", .plural = "events", .kind = "Event"};
    return resource;
}

const Resource& custom_resource_definitions() {
    static const Resource resource{.group = "apiextensions.k8s.io",
                                   .version = "v1",
                                   .plural = "customresourcedefinitions",
                                   .kind = "CustomResourceDefinition",
                                   .namespaced = false};
    return resource;
}

const Resource& mutating_webhook_configurations() {
    static const Resource resource{.group = "admissionregistration.k8s.io",
                                   .version = "v1",
                                   .plural = "mutatingwebhookconfigurations",
                                   .kind = "MutatingWebhookConfiguration",
                                   .namespaced = false};
    return resource;
}

const Resource& validating_webhook_configurations() {
    static const Resource resource{.group = "admissionregistration.k8s.io",
                                   .version = "v1",
                                   .plural = "validatingwebhookconfigurations",
                                   .kind = "ValidatingWebhookConfiguration",
                                   .namespaced = false};
    return resource;
}

const Resource& cluster_roles() {
    static const Resource resource{.group = "rbac.authorization.k8s.io",
                                   .version = "v1",
                                   .plural = "clusterroles",
                                   .kind = "ClusterRole",
                                   .namespaced = false};
    return resource;
}

}  // namespace resources
}  // namespace scout::kube
