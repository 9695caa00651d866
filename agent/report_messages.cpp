// SPDX-License-Identifier: Apache-2.0
#include "agent/report_messages.h"

#include <algorithm>
#include <utility>

#include "wire/checks.h"
#include "wire/convert.h"

namespace scout::agent {
namespace {

namespace v1 = virt_scout::v1;

/// Length of the UTF-8 sequence at the begin of the text, 0 if there is none.
std::size_t sequence_length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    std::size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 0;
    if (lead >= 0xf0 && lead < 0xf5) {
        length = 4;
    }
    if (length == 0 || text.size() < length) {
        return 0;
    }
    const bool continued = std::all_of(text.begin() + 1, text.begin() + static_cast<long>(length),
                                       [](char c) { return (c & 0xc0) == 0x80; });
    const auto second = length > 1 ? static_cast<unsigned char>(text[1]) : 0U;
    // Overlong forms, surrogates and what is above U+10FFFF.
    const bool outside = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                         (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
    return continued && !outside ? length : 0;
}

std::string clean(std::string_view text, std::size_t limit = wire::name_limit) {
    std::string out;
    while (!text.empty()) {
        const auto length = sequence_length(text);
        out.append(length == 0 ? std::string_view{"?"} : text.substr(0, length));
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return wire::cut(out, limit);
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
    out.set_profile_digest(host.profile_digest);
    *out.mutable_facts() = facts_to_wire(host.facts);
    out.set_source(clean(host.source));
    out.set_yardstick(clean(host.yardstick, wire::text_limit));
    out.set_probe_error(clean(host.probe_error, wire::text_limit));
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
    if (guest.cpu) {
        *out.mutable_cpu() = wire::to_wire(*guest.cpu);
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
    }
    void operator()(const FullMessage& full) const {
        auto& report = *out.mutable_full();
        fill(report, full.host);
        report.set_sequence(full.sequence);
        for (const auto& guest : full.guests) {
            *report.add_guests() = guest_to_wire(guest);
        }
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
        for (const auto& uuid : delta.removed) {
            report.add_removed(clean(uuid));
        }
    }
    void operator()(const HeartbeatMessage& heartbeat) const {
        out.mutable_heartbeat()->set_sequence(heartbeat.sequence);
    }
    void operator()(const ProfileMessage& profile) const {
        auto& body = *out.mutable_profile();
        body.set_digest(profile.digest);
        *body.mutable_profile() = wire::to_wire(*profile.profile);
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
        case v1::AggregatorMessage::KIND_NOT_SET:
            break;
    }
    return fail(Errc::invalid,
                "the aggregator asks for something that this agent does not know; it is a newer "
                "version: update the agent");
}

}  // namespace scout::agent
