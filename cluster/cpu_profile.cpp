// SPDX-License-Identifier: Apache-2.0
#include "cluster/cpu_profile.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "kube/decode_text.h"
#include "kube/json.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::Usable;

constexpr std::string_view prefix = "cpu-";
constexpr std::size_t digits = 40;
/// Real ones have some 60 KiB. Agents tell them, and every aggregator holds them all.
constexpr std::size_t most_bytes = std::size_t{256} << 10U;

// Reading: the members as they stand in the document.

struct Number {
    std::optional<unsigned>& target;
};

struct UsableText {
    std::optional<Usable>& target;
};

struct Model {
    migration::NamedModel model;
};

struct Address {
    std::optional<migration::MaxPhysAddr>& target;
};

struct HostModel {
    std::optional<migration::HostModel>& target;
};

Status read_json(kube::JsonValue value, Number& target) {
    std::int64_t number = 0;
    if (auto done = kube::read_json(value, number); !done) {
        return done;
    }
    if (number < 0 || number > std::numeric_limits<unsigned>::max()) {
        return fail(Errc::invalid, ": expected 0 to " +
                                       std::to_string(std::numeric_limits<unsigned>::max()) +
                                       ", found " + std::to_string(number));
    }
    target.target = static_cast<unsigned>(number);
    return {};
}

Status read_json(kube::JsonValue value, UsableText& target) {
    std::string text;
    if (auto done = kube::read_json(value, text); !done) {
        return done;
    }
    if (text == "yes") {
        target.target = Usable::yes;
    } else if (text == "no") {
        target.target = Usable::no;
    } else if (text == "unknown") {
        target.target = Usable::unknown;
    } else {
        return fail(Errc::invalid, ": expected yes, no or unknown, found '" + text + "'");
    }
    return {};
}

Status read_json(kube::JsonValue value, Model& target) {
    auto& model = target.model;
    UsableText usable{model.usable};
    auto done = kube::read_members(
        value, kube::Field{"name", model.name}, kube::Field{"usable", usable},
        kube::Field{"vendor", model.vendor}, kube::Field{"blockers", model.blockers});
    model.blockers = migration::make_feature_set(std::move(model.blockers));
    return done;
}

Status read_json(kube::JsonValue value, Address& target) {
    auto& address = target.target.emplace();
    Number bits{address.bits};
    Number limit{address.limit};
    return kube::read_members(value, kube::Field{"mode", address.mode}, kube::Field{"bits", bits},
                              kube::Field{"limit", limit});
}

Status read_json(kube::JsonValue value, HostModel& target) {
    auto& model = target.target.emplace();
    Address address{model.maxphysaddr};
    auto done = kube::read_members(
        value, kube::Field{"name", model.name}, kube::Field{"require", model.require},
        kube::Field{"disable", model.disable}, kube::Field{"maxPhysAddr", address});
    model.require = migration::make_feature_set(std::move(model.require));
    model.disable = migration::make_feature_set(std::move(model.disable));
    return done;
}

/// Lists sorted as everybody takes them to be, whoever wrote the object.
void put_in_order(std::vector<Model> models, std::optional<std::vector<std::string>> supported,
                  migration::Profile& profile) {
    for (auto& each : models) {
        profile.models.push_back(std::move(each.model));
    }
    std::stable_sort(profile.models.begin(), profile.models.end(),
                     [](const auto& a, const auto& b) { return a.name < b.name; });
    profile.supported_listed = supported.has_value();
    profile.supported =
        migration::make_feature_set(std::move(supported).value_or(std::vector<std::string>{}));
    profile.machines = migration::make_feature_set(std::move(profile.machines));
    profile.launch_security = migration::make_feature_set(std::move(profile.launch_security));
}

Result<CpuProfile> decode_unchecked(kube::JsonObject& object) {
    CpuProfile out;
    auto& profile = out.profile;
    bool bare_cpu = false;
    HostModel host_model{profile.host_model};
    std::vector<Model> models;
    std::optional<std::vector<std::string>> supported;
    Number most_vcpus{profile.max_vcpus};
    const kube::Nested spec{"spec",
                            kube::Field{"bareCpu", bare_cpu},
                            kube::Field{"architecture", profile.arch},
                            kube::Field{"domainType", profile.virt_type},
                            kube::Field{"vendor", profile.vendor},
                            kube::Field{"hostModel", host_model},
                            kube::Field{"models", models},
                            kube::Field{"supported", supported},
                            kube::Field{"machines", profile.machines},
                            kube::Field{"launchSecurity", profile.launch_security},
                            kube::Field{"askedMachine", profile.asked_machine},
                            kube::Field{"maxVcpus", most_vcpus}};
    auto done = object.read(
        kube::Nested{"metadata", kube::Field{"name", out.meta.name},
                     kube::Field{"uid", out.meta.uid},
                     kube::Field{"resourceVersion", out.meta.version},
                     kube::Nested{"annotations", kube::Field{unused_annotation, out.unused_since}}},
        spec);
    if (!done) {
        return fail(std::move(done.error()));
    }
    profile.origin = bare_cpu ? migration::ProfileOrigin::bare_cpu
                              : migration::ProfileOrigin::domain_capabilities;
    put_in_order(std::move(models), std::move(supported), profile);
    return out;
}

