// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "cli/json_parts.h"
#include "cli/render_json.h"
#include "cli/render_table.h"
#include "cli/table_parts.h"
#include "cli/text.h"

/// Answers about objects of a cluster: `labels --check`, and lines of `debug watch`.
namespace scout::cli {
namespace {

namespace json = boost::json;

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
