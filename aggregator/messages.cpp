// SPDX-License-Identifier: Apache-2.0
#include "aggregator/messages.h"

#include <utility>

#include "base/logging.h"
#include "base/node_name.h"
#include "migration/cpu_truth.h"
#include "wire/checks.h"
#include "wire/convert.h"
#include "wire/fleet_messages.h"

namespace scout::aggregator {
namespace {

constexpr std::size_t notices_limit = 32;
constexpr std::size_t digest_size = 64;

v1::Freshness freshness_to_wire(Freshness freshness) {
    switch (freshness) {
        case Freshness::fresh:
            return v1::FRESH;
        case Freshness::stale:
            return v1::STALE;
        case Freshness::gone:
            return v1::GONE;
    }
    return v1::FRESHNESS_UNKNOWN;
}

std::string found_by_text(FoundBy found_by) {
    return found_by == FoundBy::resync ? "resync" : "event";
}

/// Why no migration facts can be had of the node; empty if they can.
std::string why_not_comparable(const Node& node) {
    if (node.profile == nullptr) {
        return why_no_profile(node);
    }
    const auto reason = migration::not_comparable(node.profile->profile);
    return reason ? reason->text : std::string{};
}

FoundBy found_by_from_wire(std::string_view field, const std::string& text, wire::Checks& checks) {
    return checks.found_by(field, text) == "resync" ? FoundBy::resync : FoundBy::event;
}

std::string uuid_from_wire(std::string_view field, const std::string& text, wire::Checks& checks) {
    auto uuid = checks.name(field, text);
    if (uuid.empty()) {
        checks.fault(field, "a UUID", "nothing");
    }
    return uuid;
}

bool is_digest(std::string_view text) {
    return text.size() == digest_size &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Status check_hello(const v1::Hello& hello) {
    if (!is_node_name(hello.node())) {
        return fail(Errc::invalid, "node: expected " + std::string{node_name_rule} + ", found " +
                                       log_value(wire::cut(hello.node(), 64)));
    }
    if (hello.host_identity().empty() || hello.host_identity().size() > wire::name_limit) {
        return fail(Errc::invalid, "host_identity: expected 1 to 253 bytes, found " +
                                       std::to_string(hello.host_identity().size()));
    }
    return {};
}

std::string why_no_profile(const Node& node) {
    if (!node.host.probe_error.empty()) {
        return node.host.probe_error;
    }
    return node.host.profile_digest.empty() ? "nothing has been reported yet"
                                            : "the profile is still on its way";
}

std::string no_profile_text(const Node& node) {
    return "node " + log_value(node.name) + " has no profile: " + why_no_profile(node);
}

v1::Guest to_wire_without_cpu(const Guest& guest) {
    v1::Guest out;
    out.set_uuid(guest.uuid);
    out.set_name(guest.name);
    out.set_state(guest.state);
    out.set_since_unix_ms(guest.since_unix_ms);
    out.set_found_by(found_by_text(guest.found_by));
    out.set_memory_kib(guest.memory_kib);
    out.set_cpu_error(guest.cpu_error);
    return out;
}

v1::Guest to_wire(const Guest& guest) {
    auto out = to_wire_without_cpu(guest);
    if (guest.cpu != nullptr) {
        *out.mutable_cpu() = wire::to_wire(*guest.cpu);
    }
    return out;
}

fleet::ToldPressure told_pressure(const Node& node, SteadyTime now) {
    const auto age =
        std::chrono::floor<std::chrono::milliseconds>(std::max(now - node.pressure.at, {}));
    return {.report = node.pressure.report,
            .freshness = wire::freshness_text(freshness_to_wire(node.freshness)),
            .age_ms = static_cast<std::uint64_t>(age.count())};
}

fleet::ToldPressures told_pressures(const Registry& registry, SteadyTime now) {
    fleet::ToldPressures told;
    for (const auto& [name, node] : registry.nodes()) {
        if (node.pressure.report != nullptr) {
            told.emplace(name, told_pressure(node, now));
        }
    }
    return told;
}

v1::NodeSummary summary_of(const Node& node, const FleetMatrix& matrix, SteadyTime now) {
    v1::NodeSummary out;
    out.set_name(node.name);
    out.set_freshness(freshness_to_wire(node.freshness));
    out.set_age_ms(static_cast<std::uint64_t>(age(node, now).count()));
    if (node.profile != nullptr) {
        const auto& profile = node.profile->profile;
        out.set_arch(profile.arch);
        out.set_virt_type(profile.virt_type);
        out.set_vendor(profile.vendor);
        out.set_host_model(profile.host_model ? profile.host_model->name : std::string{});
    }
    out.set_profile_digest(node.host.profile_digest);
    out.set_source(node.host.source);
    out.set_guests(static_cast<std::uint32_t>(node.guests.size()));
    const auto reason = why_not_comparable(node);
    out.set_comparable(reason.empty());
    // A last good answer that is no longer confirmed counts on, and its reader must know.
    out.set_reason(reason.empty() ? node.host.probe_error : reason);
    const auto level = matrix.level_of(node);
    out.set_level(level.level);
    out.set_destinations(level.destinations);
    for (const auto& notice : node.host.notices) {
        out.add_notices(notice);
    }
    return out;
}

Result<Guest> guest_from_wire(const v1::Guest& guest, Registry& registry) {
    wire::Checks checks;
    Guest out;
    out.uuid = uuid_from_wire("guest.uuid", guest.uuid(), checks);
    out.name = checks.name("guest.name", guest.name());
    out.state = wire::cut(guest.state(), 32);
    out.since_unix_ms = checks.unix_ms("guest.since_unix_ms", guest.since_unix_ms());
    out.memory_kib = guest.memory_kib();
    out.found_by = found_by_from_wire("guest.found_by", guest.found_by(), checks);
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()));
    }
    out.cpu_error = wire::cut(guest.cpu_error(), wire::text_limit);
    if (guest.has_cpu()) {
        // One guest that nobody can place must not cost the node its report.
        if (auto cpu = wire::from_wire(guest.cpu())) {
            out.cpu = registry.share(std::move(*cpu));
        } else {
            out.cpu_error = std::move(cpu.error().message);
        }
    }
    return out;
}

