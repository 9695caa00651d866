// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "cli/json_parts.h"
#include "cli/render_json.h"
#include "cli/render_table.h"
#include "cli/table_parts.h"
#include "cli/text.h"

/// Answers about the nodes of a cluster: `matrix` with levels, and `labels --check`.
namespace scout::cli {
namespace {

namespace json = boost::json;

/// The label keys that a reason speaks of. What the truth layer misses are features: their labels.
json::array labels_of(const migration::Reason& reason) {
    const bool features =
        reason.layer == migration::Layer::truth && reason.code == migration::ReasonCode::feature;
    json::array labels;
    for (const auto& key : reason.keys) {
        labels.push_back(
            json_text(features ? std::string{migration::label::cpu_feature} + key : key));
    }
    return labels;
}

json::object json_node(const cluster::NodeLevel& node) {
    json::object object;
    object["name"] = json_text(node.name);
    object["schedulable"] = node.schedulable;
    object["level"] = node.level ? json::value(*node.level) : json::value(nullptr);
    object["notCounted"] = json_text_or_null(node.not_counted);
    object["out"] = json_list(node.out);
    object["unknown"] = json_list(node.unknown);
    return object;
}

json::object json_refusal(const cluster::Refusal& refusal) {
    json::array reasons;
    for (const auto& reason : refusal.reasons) {
        json::object object;
        object["code"] = json_text(to_string(reason.code));
        object["text"] = json_text(shortened(reason.text));
        object["labels"] = labels_of(reason);
        reasons.push_back(std::move(object));
    }
    json::object object;
    object["from"] = json_text(refusal.from);
    object["to"] = json_text(refusal.to);
    object["layer"] = json_text(to_string(refusal.layer));
    object["reasons"] = std::move(reasons);
    return object;
}

std::string reasons_text(const std::vector<migration::Reason>& reasons) {
    std::string out;
    for (const auto& reason : reasons) {
        out += (out.empty() ? "" : "; ") + std::string(to_string(reason.code)) + ": " + reason.text;
    }
    return out;
}

/// Refusals of one layer with one text are one line, however many pairs of nodes they are of.
std::string refused_table(const std::vector<cluster::Refusal>& refused, const TableStyle& style) {
    constexpr std::size_t most_names = 3;
    using Line = std::pair<std::vector<std::string>, std::vector<std::string>>;
    std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::string>> by_target;
    for (const auto& each : refused) {
        by_target[{each.to, std::string(to_string(each.layer)), reasons_text(each.reasons)}]
            .push_back(each.from);
    }
    std::map<std::tuple<std::string, std::string, std::vector<std::string>>, Line> lines;
    for (auto& [key, sources] : by_target) {
        const auto& [target, layer, text] = key;
        auto& line = lines[{layer, text, sources}];
        line.first = sources;
        line.second.push_back(target);
    }
    Table table({"FROM", "NOT TO", "LAYER", "WHY"});
    for (const auto& [key, line] : lines) {
        const auto names = [&style](const std::vector<std::string>& all) {
            return style.wide ? migration::join(all) : short_list(all, most_names);
        };
        table.add({{.text = names(line.first)},
                   {.text = names(line.second)},
                   {.text = std::get<0>(key)},
                   {.text = shortened(std::get<1>(key)), .tone = Tone::bad}});
    }
    return table.text(style.colour);
}

Tone tone_of(migration::Severity severity) {
    switch (severity) {
        case migration::Severity::error:
            return Tone::bad;
        case migration::Severity::warning:
            return Tone::doubtful;
        case migration::Severity::note:
            return Tone::faint;
    }
    return Tone::plain;
}

json::object json_finding(const migration::LabelFinding& finding) {
    json::object object;
    object["severity"] = json_text(to_string(finding.severity));
    object["code"] = json_text(to_string(finding.code));
    object["text"] = json_text(shortened(finding.text));
    object["labels"] = json_list(finding.keys);
    return object;
}

}  // namespace

json::value to_json(const LevelsAnswer& answer) {
    auto object = json_answer();
    object["map"] = json_text_or_null(answer.map);
    object["layer"] = json_text(to_string(answer.layer));
    json::array nodes;
    for (const auto& node : answer.levels.nodes) {
        nodes.push_back(json_node(node));
    }
    object["nodes"] = std::move(nodes);
    json::array refused;
    for (const auto& refusal : answer.levels.refused) {
        refused.push_back(json_refusal(refusal));
    }
    object["refused"] = std::move(refused);
    object["refusedNotListed"] = answer.levels.not_listed;
    object["leftOut"] = json_documents(answer.left_out);
    return object;
}

json::value to_json(const AnyMatrix& answer) {
    return std::visit([](const auto& matrix) { return to_json(matrix); }, answer);
}

json::value to_json(const LabelCheckAnswer& answer) {
    auto object = json_answer();
    object["map"] = json_text_or_null(answer.map);
    json::array nodes;
    for (const auto& node : answer.nodes) {
        json::array findings;
        for (const auto& finding : node.findings) {
            findings.push_back(json_finding(finding));
        }
        json::object each;
        each["node"] = json_text(node.node);
        each["findings"] = std::move(findings);
        nodes.push_back(std::move(each));
    }
    object["nodes"] = std::move(nodes);
    object["leftOut"] = json_documents(answer.left_out);
    return object;
}

json::value to_json(const WatchLine& line) {
    auto object = json_answer();
    object["event"] = json_text(line.event);
    object["kind"] = json_text(line.kind);
    object["namespace"] = json_text_or_null(line.space);
    object["name"] = json_text_or_null(line.name);
    object["uid"] = json_text_or_null(line.uid);
    object["resourceVersion"] = json_text_or_null(line.version);
    object["foundBy"] = json_text_or_null(line.found_by);
    object["objects"] = line.objects;
    return object;
}

std::string to_table(const LevelsAnswer& answer, const TableStyle& style) {
    constexpr std::size_t most_names = 8;
    Table table({"NODE", "STATE", "LEVEL", "TO", "UNKNOWN", "DESTINATIONS", "NOTE"});
    for (const auto& node : answer.levels.nodes) {
        table.add(
            {{.text = node.name},
             {.text = node.schedulable ? "open" : "closed",
              .tone = node.schedulable ? Tone::good : Tone::doubtful},
             {.text = node.level ? std::to_string(*node.level) : std::string{}},
             {.text = std::to_string(node.out.size())},
             {.text = std::to_string(node.unknown.size()),
              .tone = node.unknown.empty() ? Tone::plain : Tone::doubtful},
             {.text = style.wide ? migration::join(node.out) : short_list(node.out, most_names)},
             {.text = node.not_counted}});
    }
    auto out = table.text(style.colour);
    if (!answer.levels.refused.empty()) {
        out += "\n" + refused_table(answer.levels.refused, style);
    }
    if (answer.levels.not_listed > 0) {
        out += "and " + std::to_string(answer.levels.not_listed) +
               " more: ask for one node with 'where host-model@NODE'\n";
    }
    out +=
        "\n" + field("Layer", std::string(to_string(answer.layer)) + " (of LEVEL and TO)", style);
    return answer.map.empty() ? out : out + field("CPU map", answer.map, style);
}

std::string to_table(const AnyMatrix& answer, const TableStyle& style) {
    return std::visit([&style](const auto& matrix) { return to_table(matrix, style); }, answer);
}

std::string to_table(const LabelCheckAnswer& answer, const TableStyle& style) {
    Table table({"NODE", "SEVERITY", "CODE", "FINDING"});
    std::size_t fine = 0;
    for (const auto& node : answer.nodes) {
        fine += node.findings.empty() ? 1U : 0U;
        for (const auto& finding : node.findings) {
            const auto tone = tone_of(finding.severity);
            table.add({{.text = node.node},
                       {.text = std::string(to_string(finding.severity)), .tone = tone},
                       {.text = std::string(to_string(finding.code))},
                       {.text = shortened(finding.text)}});
        }
    }
    const auto all = answer.nodes.size();
    const auto summary =
        "without findings: " + std::to_string(fine) + " of " + std::to_string(all) + " nodes\n";
    return fine == all ? summary : table.text(style.colour) + "\n" + summary;
}

std::string to_table(const WatchLine& line, const TableStyle& style) {
    if (line.name.empty()) {
        return std::string(line.event) + "  " + std::to_string(line.objects) + " " +
               shown(line.kind);
    }
    const auto name = (line.space.empty() ? "" : shown(line.space) + "/") + shown(line.name);
    return std::string(line.event) + "  " + paint(name, Tone::strong, style.colour) + "  version " +
           shown(line.version) + "  found by " + std::string(line.found_by);
}

}  // namespace scout::cli
