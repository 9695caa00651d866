// SPDX-License-Identifier: Apache-2.0
#include "cli/make_move.h"

#include <algorithm>
#include <utility>

#include "cli/api_server.h"
#include "cli/request.h"
#include "cli/run_task.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cluster/move_object.h"

namespace scout::cli {
namespace {

/// What is sent to the API server.
struct Sent {
    std::string body;
    /// Why labels, which KubeVirt alone obeys, are not enough; empty: they are.
    std::string needs_term;
};

Sent object_of(migration::MoveRequest asked, const std::string& manifest,
               const cluster::Objects& objects) {
    const std::string path{asked.term_path};
    if (!manifest.empty()) {
        return {.body = cluster::move_object(manifest),
                .needs_term = asked.wish.term ? path + ": KubeVirt takes labels alone" : ""};
    }
    auto labels = cluster::as_added_selector(asked.wish, objects.nodes);
    if (!labels) {
        return {.body = cluster::move_object(asked),
                .needs_term = path + ": " + labels.error().message};
    }
    asked.wish = {.added = *std::move(labels)};
    return {.body = cluster::move_object(asked), .needs_term = {}};
}

/// Where nobody knows terms one would be let fall, and the VM go anywhere.
Status ensure_obeyed(ApiServer& server, const std::string& space, Sent& sent) {
    if (sent.needs_term.empty()) {
        return {};
    }
    cluster::MoveCalls calls(server.client);
    const auto rehearsed = run_task(server.loop, calls.rehearse(space, sent.body));
    if (!rehearsed) {
        return fail(rehearsed.error().error);
    }
    if (!rehearsed->added_node_selector.find(migration::sentinel_key)) {
        return fail(Errc::refused,
                    sent.needs_term +
                        "; and virt-scout's webhooks, which have it obey a term, are not in this "
                        "cluster (MutatingWebhookConfiguration virt-scout-target)");
    }
    sent.body = cluster::with_sentinel(sent.body);
    return {};
}

FollowedMove follow(Session& session, ApiServer& server, const kube::Migration& move) {
    const bool aloud = session.for_people();
    const auto tell = [&session, aloud](const cluster::MoveProgress& progress,
                                        std::chrono::seconds since) {
        if (aloud && !progress.ended) {
            static_cast<void>(session.show_text(progress_line(progress, since) + "\n"));
        }
    };
    return MoveFollower(server.transport, session.clock(), server.loop, move, tell).run();
}

int exit_code_of(const MadeMove& move) {
    if (!move.end) {
        return exit_code::can;
    }
    if (move.end->interrupted || !move.end->lost.empty()) {
        return exit_code::unknown;
    }
    return move.end->progress.moved ? exit_code::can : exit_code::cannot;
}

}  // namespace

int make_move(Session& session, const Request& request, const cluster::Objects& objects,
              const std::string& manifest, migration::MoveRequest asked,
              cluster::MoveForecast forecast) {
    // A manifest need not name its namespace.
    const auto space =
        asked.space.empty() ? forecast.vmi.substr(0, forecast.vmi.find('/')) : asked.space;
    auto sent = object_of(std::move(asked), manifest, objects);
    const auto access = access_to_change(request.dump.access);
    if (!access) {
        return session.fail_with(Error{access.error()}.within("migrate"));
    }
    // Before anything is made, where somebody reads along.
    if (session.for_people() && session.show(forecast) != exit_code::can) {
        return exit_code::error;
    }
    ApiServer server(*access, session.clock());
    if (auto obeyed = ensure_obeyed(server, space, sent); !obeyed) {
        return session.fail_with(std::move(obeyed.error()).within("migrate"));
    }
    cluster::MoveCalls calls(server.client);
    const auto made = run_task(server.loop, calls.make(space, std::move(sent.body)));
    if (!made) {
        return session.fail_with(Error{made.error().error}.within("migrate"));
    }
    MadeMove answer{.forecast = std::move(forecast),
                    .name = made->meta.space.str() + "/" + made->meta.name,
                    .end = std::nullopt};
    if (request.move.wait) {
        if (session.for_people()) {
            static_cast<void>(session.show_text("made " + shown(answer.name) + "\n"));
        }
        answer.end = follow(session, server, *made);
    }
    return session.show(answer, exit_code_of(answer));
}

int cancel_moves(Session& session, const Request& request) {
    const auto slash = request.subject.find('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == request.subject.size()) {
        return session.fail_with(
            {Errc::invalid,
             "migrate --cancel: expected NAMESPACE/NAME, found '" + shown(request.subject) + "'"});
    }
    const auto access = access_to_change(request.dump.access);
    if (!access) {
        return session.fail_with(access.error());
    }
    ApiServer server(*access, session.clock());
    cluster::MoveCalls calls(server.client);
    auto done = run_task(server.loop, calls.cancel(request.subject.substr(0, slash),
                                                   request.subject.substr(slash + 1)));
    if (!done) {
        return session.fail_with(Error{done.error().error}.within("migrate --cancel"));
    }
    const bool any = done->mark || !done->moves.empty();
    return session.show(CancelledMoves{.vmi = request.subject, .done = *std::move(done)},
                        any ? exit_code::can : exit_code::cannot);
}

}  // namespace scout::cli
