// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "base/result.h"

namespace scout::kube {

/// Who waits for whom: urgent calls (lease, evictions, answers that somebody waits for) have tokens
/// of their own and never stand behind a fill of labels.
enum class Urgency : std::uint8_t { normal, urgent };

struct RateLimitConfig {
    double per_second = 50;  ///< normal calls in the long run; above 0
    double burst = 100;      ///< normal calls at once after a quiet time; at least 1
    double urgent_per_second = 20;
    double urgent_burst = 40;
};

/// Two token buckets from which calls reserve in the order in which they come. Pure: the caller
/// waits as long as it is told.
class RateLimit {
public:
    RateLimit(RateLimitConfig config, SteadyTime now);

    /// How long the call has to wait for its token, which is taken now. Errc::timed_out, and
    /// nothing is taken, if that were longer than `longest`.
    [[nodiscard]] Result<std::chrono::milliseconds> reserve(Urgency urgency, SteadyTime now,
                                                            std::chrono::milliseconds longest);

private:
    struct Bucket {
        double per_second;
        double burst;
        double tokens;  ///< below 0: promised to calls that wait
        SteadyTime filled;
    };

    Bucket normal_;
    Bucket urgent_;
};

}  // namespace scout::kube
