// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/duration.h"
#include "cli/json_parts.h"
#include "cli/make_move.h"
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

std::string progress_line(const cluster::MoveProgress& progress, std::chrono::seconds since) {
    auto line = age_text(since) + "  " + shown(progress.phase);
    if (!progress.mode.empty()) {
        line += ", " + shown(progress.mode);
    }
    if (!progress.target.empty()) {
        line += ", to " + shown(progress.target);
    }
    return progress.trouble.empty() ? line : line + ": " + shown(progress.trouble);
}

json::value to_json(const MadeMove& move) {
    auto object = to_json(move.forecast).as_object();
    object["migration"] = json_text(move.name);
    if (!move.end) {
        object["end"] = nullptr;
        return object;
    }
    const auto& progress = move.end->progress;
    json::object end;
    end["phase"] = json_text_or_null(progress.phase);
    end["moved"] = progress.moved;
    end["node"] = json_text_or_null(progress.node);
    end["mode"] = json_text_or_null(progress.mode);
    end["seconds"] = move.end->took.count();
    end["trouble"] =
        json_text_or_null(shortened(move.end->lost.empty() ? progress.trouble : move.end->lost));
    end["followed"] = move.end->lost.empty() && !move.end->interrupted;
    object["end"] = std::move(end);
    return object;
}

std::string to_table(const MadeMove& move, const TableStyle& style) {
    const auto& vmi = move.forecast.vmi;
    const auto cancel = "; to cancel it: scoutctl migrate " + shown(vmi) + " --cancel\n";
    if (!move.end) {
        return "made " + shown(move.name) + cancel;
    }
    const auto& [progress, took, interrupted, lost] = *move.end;
    if (interrupted || !lost.empty()) {
        return paint(interrupted ? "not waited for" : "not followed", Tone::doubtful,
                     style.colour) +
               ": " + (lost.empty() ? "" : shown(lost) + ": ") +
               (interrupted ? "the migration goes on" : "the migration may go on") + cancel;
    }
    const auto after = " after " + age_text(took);
    if (!progress.moved) {
        return paint("not moved", Tone::bad, style.colour) + after + ": " +
               (progress.trouble.empty() ? "KubeVirt gives no reason; 'scoutctl why " + shown(vmi) +
                                               " --live' may know one"
                                         : shown(progress.trouble)) +
               (progress.node.empty() ? "" : "; it runs on " + shown(progress.node)) + "\n";
    }
    const auto& candidates = move.forecast.candidates;
    const bool expected =
        std::find(candidates.begin(), candidates.end(), progress.node) != candidates.end();
    return paint("moved", Tone::good, style.colour) + " to " + shown(progress.node) + after +
           (progress.mode.empty() ? "" : " (" + shown(progress.mode) + ")") +
           (expected ? "" : ", which was none of the candidates") + "\n";
}

json::value to_json(const CancelledMoves& answer) {
    auto object = json_answer();
    object["vmi"] = json_text(answer.vmi);
    object["migrations"] = json_list(answer.done.moves);
    object["mark"] = answer.done.mark;
    object["targetPod"] = json_text_or_null(answer.done.target_pod);
    return object;
}

std::string to_table(const CancelledMoves& answer, const TableStyle& style) {
    const auto& [moves, mark, target] = answer.done;
    if (moves.empty() && !mark) {
        return "no migration of " + shown(answer.vmi) + " goes on\n";
    }
    auto out = paint("cancelled", Tone::good, style.colour) + ": " +
               (moves.empty() ? std::string{"no migration was under way"}
                              : shown(migration::join(moves))) +
               "\n";
    if (mark) {
        out += "  KubeVirt was evacuating it and does not any more; an eviction would begin anew\n";
    }
    if (!target.empty()) {
        out +=
            "  its target pod " + shown(target) + " was deleted, for nothing else ends it then\n";
    }
    return out;
}

}  // namespace scout::cli
