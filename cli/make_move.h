// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <boost/json/value.hpp>

#include "cli/follow_move.h"
#include "cli/render_table.h"
#include "cluster/move_calls.h"
#include "cluster/move_forecast.h"
#include "cluster/objects.h"
#include "migration/named_target.h"

namespace scout::cli {

class Session;
struct Request;

/// A migration that was made, and what is known of its end.
struct MadeMove {
    cluster::MoveForecast forecast;
    std::string name;                 ///< NAMESPACE/NAME of the migration
    std::optional<FollowedMove> end;  ///< none: nobody waited for it
};
[[nodiscard]] boost::json::value to_json(const MadeMove& move);
[[nodiscard]] std::string to_table(const MadeMove& move, const TableStyle& style);

struct CancelledMoves {
    std::string vmi;
    cluster::MovesCancelled done;
};
[[nodiscard]] boost::json::value to_json(const CancelledMoves& answer);
[[nodiscard]] std::string to_table(const CancelledMoves& answer, const TableStyle& style);

/// "12s  Running, PreCopy, to n2"
[[nodiscard]] std::string progress_line(const cluster::MoveProgress& progress,
                                        std::chrono::seconds since);

/// Makes a migration that was judged, and follows it if that is asked for. `manifest` is its text,
/// empty where it was asked for on the command line. Answers the exit code.
[[nodiscard]] int make_move(Session& session, const Request& request,
                            const cluster::Objects& objects, const std::string& manifest,
                            migration::MoveRequest asked, cluster::MoveForecast forecast);

/// `migrate --cancel`. Answers the exit code.
[[nodiscard]] int cancel_moves(Session& session, const Request& request);

}  // namespace scout::cli
