// SPDX-License-Identifier: Apache-2.0
#include "tests/kube/bed_objects.h"

#include <initializer_list>
#include <set>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/files.h"
#include "cluster/yaml_json.h"

namespace scout::test {

namespace json = boost::json;

namespace {

/// The one document of a JSON or YAML file.
json::object read_object(const std::filesystem::path& file) {
    auto text = read_file(file).value();
    if (file.extension() != ".json") {
        text = cluster::yaml_to_json(text).value().at(0).json;
    }
    return json::parse(text).as_object();
}

std::set<std::filesystem::path> files_in(const std::filesystem::path& folder) {
    return {std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator{}};
}

/// The properties of the schema at that path.
json::object& properties_at(json::object& schema, std::initializer_list<std::string_view> path) {
    auto* found = &schema.at("properties").as_object();
    for (const auto step : path) {
        found = &found->at(step).at("properties").as_object();
    }
    return *found;
}

json::object whole_number() {
    return {{"type", "integer"}, {"format", "int32"}};
}

json::object selector_requirements() {
    const json::object text{{"type", "string"}};
    const json::object texts{{"type", "array"}, {"items", text}};
    const json::object requirement{
        {"type", "object"},
        {"required", json::array{"key", "operator"}},
        {"properties", {{"key", text}, {"operator", text}, {"values", texts}}}};
    return {{"type", "array"}, {"items", requirement}};
}

void add_levels(json::object& schema) {
    auto& properties = properties_at(schema, {"spec", "configuration", "migrations"});
    properties["requireHostModelMigratabilityLevel"] = whole_number();
    properties["preferedHostModelMigratabilityLevel"] = {
        {"type", "object"},
        {"properties", {{"level", whole_number()}, {"weight", whole_number()}}}};
}

void add_selector_term(json::object& schema) {
    properties_at(schema, {"spec"})["addedNodeSelectorTerm"] = {
        {"type", "object"},
        {"properties",
         {{"matchFields", selector_requirements()},
          {"matchExpressions", selector_requirements()}}}};
}

}  // namespace

std::map<std::string, json::object> captured_nodes(const std::filesystem::path& data) {
    std::map<std::string, json::object> nodes;
    for (const auto& file : files_in(data / "kubernetes" / "nodes")) {
        auto node = read_object(file);
        node["apiVersion"] = "v1";
        node["kind"] = "Node";
        auto& metadata = node.at("metadata").as_object();
        for (const auto* key : {"uid", "resourceVersion", "creationTimestamp", "managedFields"}) {
            metadata.erase(key);
        }
        nodes.emplace(metadata.at("name").as_string(), std::move(node));
    }
    return nodes;
}

std::map<std::string, json::object> kubevirt_definitions(const std::filesystem::path& data) {
    std::map<std::string, json::object> definitions;
    for (const auto& file : files_in(data / "kubevirt" / "crds")) {
        auto definition = read_object(file);
        const std::string name{definition.at("metadata").at("name").as_string()};
        definitions.emplace(name, std::move(definition));
    }
    return definitions;
}

void add_proposed_fields(json::object& definition) {
    auto& spec = definition.at("spec").as_object();
    const auto& kind = spec.at("names").at("kind").as_string();
    for (auto& version : spec.at("versions").as_array()) {
        auto& schema = version.at("schema").at("openAPIV3Schema").as_object();
        if (kind == "KubeVirt") {
            add_levels(schema);
        } else if (kind == "VirtualMachineInstanceMigration") {
            add_selector_term(schema);
        }
    }
}

}  // namespace scout::test
