// SPDX-License-Identifier: Apache-2.0
// What became of a VM, from and to its message.
#include <chrono>
#include <utility>

#include "wire/checks.h"
#include "wire/convert_parts.h"
#include "wire/fleet_messages.h"

namespace scout::wire {
namespace {

/// "NAMESPACE/NAME"
constexpr std::size_t full_name_limit = 63 + 1 + name_limit;

WallTime time_of(std::string_view field, std::int64_t unix_ms, Checks& checks) {
    return WallTime{std::chrono::milliseconds{checks.unix_ms(field, unix_ms)}};
}

std::int64_t unix_ms(WallTime time) {
    return time.time_since_epoch().count();
}

cluster::PastMove move_of(const v1::WhyResponse::Move& move, Checks& checks) {
    cluster::PastMove out;
    out.name = checks.name("moves.name", move.name());
    out.phase = checks.name("moves.phase", move.phase());
    out.mode = checks.name("moves.mode", move.mode());
    out.source = checks.name("moves.source", move.source());
    out.target = checks.name("moves.target", move.target());
    out.failure = cut(move.failure(), text_limit);
    if (move.has_created_unix_ms()) {
        out.created = time_of("moves.created_unix_ms", move.created_unix_ms(), checks);
    }
    if (move.has_ended_unix_ms()) {
        out.ended = time_of("moves.ended_unix_ms", move.ended_unix_ms(), checks);
    }
    const auto& request = move.request();
    if (const auto by = migration::requester_named(request.by())) {
        out.request.requester = *by;
    } else {
        checks.fault("moves.request.by", "a known word", request.by());
    }
    out.request.user = cut(request.user(), text_limit);
    out.request.why = cut(request.why(), text_limit);
    out.request.certain = request.certain();
    return out;
}

void write_move(const cluster::PastMove& move, v1::WhyResponse::Move& out) {
    out.set_name(move.name);
    out.set_phase(move.phase);
    out.set_mode(move.mode);
    out.set_source(move.source);
    out.set_target(move.target);
    out.set_failure(move.failure);
    if (move.created) {
        out.set_created_unix_ms(unix_ms(*move.created));
    }
    if (move.ended) {
        out.set_ended_unix_ms(unix_ms(*move.ended));
    }
    auto& request = *out.mutable_request();
    request.set_by(std::string{to_string(move.request.requester)});
    request.set_user(move.request.user);
    request.set_why(move.request.why);
    request.set_certain(move.request.certain);
}

void take_cause(const v1::WhyResponse& response, migration::CauseAnswer& answer, Checks& checks) {
    answer.cause = migration::cause_named(response.cause());
    if (!answer.cause && !response.cause().empty()) {
        checks.fault("cause", "a known word or none", response.cause());
    }
    answer.resource = cut(response.resource(), text_limit);
    if (checks.count("evidence", response.evidence_size())) {
        for (const auto& sentence : response.evidence()) {
            answer.evidence.push_back(cut(sentence, text_limit));
        }
    }
    answer.certain = response.certain();
    answer.ended = response.ended();
}

}  // namespace

Result<cluster::CauseStory> from_wire(const v1::WhyResponse& response) {
    Checks checks;
    cluster::CauseStory story;
    story.vmi = cut(response.vmi(), full_name_limit);
    story.vmi_phase = checks.name("vmi_phase", response.vmi_phase());
    story.pod = checks.name("pod", response.pod());
    story.pod_phase = checks.name("pod_phase", response.pod_phase());
    story.node = checks.name("node", response.node());
    if (response.has_ended_unix_ms()) {
        story.ended = time_of("ended_unix_ms", response.ended_unix_ms(), checks);
    }
    take_cause(response, story.answer, checks);
    if (checks.count("moves", response.moves_size())) {
        for (const auto& move : response.moves()) {
            story.moves.push_back(move_of(move, checks));
        }
    }
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()));
    }
    return story;
}

v1::WhyResponse to_wire(const cluster::CauseStory& story) {
    v1::WhyResponse out;
    out.set_vmi(story.vmi);
    out.set_vmi_phase(story.vmi_phase);
    out.set_pod(story.pod);
    out.set_pod_phase(story.pod_phase);
    out.set_node(story.node);
    if (story.ended) {
        out.set_ended_unix_ms(unix_ms(*story.ended));
    }
    if (story.answer.cause) {
        out.set_cause(std::string{to_string(*story.answer.cause)});
    }
    out.set_resource(story.answer.resource);
    assign(out.mutable_evidence(), story.answer.evidence);
    out.set_certain(story.answer.certain);
    out.set_ended(story.answer.ended);
    for (const auto& move : story.moves) {
        write_move(move, *out.add_moves());
    }
    return out;
}

}  // namespace scout::wire
