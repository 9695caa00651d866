// SPDX-License-Identifier: Apache-2.0
#include "migration/pressure_trend.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace scout::migration {
namespace {

// A single step never fits a line better than 0.78.
constexpr double along_a_line = 0.85;
// Of all that the past swung: less is no turn, and what is no further away is near.
constexpr double turn_share = 0.25;
constexpr double near_share = 0.1;
// So much longer or faster a fall is still like another.
constexpr double likeness = 1.5;
constexpr double after_turns = 0.8;
// Of each block, for what is seen over minutes: between looks further apart a swing may pass.
constexpr std::size_t close_samples = 3;
// Of the greatest drop between two looks: no more than one comes of how they fall into a swing.
constexpr double above_chance = 2;
// Of the mean of all steps of a fall, the least one.
constexpr double even_share = 0.25;
// Half a minute, two, six.
constexpr std::array<std::size_t, 3> scales{1, 4, 12};

/// A line through values at 0, 1, 2, …
struct Line {
    double slope = 0;  ///< for each step
    double fit = 0;    ///< coefficient of determination, 0 to 1
    double end = 0;    ///< its value at the last one
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
    const double slope = along / width;
    return {.slope = slope,
            .fit = spread > 0 ? along * along / (width * spread) : 0,
            .end = mean + slope * middle};
}

/// Not in one step or two, which fit a line too where they are spread over values.
bool falls_evenly(const Values& values) {
    constexpr auto n = static_cast<double>(PressureTrend::needed_blocks);
    const double least = (values.front() - values.back()) * even_share / (n - 1);
    for (std::size_t i = 1; i < values.size(); ++i) {
        if (values.at(i - 1) - values.at(i) < least) {
            return false;
        }
    }
    return least > 0;
}

}  // namespace

void PressureTrend::Block::add(const Block& other) noexcept {
    most = std::max(most, other.most);
    least = std::min(least, other.least);
    sum += other.sum;
    drop = std::max(drop, other.drop);
    samples += other.samples;
}

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
    const bool is_first = open_.samples == 0 && blocks_.empty();
    const double drop = is_first ? 0 : static_cast<double>(left_) - value;
    const Block look{
        .most = value, .least = value, .sum = value, .drop = std::max(0.0, drop), .samples = 1};
    if (open_.samples == 0) {
        opened_ = at;
        open_ = look;
    } else {
        open_.add(look);
    }
    last_ = at;
    left_ = left;
}

PressureTrend::Past PressureTrend::past() const {
    double most = 0;
    auto least = static_cast<double>(left_);
    for (const auto& block : blocks_) {
        most = std::max(most, block.most);
        least = std::min(least, block.least);
    }
    Past past{.swing = most - least, .turns = {}};
    const double turn = past.swing * turn_share;
    const double near = past.swing * near_share;
    double top = 0;
    double bottom = most;
    std::size_t top_at = 0;
    std::size_t bottom_at = 0;
    bool falling = false;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const auto& block = blocks_[i];
        if (!falling && block.most > top - near) {
            top_at = i;
        }
        top = std::max(top, block.most);
        if (falling ? block.least < bottom : top - block.least >= turn) {
            falling = true;
            bottom = block.least;
            bottom_at = i;
        }
        if (falling && block.most - bottom >= turn) {
            past.turns.push_back({.bottom = bottom,
                                  .depth = top - bottom,
                                  .blocks = std::max<std::size_t>(1, bottom_at - top_at)});
            falling = false;
            top = block.most;
            top_at = i;
        }
    }
    past.falling = blocks_.size() - top_at;
    return past;
}

std::optional<PressureTrend::LastBlocks> PressureTrend::last_blocks(std::size_t scale) const {
    if (blocks_.size() < needed_blocks * scale) {
        return std::nullopt;
    }
    LastBlocks last{};
    auto next = blocks_.end() - static_cast<std::ptrdiff_t>(needed_blocks * scale);
    for (auto& block : last) {
        block = *next++;
        for (std::size_t i = 1; i < scale; ++i) {
            block.add(*next++);
        }
        if (scale > 1 && block.samples < scale * close_samples) {
            return std::nullopt;
        }
    }
    return last;
}

std::optional<PressureTrend::Fall> PressureTrend::fall_over(std::size_t scale) const {
    const auto last = last_blocks(scale);
    if (!last) {
        return std::nullopt;
    }
    Values most{};
    Values least{};
    Values mean{};
    double drop = 0;
    for (std::size_t i = 0; i < needed_blocks; ++i) {
        drop = std::max(drop, last->at(i).drop);
        most.at(i) = last->at(i).most;
        least.at(i) = last->at(i).least;
        mean.at(i) = last->at(i).mean();
    }
    const auto means = line_through(mean);
    const auto leasts = line_through(least);
    const double fallen = least.front() - least.back();
    const bool whole = scale == 1 ? line_through(most).slope < 0
                                  : falls_evenly(mean) && leasts.fit >= along_a_line &&
                                        fallen >= drop * above_chance;
    if (!whole || means.slope >= 0 || means.fit < along_a_line || leasts.slope >= 0) {
        return std::nullopt;
    }
    const auto left = static_cast<double>(left_);
    if (scale == 1) {
        return Fall{.scale = scale, .slope = means.slope, .fit = means.fit, .from = left};
    }
    const auto lowest = *std::min_element(least.begin(), least.end());
    return Fall{.scale = scale,
                .slope = leasts.slope / static_cast<double>(scale),
                .fit = means.fit,
                .from = std::min(left, std::max(lowest, leasts.end))};
}

bool PressureTrend::turns_before(double threshold, const Fall& fall, const Past& past) const {
    for (const auto& turn : past.turns) {
        const auto blocks = static_cast<double>(turn.blocks);
        const bool is_like = static_cast<double>(past.falling) <= blocks * likeness &&
                             -fall.slope <= turn.depth / blocks * likeness;
        // Of what is seen over minutes a short tooth tells nothing.
        const bool lasts = fall.scale == 1 || turn.blocks >= (needed_blocks - 2) * fall.scale;
        const double floor = turn.bottom - past.swing * near_share;
        if (is_like && lasts && floor > threshold && static_cast<double>(left_) >= floor) {
            return true;
        }
    }
    return false;
}

std::optional<TrendForecast> PressureTrend::until(std::uint64_t threshold) const {
    if (open_.samples > 0 && left_ <= threshold) {
        return TrendForecast{.in = {}, .confidence = 1};
    }
    using Blocks = std::chrono::duration<double, std::ratio<5>>;
    const auto at = static_cast<double>(threshold);
    const auto past = this->past();
    std::optional<TrendForecast> soonest;
    for (const auto scale : scales) {
        const auto fall = fall_over(scale);
        if (!fall || turns_before(at, *fall, past)) {
            continue;
        }
        const Blocks longest = std::chrono::hours{24 * 365};
        const Blocks blocks{std::max(0.0, fall->from - at) / -fall->slope};
        const TrendForecast forecast{
            .in = std::chrono::floor<std::chrono::milliseconds>(std::min(blocks, longest)),
            .confidence = fall->fit * (scale == 1 && !past.turns.empty() ? after_turns : 1.0),
            .pace = -fall->slope / static_cast<double>(block_time.count())};
        if (!soonest || forecast.in < soonest->in) {
            soonest = forecast;
        }
    }
    return soonest;
}

}  // namespace scout::migration
