// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace scout::kube {

/// When a call of several steps must have ended. The clock must outlive it.
class Deadline {
public:
    Deadline(const Clock& clock, std::chrono::milliseconds limit)
        : clock_(&clock), limit_(limit), at_(clock.steady() + limit) {}

    /// Never below 0.
    [[nodiscard]] std::chrono::milliseconds left() const {
        const auto left = std::chrono::floor<std::chrono::milliseconds>(at_ - clock_->steady());
        return std::max(left, std::chrono::milliseconds{0});
    }
    [[nodiscard]] bool passed() const { return left() == std::chrono::milliseconds{0}; }
    /// The whole time, for messages.
    [[nodiscard]] std::chrono::milliseconds limit() const noexcept { return limit_; }

private:
    const Clock* clock_;
    std::chrono::milliseconds limit_;
    SteadyTime at_;
};

}  // namespace scout::kube
