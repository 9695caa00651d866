// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/duration.h"
#include "cli/json_parts.h"
#include "cli/render_json.h"
#include "cli/render_table.h"
#include "cli/table_parts.h"
#include "cli/text.h"
#include "cluster/drain_plan.h"

/// `drain-plan`.
namespace scout::cli {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

json::value json_seconds(const std::optional<seconds>& time) {
    return time ? json::value(std::int64_t{time->count()}) : json::value(nullptr);
}

std::string time_text(const std::optional<seconds>& time) {
    return time ? age_text(*time) : "-";
}

}  // namespace

json::value to_json(const cluster::DrainPlan& answer) {
    auto object = json_answer();
    object["node"] = json_text(answer.node);
    json::array vms;
    for (const auto& step : answer.steps) {
        json::object vm;
        vm["vmi"] = json_text(step.vmi);
        vm["verdict"] = json_text(to_string(step.verdict));
        vm["target"] = json_text_or_null(step.target);
        vm["candidates"] = step.candidates;
        vm["beginsAfterSeconds"] = json_seconds(step.begins);
        vm["seconds"] = json_seconds(step.takes);
        vm["shutDown"] = step.shut_down;
        vm["why"] = step.why.empty() ? json::value(nullptr) : json_text(shortened(step.why));
        vms.push_back(std::move(vm));
    }
    object["vms"] = std::move(vms);
    object["atOnce"] = answer.at_once;
    object["seconds"] = std::int64_t{answer.takes.count()};
    object["summary"] = json_text(summary(answer));
    object["notes"] = json_sentences(answer.notes);
    return object;
}

std::string to_table(const cluster::DrainPlan& answer, const TableStyle& style) {
    auto out = field("Node", answer.node, style);
    if (!answer.steps.empty()) {
        Table table({"VM", "LEAVES", "TO", "CANDIDATES", "BEGINS", "TAKES", "WHY"});
        for (const auto& step : answer.steps) {
            table.add(
                {{.text = step.vmi},
                 {.text = std::string{to_string(step.verdict)}, .tone = tone_of(step.verdict)},
                 {.text = step.target.empty() ? "-" : step.target},
                 {.text = std::to_string(step.candidates)},
                 {.text = time_text(step.begins)},
                 {.text = time_text(step.takes)},
                 {.text = step.why.empty() ? "-" : step.why}});
        }
        out += table.text(style.colour);
    }
    return out + "\n" + shown(summary(answer)) + "\n" + note_lines(answer.notes);
}

}  // namespace scout::cli
