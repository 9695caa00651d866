// SPDX-License-Identifier: Apache-2.0
#include "agent/report_messages.h"

#include <utility>

#include "agent/evacuation_messages.h"
#include "base/utf8.h"
#include "wire/checks.h"
#include "wire/convert.h"
#include "wire/pressure_messages.h"

namespace scout::agent {
namespace {

namespace v1 = virt_scout::v1;

/// A guest's CPU has some 2 KiB. As many of these as one message takes fit what the aggregator
/// reads at once (4 MiB).
constexpr std::size_t cpu_limit = std::size_t{12} << 10U;
/// A profile has some 100 KiB.
constexpr std::size_t profile_limit = std::size_t{2} << 20U;

std::string clean(std::string_view text, std::size_t limit = wire::name_limit) {
    const auto out = replace_strays(text, [](std::string& to, char) { to += '?'; });
    return wire::cut(out, limit);
}

/// Why the aggregator would not take it, and refuse the node's report again and again; empty if it
/// would.
template <class WireMessage>
std::string why_unfit(const WireMessage& message, std::size_t bytes_limit) {
    const auto bytes = message.SerializeAsString();
    if (bytes.size() > bytes_limit) {
        return "expected at most " + std::to_string(bytes_limit) + " bytes, found " +
               std::to_string(bytes.size());
    }
    WireMessage again;
    if (!again.ParseFromString(bytes)) {
        return "expected UTF-8, found other bytes";
    }
    const auto taken = wire::from_wire(again);
    return taken ? std::string{} : taken.error().message;
}

v1::HostFacts facts_to_wire(const migration::HostFacts& facts) {
    auto cleaned = facts;
    for (auto* text : {&cleaned.microcode, &cleaned.kernel, &cleaned.bios, &cleaned.libvirt_version,
                       &cleaned.hypervisor_version}) {
        *text = clean(*text);
    }
    return wire::to_wire(cleaned);
}

void fill(v1::FullReport& out, const HostPart& host) {
    auto probe_error = host.probe_error;
    const auto unfit =
        host.profile ? why_unfit(wire::to_wire(*host.profile), profile_limit) : std::string{};
    if (unfit.empty()) {
        out.set_profile_digest(host.profile_digest);
    } else {
        probe_error = "the profile of this host cannot be reported: " + unfit;
    }
    *out.mutable_facts() = facts_to_wire(host.facts);
    out.set_source(clean(host.source));
    out.set_yardstick(clean(host.yardstick, wire::text_limit));
    out.set_probe_error(clean(probe_error, wire::text_limit));
    out.set_guests_error(clean(host.guests_error, wire::text_limit));
    for (const auto& notice : host.notices) {
        out.add_notices(clean(notice, wire::text_limit));
    }
}

v1::Guest guest_to_wire(const hypervisor::GuestState& guest) {
    v1::Guest out;
    out.set_uuid(clean(guest.uuid));
    out.set_name(clean(guest.name));
    out.set_state(clean(guest.state));
    out.set_since_unix_ms(guest.since.time_since_epoch().count());
    out.set_found_by(std::string{hypervisor::to_string(guest.found_by)});
    out.set_memory_kib(guest.memory_kib);
    out.set_cpu_error(clean(guest.cpu_error, wire::text_limit));
    if (guest.cpu) {
        auto cpu = wire::to_wire(*guest.cpu);
        if (const auto unfit = why_unfit(cpu, cpu_limit); unfit.empty()) {
            *out.mutable_cpu() = std::move(cpu);
        } else {
            out.set_cpu_error("cannot be reported: " + clean(unfit, wire::name_limit));
        }
    }
    return out;
}

struct ToWire {
    v1::AgentMessage& out;

    void operator()(const HelloMessage& hello) const {
        auto& wire_hello = *out.mutable_hello();
        wire_hello.set_node(clean(hello.node));
        wire_hello.set_host_identity(clean(hello.host_identity));
        wire_hello.set_agent_version(hello.agent_version);
        wire_hello.set_instance(hello.instance);
        wire_hello.set_follows_launchers(hello.follows_launchers);
        wire_hello.set_ranks_launchers(hello.ranks_launchers);
    }
    void operator()(const FullMessage& full) const {
        auto& report = *out.mutable_full();
        fill(report, full.host);
        report.set_sequence(full.sequence);
        for (const auto& guest : full.guests) {
            *report.add_guests() = guest_to_wire(guest);
        }
        report.set_more(full.more);
    }
    void operator()(const DeltaMessage& delta) const {
        auto& report = *out.mutable_delta();
        report.set_sequence(delta.sequence);
        if (delta.host) {
            fill(*report.mutable_host(), *delta.host);
        }
        for (const auto& guest : delta.changed) {
            *report.add_changed() = guest_to_wire(guest);
        }
        for (const auto& guest : delta.removed) {
            auto& removed = *report.add_removed();
            removed.set_uuid(clean(guest.uuid));
            removed.set_found_by(std::string{hypervisor::to_string(guest.found_by)});
            removed.set_since_unix_ms(guest.since.time_since_epoch().count());
        }
        report.set_more(delta.more);
    }
    void operator()(const HeartbeatMessage& heartbeat) const {
        out.mutable_heartbeat()->set_sequence(heartbeat.sequence);
    }
    void operator()(const ProfileMessage& profile) const {
        auto& body = *out.mutable_profile();
        body.set_digest(profile.digest);
        body.set_profile(wire::encode_profile(*profile.profile));
    }
    void operator()(const SigningRequestMessage& request) const {
        out.mutable_signing_request()->set_pem(request.pem);
    }
    void operator()(const EvacuationsMessage& evacuations) const {
        *out.mutable_evacuations() = to_wire(evacuations);
    }
    void operator()(const EvacuationOrderMessage& order) const {
        *out.mutable_evacuation_order() = to_wire(order);
    }
    void operator()(const PressureMessage& pressure) const {
        *out.mutable_pressure() = wire::to_wire(pressure.report);
    }
};

}  // namespace

v1::AgentMessage to_wire(const Message& message) {
    v1::AgentMessage out;
    std::visit(ToWire{out}, message);
    return out;
}

Result<Request> from_wire(const v1::AggregatorMessage& message) {
    switch (message.kind_case()) {
        case v1::AggregatorMessage::kWelcome:
            return Welcome{.aggregator_version = wire::cut(message.welcome().aggregator_version())};
        case v1::AggregatorMessage::kWantProfile:
            return WantProfile{.digest = wire::cut(message.want_profile().digest())};
        case v1::AggregatorMessage::kWantFull:
            return WantFull{};
        case v1::AggregatorMessage::kCertificate:
            return SignedCertificate{
                .chain = message.certificate().chain(),
                .error = wire::cut(message.certificate().error(), wire::text_limit)};
        case v1::AggregatorMessage::kEvacuationRules:
            return from_wire(message.evacuation_rules());
        case v1::AggregatorMessage::kEvacuationFacts:
            return from_wire(message.evacuation_facts());
        case v1::AggregatorMessage::kEvacuationResult:
            return from_wire(message.evacuation_result());
        case v1::AggregatorMessage::kLauncherStandings:
            return wire::from_wire(message.launcher_standings());
        case v1::AggregatorMessage::KIND_NOT_SET:
            break;
    }
    return fail(Errc::invalid,
                "the aggregator asks for something that this agent does not know; it is a newer "
                "version: update the agent");
}

}  // namespace scout::agent
