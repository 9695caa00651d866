// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace scout::kube {

/// A kind as the API server serves it.
struct Resource {
    std::string group;  ///< empty for the core group
    std::string version;
    std::string plural;
    std::string kind;
    bool namespaced = true;
};

/// One object of a kind. The namespace is empty for cluster-scoped kinds.
struct ObjectName {
    std::string space;
    std::string name;
};

/// Which objects of a kind; empty fields choose all.
struct Selection {
    std::string space;  ///< namespace
    std::string labels;
    std::string fields;
};

/// "/apis/kubevirt.io/v1/namespaces/ns/virtualmachines", percent-encoded, without a query.
[[nodiscard]] std::string collection_path(const Resource& resource, std::string_view space);
[[nodiscard]] std::string object_path(const Resource& resource, const ObjectName& object,
                                      std::string_view subresource = {});

/// Whether a name can stand in a path, as the API server takes it (client-go's
/// IsValidPathSegmentName): not empty, neither "." nor "..", without '/' and '%'.
[[nodiscard]] bool is_path_segment(std::string_view name) noexcept;

/// "nodes", "virtualmachines.kubevirt.io": as people and kubectl name a kind.
[[nodiscard]] std::string display_name(const Resource& resource);

namespace resources {
[[nodiscard]] const Resource& nodes();
[[nodiscard]] const Resource& namespaces();
[[nodiscard]] const Resource& pods();
[[nodiscard]] const Resource& secrets();
[[nodiscard]] const Resource& config_maps();
[[nodiscard]] const Resource& virtual_machine_instances();
[[nodiscard]] const Resource& migrations();
[[nodiscard]] const Resource& kubevirts();
[[nodiscard]] const Resource& migration_policies();
[[nodiscard]] const Resource& plugins();  ///< node hooks (dossier §3.4)
[[nodiscard]] const Resource& scout_configs();
[[nodiscard]] const Resource& cpu_profiles();
[[nodiscard]] const Resource& leases();
[[nodiscard]] const Resource& events();  ///< events.k8s.io/v1
[[nodiscard]] const Resource& custom_resource_definitions();
[[nodiscard]] const Resource& mutating_webhook_configurations();
[[nodiscard]] const Resource& validating_webhook_configurations();
[[nodiscard]] const Resource& cluster_roles();
}  // namespace resources

}  // namespace scout::kube
