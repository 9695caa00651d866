// SPDX-License-Identifier: Apache-2.0
#include "migration/pressure_trend.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace scout::migration {
namespace {

// A single step never fits a line better than 0.78.
constexpr double along_a_line = 0.85;
// Of all that the past swung: less is no turn, and so much lower than all turns is low.
constexpr double turn_share = 0.25;
constexpr double below_turns_share = 0.1;
constexpr double after_turns = 0.8;

/// A line through values at 0, 1, 2, …
struct Line {
    double slope = 0;  ///< for each step
    double fit = 0;    ///< coefficient of determination, 0 to 1
};

using Values = std::array<double, PressureTrend::needed_blocks>;

Line line_through(const Values& values) {
    constexpr auto n = static_cast<double>(PressureTrend::needed_blocks);
    constexpr double middle = (n - 1) / 2;
    double mean = 0;
    for (const double value : values) {
        mean += value / n;
    }
    double along = 0;
    double width = 0;
    double spread = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double x = static_cast<double>(i) - middle;
        along += x * (values.at(i) - mean);
        width += x * x;
        spread += (values.at(i) - mean) * (values.at(i) - mean);
    }
    return {.slope = along / width, .fit = spread > 0 ? along * along / (width * spread) : 0};
}

}  // namespace

void PressureTrend::add(SteadyTime at, std::uint64_t left) {
    if (open_.samples > 0 && at - last_ >= 2 * block_time) {
        blocks_.clear();
        open_ = {};
    }
    if (open_.samples > 0 && at - opened_ >= block_time) {
        blocks_.push_back(open_);
        if (blocks_.size() > kept_blocks) {
            blocks_.pop_front();
        }
        open_ = {};
    }
    const auto value = static_cast<double>(left);
    if (open_.samples == 0) {
        opened_ = at;
        open_.most = open_.least = value;
    }
    open_.most = std::max(open_.most, value);
    open_.least = std::min(open_.least, value);
    open_.sum += value;
    ++open_.samples;
    last_ = at;
    left_ = left;
}

/// The lowest value from which it rose again by a good part of all that it swung.
std::optional<double> PressureTrend::lowest_turn() const {
    double most = 0;
    double least = static_cast<double>(left_);
    for (const auto& block : blocks_) {
        most = std::max(most, block.most);
        least = std::min(least, block.least);
    }
    const double swing = most - least;
    std::optional<double> lowest;
    double bottom = most;
    double top = 0;
    bool falling = false;
    for (const auto& block : blocks_) {
        top = std::max(top, block.most);
        if (!falling && top - block.least >= swing * turn_share) {
            falling = true;
            bottom = block.least;
        }
        bottom = std::min(bottom, block.least);
        if (falling && block.most - bottom >= swing * turn_share) {
            lowest = std::min(lowest.value_or(bottom), bottom);
            falling = false;
            top = block.most;
        }
    }
    if (lowest) {
        return *lowest - swing * below_turns_share;
    }
    return std::nullopt;
}

std::optional<TrendForecast> PressureTrend::until(std::uint64_t threshold) const {
    if (open_.samples > 0 && left_ <= threshold) {
        return TrendForecast{.in = {}, .confidence = 1};
    }
    if (blocks_.size() < needed_blocks) {
        return std::nullopt;
    }
    Values most{};
    Values least{};
    Values mean{};
    const auto first = blocks_.size() - needed_blocks;
    for (std::size_t i = 0; i < needed_blocks; ++i) {
        most.at(i) = blocks_[first + i].most;
        least.at(i) = blocks_[first + i].least;
        mean.at(i) = blocks_[first + i].mean();
    }
    const auto line = line_through(mean);
    if (line.slope >= 0 || line.fit < along_a_line || line_through(most).slope >= 0 ||
        line_through(least).slope >= 0) {
        return std::nullopt;
    }
    const auto turn = lowest_turn();
    if (turn && static_cast<double>(left_) >= *turn) {
        return std::nullopt;
    }
    const double blocks =
        (static_cast<double>(left_) - static_cast<double>(threshold)) / -line.slope;
    using Blocks = std::chrono::duration<double, std::ratio<5>>;
    const Blocks longest = std::chrono::hours{24 * 365};
    return TrendForecast{
        .in = std::chrono::floor<std::chrono::milliseconds>(std::min(Blocks{blocks}, longest)),
        .confidence = line.fit * (turn ? after_turns : 1.0)};
}

}  // namespace scout::migration
