// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "cli/progress.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cluster/cause_story.h"
#include "cluster/stuck_moves.h"
#include "kube/resource.h"
#include "kube/timestamps.h"

/// Commands that look back: `stuck` and `why`.
namespace scout::cli {
namespace {

/// The moment that the command line names; none: it names none. Errors: invalid.
Result<std::optional<WallTime>> moment_of(const std::string& at) {
    if (at.empty()) {
        return std::optional<WallTime>{};
    }
    auto time = kube::parse_time(at);
    if (!time) {
        return fail(Errc::invalid,
                    "--at: expected a time as 2026-11-27T23:06:39Z, found '" + shown(at) + "'");
    }
    return time;
}

/// Also where there is none: an API server says so, a dump does not.
bool has_read_moves(const cluster::RecordDump& dump, bool is_live) {
    const auto kind = kube::display_name(kube::resources::migrations());
    return !dump.records.moves.empty() ||
           (is_live && std::none_of(dump.left_out.begin(), dump.left_out.end(),
                                    [&kind](const auto& each) { return each.place == kind; }));
}

}  // namespace

int run_stuck(Session& session, const Request& request) {
    const auto asked = moment_of(request.at);
    if (!asked) {
        return session.fail_with(asked.error());
    }
    auto dump = session.records();
    if (!dump) {
        return session.fail_with(std::move(dump.error()).within("stuck"));
    }
    const auto at = asked->value_or(dump->moment);
    const bool moves_known = has_read_moves(*dump, session.asks_live());
    return session.show(
        StuckListing{.stuck = cluster::stuck_moves(dump->records, at, moves_known), .at = at});
}

int run_why(Session& session, const Request& request) {
    if (!session.asks_dump()) {
        auto fleet = session.fleet();
        if (!fleet) {
            return session.fail_with(std::move(fleet.error()).within("why"));
        }
        const auto story = [&session, &fleet, &request] {
            const Progress progress(session.waits_for(), session.progress());
            return (*fleet)->why(request.subject);
        }();
        return story ? session.show(*story) : session.fail_with(story.error());
    }
    const auto dump = session.stories();
    if (!dump) {
        return session.fail_with(Error{dump.error()}.within("why"));
    }
    const auto story = cluster::find_story(dump->records, request.subject);
    if (story) {
        return session.show(*story);
    }
    auto error = story.error();
    if (error.code == Errc::not_found && session.asks_live()) {
        error.message +=
            "; what is gone from the API server the aggregator may know still: --aggregator kube:";
    }
    return session.fail_with(error);
}

}  // namespace scout::cli
