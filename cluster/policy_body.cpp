// SPDX-License-Identifier: Apache-2.0
#include "cluster/policy_body.h"

#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "kube/resource.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;

json::object document(const migration::Labels& labels) {
    json::object out;
    for (const auto& [key, value] : labels) {
        out[key] = value;
    }
    return out;
}

}  // namespace

kube::Target policy_target(std::string name) {
    return {.resource = kube::resources::migration_policies(),
            .object = {.space = {}, .name = std::move(name)}};
}

std::optional<json::object> policy_spec(std::string_view body) {
    boost::system::error_code failed;
    auto policy = json::parse(body, failed);
    auto* const object = failed ? nullptr : policy.if_object();
    auto* const spec = object == nullptr ? nullptr : object->if_contains("spec");
    if (spec == nullptr || !spec->is_object()) {
        return std::nullopt;
    }
    return std::move(spec->as_object());
}

std::string policy_body(json::object metadata, const migration::PolicySelectors& selectors,
                        json::object spec) {
    spec["selectors"] = {{"namespaceSelector", document(selectors.space)},
                         {"virtualMachineInstanceSelector", document(selectors.vmi)}};
    const json::object body{{"apiVersion", "migrations.kubevirt.io/v1alpha1"},
                            {"kind", "MigrationPolicy"},
                            {"metadata", std::move(metadata)},
                            {"spec", std::move(spec)}};
    return json::serialize(body);
}

}  // namespace scout::cluster
