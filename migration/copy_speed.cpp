// SPDX-License-Identifier: Apache-2.0
#include "migration/copy_speed.h"

#include <algorithm>
#include <chrono>

namespace scout::migration {
namespace {

constexpr std::chrono::seconds slow_start{5};

}  // namespace

void CopySpeed::saw(std::optional<std::uint64_t> remaining,
                    std::optional<std::uint64_t> copied_a_second, SteadyTime now) {
    if (!remaining) {
        *this = {};
        return;
    }
    // Before its first page nothing is told to remain; and the launcher tells the same for seconds.
    if (!last_ && *remaining == 0) {
        return;
    }
    if (!last_) {
        since_ = now;
    } else if (*remaining == last_->remaining) {
        return;
    } else if (*remaining < last_->remaining && now > last_->at) {
        const std::chrono::duration<double> took = now - last_->at;
        const auto fell = static_cast<double>(last_->remaining - *remaining) / took.count();
        constexpr double most = 1e18;
        fastest_ = std::max(fastest_, static_cast<std::uint64_t>(std::min(fell, most)));
    }
    fastest_ = std::max(fastest_, copied_a_second.value_or(0));
    last_ = {.remaining = *remaining, .at = now};
}

std::optional<std::uint64_t> CopySpeed::fastest() const noexcept {
    const bool watched = last_ && last_->at - since_ >= slow_start;
    return watched && fastest_ > 0 ? std::optional{fastest_} : std::nullopt;
}

void WriteRate::saw(std::optional<std::uint64_t> rate) {
    if (rate) {
        last_.at(count_++ % looks) = *rate;
    }
}

std::optional<std::uint64_t> WriteRate::least() const noexcept {
    return count_ < looks ? std::nullopt
                          : std::optional{*std::min_element(last_.begin(), last_.end())};
}

}  // namespace scout::migration