// Writing: what is not told is left out.

json::array list(const std::vector<std::string>& names) {
    json::array out;
    for (const auto& name : names) {
        out.emplace_back(json::string_view{name});
    }
    return out;
}

void put(json::object& out, std::string_view key, const std::string& text) {
    if (!text.empty()) {
        out[key] = json::string_view{text};
    }
}

void put(json::object& out, std::string_view key, const std::vector<std::string>& names) {
    if (!names.empty()) {
        out[key] = list(names);
    }
}

void put(json::object& out, std::string_view key, std::optional<unsigned> number) {
    if (number) {
        out[key] = *number;
    }
}

json::object host_model_json(const migration::HostModel& model) {
    json::object out{{"name", json::string_view{model.name}}};
    put(out, "require", model.require);
    put(out, "disable", model.disable);
    if (model.maxphysaddr) {
        json::object address;
        put(address, "mode", model.maxphysaddr->mode);
        put(address, "bits", model.maxphysaddr->bits);
        put(address, "limit", model.maxphysaddr->limit);
        out["maxPhysAddr"] = std::move(address);
    }
    return out;
}

json::object model_json(const migration::NamedModel& model) {
    json::object out{{"name", json::string_view{model.name}}};
    if (model.usable) {
        out["usable"] = *model.usable == Usable::yes  ? "yes"
                        : *model.usable == Usable::no ? "no"
                                                      : "unknown";
    }
    put(out, "vendor", model.vendor);
    put(out, "blockers", model.blockers);
    return out;
}

json::object spec_json(const migration::Profile& profile) {
    json::object spec;
    if (profile.origin == migration::ProfileOrigin::bare_cpu) {
        spec["bareCpu"] = true;
    }
    put(spec, "architecture", profile.arch);
    put(spec, "domainType", profile.virt_type);
    put(spec, "vendor", profile.vendor);
    if (profile.host_model) {
        spec["hostModel"] = host_model_json(*profile.host_model);
    }
    if (!profile.models.empty()) {
        json::array models;
        for (const auto& model : profile.models) {
            models.push_back(model_json(model));
        }
        spec["models"] = std::move(models);
    }
    if (profile.supported_listed) {
        spec["supported"] = list(profile.supported);
    }
    put(spec, "machines", profile.machines);
    put(spec, "launchSecurity", profile.launch_security);
    put(spec, "askedMachine", profile.asked_machine);
    put(spec, "maxVcpus", profile.max_vcpus);
    return spec;
}

}  // namespace

std::string profile_name(const migration::Profile& profile) {
    return std::string{prefix} + migration::digest(profile).substr(0, digits);
}

bool is_profile_name(std::string_view name) noexcept {
    return name.size() == prefix.size() + digits && name.starts_with(prefix) &&
           name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string_view::npos;
}

Result<CpuProfile> decode_cpu_profile(kube::JsonObject& object) {
    auto read = decode_unchecked(object);
    if (read && read->meta.name != profile_name(read->profile)) {
        return fail(Errc::invalid, "expected the name of its content, " +
                                       profile_name(read->profile) + ", found " + read->meta.name);
    }
    return read;
}

Result<std::string> cpu_profile_body(const migration::Profile& profile) {
    const auto name = profile_name(profile);
    const json::object object{{"apiVersion", "virt-scout.io/v1alpha1"},
                              {"kind", "CPUProfile"},
                              {"metadata", {{"name", name}}},
                              {"spec", spec_json(profile)}};
    auto body = json::serialize(object);
    if (body.size() > most_bytes) {
        return fail(Errc::invalid, "expected a profile of at most " + std::to_string(most_bytes) +
                                       " bytes, found one of " + std::to_string(body.size()));
    }
    const auto read = kube::decode_text(body, &decode_cpu_profile);
    if (!read) {
        return fail(read.error());
    }
    return body;
}

std::string unused_body(std::string_view uid, std::string_view since) {
    json::object annotations;
    annotations[unused_annotation] = nullptr;
    if (!since.empty()) {
        annotations[unused_annotation] = since;
    }
    json::object metadata{{"uid", uid}};
    metadata["annotations"] = std::move(annotations);
    json::object patch;
    patch["metadata"] = std::move(metadata);
    return json::serialize(patch);
}

}  // namespace scout::cluster