Result<std::vector<Guest>> guests_from_wire(
    const google::protobuf::RepeatedPtrField<v1::Guest>& guests, Registry& registry) {
    wire::Checks checks;
    if (!checks.count("guests", guests.size(), registry.options().guests_limit)) {
        return fail(std::move(checks.status().error()));
    }
    std::vector<Guest> out;
    out.reserve(static_cast<std::size_t>(guests.size()));
    for (const auto& guest : guests) {
        auto converted = guest_from_wire(guest, registry);
        if (!converted) {
            return fail(std::move(converted.error()));
        }
        out.push_back(std::move(*converted));
    }
    return out;
}

Result<std::vector<RemovedGuest>> removed_from_wire(
    const google::protobuf::RepeatedPtrField<v1::RemovedGuest>& guests) {
    wire::Checks checks;
    if (!checks.count("removed", guests.size())) {
        return fail(std::move(checks.status().error()));
    }
    std::vector<RemovedGuest> out;
    out.reserve(static_cast<std::size_t>(guests.size()));
    for (const auto& guest : guests) {
        RemovedGuest gone;
        gone.uuid = uuid_from_wire("removed.uuid", guest.uuid(), checks);
        gone.found_by = found_by_from_wire("removed.found_by", guest.found_by(), checks);
        gone.since_unix_ms = checks.unix_ms("removed.since_unix_ms", guest.since_unix_ms());
        out.push_back(std::move(gone));
    }
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()));
    }
    return out;
}

Result<HostReport> host_from_wire(const v1::FullReport& report) {
    if (!report.profile_digest().empty() && !is_digest(report.profile_digest())) {
        return fail(Errc::invalid, "profile_digest: expected 64 hexadecimal digits, found " +
                                       std::to_string(report.profile_digest().size()) + " bytes");
    }
    HostReport out;
    out.profile_digest = report.profile_digest();
    out.facts = wire::from_wire(report.facts());
    out.source = wire::cut(report.source(), 32);
    out.yardstick = wire::cut(report.yardstick(), wire::text_limit);
    out.probe_error = wire::cut(report.probe_error(), wire::text_limit);
    out.guests_error = wire::cut(report.guests_error(), wire::text_limit);
    for (const auto& notice : report.notices()) {
        if (out.notices.size() == notices_limit) {
            break;
        }
        out.notices.push_back(wire::cut(notice, wire::text_limit));
    }
    return out;
}

}  // namespace scout::aggregator
