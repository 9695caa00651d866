// SPDX-License-Identifier: Apache-2.0
#include "kube/schema.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/logging.h"
#include "kube/json_lookup.h"

namespace scout::kube {
namespace {

namespace json = boost::json;

/// Definitions nest two levels for each level of the object; KubeVirt's deepest has 29.
constexpr std::size_t deepest = 256;

/// The schema of what lies in the lists and maps of this schema.
const json::object* innermost(const json::object* schema) {
    while (schema != nullptr && object_at(schema, "properties") == nullptr) {
        const auto* inner = object_at(schema, "items");
        inner = inner == nullptr ? object_at(schema, "additionalProperties") : inner;
        if (inner == nullptr) {
            break;
        }
        schema = inner;
    }
    return schema;
}

FieldFate look_up(const json::object* schema, const std::vector<std::string>& path) {
    // The server has its own schema for these, whatever the definition says.
    if (!path.empty() && (path[0] == "metadata" || path[0] == "apiVersion" || path[0] == "kind")) {
        return FieldFate::declared;
    }
    for (const auto& step : path) {
        schema = innermost(schema);
        const auto* next = object_at(object_at(schema, "properties"), step);
        if (next == nullptr) {
            return flag_at(*schema, "x-kubernetes-preserve-unknown-fields") ||
                           flag_at(*schema, "additionalProperties")
                       ? FieldFate::kept
                       : FieldFate::pruned;
        }
        schema = next;
    }
    return FieldFate::declared;
}

/// The entry of the version, if it is served.
const json::object* served_version(const json::object& spec, std::string_view version) {
    const auto* list = array_at(&spec, "versions");
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
        const auto* entry = (*list)[i].if_object();
        if (entry != nullptr && text_at(*entry, "name") == version && flag_at(*entry, "served")) {
            return entry;
        }
    }
    return nullptr;
}

}  // namespace

Result<FieldFate> field_fate(std::string_view definition, std::string_view version,
                             const std::vector<std::string>& path) {
    boost::system::error_code error;
    json::parse_options options;
    options.max_depth = deepest;
    const auto document = json::parse(definition, error, {}, options);
    const auto* spec = error ? nullptr : object_at(document.if_object(), "spec");
    if (spec == nullptr || !spec->contains("versions")) {
        return fail(Errc::invalid, "expected a CustomResourceDefinition, found something else");
    }
    const auto* entry = served_version(*spec, version);
    if (entry == nullptr) {
        return fail(Errc::not_found, "version " + log_value(version) + " is not served");
    }
    const auto* schema = object_at(object_at(entry, "schema"), "openAPIV3Schema");
    if (schema == nullptr) {
        return fail(Errc::invalid, "expected an openAPIV3Schema for version " + log_value(version) +
                                       ", found none");
    }
    if (flag_at(*spec, "preserveUnknownFields")) {
        const auto fate = look_up(schema, path);
        return fate == FieldFate::pruned ? FieldFate::kept : fate;
    }
    return look_up(schema, path);
}

}  // namespace scout::kube
