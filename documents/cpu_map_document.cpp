// SPDX-License-Identifier: Apache-2.0
#include "documents/cpu_map_document.h"

#include <algorithm>
#include <utility>

#include "documents/reader.h"
#include "documents/xml.h"
#include "migration/feature_set.h"

namespace scout::documents {
namespace {

using migration::MapModel;
using Resolved = std::map<std::string, MapModel, std::less<>>;

constexpr std::size_t longest_ancestry = 16;

void collect_includes(const pugi::xml_node& parent, std::vector<std::string>& names,
                      Reader& reader) {
    for (const auto& node : parent.children()) {
        if (std::string_view{node.name()} == "include") {
            names.push_back(reader.name_in(node, "filename"));
        } else {
            collect_includes(node, names, reader);
        }
    }
}

RawModel raw_model(const pugi::xml_node& node, const std::string& file, Reader& reader) {
    RawModel model;
    model.file = file;
    model.vendor = reader.name_in(reader.only(node, "vendor"), "name");
    for (const auto& parent : node.children("model")) {
        model.parents.push_back(reader.name_in(parent, "name"));
    }
    for (const auto& feature : node.children("feature")) {
        const std::string_view policy = feature.attribute("policy").value();
        const bool removed = std::string_view{feature.attribute("removed").value()} == "yes";
        auto name = reader.name_in(feature, "name");
        if (name.empty() || migration::is_vmx_detail(name)) {
            continue;
        }
        auto& list = removed || policy == "disable" ? model.removed : model.features;
        list.push_back(std::move(name));
    }
    return model;
}

/// Models with their ancestors put in, each of them once.
class Resolver {
public:
    explicit Resolver(const RawModels& models) : models_(models) {}

    Result<const MapModel*> resolve(const std::string& name) {
        if (const auto found = done_.find(name); found != done_.end()) {
            return &found->second;
        }
        const auto raw = models_.find(name);
        if (raw == models_.end()) {
            return fail(Errc::invalid, "expected model '" + name + "' to be defined, found none");
        }
        if (std::find(path_.begin(), path_.end(), name) != path_.end()) {
            return fail(Errc::invalid, "expected ancestors of '" + name +
                                           "' to end, found a cycle: " + migration::join(path_) +
                                           ", " + name);
        }
        if (path_.size() == longest_ancestry) {
            return fail(Errc::invalid,
                        "expected at most " + std::to_string(longest_ancestry) +
                            " generations of models, found more: " + migration::join(path_));
        }
        path_.push_back(name);
        auto model = with_ancestors(raw->second);
        path_.pop_back();
        if (!model) {
            return fail(std::move(model.error()));
        }
        return &done_.emplace(name, std::move(*model)).first->second;
    }
    [[nodiscard]] Resolved models() && { return std::move(done_); }

private:
    Result<MapModel> with_ancestors(const RawModel& raw) {
        MapModel model{.vendor = raw.vendor, .features = {}};
        for (const auto& parent : raw.parents) {
            auto inherited = resolve(parent);
            if (!inherited) {
                return fail(std::move(inherited.error()).within(raw.file));
            }
            model.features = migration::unite(model.features, (*inherited)->features);
            if (model.vendor.empty()) {
                model.vendor = (*inherited)->vendor;
            }
        }
        model.features =
            migration::unite(model.features, migration::make_feature_set(raw.features));
        model.features =
            migration::subtract(model.features, migration::make_feature_set(raw.removed));
        return model;
    }

    const RawModels& models_;
    Resolved done_;
    std::vector<std::string> path_;  ///< from the model that is asked for to the one at hand
};

}  // namespace

Result<std::vector<std::string>> parse_cpu_map_index(std::string_view xml) {
    pugi::xml_document document;
    if (auto loaded = load(document, xml); !loaded) {
        return fail(std::move(loaded.error()));
    }
    Reader reader;
    std::vector<std::string> names;
    for (const auto& arch : document.document_element().children("arch")) {
        if (std::string_view{arch.attribute("name").value()} == "x86") {
            collect_includes(arch, names, reader);
        }
    }
    if (auto status = reader.status(); !status) {
        return fail(std::move(status.error()));
    }
    if (names.empty()) {
        return fail(Errc::invalid, "expected an index of cpu_map files for x86, found none");
    }
    return names;
}

Status add_cpu_map_models(std::string_view xml, const std::string& file, RawModels& models) {
    pugi::xml_document document;
    if (auto loaded = load(document, xml); !loaded) {
        return loaded;
    }
    const auto root = document.document_element();
    if (std::string_view{root.name()} != "cpus") {
        return fail(Errc::invalid, "expected <cpus> of a cpu_map file, found " + describe(root));
    }
    Reader reader;
    for (const auto& node : root.children("model")) {
        const auto name = reader.name_in(node, "name");
        const auto [known, first] = models.emplace(name, raw_model(node, file, reader));
        if (name.empty()) {
            reader.fault("expected a name of each model, found none");
        } else if (!first) {
            reader.fault("expected one definition of each model, found '" + name +
                         "' again, first in " + known->second.file);
        }
    }
    return reader.status();
}

Result<Resolved> resolve_models(const RawModels& models) {
    Resolver resolver(models);
    for (const auto& [name, raw] : models) {
        if (auto model = resolver.resolve(name); !model) {
            return fail(std::move(model.error()));
        }
    }
    return std::move(resolver).models();
}

}  // namespace scout::documents
