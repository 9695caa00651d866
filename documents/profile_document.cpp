// SPDX-License-Identifier: Apache-2.0
#include "documents/profile_document.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "documents/domain_document.h"
#include "documents/xml.h"

namespace scout::documents {
namespace {

using migration::HostModel;
using migration::MaxPhysAddr;
using migration::NamedModel;
using migration::Profile;
using migration::ProfileOrigin;
using migration::Usable;

std::optional<Usable> usable_of(const pugi::xml_node& model) {
    const auto attribute = model.attribute("usable");
    const std::string_view value = attribute.value();
    if (!attribute || value.empty()) {
        return std::nullopt;
    }
    if (value == "yes") {
        return Usable::yes;
    }
    return value == "no" ? Usable::no : Usable::unknown;
}

std::optional<unsigned> bits(const pugi::xml_attribute& attribute) {
    const auto value = number(attribute.value());
    if (!value || *value > std::numeric_limits<unsigned>::max()) {
        return std::nullopt;
    }
    return static_cast<unsigned>(*value);
}

std::optional<MaxPhysAddr> max_phys_addr(const pugi::xml_node& cpu) {
    const auto node = cpu.child("maxphysaddr");
    if (!node) {
        return std::nullopt;
    }
    return MaxPhysAddr{.mode = node.attribute("mode").value(),
                       .bits = bits(node.attribute("bits")),
                       .limit = bits(node.attribute("limit"))};
}

HostModel host_model_of(const pugi::xml_node& cpu) {
    return HostModel{.name = text_of(cpu.child("model")),
                     .require = features_with(cpu, "require", "force"),
                     .disable = features_with(cpu, "disable", "forbid"),
                     .maxphysaddr = max_phys_addr(cpu)};
}

void add_blockers(std::vector<NamedModel>& models, const pugi::xml_node& mode) {
    for (const auto& blockers : mode.children("blockers")) {
        const std::string_view name = blockers.attribute("model").value();
        const auto found = std::lower_bound(
            models.begin(), models.end(), name,
            [](const NamedModel& model, std::string_view wanted) { return model.name < wanted; });
        if (found == models.end() || found->name != name) {
            continue;
        }
        std::vector<std::string> features;
        for (const auto& feature : blockers.children("feature")) {
            features.emplace_back(feature.attribute("name").value());
        }
        found->blockers = migration::make_feature_set(std::move(features));
    }
}

std::vector<NamedModel> named_models(const pugi::xml_node& mode) {
    std::vector<NamedModel> models;
    for (const auto& model : mode.children("model")) {
        auto name = text_of(model);
        if (!name.empty()) {
            models.push_back({.name = std::move(name),
                              .usable = usable_of(model),
                              .vendor = model.attribute("vendor").value(),
                              .blockers = {}});
        }
    }
    std::stable_sort(models.begin(), models.end(),
                     [](const auto& a, const auto& b) { return a.name < b.name; });
    models.erase(std::unique(models.begin(), models.end(),
                             [](const auto& a, const auto& b) { return a.name == b.name; }),
                 models.end());
    add_blockers(models, mode);
    return models;
}

Profile domain_capabilities(const pugi::xml_node& root) {
    Profile profile;
    profile.arch = text_of(root.child("arch"));
    profile.virt_type = text_of(root.child("domain"));
    profile.asked_machine = text_of(root.child("machine"));
    for (const auto& mode : root.child("cpu").children("mode")) {
        const std::string_view name = mode.attribute("name").value();
        const bool supported = std::string_view{mode.attribute("supported").value()} == "yes";
        if (name == "host-model" && supported && mode.child("model")) {
            profile.host_model = host_model_of(mode);
            profile.vendor = text_of(mode.child("vendor"));
        }
        if (name == "custom" && supported) {
            profile.models = named_models(mode);
        }
    }
    return profile;
}

Result<Profile> bare_cpu(const pugi::xml_node& root) {
    const bool policies = std::any_of(
        root.children("feature").begin(), root.children("feature").end(),
        [](const pugi::xml_node& feature) { return !feature.attribute("policy").empty(); });
    if (root.child("arch") || (!root.attribute("mode") && root.child("feature") && !policies)) {
        return fail(Errc::invalid,
                    "expected a host-model <cpu> (features with a policy), found the host CPU of "
                    "`virsh capabilities`: it does not say what the hypervisor can run; use `virsh "
                    "domcapabilities`");
    }
    Profile profile;
    profile.origin = ProfileOrigin::bare_cpu;
    profile.vendor = text_of(root.child("vendor"));
    profile.host_model = host_model_of(root);
    if (profile.host_model->name.empty()) {
        return fail(Errc::invalid, "expected a <model> in <cpu>, found none");
    }
    return profile;
}

std::string describe(const pugi::xml_node& root) {
    return "<" + std::string{root.name()} + ">";
}

tl::unexpected<Error> refuse_capabilities() {
    return fail(
        Errc::invalid,
        "expected domain capabilities, found a capabilities document: it describes the host "
        "CPU, not what the hypervisor can run; use `virsh domcapabilities`");
}

Result<Profile> profile_from(const pugi::xml_node& root) {
    const std::string_view name = root.name();
    if (name == "domainCapabilities") {
        return domain_capabilities(root);
    }
    if (name == "cpu") {
        return bare_cpu(root);
    }
    if (name == "capabilities") {
        return refuse_capabilities();
    }
    return fail(Errc::invalid,
                "expected <domainCapabilities> or a host-model <cpu>, found " + describe(root));
}

}  // namespace

Result<Profile> parse_profile(std::string_view xml) {
    pugi::xml_document document;
    if (auto loaded = load(document, xml); !loaded) {
        return fail(std::move(loaded.error()));
    }
    return profile_from(document.document_element());
}

Result<migration::FeatureSet> parse_supported_features(std::string_view xml) {
    pugi::xml_document document;
    if (auto loaded = load(document, xml); !loaded) {
        return fail(std::move(loaded.error()));
    }
    const auto root = document.document_element();
    if (std::string_view{root.name()} != "cpu") {
        return fail(Errc::invalid, "expected the <cpu> of `virsh hypervisor-cpu-baseline`, found " +
                                       describe(root));
    }
    return features_with(root, "require", "");
}

Result<Document> parse_document(std::string_view xml) {
    pugi::xml_document document;
    if (auto loaded = load(document, xml); !loaded) {
        return fail(std::move(loaded.error()));
    }
    const auto root = document.document_element();
    if (std::string_view{root.name()} == "domain") {
        auto domain = domain_from(root);
        if (!domain) {
            return fail(std::move(domain.error()));
        }
        return Document{std::move(*domain)};
    }
    auto profile = profile_from(root);
    if (!profile) {
        return fail(std::move(profile.error()));
    }
    return Document{std::move(*profile)};
}

}  // namespace scout::documents
