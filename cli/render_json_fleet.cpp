// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "cli/json_parts.h"
#include "cli/render_json.h"
#include "cli/text.h"

/// JSON of the answers that only an aggregator can give.
namespace scout::cli {
namespace {

namespace json = boost::json;

json::object json_facts(const migration::HostFacts& facts) {
    json::object object;
    object["tscHz"] = facts.tsc_hz ? json::value(*facts.tsc_hz) : json::value(nullptr);
    object["tscScalable"] = facts.tsc_scalable;
    object["numaCells"] =
        facts.numa_cells != 0 ? json::value(facts.numa_cells) : json::value(nullptr);
    object["microcode"] = json_text_or_null(facts.microcode);
    object["kernel"] = json_text_or_null(facts.kernel);
    object["bios"] = json_text_or_null(facts.bios);
    object["libvirt"] = json_text_or_null(facts.libvirt_version);
    object["hypervisor"] = json_text_or_null(facts.hypervisor_version);
    return object;
}

json::value json_since(std::int64_t unix_ms) {
    if (unix_ms <= 0) {
        return nullptr;
    }
    return json_text(rfc3339(WallTime{std::chrono::milliseconds{unix_ms}}));
}

json::object json_line(const NodeLine& node) {
    json::object object;
    object["node"] = json_text(node.name);
    object["freshness"] = json_text_or_null(node.freshness);
    object["ageMs"] = node.freshness.empty() ? json::value(nullptr) : json::value(node.age_ms);
    object["arch"] = json_text_or_null(node.arch);
    object["domain"] = json_text_or_null(node.virt_type);
    object["vendor"] = json_text_or_null(node.vendor);
    object["hostModel"] = json_text_or_null(node.host_model);
    object["digest"] = json_text_or_null(node.digest);
    object["source"] = json_text_or_null(node.source);
    object["guests"] = node.guests;
    object["comparable"] = node.comparable;
    object["reason"] = json_text_or_null(node.reason);
    object["level"] = node.level ? json::value(*node.level) : json::value(nullptr);
    object["destinations"] = node.destinations;
    object["notices"] = json_list(node.notices);
    object["schedulable"] =
        node.schedulable ? json::value(*node.schedulable) : json::value(nullptr);
    object["notCounted"] = json_text_or_null(node.not_counted);
    return object;
}

/// What an event and a listed guest have in common.
void add_guest(json::object& object, const GuestLine& guest) {
    object["uuid"] = json_text_or_null(guest.uuid);
    object["name"] = json_text(guest.name);
    object["state"] = json_text(guest.state);
    object["since"] = json_since(guest.since_unix_ms);
    object["foundBy"] = json_text_or_null(guest.found_by);
    object["node"] = json_text(guest.node);
}

json::array json_guests(const std::vector<GuestLine>& guests) {
    json::array list;
    list.reserve(guests.size());
    for (const auto& guest : guests) {
        json::object object;
        add_guest(object, guest);
        object["memoryKib"] =
            guest.memory_kib == 0 ? json::value(nullptr) : json::value(guest.memory_kib);
        object["cpu"] = json_guest_cpu(guest.cpu);
        object["cpuError"] = json_text_or_null(shortened(guest.cpu_error));
        list.push_back(std::move(object));
    }
    return list;
}

}  // namespace

json::value to_json(const NodesAnswer& answer) {
    auto object = json_answer();
    object["map"] = json_text_or_null(answer.map);
    json::array nodes;
    nodes.reserve(answer.nodes.size());
    for (const auto& node : answer.nodes) {
        nodes.push_back(json_line(node));
    }
    object["nodes"] = std::move(nodes);
    return object;
}

json::value to_json(const NodeDetail& answer) {
    auto object = json_answer();
    for (auto& member : json_line(answer.line)) {
        object[member.key()] = member.value();
    }
    object["yardstick"] = json_text_or_null(answer.yardstick);
    object["profile"] = answer.profile ? to_json(*answer.profile) : json::value(nullptr);
    object["facts"] = json_facts(answer.facts);
    object["labels"] = json_labels(answer.labels);
    object["guestList"] = json_guests(answer.guests);
    return object;
}

json::value to_json(const GuestsAnswer& answer) {
    auto object = json_answer();
    object["guests"] = json_guests(answer.guests);
    object["errors"] = json_list(answer.errors);
    return object;
}

json::value to_json(const GuestEvent& event) {
    auto object = json_answer();
    object["event"] = json_text(event.event);
    add_guest(object, event.guest);
    return object;
}

}  // namespace scout::cli
