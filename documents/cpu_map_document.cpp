// SPDX-License-Identifier: Apache-2.0
#include "documents/cpu_map_document.h"

#include <utility>

#include "documents/xml.h"
#include "migration/feature_set.h"

namespace scout::documents {
namespace {

using migration::FeatureSet;
using migration::MapModel;
using Resolved = std::map<std::string, MapModel, std::less<>>;

constexpr int deepest_ancestry = 16;

void collect_includes(const pugi::xml_node& parent, std::vector<std::string>& names) {
    for (const auto& node : parent.children()) {
        if (std::string_view{node.name()} == "include") {
            names.emplace_back(node.attribute("filename").value());
        } else {
            collect_includes(node, names);
        }
    }
}

RawModel raw_model(const pugi::xml_node& node) {
    RawModel model;
    model.vendor = node.child("vendor").attribute("name").value();
    for (const auto& parent : node.children("model")) {
        model.parents.emplace_back(parent.attribute("name").value());
    }
    for (const auto& feature : node.children("feature")) {
        const std::string_view policy = feature.attribute("policy").value();
        const bool removed = std::string_view{feature.attribute("removed").value()} == "yes";
        const std::string_view name = feature.attribute("name").value();
        if (name.empty() || migration::is_vmx_detail(name)) {
            continue;
        }
        auto& list = removed || policy == "disable" ? model.removed : model.features;
        list.emplace_back(name);
    }
    return model;
}

Result<const MapModel*> resolve(const std::string& name, const RawModels& models, Resolved& done,
                                int depth) {
    if (const auto found = done.find(name); found != done.end()) {
        return &found->second;
    }
    const auto raw = models.find(name);
    if (raw == models.end()) {
        return fail(Errc::invalid,
                    "expected model '" + name + "' to be defined, found no such model");
    }
    if (depth > deepest_ancestry) {
        return fail(Errc::invalid, "expected ancestors of '" + name + "' to end, found a cycle");
    }
    MapModel model{.vendor = raw->second.vendor, .features = {}};
    for (const auto& parent : raw->second.parents) {
        auto inherited = resolve(parent, models, done, depth + 1);
        if (!inherited) {
            return inherited;
        }
        model.features = migration::unite(model.features, (*inherited)->features);
        if (model.vendor.empty()) {
            model.vendor = (*inherited)->vendor;
        }
    }
    model.features =
        migration::unite(model.features, migration::make_feature_set(raw->second.features));
    model.features =
        migration::subtract(model.features, migration::make_feature_set(raw->second.removed));
    return &done.emplace(name, std::move(model)).first->second;
}

}  // namespace

Result<std::vector<std::string>> parse_cpu_map_index(std::string_view xml) {
    pugi::xml_document document;
    if (auto loaded = load(document, xml); !loaded) {
        return fail(std::move(loaded.error()));
    }
    std::vector<std::string> names;
    for (const auto& arch : document.document_element().children("arch")) {
        if (std::string_view{arch.attribute("name").value()} == "x86") {
            collect_includes(arch, names);
        }
    }
    if (names.empty()) {
        return fail(Errc::invalid, "expected an index of cpu_map files for x86, found none");
    }
    return names;
}

Status add_cpu_map_models(std::string_view xml, RawModels& models) {
    pugi::xml_document document;
    if (auto loaded = load(document, xml); !loaded) {
        return loaded;
    }
    const auto root = document.document_element();
    if (std::string_view{root.name()} != "cpus") {
        return fail(Errc::invalid,
                    "expected <cpus> of a cpu_map file, found <" + std::string{root.name()} + ">");
    }
    for (const auto& node : root.children("model")) {
        const std::string name = node.attribute("name").value();
        if (name.empty() || !models.emplace(name, raw_model(node)).second) {
            return fail(Errc::invalid, "expected one definition of each model, found '" + name +
                                           "' empty or again");
        }
    }
    return {};
}

Result<Resolved> resolve_models(const RawModels& models) {
    Resolved done;
    for (const auto& [name, raw] : models) {
        if (auto model = resolve(name, models, done, 0); !model) {
            return fail(std::move(model.error()));
        }
    }
    return done;
}

}  // namespace scout::documents
