// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/clock.h"

/// How long something that a node has too little of will last. Pure; one thread at a time.
namespace scout::migration {

struct TrendForecast {
    std::chrono::milliseconds in{0};  ///< until the threshold is reached; 0: it is
    double confidence = 0;            ///< 0 to 1: how steadily it falls
    /// What it loses each second, of what swings its lowest values; none: not known.
    std::optional<double> pace = {};

    friend bool operator==(const TrendForecast&, const TrendForecast&) = default;
};

/// What is left of one thing, as it goes over time.
///
/// Blocks of five seconds are kept, for ten minutes. It counts as falling if the highest and the
/// lowest values of the last half minute both fall along a line: what swings fast does not, nor
/// what fell once and then stays. What falls in steps, or below a swing, is seen over two and six
/// minutes: from each sixth of them to the next the mean falls, along a line, and the lowest values
/// tell when it is there. Of what swings between two looks the lowest values are those of chance:
/// the fall must be of more than that.
///
/// What swings slowly falls for a while too, and is told by its past: a fall that is neither much
/// longer nor much faster than one from which it rose again is expected to turn where that one did.
/// One that turned just above the threshold proves nothing.
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
        double drop = 0;  ///< the greatest one from one look to the next
        unsigned samples = 0;

        void add(const Block& other) noexcept;
        [[nodiscard]] double mean() const noexcept { return sum / samples; }
    };

    /// A fall from which it rose again by a good part of all that it swung.
    struct Turn {
        double bottom = 0;
        double depth = 0;
        std::size_t blocks = 0;  ///< that it fell for
    };
    struct Past {
        double swing = 0;  ///< between the highest and the lowest value
        std::vector<Turn> turns;
        std::size_t falling = 0;  ///< blocks since it was near its last top
    };
    struct Fall {
        std::size_t scale = 1;  ///< blocks that count as one
        double slope = 0;       ///< for each block
        double fit = 0;
        double from = 0;
    };

    [[nodiscard]] Past past() const;
    /// So many of them as one each; none: there are not enough yet, or of too few looks.
    using LastBlocks = std::array<Block, needed_blocks>;
    [[nodiscard]] std::optional<LastBlocks> last_blocks(std::size_t scale) const;
    [[nodiscard]] std::optional<Fall> fall_over(std::size_t scale) const;
    /// It is expected to turn before it gets to the threshold, for it did so before.
    [[nodiscard]] bool turns_before(double threshold, const Fall& fall, const Past& past) const;

    std::deque<Block> blocks_;  ///< complete ones
    Block open_;
    SteadyTime opened_{};
    SteadyTime last_{};
    std::uint64_t left_ = 0;
};

}  // namespace scout::migration
