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
#include "cluster/move_forecast.h"

/// What would become of a migration.
namespace scout::cli {
namespace {

namespace json = boost::json;
using cluster::MoveVerdict;

Tone tone_of(MoveVerdict verdict) {
    switch (verdict) {
        case MoveVerdict::ok:
            return Tone::good;
        case MoveVerdict::refused:
            return Tone::bad;
        case MoveVerdict::pending:
            break;
    }
    return Tone::doubtful;
}

/// What its verdict means here.
std::string meaning(const cluster::MoveForecast& answer) {
    switch (answer.verdict) {
        case MoveVerdict::ok:
            return "it can go to " + std::to_string(answer.candidates.size()) +
                   (answer.candidates.size() == 1 ? " node" : " nodes");
        case MoveVerdict::refused:
            return "do not make it";
        case MoveVerdict::pending:
            break;
    }
    return answer.give_up_seconds ? "it would wait, and be given up after " +
                                        std::to_string(*answer.give_up_seconds) + " s"
                                  : "it would wait, and KubeVirt sets it no end";
}

}  // namespace

json::value to_json(const cluster::MoveForecast& answer) {
    auto object = json_answer();
    object["vmi"] = json_text_or_null(answer.vmi);
    object["source"] = json_text_or_null(answer.source);
    object["verdict"] = json_text(to_string(answer.verdict));
    object["candidates"] = json_list(answer.candidates);
    object["ignoredKeys"] = json_list(answer.ignored_keys);
    object["giveUpSeconds"] =
        answer.give_up_seconds ? json::value(*answer.give_up_seconds) : json::value(nullptr);
    json::array reasons;
    for (const auto& reason : answer.reasons) {
        json::object entry;
        entry["code"] = json_text(reason.code);
        entry["text"] = json_text(shortened(reason.text));
        reasons.push_back(std::move(entry));
    }
    object["reasons"] = std::move(reasons);
    object["notes"] = json_sentences(answer.notes);
    return object;
}

std::string to_table(const cluster::MoveForecast& answer, const TableStyle& style) {
    constexpr std::size_t most = 8;
    auto out =
        field("VM", answer.vmi, style) + field("Runs on", answer.source, style) +
        field("Asks for", answer.wish.empty() ? "any node" : answer.wish, style) +
        field("Candidates",
              style.wide ? migration::join(answer.candidates) : short_list(answer.candidates, most),
              style) +
        paint(to_string(answer.verdict), tone_of(answer.verdict), style.colour) + ": " +
        meaning(answer) + "\n";
    for (const auto& reason : answer.reasons) {
        out += "  " + std::string{reason.code} + "  " + shown(reason.text) + "\n";
    }
    return out + note_lines(answer.notes);
}

}  // namespace scout::cli
