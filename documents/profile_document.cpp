// SPDX-License-Identifier: Apache-2.0
#include "documents/profile_document.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/logging.h"
#include "base/number.h"
#include "documents/domain_document.h"
#include "documents/reader.h"
#include "documents/xml.h"

namespace scout::documents {
namespace {

using migration::HostModel;
using migration::NamedModel;
using migration::Profile;
using migration::ProfileOrigin;
using migration::Usable;

std::optional<Usable> usable_of(const pugi::xml_node& model, Reader& reader) {
    const auto attribute = model.attribute("usable");
    const std::string_view value = attribute.value();
    if (!attribute || value.empty()) {
        return std::nullopt;
    }
    if (value == "yes") {
        return Usable::yes;
    }
    if (value == "no") {
        return Usable::no;
    }
    if (value != "unknown") {
        reader.fault("expected usable='yes', 'no' or 'unknown' in " + describe(model) + ", found " +
                     log_value(value));
    }
    return Usable::unknown;
}

HostModel host_model_of(const pugi::xml_node& cpu, FeatureLists features, Reader& reader) {
    HostModel model{.name = reader.name(cpu, "model"),
                    .require = std::move(features.require),
                    .disable = std::move(features.disable),
                    .maxphysaddr = reader.max_phys_addr(cpu)};
    if (model.name.empty()) {
        reader.fault("expected the name of a <model> in the host-model, found none");
    }
    return model;
}

void add_blockers(std::vector<NamedModel>& models, const pugi::xml_node& mode, Reader& reader) {
    std::set<std::string, std::less<>> seen;
    for (const auto& blockers : mode.children("blockers")) {
        const auto name = reader.name_in(blockers, "model");
        if (!seen.insert(name).second) {
            reader.fault("expected one <blockers> of each model, found another of " +
                         log_value(name));
            return;
        }
        const auto found = std::lower_bound(
            models.begin(), models.end(), name,
            [](const NamedModel& model, std::string_view wanted) { return model.name < wanted; });
        if (found == models.end() || found->name != name) {
            continue;
        }
        std::vector<std::string> features;
        for (const auto& feature : blockers.children("feature")) {
            features.push_back(reader.name_in(feature, "name"));
        }
        found->blockers = migration::make_feature_set(std::move(features));
    }
}

std::vector<NamedModel> named_models(const pugi::xml_node& mode, Reader& reader) {
    std::vector<NamedModel> models;
    for (const auto& model : mode.children("model")) {
        auto name = reader.name(model);
        if (!name.empty()) {
            models.push_back({.name = std::move(name),
                              .usable = usable_of(model, reader),
                              .vendor = reader.name_in(model, "vendor"),
                              .blockers = {}});
        }
    }
    std::stable_sort(models.begin(), models.end(),
                     [](const auto& a, const auto& b) { return a.name < b.name; });
    models.erase(std::unique(models.begin(), models.end()), models.end());
    const auto twice =
        std::adjacent_find(models.begin(), models.end(),
                           [](const auto& a, const auto& b) { return a.name == b.name; });
    if (twice != models.end()) {
        reader.fault("expected one <model> " + twice->name + ", found two that differ");
    }
    add_blockers(models, mode, reader);
    return models;
}

/// What is not there is not supported; what is there says so or not.
bool is_supported(const pugi::xml_node& element, Reader& reader) {
    const std::string_view value = element.attribute("supported").value();
    if (element && value != "yes" && value != "no") {
        reader.fault("expected supported='yes' or 'no' in " + describe(element) + ", found " +
                     log_value(value));
    }
    return value == "yes";
}

/// Rule: the labeller's reading of `<features>` (dossier §5.2): SEV-ES where SEV has room for such
/// guests, SEV-SNP where besides the launch security lists it.
std::vector<std::string> launch_security(const pugi::xml_node& features, Reader& reader) {
    std::vector<std::string> kinds;
    const auto sev = reader.only(features, "sev");
    const auto es_guests = whole_number(reader.name(sev, "maxESGuests"));
    if (sev.child("maxESGuests") && !es_guests) {
        reader.fault("expected <maxESGuests> of <sev> as a whole number, found none");
    }
    const auto types =
        reader.only_named(reader.only(features, "launchSecurity"), "enum", "sectype");
    const auto values = types.children("value");
    const bool lists_snp = std::any_of(values.begin(), values.end(), [](const auto& value) {
        return text_of(value) == "sev-snp";
    });
    const bool has_launch_security = is_supported(types.parent(), reader);
    if (is_supported(sev, reader)) {
        kinds.emplace_back("sev");
        if (es_guests.value_or(0) > 0) {
            kinds.emplace_back("sev-es");
            if (has_launch_security && lists_snp) {
                kinds.emplace_back("sev-snp");
            }
        }
    }
    for (const char* kind : {"s390-pv", "tdx"}) {
        if (is_supported(reader.only(features, kind), reader)) {
            kinds.emplace_back(kind);
        }
    }
    return migration::make_feature_set(std::move(kinds));
}

Profile domain_capabilities(const pugi::xml_node& root, Reader& reader) {
    Profile profile;
    profile.arch = reader.name(root, "arch");
    profile.virt_type = reader.name(root, "domain");
    profile.asked_machine = reader.name(root, "machine");
    if (const auto most = reader.number(reader.only(root, "vcpu"), "max", vcpu_counts)) {
        profile.max_vcpus = static_cast<unsigned>(*most);
    }
    profile.launch_security = launch_security(reader.only(root, "features"), reader);
    const auto cpu = reader.only(root, "cpu");
    const auto host_model = reader.only_named(cpu, "mode", "host-model");
    if (is_supported(host_model, reader) && host_model.child("model")) {
        profile.host_model = host_model_of(host_model, reader.features(host_model), reader);
        profile.vendor = reader.name(host_model, "vendor");
    }
    const auto custom = reader.only_named(cpu, "mode", "custom");
    if (is_supported(custom, reader)) {
        profile.models = named_models(custom, reader);
    }
    return profile;
}

/// A host CPU has an `<arch>` and features without a policy; the CPU of a guest says how it was
/// asked for, or gives policies.
bool is_host_cpu(const pugi::xml_node& root) {
    if (root.child("arch")) {
        return true;
    }
    const auto features = root.children("feature");
    return !root.attribute("mode") && !root.attribute("match") &&
           features.begin() != features.end() &&
           std::none_of(features.begin(), features.end(),
                        [](const pugi::xml_node& feature) { return feature.attribute("policy"); });
}

/// A host-model `<cpu>` as libvirt writes it has an exact model; another one says how some host
/// should make a CPU, not which.
void check_bare_cpu(const pugi::xml_node& root, const FeatureLists& features, Reader& reader) {
    const std::string_view mode = root.attribute("mode").as_string("custom");
    const std::string_view match = root.attribute("match").as_string("exact");
    if (mode != "custom" && mode != "host-model") {
        reader.fault("expected mode custom or host-model of a lone <cpu>, found " +
                     log_value(mode));
    }
    if (match != "exact") {
        reader.fault("expected match exact of a lone <cpu>, found " + log_value(match) +
                     "; use the live XML of the running guest");
    }
    if (features.forbid || features.optional) {
        reader.fault("expected features of a lone <cpu> to be required or disabled, found some " +
                     std::string{features.forbid ? "forbidden" : "optional"} +
                     "; use the live XML of the running guest");
    }
}

Result<Profile> bare_cpu(const pugi::xml_node& root, Reader& reader) {
    if (is_host_cpu(root)) {
        return fail(Errc::invalid,
                    "expected a host-model <cpu> (features with a policy), found the host CPU of "
                    "`virsh capabilities`: it does not say what the hypervisor can run; use `virsh "
                    "domcapabilities`");
    }
    auto features = reader.features(root);
    check_bare_cpu(root, features, reader);
    Profile profile;
    profile.origin = ProfileOrigin::bare_cpu;
    profile.vendor = reader.name(root, "vendor");
    profile.host_model = host_model_of(root, std::move(features), reader);
    return profile;
}

tl::unexpected<Error> refuse_capabilities() {
    return fail(
        Errc::invalid,
        "expected domain capabilities, found a capabilities document: it describes the host "
        "CPU, not what the hypervisor can run; use `virsh domcapabilities`");
}

Result<Profile> profile_from(const pugi::xml_node& root) {
    const std::string_view name = root.name();
    Reader reader;
    Result<Profile> profile;
    if (name == "domainCapabilities") {
        profile = domain_capabilities(root, reader);
    } else if (name == "cpu") {
        profile = bare_cpu(root, reader);
    } else if (name == "capabilities") {
        return refuse_capabilities();
    } else {
        return fail(Errc::invalid,
                    "expected <domainCapabilities> or a host-model <cpu>, found " + describe(root));
    }
    if (auto status = reader.status(); profile && !status) {
        return fail(std::move(status.error()));
    }
    return profile;
}

}  // namespace

Result<Profile> parse_profile(std::string_view xml) {
    pugi::xml_document document;
    if (auto loaded = load(document, xml); !loaded) {
        return fail(std::move(loaded.error()));
    }
    return profile_from(document.document_element());
}

Result<std::string> host_model_cpu(std::string_view domain_capabilities) {
    pugi::xml_document document;
    if (auto loaded = load(document, domain_capabilities); !loaded) {
        return fail(std::move(loaded.error()).within("domain capabilities"));
    }
    Reader reader;
    const auto root = document.child("domainCapabilities");
    const auto mode = reader.only_named(reader.only(root, "cpu"), "mode", "host-model");
    const bool supported = is_supported(mode, reader);
    if (auto status = reader.status(); !status) {
        return fail(std::move(status.error()).within("domain capabilities"));
    }
    if (!supported) {
        return fail(Errc::not_found, "the hypervisor supports no host-model here");
    }
    pugi::xml_document alone;
    auto cpu = alone.append_child("cpu");
    for (const auto& part : mode.children()) {
        cpu.append_copy(part);
    }
    std::ostringstream text;
    alone.save(text, "", pugi::format_raw | pugi::format_no_declaration);
    return text.str();
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
    Reader reader;
    auto features = reader.features(root);
    if (auto status = reader.status(); !status) {
        return fail(std::move(status.error()));
    }
    return std::move(features.require);
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
