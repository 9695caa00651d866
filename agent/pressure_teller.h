// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "migration/pressure_report.h"

namespace scout::agent {

/// Decides when the aggregator is told of the node's pressure (migration::is_worth_telling()).
/// Holds what was told last and what is to be told now, nothing else. One thread.
class PressureTeller {
public:
    /// A new stream: the other side knows nothing of this one.
    void connected() { told_.reset(); }
    /// What the last look found.
    void take(migration::PressureReport report) { now_ = std::move(report); }

    [[nodiscard]] bool is_due(SteadyTime now) const {
        return now_ &&
               (!told_ || migration::is_worth_telling(
                              told_->report, *now_,
                              std::chrono::floor<std::chrono::milliseconds>(now - told_->at)));
    }
    /// What to say now; none: nothing. What is answered counts as said.
    [[nodiscard]] std::optional<migration::PressureReport> next(SteadyTime now) {
        if (!now_ || !is_due(now)) {
            return std::nullopt;
        }
        told_ = {.report = *now_, .at = now};
        return now_;
    }

private:
    struct Told {
        migration::PressureReport report;
        SteadyTime at;
    };
    std::optional<migration::PressureReport> now_;  ///< none: not looked yet
    std::optional<Told> told_;                      ///< on this stream
};

}  // namespace scout::agent
