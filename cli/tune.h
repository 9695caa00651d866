// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "base/clock.h"
#include "cli/render_table.h"
#include "cluster/tune_plan.h"

/// `policy tune`.
namespace scout::cli {

class Session;
struct Request;

inline constexpr const char* tune_word = "tune";

[[nodiscard]] int run_tune(Session& session, const Request& request);

/// A policy that is planned, rehearsed or made.
struct TuneAnswer {
    cluster::TunePlan plan;
    WallTime ends;
    bool made = false;
    bool rehearsed = false;  ///< the API server would take it
};
[[nodiscard]] boost::json::value to_json(const TuneAnswer& answer);
/// The plan, which people see first; once it was made or rehearsed, that alone.
[[nodiscard]] std::string to_table(const TuneAnswer& answer, const TableStyle& style);

struct TunedListing {
    std::vector<cluster::TunedPolicy> policies;
    WallTime now;
};
[[nodiscard]] boost::json::value to_json(const TunedListing& answer);
[[nodiscard]] std::string to_table(const TunedListing& answer, const TableStyle& style);

struct EndedTune {
    std::string policy;
};
[[nodiscard]] boost::json::value to_json(const EndedTune& answer);
[[nodiscard]] std::string to_table(const EndedTune& answer, const TableStyle& style);

}  // namespace scout::cli
