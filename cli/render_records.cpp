// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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

/// Answers that look back: `stuck` and `why`.
namespace scout::cli {
namespace {

namespace json = boost::json;

json::value json_time(const std::optional<WallTime>& time) {
    return time ? json::value(json::string(rfc3339(*time))) : json::value(nullptr);
}

/// Names as Kubernetes makes them need no quotes in a shell; others are not put into commands.
bool is_plain(std::string_view name) {
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    return !name.empty() && name.find_first_not_of(allowed) == std::string_view::npos;
}

/// What cancels the mark; empty: it cannot be cancelled. virtctl names the node that the VMI is
/// on, and KubeVirt wants the one that the mark names: where they differ the request is made by
/// hand (dossier §16).
std::string cancel_command(const migration::StuckAnswer& stuck) {
    const auto slash = stuck.vmi.find('/');
    if (!stuck.cancel.possible || slash == std::string::npos) {
        return {};
    }
    const auto space = stuck.vmi.substr(0, slash);
    const auto name = stuck.vmi.substr(slash + 1);
    if (!is_plain(space) || !is_plain(name) || !is_plain(stuck.mark)) {
        return {};
    }
    if (stuck.mark == stuck.node) {
        return "virtctl evacuate-cancel vmi " + name + " -n " + space;
    }
    return "echo '{\"evacuationNodeName\":\"" + stuck.mark +
           "\"}' | kubectl replace --raw /apis/subresources.kubevirt.io/v1/namespaces/" + space +
           "/virtualmachineinstances/" + name + "/evacuate/cancel -f -";
}

json::object json_stuck(const migration::StuckAnswer& stuck) {
    json::object cancel;
    cancel["possible"] = stuck.cancel.possible;
    cancel["reason"] = json_text_or_null(stuck.cancel.reason);
    cancel["command"] = json_text_or_null(cancel_command(stuck));
    json::object object;
    object["vmi"] = json_text(stuck.vmi);
    object["state"] = json_text(to_string(stuck.state));
    object["node"] = json_text_or_null(stuck.node);
    object["mark"] = json_text_or_null(stuck.mark);
    object["since"] = json_time(stuck.since);
    object["migration"] = json_text_or_null(stuck.move);
    object["phase"] = json_text_or_null(stuck.phase);
    object["failed"] = stuck.failed;
    object["failure"] = json_text_or_null(shortened(stuck.failure));
    object["nextTry"] = json_time(stuck.next_try);
    object["waitingFor"] = json_text(shortened(stuck.waiting_for));
    object["advice"] = json_text(shortened(stuck.advice));
    object["cancel"] = std::move(cancel);
    return object;
}

Tone tone_of(migration::StuckState state) {
    switch (state) {
        case migration::StuckState::being_moved:
            return Tone::good;
        case migration::StuckState::queued:
        case migration::StuckState::backing_off:
        case migration::StuckState::external:
        case migration::StuckState::already_moved:
        case migration::StuckState::pending:
        case migration::StuckState::blocked:
        case migration::StuckState::unschedulable:
            return Tone::doubtful;
        case migration::StuckState::stale_mark:
        case migration::StuckState::unwanted:
        case migration::StuckState::not_migratable:
        case migration::StuckState::node_gone:
        case migration::StuckState::two_active_pods:
        case migration::StuckState::synchronizing:
        case migration::StuckState::no_selinux:
        case migration::StuckState::handed_off:
        case migration::StuckState::deleting:
            return Tone::bad;
    }
    return Tone::plain;
}

/// What can be done about one of them, and about its mark.
std::string help_lines(const migration::StuckAnswer& stuck, const TableStyle& style) {
    auto out =
        paint(shown(stuck.vmi), Tone::strong, style.colour) + ": " + shown(stuck.advice) + "\n";
    if (stuck.mark.empty()) {
        return out;
    }
    const auto command = cancel_command(stuck);
    const auto& reason = stuck.cancel.reason;
    if (!stuck.cancel.possible) {
        out += "  the mark cannot be cancelled: " + shown(reason) + "\n";
    } else if (!command.empty()) {
        out += "  to cancel the mark: " + command + "\n" +
               (reason.empty() ? std::string{} : "  (" + shown(reason) + ")\n");
    }
    return out;
}

json::object json_move(const cluster::PastMove& move) {
    json::object request;
    request["by"] = json_text(to_string(move.request.requester));
    request["user"] = json_text_or_null(move.request.user);
    request["why"] = json_text(shortened(move.request.why));
    request["certain"] = move.request.certain;
    json::object object;
    object["name"] = json_text(move.name);
    object["phase"] = json_text_or_null(move.phase);
    object["mode"] = json_text_or_null(move.mode);
    object["source"] = json_text_or_null(move.source);
    object["target"] = json_text_or_null(move.target);
    object["created"] = json_time(move.created);
    object["ended"] = json_time(move.ended);
    object["failure"] = json_text_or_null(shortened(move.failure));
    object["requested"] = std::move(request);
    return object;
}

json::object json_act(const cluster::OwnAct& act) {
    json::object object;
    object["at"] = json_time(act.at == WallTime{} ? std::nullopt : std::optional<WallTime>{act.at});
    object["reason"] = json_text(act.reason);
    object["text"] = json_text(shortened(act.text));
    return object;
}

/// "shop/web, VMI Running"
std::string vm_text(const cluster::CauseStory& story) {
    return story.vmi +
           (story.vmi_phase.empty() ? ", whose VMI is gone" : ", VMI " + story.vmi_phase) +
           (story.mark.empty() ? ""
                               : ", marked to leave " + story.mark +
                                     ", and no migration of it runs: see scoutctl stuck");
}

/// "node-pressure, ephemeral-storage (certain)"
std::string cause_text(const migration::CauseAnswer& answer) {
    if (answer.cause == migration::Cause::unknown) {
        return std::string(to_string(*answer.cause));
    }
    if (!answer.cause) {
        return answer.ended ? "none: the launcher ended because its VM moved away"
                            : "none: nothing ends it";
    }
    return std::string(to_string(*answer.cause)) +
           (answer.resource.empty() ? std::string{} : ", " + answer.resource) +
           (answer.certain ? " (certain)" : " (not certain)");
}

/// "; 3 more with -o wide"
std::string more_text(std::size_t more) {
    return more == 0 ? std::string{} : "; " + std::to_string(more) + " more with -o wide";
}

/// Pod, condition and Event often repeat the same sentence of the kubelet: it is shown once. The
/// first one decides; of what is not certain the next ones may be as true.
std::string evidence_text(const migration::CauseAnswer& answer) {
    constexpr std::string_view contradiction = "contradiction";
    const std::size_t most = answer.certain ? 1 : 3;
    std::string out;
    std::size_t told = 0;
    std::size_t more = 0;
    std::set<std::string> sentences;
    for (const auto& each : answer.evidence) {
        const auto colon = each.find(": ");
        if (colon != std::string::npos && !sentences.insert(each.substr(colon)).second) {
            continue;
        }
        if (told < most || each.starts_with(contradiction)) {
            out += (told++ == 0 ? "" : "; ") + each;
        } else {
            ++more;
        }
    }
    return out + more_text(more);
}

std::string launcher_text(const cluster::CauseStory& story) {
    if (story.pod.empty()) {
        return {};
    }
    return story.pod + (story.node.empty() ? "" : " on " + story.node) +
           (story.pod_phase.empty() ? ", which is gone" : ", " + story.pod_phase) +
           (story.ended ? ", ended " + rfc3339(*story.ended) : "");
}

std::string move_text(const cluster::PastMove& move) {
    const auto& request = move.request;
    return move.name + ": " + (move.phase.empty() ? "not begun" : move.phase) +
           (move.failure.empty() ? "" : " (" + move.failure + ")") + ", wanted by " +
           std::string(to_string(request.requester)) +
           (request.user.empty() ? "" : " (" + request.user + ")") +
           (request.certain ? "" : ", not certain") +
           (move.target.empty() ? "" : ", to " + move.target) +
           (move.mode.empty() ? "" : ", " + move.mode) +
           (move.ended ? ", ended " + rfc3339(*move.ended) : "");
}

/// "gave up at 2026-03-02T02:50:15Z: its launcher on n1 was told to stop, …"
std::string act_text(const cluster::OwnAct& act) {
    const auto deed = cluster::deed_of(act.reason);
    return std::string{deed.empty() ? std::string_view{act.reason} : deed} +
           (act.at == WallTime{} ? std::string{} : " at " + rfc3339(act.at)) + ": " + act.text;
}

/// The latest thing that was done; where the cause is not known, that an end was seen; or null.
const cluster::OwnAct* deciding_act(const cluster::CauseStory& story) {
    const bool unknown = story.answer.cause == migration::Cause::unknown;
    const auto found =
        std::find_if(story.acts.begin(), story.acts.end(), [unknown](const cluster::OwnAct& act) {
            return !cluster::deed_of(act.reason).empty() ||
                   (unknown && act.reason == cluster::end_told);
        });
    return found == story.acts.end() ? nullptr : &*found;
}

/// Of both the later one tells more, but for a migration after the end that the act preceded.
bool tells_more(const cluster::PastMove& move, const cluster::OwnAct& act,
                const std::optional<WallTime>& ended) {
    return move.created > act.at && !(ended && act.at <= *ended && move.created > ended);
}

/// What tells most, in two lines.
std::string short_lines(const cluster::CauseStory& story, const TableStyle& style) {
    std::string out;
    const bool has_evidence = !story.answer.evidence.empty();
    if (has_evidence) {
        out += field("Evidence", evidence_text(story.answer), style);
    }
    const auto* act = deciding_act(story);
    const auto* move = story.moves.empty() ? nullptr : &story.moves.front();
    auto more = story.moves.size() + story.acts.size();
    if (has_evidence && act != nullptr && move != nullptr) {
        if (tells_more(*move, *act, story.ended)) {
            act = nullptr;
        } else {
            move = nullptr;
        }
    }
    more -= (act == nullptr ? 0U : 1U) + (move == nullptr ? 0U : 1U);
    if (act != nullptr) {
        out += field("virt-scout", act_text(*act) + more_text(move == nullptr ? more : 0), style);
    }
    if (move != nullptr) {
        out += field("Migration", move_text(*move) + more_text(more), style);
    }
    return out;
}

std::string all_lines(const cluster::CauseStory& story, const TableStyle& style) {
    std::string out;
    for (const auto& evidence : story.answer.evidence) {
        out += field("Evidence", evidence, style);
    }
    for (const auto& act : story.acts) {
        out += field("virt-scout", act_text(act), style);
    }
    for (const auto& move : story.moves) {
        out += field("Migration", move_text(move), style);
    }
    return out;
}

}  // namespace

json::value to_json(const cluster::CauseStory& answer) {
    auto object = json_answer();
    object["vmi"] = json_text(answer.vmi);
    object["vmiPhase"] = json_text_or_null(answer.vmi_phase);
    object["mark"] = json_text_or_null(answer.mark);
    object["pod"] = json_text_or_null(answer.pod);
    object["podPhase"] = json_text_or_null(answer.pod_phase);
    object["node"] = json_text_or_null(answer.node);
    object["ended"] = json_time(answer.ended);
    object["cause"] =
        answer.answer.cause ? json_text(to_string(*answer.answer.cause)) : json::value(nullptr);
    object["resource"] = json_text_or_null(answer.answer.resource);
    object["evidence"] = json_sentences(answer.answer.evidence);
    object["certain"] = answer.answer.certain;
    json::array moves;
    for (const auto& move : answer.moves) {
        moves.push_back(json_move(move));
    }
    object["migrations"] = std::move(moves);
    json::array acts;
    for (const auto& act : answer.acts) {
        acts.push_back(json_act(act));
    }
    object["virtScout"] = std::move(acts);
    return object;
}

std::string to_table(const cluster::CauseStory& answer, const TableStyle& style) {
    auto out = field("VM", vm_text(answer), style) +
               field("Launcher", launcher_text(answer), style) +
               field("Cause", cause_text(answer.answer), style);
    return out + (style.wide ? all_lines(answer, style) : short_lines(answer, style));
}

json::value to_json(const StuckListing& answer) {
    json::array list;
    for (const auto& stuck : answer.stuck) {
        list.push_back(json_stuck(stuck));
    }
    return list;
}

std::string to_table(const StuckListing& answer, const TableStyle& style) {
    if (answer.stuck.empty()) {
        const bool timeless = answer.at == WallTime{};
        return "nothing is stuck" +
               (timeless ? ", as far as objects without any time tell"
                         : " at " + rfc3339(answer.at)) +
               "\n";
    }
    Table table({"VM", "STATE", "NODE", "MARK", "SINCE", "FAILED", "NEXT TRY", "WAITING FOR"});
    std::string help;
    for (const auto& stuck : answer.stuck) {
        const auto time = [](const std::optional<WallTime>& at) {
            return at ? rfc3339(*at) : std::string{};
        };
        table.add({{.text = stuck.vmi, .tone = Tone::strong},
                   {.text = std::string(to_string(stuck.state)), .tone = tone_of(stuck.state)},
                   {.text = stuck.node},
                   {.text = stuck.mark},
                   {.text = time(stuck.since)},
                   {.text = std::to_string(stuck.failed)},
                   {.text = time(stuck.next_try)},
                   {.text = shortened(stuck.waiting_for)}});
        help += help_lines(stuck, style);
    }
    return table.text(style.colour) + "\n" + help + "\n" +
           field("Judged at", rfc3339(answer.at), style);
}

}  // namespace scout::cli
