// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock.h"

/// How long something that a node has too little of will last. Pure; one thread at a time.
namespace scout::migration {

struct TrendForecast {
    std::chrono::milliseconds in{0};  ///< until the threshold is reached; 0: it is
    double confidence = 0;            ///< 0 to 1: how steadily it falls

    friend bool operator==(const TrendForecast&, const TrendForecast&) = default;
};

/// What is left of one thing, as it goes over time.
///
/// Blocks of five seconds are kept, for ten minutes. It counts as falling if the highest and the
/// lowest values of the last half minute both fall along a line: what swings fast does not, nor
/// what fell once and then stays. What swings slowly falls for a while too, and is told by its
/// past: above the places at which it turned before it is expected to turn again.
class PressureTrend {
public:
    /// Times must not go back; a gap of a block or more begins anew.
    void add(SteadyTime at, std::uint64_t left);

    /// None: it does not fall, or nobody can tell yet.
    [[nodiscard]] std::optional<TrendForecast> until(std::uint64_t threshold) const;

    static constexpr std::chrono::seconds block_time{5};
    static constexpr std::size_t needed_blocks = 6;
    static constexpr std::size_t kept_blocks = 120;

private:
    struct Block {
        double most = 0;
        double least = 0;
        double sum = 0;
        unsigned samples = 0;

        [[nodiscard]] double mean() const noexcept { return sum / samples; }
    };

    [[nodiscard]] std::optional<double> lowest_turn() const;

    std::deque<Block> blocks_;  ///< complete ones
    Block open_;
    SteadyTime opened_{};
    SteadyTime last_{};
    std::uint64_t left_ = 0;
};

}  // namespace scout::migration
