// SPDX-License-Identifier: Apache-2.0
#include "wire/convert.h"
#include "wire/convert_parts.h"
#include "wire/fleet_messages.h"

namespace scout::wire {
namespace {

v1::NodeSummary summary_of(const fleet::NodeLine& line) {
    v1::NodeSummary out;
    out.set_name(line.name);
    out.set_freshness(v1::NO_AGENT);
    out.set_arch(line.arch);
    out.set_virt_type(line.virt_type);
    out.set_vendor(line.vendor);
    out.set_host_model(line.host_model);
    out.set_profile_digest(line.digest);
    out.set_source(line.source);
    out.set_guests(line.guests);
    out.set_comparable(line.comparable);
    out.set_reason(line.reason);
    out.set_level(line.level.value_or(0));
    out.set_destinations(line.destinations);
    assign(out.mutable_notices(), line.notices);
    if (line.schedulable) {
        out.set_schedulable(*line.schedulable);
    }
    out.set_not_counted(line.not_counted);
    return out;
}

v1::Guest message_of(const fleet::GuestLine& line) {
    v1::Guest out;
    out.set_uuid(line.uuid);
    out.set_name(line.name);
    out.set_state(line.state);
    out.set_since_unix_ms(line.since_unix_ms);
    out.set_found_by(line.found_by);
    out.set_memory_kib(line.memory_kib);
    *out.mutable_cpu() = to_wire(line.cpu);
    out.set_cpu_error(line.cpu_error);
    return out;
}

void write_node(const cluster::Levels& levels, std::size_t place, v1::Levels::Node& out) {
    const auto& node = levels.nodes[place];
    out.set_name(node.name);
    out.set_schedulable(node.schedulable);
    if (node.level) {
        out.set_level(*node.level);
    }
    out.set_not_counted(node.not_counted);
    assign(out.mutable_out(), levels.out(place));
    assign(out.mutable_unknown(), levels.unknown(place));
    out.set_still_counted(node.still_counted);
    out.set_truth_not_known(node.truth_not_known);
}

}  // namespace

v1::NodesResponse to_wire(const fleet::NodesAnswer& answer) {
    v1::NodesResponse out;
    for (const auto& line : answer.nodes) {
        *out.add_nodes() = summary_of(line);
    }
    out.set_map(answer.map);
    return out;
}

v1::NodeResponse to_wire(const fleet::NodeDetail& answer) {
    v1::NodeResponse out;
    *out.mutable_summary() = summary_of(answer.line);
    if (answer.profile) {
        *out.mutable_profile() = to_wire(answer.profile->profile);
        assign(out.mutable_supported(), answer.profile->supported.features);
    }
    *out.mutable_facts() = to_wire(answer.facts);
    for (const auto& [key, value] : answer.labels) {
        (*out.mutable_labels())[key] = value;
    }
    out.set_yardstick(answer.yardstick);
    for (const auto& guest : answer.guests) {
        *out.add_guests() = message_of(guest);
    }
    return out;
}

v1::GuestsResponse to_wire(const fleet::GuestsAnswer& answer) {
    v1::GuestsResponse out;
    for (const auto& guest : answer.guests) {
        auto* entry = out.add_guests();
        entry->set_node(guest.node);
        *entry->mutable_guest() = message_of(guest);
    }
    assign(out.mutable_errors(), answer.errors);
    return out;
}

v1::MatrixResponse to_wire(const fleet::LevelsAnswer& answer) {
    v1::MatrixResponse out;
    auto& levels = *out.mutable_levels();
    levels.set_layer(std::string{migration::to_string(answer.layer)});
    levels.set_map(answer.map);
    const auto& nodes = answer.levels.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        write_node(answer.levels, i, *levels.add_nodes());
        for (const auto& refusal : answer.levels.refused(i)) {
            auto* to = levels.add_refused();
            to->set_from(nodes[i].name);
            to->set_to(nodes[refusal.to].name);
            to->set_layer(std::string{migration::to_string(refusal.layer)});
            for (const auto& reason : *refusal.reasons) {
                write_reason(reason, *to->add_reasons());
            }
        }
    }
    levels.set_not_listed(answer.levels.not_listed);
    return out;
}

v1::WhereResponse to_wire(const migration::Placement& placement) {
    v1::WhereResponse out;
    out.set_subject(placement.subject);
    out.set_source(placement.source);
    for (const auto& answer : placement.nodes) {
        auto* to = out.add_nodes();
        to->set_node(answer.node);
        *to->mutable_comparison() = to_wire(answer.comparison);
    }
    assign(out.mutable_notes(), placement.notes);
    return out;
}

}  // namespace scout::wire
