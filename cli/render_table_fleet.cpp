// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/duration.h"
#include "cli/render_table.h"
#include "cli/table_parts.h"
#include "cli/text.h"

/// Tables of the answers about a fleet.
namespace scout::cli {
namespace {

Tone tone_of_freshness(const std::string& freshness) {
    if (freshness == "fresh") {
        return Tone::good;
    }
    return freshness == "stale" ? Tone::doubtful : Tone::bad;
}

std::string since_text(std::int64_t unix_ms) {
    return unix_ms <= 0 ? std::string{} : rfc3339(WallTime{std::chrono::milliseconds{unix_ms}});
}

/// How fresh an agent's report is; without agents whether the node takes VMs.
Cell state_of(const NodeLine& node) {
    if (!node.freshness.empty()) {
        return {.text = node.freshness, .tone = tone_of_freshness(node.freshness)};
    }
    if (!node.schedulable) {
        return {};
    }
    return *node.schedulable ? Cell{.text = "open", .tone = Tone::good}
                             : Cell{.text = "closed", .tone = Tone::doubtful};
}

std::string age_of(const NodeLine& node) {
    return node.freshness.empty() ? std::string{}
                                  : age_text(std::chrono::milliseconds(node.age_ms));
}

/// Why it cannot be compared, or why it has no level.
std::string note_of(const NodeLine& node) {
    const bool both = !node.reason.empty() && !node.not_counted.empty();
    return node.not_counted + (both ? "; " : "") + node.reason;
}

std::vector<Cell> node_row(const NodeLine& node, bool wide) {
    std::vector<Cell> row{{.text = node.name},
                          state_of(node),
                          {.text = age_of(node)},
                          {.text = node.arch},
                          {.text = node.virt_type},
                          {.text = node.vendor},
                          {.text = node.host_model},
                          {.text = std::to_string(node.guests)},
                          {.text = node.level ? std::to_string(*node.level) : std::string{}},
                          {.text = std::to_string(node.destinations)}};
    if (wide) {
        row.push_back({.text = node.source});
        row.push_back({.text = node.digest.substr(0, 12)});
        row.push_back({.text = migration::join(node.notices)});
    }
    const auto note = note_of(node);
    row.push_back({.text = note, .tone = note.empty() ? Tone::plain : Tone::doubtful});
    return row;
}

std::string state_text(const NodeLine& node) {
    auto state = state_of(node).text;
    return node.freshness.empty() ? state : state + ", last heard " + age_of(node) + " ago";
}

std::vector<Cell> guest_row(const GuestLine& guest, bool wide) {
    std::vector<Cell> row{{.text = guest.node},
                          {.text = guest.name},
                          {.text = guest.uuid},
                          {.text = guest.state},
                          {.text = since_text(guest.since_unix_ms)},
                          {.text = guest.found_by}};
    if (wide) {
        const auto mib = guest.memory_kib / 1024;
        row.push_back({.text = mib == 0 ? std::string{} : std::to_string(mib)});
        row.push_back(guest.cpu_error.empty()
                          ? Cell{.text = guest.cpu.model}
                          : Cell{.text = "not known: " + guest.cpu_error, .tone = Tone::doubtful});
        row.push_back({.text = guest.cpu.machine});
    }
    return row;
}

}  // namespace

std::string to_table(const NodesAnswer& answer, const TableStyle& style) {
    std::vector<std::string> headers{"NODE",   "STATE",      "AGE",    "ARCH",  "DOMAIN",
                                     "VENDOR", "HOST-MODEL", "GUESTS", "LEVEL", "TO"};
    if (style.wide) {
        headers.insert(headers.end(), {"SOURCE", "PROFILE", "NOTICES"});
    }
    headers.emplace_back("NOTE");
    Table table(std::move(headers));
    for (const auto& node : answer.nodes) {
        table.add(node_row(node, style.wide));
    }
    return table.text(style.colour);
}

std::string to_table(const NodeDetail& answer, const TableStyle& style) {
    const auto& line = answer.line;
    const auto& facts = answer.facts;
    auto out = field("Node", line.name, style) + field("State", state_text(line), style) +
               field("Source", line.source, style) + field("Yardstick", answer.yardstick, style);
    for (const auto& notice : line.notices) {
        out += field("Notice", notice, style);
    }
    out += answer.profile ? to_table(*answer.profile, style) : field("Profile", line.reason, style);
    out += field("Kernel", facts.kernel, style) + field("Microcode", facts.microcode, style) +
           field("BIOS", facts.bios, style) + field("libvirt", facts.libvirt_version, style) +
           field("Hypervisor", facts.hypervisor_version, style) +
           field("TSC",
                 facts.tsc_hz ? std::to_string(*facts.tsc_hz) + " Hz" +
                                    (facts.tsc_scalable ? ", scalable" : "")
                              : "",
                 style) +
           field("Labels", std::to_string(answer.labels.size()), style);
    if (style.wide) {
        for (const auto& [key, value] : answer.labels) {
            out += "  " + shown(key) + "=" + shown(value) + "\n";
        }
    }
    return answer.guests.empty() ? out : out + "\n" + guest_table(answer.guests, style);
}

std::string guest_table(const std::vector<GuestLine>& guests, const TableStyle& style) {
    std::vector<std::string> headers{"NODE", "GUEST", "UUID", "STATE", "SINCE", "FOUND-BY"};
    if (style.wide) {
        headers.insert(headers.end(), {"MIB", "CPU", "MACHINE"});
    }
    Table table(std::move(headers));
    for (const auto& guest : guests) {
        table.add(guest_row(guest, style.wide));
    }
    return table.text(style.colour);
}

std::string to_table(const GuestsAnswer& answer, const TableStyle& style) {
    auto out = guest_table(answer.guests, style);
    for (const auto& error : answer.errors) {
        out += paint("not known: ", Tone::doubtful, style.colour) + shown(error) + "\n";
    }
    return out;
}

std::string to_table(const GuestEvent& event, const TableStyle& style) {
    const auto& guest = event.guest;
    return std::string(event.event) + "  " + paint(shown(guest.name), Tone::strong, style.colour) +
           "  " + shown(guest.state) + "  on " + shown(guest.node) + "  since " +
           since_text(guest.since_unix_ms) + "  found by " + shown(guest.found_by);
}

}  // namespace scout::cli
