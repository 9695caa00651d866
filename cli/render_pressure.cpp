// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/byte_text.h"
#include "base/clock.h"
#include "base/duration.h"
#include "cli/json_parts.h"
#include "cli/render_json.h"
#include "cli/render_table.h"
#include "cli/table_parts.h"
#include "cli/text.h"
#include "migration/eviction_order.h"

/// `pressure`: how near nodes are to evicting pods.
namespace scout::cli {
namespace {

namespace json = boost::json;
using migration::EvictionLine;
using migration::PressureLine;
using migration::PressureReport;
using migration::PressureSignal;
using std::chrono::milliseconds;
using std::chrono::seconds;

template <class Number>
json::value json_or_null(const std::optional<Number>& number) {
    return number ? json::value(*number) : json::value(nullptr);
}

json::value json_seconds(const std::optional<milliseconds>& time) {
    return time ? json::value(std::chrono::floor<seconds>(*time).count()) : json::value(nullptr);
}

json::value json_seconds(const std::optional<seconds>& time) {
    return time ? json::value(time->count()) : json::value(nullptr);
}

json::value json_since(std::int64_t unix_ms) {
    return unix_ms > 0 ? json_text(rfc3339(WallTime{milliseconds{unix_ms}})) : json::value(nullptr);
}

/// In hundredths: more would be a show of precision.
double rounded(double confidence) {
    constexpr double parts = 100;
    return std::round(confidence * parts) / parts;
}

json::object json_line(const PressureLine& line) {
    json::object object;
    object["signal"] = json_text(to_string(line.signal));
    object["kind"] = line.soft_grace ? "soft" : "hard";
    object["softGraceSeconds"] = json_seconds(line.soft_grace);
    object["available"] = line.room ? json::value(line.room->available) : json::value(nullptr);
    object["capacity"] = line.room ? json::value(line.room->capacity) : json::value(nullptr);
    object["threshold"] = line.at;
    object["reachedInSeconds"] =
        json_seconds(line.reached ? std::optional{line.reached->in} : std::nullopt);
    object["confidence"] =
        line.reached ? json::value(rounded(line.reached->confidence)) : json::value(nullptr);
    object["passedSeconds"] = json_seconds(line.passed_for);
    object["evictsInSeconds"] = json_seconds(line.evicts_in);
    object["warned"] = line.warned;
    return object;
}

json::object json_order(const EvictionLine& order) {
    json::array launchers;
    for (const auto& one : order.first) {
        json::object object;
        object["vmi"] = json_text_or_null(one.vmi);
        object["podUid"] = json_text(one.pod_uid);
        object["usage"] = json_or_null(one.usage);
        object["request"] = json_or_null(one.request);
        object["priority"] = json_or_null(one.priority);
        object["vmGraceSeconds"] = json_seconds(one.vm_grace);
        launchers.push_back(std::move(object));
    }
    json::object object;
    object["signal"] = json_text(to_string(order.signal));
    object["first"] = std::move(launchers);
    object["others"] = order.others;
    return object;
}

json::object json_kubelet(const PressureReport& report) {
    json::object object;
    const auto graces = report.graces.value_or(migration::KubeletGraces{});
    object["softGraceSeconds"] = json_seconds(graces.soft);
    object["shutdownGraceSeconds"] = json_seconds(graces.shutdown);
    object["movesAtShutdown"] =
        graces.shutdown ? json::value(!graces.handler_stops) : json::value(nullptr);
    object["shortVms"] = report.short_guests;
    object["longestWantedSeconds"] = report.longest_wanted.count();
    return object;
}

json::object json_node(const PressureNode& node) {
    json::object object;
    object["node"] = json_text(node.name);
    object["freshness"] = node.told ? json_text(node.told->freshness) : json::value(nullptr);
    object["ageMs"] = node.told ? json::value(node.told->age_ms) : json::value(nullptr);
    json::value lines(nullptr);
    json::value order(nullptr);
    json::value kubelet(nullptr);
    std::string trouble;
    if (node.told) {
        const auto& report = *node.told->report;
        lines.emplace_array();
        for (const auto& line : report.lines) {
            lines.get_array().push_back(json_line(line));
        }
        order.emplace_array();
        for (const auto& each : report.order) {
            order.get_array().push_back(json_order(each));
        }
        kubelet = report.graces ? json::value(json_kubelet(report)) : json::value(nullptr);
        trouble = report.trouble;
    }
    object["thresholds"] = std::move(lines);
    object["evictionOrder"] = std::move(order);
    object["kubelet"] = std::move(kubelet);
    object["trouble"] = json_text_or_null(shortened(trouble));
    json::array conditions;
    for (const auto& condition : node.conditions) {
        conditions.push_back(json::object{{"type", json_text(condition.type)},
                                          {"status", json_text(condition.status)},
                                          {"since", json_since(condition.since_unix_ms)}});
    }
    object["conditions"] = std::move(conditions);
    object["taints"] = json_list(node.taints);
    return object;
}

/// "1.5 GiB" of what is counted in bytes, else the number.
std::string amount(PressureSignal signal, std::uint64_t value) {
    const auto word = to_string(signal);
    if (!word.ends_with("available") || signal == PressureSignal::pid_available) {
        return std::to_string(value);
    }
    return byte_text(value);
}

std::string reached_text(const PressureLine& line) {
    if (line.passed_for) {
        return "passed " + age_text(*line.passed_for) + " ago";
    }
    if (!line.reached) {
        return {};
    }
    constexpr double percent = 100;
    return age_text(line.reached->in) + " (" +
           std::to_string(std::lround(line.reached->confidence * percent)) + " %)";
}

/// "shop/a, shop/b (+3)"
std::string first_text(const PressureReport& report, PressureSignal signal) {
    for (const auto& order : report.order) {
        if (order.signal != migration::ranked_as(signal)) {
            continue;
        }
        std::vector<std::string> names;
        const auto shown = std::min(order.first.size(), migration::told_launchers);
        for (std::size_t i = 0; i < shown; ++i) {
            const auto& one = order.first[i];
            names.push_back(one.vmi.empty() ? one.pod_uid : one.vmi);
        }
        const auto others = order.others + order.first.size() - shown;
        return migration::join(names) +
               (others > 0 ? " (+" + std::to_string(others) + ")" : std::string{});
    }
    return {};
}

Tone tone_of(const PressureLine& line) {
    return line.passed_for ? Tone::bad : line.warned ? Tone::doubtful : Tone::plain;
}

void add_rows(const PressureNode& node, Table& table) {
    if (!node.told) {
        table.add({{.text = node.name, .tone = Tone::strong}, {.text = "not known"}});
        return;
    }
    const auto& report = *node.told->report;
    for (const auto& line : report.lines) {
        table.add({{.text = node.name, .tone = Tone::strong},
                   {.text = std::string(to_string(line.signal)), .tone = tone_of(line)},
                   {.text = line.soft_grace ? "soft" : "hard"},
                   {.text = line.room ? amount(line.signal, line.room->available) : "not known"},
                   {.text = amount(line.signal, line.at)},
                   {.text = reached_text(line)},
                   {.text = line.evicts_in ? age_text(*line.evicts_in) : std::string{}},
                   {.text = first_text(report, line.signal)}});
    }
}

std::string kubelet_line(const PressureReport& report) {
    if (!report.graces) {
        return {};
    }
    const auto given = [](const std::optional<seconds>& time, const char* none) {
        return time ? std::to_string(time->count()) + " s" : std::string{none};
    };
    auto out = "the kubelet gives pods " +
               given(report.graces->soft, "no time (it has no soft threshold)") +
               " when it evicts, " + given(report.graces->shutdown, "none") +
               " when the node shuts down" +
               (report.graces->shutdown && report.graces->handler_stops
                    ? " (nothing is moved in it, for virt-handler stops too)"
                    : "");
    if (report.short_guests > 0) {
        out += "; " + std::to_string(report.short_guests) + " VMs want more then, up to " +
               std::to_string(report.longest_wanted.count()) + " s";
    }
    return out;
}

/// The leader has not told the agent of some launcher that is ranked.
bool is_guessed(const PressureReport& report) {
    return std::any_of(report.order.begin(), report.order.end(), [](const EvictionLine& order) {
        return std::any_of(order.first.begin(), order.first.end(),
                           [](const auto& one) { return !one.priority; });
    });
}

/// What the table has no column for.
std::string node_lines(const PressureNode& node, const TableStyle& style) {
    std::vector<std::string> lines;
    if (node.told) {
        lines.push_back(kubelet_line(*node.told->report));
        lines.push_back(node.told->report->trouble);
        if (is_guessed(*node.told->report)) {
            lines.emplace_back(
                "priorities and requests of some launchers are not known to its agent: who is "
                "evicted first is a guess");
        }
        if (node.told->freshness != "fresh") {
            lines.push_back("its agent is " + node.told->freshness + "; this was told " +
                            age_text(milliseconds(node.told->age_ms)) + " ago");
        }
    }
    for (const auto& condition : node.conditions) {
        if (condition.status != "False") {
            const auto since =
                condition.since_unix_ms > 0
                    ? " since " + rfc3339(WallTime{milliseconds{condition.since_unix_ms}})
                    : std::string{};
            lines.push_back("the kubelet says " + condition.type + " is " + condition.status +
                            since);
        }
    }
    if (!node.taints.empty()) {
        lines.push_back("taints: " + migration::join(node.taints));
    }
    std::string out;
    for (const auto& line : lines) {
        if (!line.empty()) {
            out += paint(shown(node.name), Tone::strong, style.colour) + ": " + shown(line) + "\n";
        }
    }
    return out;
}

}  // namespace

json::value to_json(const PressureListing& answer) {
    json::array nodes;
    for (const auto& node : answer.nodes) {
        nodes.push_back(json_node(node));
    }
    auto object = json_answer();
    object["nodes"] = std::move(nodes);
    object["notes"] = json_sentences(answer.notes);
    return object;
}

std::string to_table(const PressureListing& answer, const TableStyle& style) {
    Table table({"NODE", "SIGNAL", "KIND", "LEFT", "THRESHOLD", "REACHED IN", "EVICTS IN",
                 "FIRST EVICTED"});
    std::string below;
    for (const auto& node : answer.nodes) {
        add_rows(node, table);
        below += node_lines(node, style);
    }
    auto out = table.text(style.colour) + (below.empty() ? "" : "\n") + below;
    return out + note_lines(answer.notes);
}

}  // namespace scout::cli
